// Pictures and films of what the page shows: its canvases and headings, where they are.

import { scene, look } from "../page_content.js";
import { FONT, fillBox, fitted } from "./surface2d.js";
import { canRecord, created, download, element, pressed, record } from "./elements.js";

const FILM_FPS = 30;

export class Capture {
  constructor(clock, onProblem) {
    Object.assign(this, { app: element("app"), button: element("film"), clock, onProblem });
    this.canvas = created("canvas");
    this.endRecording = null;
    this.bytes = 0;
  }

  // Draw the page on the canvas.
  compose() {
    const { app, canvas } = this;
    const whole = app.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    // Encoders of films ask for even numbers.
    const size = [whole.width, whole.height].map((length) => 2 * Math.round((length * ratio) / 2));
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, -whole.left * ratio, -whole.top * ratio);
    fillBox(context, whole.left, whole.top, whole.width, whole.height, look.page);
    for (const card of app.querySelectorAll("section")) {
      const box = card.getBoundingClientRect();
      context.strokeStyle = look.line;
      context.strokeRect(box.left, box.top, box.width, box.height);
    }
    for (const shown of app.querySelectorAll("canvas")) {
      const box = shown.getBoundingClientRect();
      if (!box.width || !box.height) continue;
      if (shown.id === "stage") fillBox(context, box.left, box.top, box.width, box.height, look.wall);
      context.drawImage(shown, box.left, box.top, box.width, box.height);
    }
    context.textBaseline = "middle";
    context.textAlign = "left";
    for (const words of app.querySelectorAll("h1, h2, .lane-name b, #note, #now b, #now span")) {
      const box = words.getBoundingClientRect();
      if (!box.width || !box.height) continue;
      const style = getComputedStyle(words);
      const text = words.tagName === "H2" ? words.firstChild.textContent : words.textContent;
      context.font = `${style.fontWeight} ${style.fontSize} ${FONT}`;
      context.fillStyle = style.color;
      const indent = parseFloat(style.paddingLeft) || 0;
      context.fillText(fitted(context, text.trim(), box.width), box.left + indent, box.top + box.height / 2);
    }
    const cursor = app.querySelector("#cursor").getBoundingClientRect();
    fillBox(context, cursor.left, cursor.top, 1.5, cursor.height, "#d55e00");
    return canvas;
  }

  save(blob, suffix) {
    if (!blob) return;
    const name = scene.title.replace(/[^\p{L}\p{N}_-]+/gu, "_").slice(0, 60) || "player";
    download(blob, `${name}.${suffix}`);
  }

  picture() { this.compose().toBlob((blob) => this.save(blob, "png"), "image/png"); }

  // Begin a film, which plays from the moment shown, or end it.
  film() {
    if (this.endRecording) return this.endFilm();
    if (!canRecord()) return this.onProblem("This browser records no films: take a picture, or another browser.");
    this.compose();
    const stream = this.canvas.captureStream(FILM_FPS);
    for (const track of this.clock.song?.tracks() ?? []) stream.addTrack(track);
    this.bytes = 0;
    this.endRecording = record(stream, (size) => { this.bytes += size; });
    this.looped = this.clock.loop;
    this.clock.loop = false;
    pressed(this.button, true);
    this.clock.play();
  }

  async endFilm() {
    const end = this.endRecording;
    this.endRecording = null;
    this.clock.loop = this.looped;
    this.clock.pause();
    pressed(this.button, false);
    const film = await end();
    this.save(film, film.type.includes("mp4") ? "mp4" : "webm");
  }

  // Once for each frame that the page has drawn.
  draw() {
    if (!this.endRecording) return;
    this.compose();
    if (!this.clock.playing) this.endFilm();
  }
}
