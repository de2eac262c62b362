// Films of a canvas.

const KINDS = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm", "video/mp4"];
const BITS_PER_S = 8_000_000;
// Milliseconds after which a part of the film is handed over.
const PART_MS = 200;

const kindOf = () => typeof MediaRecorder !== "undefined" && KINDS.find((kind) => MediaRecorder.isTypeSupported(kind));
export const canRecord = () => Boolean(kindOf());

// Start to record a stream; returns a function that ends it and gives the file. `onBytes` gets the size of each part.
export function record(stream, onBytes = () => {}) {
  const type = kindOf();
  const recorder = new MediaRecorder(stream, { mimeType: type, videoBitsPerSecond: BITS_PER_S });
  const parts = [];
  recorder.addEventListener("dataavailable", ({ data }) => {
    if (data.size) parts.push(data);
    onBytes(data.size);
  });
  recorder.start(PART_MS);
  return () => new Promise((done) => {
    recorder.addEventListener("stop", () => {
      for (const track of stream.getVideoTracks()) track.stop();
      done(new Blob(parts, { type: type.split(";")[0] }));
    });
    recorder.stop();
  });
}
