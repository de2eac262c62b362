// Elements of pages, bytes that they hold, and files and films that they save.

// Milliseconds after which a browser has begun to save what a link leads to.
const SAVED_MS = 10_000;
// Forms of films, and their bits a second.
const KINDS = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm", "video/mp4"];
const BITS_PER_S = 8_000_000;
// Milliseconds after which a part of the film is handed over.
const PART_MS = 200;

export const element = (id) => document.getElementById(id);

// An element with properties, and with texts and elements inside.
export function created(tag, properties = {}, ...inside) {
  const added = Object.assign(document.createElement(tag), properties);
  added.append(...inside);
  return added;
}

export function pressed(button, on) {
  button.setAttribute("aria-pressed", on);
}

// A button that is pressed or not; `toggle` changes that, and returns whether it is.
export function chip(inside, on, toggle, properties = {}) {
  const button = created("button", { type: "button", ...properties }, ...inside);
  button.addEventListener("click", () => pressed(button, toggle()));
  pressed(button, on);
  return button;
}

// A dot in a colour, as legends have it.
export function dot(colour) {
  const added = created("span", { className: "dot" });
  added.style.background = colour;
  return added;
}

export function download(content, name) {
  const link = created("a", { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), SAVED_MS);
}

// Bytes in base64 text.
export function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

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
