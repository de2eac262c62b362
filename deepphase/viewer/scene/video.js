// The picture as a WebM video, while a part of the history is played back.

const KINDS = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm"];
const BITS_PER_S = 12_000_000;

export const canRecord = () => typeof MediaRecorder !== "undefined" && KINDS.some((kind) => MediaRecorder.isTypeSupported(kind));

// Start to record a canvas; returns a function that ends it and gives the file.
export function record(canvas, framesPerSecond) {
  const stream = canvas.captureStream(framesPerSecond);
  const mimeType = KINDS.find((kind) => MediaRecorder.isTypeSupported(kind));
  const recorder = new MediaRecorder(stream, { mimeType, videoBitsPerSecond: BITS_PER_S });
  const parts = [];
  recorder.addEventListener("dataavailable", (event) => event.data.size && parts.push(event.data));
  recorder.start(500);
  return () => new Promise((done) => {
    recorder.addEventListener("stop", () => {
      stream.getTracks().forEach((track) => track.stop());
      done(new Blob(parts, { type: "video/webm" }));
    });
    recorder.stop();
  });
}
