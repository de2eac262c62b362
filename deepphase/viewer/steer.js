// The page: it reads the asset, runs the loop, and connects keys and buttons to the character.

import { Heightmap } from "./runtime/heightmap.js";
import { GROUND_KINDS, generatedGround } from "./runtime/generated_ground.js";
import { readAsset } from "./runtime/asset.js";
import { Driver, firstLabel, sampleFrames } from "./input/driver.js";
import { Input, isTyping } from "./input/input.js";
import { bindActions, onDrag, onTurn } from "./input/pointer.js";
import { paint, readBody } from "./body/skin.js";
import { bvhText, glbBytes } from "./body/save.js";
import { bytesOf, canRecord, chip, created, download, element, pressed, record } from "./scene/elements.js";
import { look, scene, useLook } from "./page_content.js";
import { View } from "./scene/view.js";
import { MOST_CHARACTERS } from "./scene/renderer.js";
import { clamp } from "./vectors.js";

// After a hidden tab or a long picture, at most this much time is made up for.
const MOST_S = 0.25;
const SLOW_MOTION = 0.25;
// The ground in the list that the page was made with.
const GIVEN = "given";
const KINDS = { controller: "controller", matcher: "learned motion matching" };
const MESSAGE_MS = 4000, ERROR_MS = 15_000;
// Pictures of a video, at least.
const LEAST_PICTURES = 12;
// Code or character of a key -> id of its action; buttons of a gamepad -> the same. Labels have the keys 1 to 9.
const KEYS = {
  KeyC: "behind", KeyF: "facing", KeyG: "slow", KeyR: "reset", KeyV: "keep", KeyH: "help", " ": "pause", ",": "back", ".": "forward", "+": "more", "-": "fewer", "?": "help",
  ...Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8, 9].map((key) => [key, `label-${key}`])),
};
const PAD_ACTIONS = ["pause", "reset"];
// Seconds of the past that the panels show.
const TRAIL_S = 4;

class App {
  constructor(asset, options, heights) {
    const el = new Proxy({}, { get: (found, id) => (found[id] ??= element(id)) });
    Object.assign(this, { el, asset, options, look: matchMedia("(prefers-color-scheme: dark)") });
    this.setLook(document.documentElement.dataset.look);
    this.view = new View(el, asset, sampleFrames(asset, firstLabel(asset)));
    const sizes = new ResizeObserver(() => {
      const { style } = document.documentElement;
      style.setProperty("--bar", `${el.bar.offsetHeight}px`);
      style.setProperty("--head", `${el.title.closest("header").offsetHeight}px`);
      this.view.measure();
    });
    for (const watched of [el.stage, el.bar, el.side]) sizes.observe(watched);
    this.view.measure();
    this.driver = new Driver(asset, this.view.size.unit * 1.75);
    this.history = this.driver.history;
    this.input = new Input(el.stick);
    Object.assign(this, { paused: false, facesMouse: false, recording: null, mouse: null, last: null, owed: 0, pictures: 0, grounds: 0 });
    // Number of the first frame that is recorded to be kept, and index into the history that is shown; null for none and the present.
    this.keptFrom = this.shownIndex = null;
    this.step();
    this.step();
    this.write();
    this.connect();
    this.beginOnGround(options.ground, heights);
    requestAnimationFrame((now) => this.tick(now));
  }

  // Names and labels of the asset.
  write() {
    const { asset, el, options: { choices, chosen, keeps } } = this;
    el.note.textContent = [
      KINDS[asset.kind], `${asset.skeleton.names.length} joints`, asset.phases && `${asset.phases.channels} phase channels`,
      asset.experts > 1 && `${asset.experts} experts`, `${Math.round(asset.frameRate)} Hz`,
    ].filter(Boolean).join(" · ");
    const keyed = (key, text) => `<kbd>${key}</kbd> ${text}`;
    el.hint.innerHTML = [keyed("W A S D", "walk"), keyed("Shift", "run"), "drag to turn the camera", keyed("?", "help")].join(" &nbsp; ");
    const labels = asset.labels?.values ?? [];
    el.labels.hidden = labels.length < 2;
    el.labels.append(...labels.map((value, index) => {
      const key = index < 9 ? [created("kbd", {}, `${index + 1}`)] : [];
      return chip([String(value).replaceAll("_", " "), ...key], value === firstLabel(asset), () => this.setLabel(index));
    }));
    el["ground-kind"].append(...GROUND_KINDS.map((kind) => new Option(kind)));
    el["save-video"].disabled = !canRecord();
    el.keep.hidden = !keeps;
    // Another character is another page, which is loaded when it is chosen.
    el.chooser.append(...choices.map(([name, address]) => new Option(name, address, false, name === chosen)));
    el.chooser.hidden = choices.length < 2;
    el.chooser.addEventListener("change", () => location.assign(el.chooser.value));
  }

  connect() {
    const { el, view } = this;
    this.actions = {
      pause: () => this.setPaused(!this.paused),
      back: () => this.show((this.shownIndex ?? this.history.count - 1) - 1),
      forward: () => this.forward(),
      live: () => this.goLive(),
      reset: () => this.reset(),
      behind: () => pressed(el.behind, view.camera.behind = !view.camera.behind),
      help: () => el.keys.showModal(),
      close: () => el.keys.close(),
      look: () => this.setLook(look.dark ? "light" : "dark"),
      "save-bvh": () => this.download(bvhText(this.asset.skeleton, this.driven(), this.asset.frameRate), ".bvh", "text/plain"),
      "save-glb": () => this.saveGlb(),
      "save-video": () => (this.recording ? this.endVideo() : this.saveVideo()),
      keep: () => this.options.keeps && (this.keptFrom === null ? this.beginKeeping() : this.endKeeping()),
      slow: () => { el.speed.value = Number(el.speed.value) < 1 ? 1 : SLOW_MOTION; },
      facing: () => {
        this.facesMouse = !this.facesMouse;
        this.say(this.facesMouse ? "faces the mouse" : "faces its way");
      },
      more: () => this.setCount(this.driver.characters.length + 1),
      fewer: () => this.setCount(this.driver.characters.length - 1),
      body: () => el["body-file"].click(),
      ...Object.fromEntries([...el.labels.children].map((_, index) => [`label-${index + 1}`, () => this.setLabel(index)])),
    };
    bindActions(element, this.actions, KEYS, ({ target }) => isTyping(target));
    el.count.addEventListener("change", () => this.setCount(Number(el.count.value)));
    el["ground-kind"].addEventListener("change", () => this.setGround(el["ground-kind"].value));
    // The keys belong to the character again.
    for (const id of ["count", "speed", "ground-kind"]) el[id].addEventListener("change", () => el[id].blur());
    el.time.addEventListener("input", () => this.show(Number(el.time.value)));
    for (const button of el.views.querySelectorAll("[data-view]")) {
      button.addEventListener("click", () => {
        const { view: name } = button.dataset;
        pressed(button, view.shown[name] = !view.shown[name]);
        el.side.hidden = !view.shown.panels;
      });
    }
    this.look.addEventListener("change", () => this.setLook("auto"));
    this.input.onPadButton = (button) => this.onPadButton(button);
    this.connectBody();
    this.connectStage();
    onDrag(el.manifold, { move: (event, dx, dy) => view.panels.plot.camera.turn(dx, dy) });
  }

  // A body is a file that is chosen, or dropped onto the page.
  connectBody() {
    const { body, "body-file": input } = this.el;
    const open = async (file) => file && this.setBody(new Uint8Array(await file.arrayBuffer()), file.name);
    input.addEventListener("change", () => {
      open(input.files[0]);
      input.value = "";
      body.blur();
    });
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      open(event.dataTransfer?.files[0]);
    });
  }

  // Show the skinned mesh of a glb file in place of the mannequin.
  async setBody(bytes, name) {
    try {
      const mesh = readBody(bytes, this.asset.skeleton);
      await paint(mesh);
      this.view.setBody(mesh);
      this.say(`${name}: ${mesh.matched} of ${this.asset.skeleton.names.length} joints`);
    } catch (problem) {
      this.say(`${name} cannot be the body: ${problem.message}`, ERROR_MS);
    }
  }

  connectStage() {
    const { stage } = this.el;
    const place = (event) => { this.mouse = event.pointerType === "mouse" ? [event.clientX, event.clientY] : null; };
    for (const [name, looks] of [["pointerdown", true], ["pointerup", false]]) {
      stage.addEventListener(name, ({ button }) => { if (button === 2) this.looks = looks; });
    }
    stage.addEventListener("pointerdown", place);
    stage.addEventListener("pointermove", (event) => event.pointerType === "mouse" && place(event));
    stage.addEventListener("contextmenu", (event) => event.preventDefault());
    onTurn(stage, this.view.camera, { active: (event) => event.type === "wheel" || !this.looks, keys: false });
  }

  onPadButton(button) {
    const labels = this.asset.labels?.values ?? [];
    const now = Math.max(labels.indexOf(this.driver.label), 0);
    const turned = { 4: labels.length - 1, 5: 1 }[button];
    if (turned && labels.length) this.setLabel((now + turned) % labels.length);
    this.actions[PAD_ACTIONS[button]]?.();
  }

  setLook(name) {
    useLook(name === "light" || name === "dark" ? name : this.look.matches ? "dark" : "light");
  }

  setLabel(index) {
    this.driver.label = this.asset.labels.values[index];
    [...this.el.labels.children].forEach((button, at) => pressed(button, at === index));
    return true;
  }

  // Walk on the ground that the page was made with: the name of a kind, or a map's name and grid.
  beginOnGround(ground, heights) {
    const select = this.el["ground-kind"];
    if (!ground) return;
    if (ground.columns) {
      this.givenGround = new Heightmap(heights, ground.columns, ground.spacing, ground.origin);
      select.add(new Option(ground.name, GIVEN), 1);
    }
    select.value = ground.columns ? GIVEN : ground;
    this.setGround(select.value);
  }

  // Walk on ground of a kind, which differs each time; on a flat floor without a kind.
  setGround(kind) {
    const map = kind === GIVEN ? this.givenGround : kind ? generatedGround(kind, this.grounds++) : null;
    this.driver.setGround(map);
    this.view.setGround(map);
    this.reset();
  }

  setPaused(paused) {
    if (!paused && this.shownIndex !== null) return this.goLive();
    this.paused = paused;
  }

  setCount(count) {
    const desired = clamp(Math.round(count) || 1, 1, MOST_CHARACTERS);
    this.driver.setCount(desired);
    this.el.count.value = desired;
  }

  reset() {
    this.driver.reset();
    this.step();
    this.step();
    if (this.keptFrom !== null) this.keptFrom = 0;
    this.goLive();
    this.view.camera.jump([0, 0]);
  }

  // Show a frame of the past, and pause.
  show(index) {
    if (this.recording) return;
    this.paused = true;
    this.shownIndex = clamp(index, 0, this.history.count - 1);
  }

  forward() {
    if (this.shownIndex !== null && this.shownIndex < this.history.count - 1) return this.show(this.shownIndex + 1);
    this.setPaused(true);
    this.step();
    this.shownIndex = this.history.count - 1;
  }

  goLive() { Object.assign(this, { shownIndex: null, paused: false, owed: 0 }); }

  say(text, time = MESSAGE_MS) {
    this.el.status.textContent = text;
    clearTimeout(this.saying);
    this.saying = setTimeout(() => { this.el.status.textContent = ""; }, time);
  }

  // Velocity (x, z) in m/s and facing that the user asks for.
  desired() {
    const { move, look: aim, turn, analog, fast } = this.input.read();
    const { camera } = this.view;
    if (turn[0] || turn[1]) camera.turn(-6 * turn[0], -4 * turn[1]);
    const { right, away } = camera.ground();
    const onGround = ([x, y]) => [0, 1].map((a) => right[a] * x + away[a] * y);
    const { walk = 1.2, run = 2.5 } = this.asset.speeds ?? {};
    const speed = analog || fast ? run : walk;
    const velocity = onGround(move).map((v) => v * speed);
    if (velocity[0] || velocity[1]) this.el.hint.classList.add("gone");
    return { velocity, facing: aim ? onGround(aim) : this.mouseFacing() };
  }

  mouseFacing() {
    if (!this.mouse || !(this.looks || this.facesMouse)) return null;
    const box = this.el.stage.getBoundingClientRect();
    const ground = this.view.camera.onGround((this.mouse[0] - box.left) / box.width, (this.mouse[1] - box.top) / box.height);
    if (!ground) return null;
    const { position } = this.driver.characters[0].frame.root;
    const way = [ground[0] - position[0], ground[1] - position[1]];
    return Math.hypot(...way) > 0.05 ? way : null;
  }

  step() {
    const { velocity, facing } = this.desired();
    this.driver.step(velocity, facing);
  }

  tick(now) {
    const seconds = this.last === null ? 0 : Math.min((now - this.last) / 1000, MOST_S);
    this.last = now;
    this.pictures++;
    if (this.recording) this.playBack(seconds);
    else if (!this.paused) this.advance(seconds * Number(this.el.speed.value));
    else this.input.read();
    this.draw(seconds);
    requestAnimationFrame((next) => this.tick(next));
  }

  // Steps of the asset's rate, however often pictures are drawn.
  advance(seconds) {
    this.owed += seconds * this.asset.frameRate;
    for (; this.owed >= 1; this.owed -= 1) this.step();
  }

  draw(seconds) {
    const { history } = this;
    const last = this.shownIndex ?? history.count - 1;
    const still = this.shownIndex !== null || this.paused;
    const from = Math.max(0, last + 1 - Math.round(TRAIL_S * history.frameRate));
    this.view.draw({
      before: history.at(Math.max(last - 1, 0)).frames,
      now: history.at(last).frames,
      part: still ? 1 : this.owed,
      trail: history.range(from, last + 1).map((entry) => entry.frames[0]),
      seconds,
    });
    this.writeTime(last);
  }

  writeTime(last) {
    const { el, history, paused, shownIndex } = this;
    const put = (target, name, value) => { if (target[name] !== value) target[name] = value; };
    // Its end is the present: without a graphics card, a slider in every picture is a good part of it.
    if (shownIndex !== null || paused || this.pictures % 8 === 0) el.time.max = history.count - 1;
    el.time.value = last;
    const back = (history.count - 1 - last) / history.frameRate;
    put(el.clock, "textContent", shownIndex === null ? (paused ? "paused" : "live") : `−${back.toFixed(2)} s`);
    put(el.live, "hidden", shownIndex === null || Boolean(this.recording));
    if (this.saidPaused !== paused) {
      this.saidPaused = paused;
      pressed(el.pause, paused);
      el.pause.setAttribute("aria-label", paused ? "Continue" : "Pause");
    }
    if (this.keptFrom !== null) el.keep.textContent = `Stop ${this.keptSeconds().toFixed(0)} s`;
    const { row } = history.at(last).frames[0];
    put(el.row, "textContent", row ? `${row.clip} ${row.time.toFixed(2)} s` : "");
  }

  // Record from the present on; the last minute is kept, so that is the most.
  beginKeeping() {
    this.goLive();
    this.keptFrom = this.history.last.number;
    pressed(this.el.keep, true);
    this.say("recording: press again to keep it");
  }

  keptSeconds() {
    const { last, count, frameRate } = this.history;
    return Math.min(last.number - this.keptFrom + 1, count) / frameRate;
  }

  // Hand what was recorded to the page around or to the server, which says where it is.
  async endKeeping() {
    const { keeps } = this.options;
    const run = this.drivenRun(this.history.count - Math.round(this.keptSeconds() * this.history.frameRate));
    this.keptFrom = null;
    pressed(this.el.keep, false);
    this.el.keep.textContent = "Record";
    if (keeps === "page") {
      parent.postMessage({ driven: JSON.stringify(run) }, "*");
      return this.say("kept");
    }
    this.say("saving");
    try {
      const answer = await fetch(keeps, { method: "POST", body: run.bvh });
      this.say(await answer.text(), ERROR_MS);
    } catch (problem) {
      this.say(`not kept, the server does not answer: ${problem.message}`, ERROR_MS);
    }
  }

  // Frames of the first character, from an index on.
  driven(from = 0) { return this.history.range(from).map((entry) => entry.frames[0]); }

  // What was driven, with the goals of every frame, for the page around.
  drivenRun(from = 0) {
    const frames = this.driven(from), goals = this.history.range(from).map(({ goal }) => goal);
    return {
      bvh: bvhText(this.asset.skeleton, frames, this.asset.frameRate),
      positions: frames.map(({ root }) => root.position),
      angles: frames.map(({ root }) => root.heading),
      contacts: frames.map(({ contacts }) => Array.from(contacts)),
      velocities: goals.map(({ velocity }) => velocity),
      facings: goals.map(({ facing }) => facing),
    };
  }

  download(content, suffix, type) {
    const name = `${this.options.name || "driven"}${suffix}`;
    download(content instanceof Blob ? content : new Blob([content], { type }), name);
    this.say(`saved ${name}`);
  }

  saveGlb() {
    const { skeleton, frameRate } = this.asset;
    const bytes = glbBytes(skeleton, this.driven(), frameRate, this.view.fineMesh(), this.view.tint(0)[0]);
    this.download(bytes, ".glb", "model/gltf-binary");
  }

  // Play the history back from its beginning, or from the frame that is shown, and record it.
  saveVideo() {
    const from = this.shownIndex !== null && this.shownIndex < this.history.count - 1 ? this.shownIndex : 0;
    this.recording = { end: record(this.el.stage.captureStream(60)), at: from, pictures: 0 };
    this.shownIndex = from;
    this.el["save-video"].textContent = "Stop";
    this.view.camera.jump(this.history.at(from).frames[0].root.position);
  }

  playBack(seconds) {
    const { recording, history } = this;
    recording.at += seconds * history.frameRate;
    recording.pictures++;
    this.shownIndex = Math.min(Math.floor(recording.at), history.count - 1);
    this.el.status.textContent = `recording ${Math.round((100 * (this.shownIndex + 1)) / history.count)} %`;
    // The recorder needs some pictures before it writes any, however short the motion is.
    if (recording.at >= history.count - 1 && recording.pictures > LEAST_PICTURES) this.endVideo();
  }

  async endVideo() {
    const { end } = this.recording;
    this.recording = null;
    this.goLive();
    this.el["save-video"].textContent = "WebM";
    const video = await end();
    if (video.size) this.download(video, video.type.includes("mp4") ? ".mp4" : ".webm");
    else this.say("this browser recorded nothing");
  }

  // State of the page, for tests and for the page around it.
  state() {
    const index = this.shownIndex ?? this.history.count - 1;
    const { frames: [{ root, positions }], goal } = this.history.at(index);
    return {
      index, goal, count: this.history.count, pictures: this.pictures, paused: this.paused, label: this.driver.label,
      position: root.position, heading: root.heading, height: positions[1],
      characters: this.driver.characters.map(({ frame }) => frame.root.position),
    };
  }
}

async function start() {
  const asset = await readAsset(bytesOf(element("asset").textContent).buffer);
  const body = bytesOf(element("body-data").textContent);
  const heights = new Float32Array(bytesOf(element("ground-data").textContent).buffer);
  for (const id of ["asset", "body-data", "ground-data"]) element(id).remove();
  const app = new App(asset, scene, heights);
  window.deepphaseLive = app;
  if (body.length) await app.setBody(body, scene.body);
}

start().catch((problem) => {
  const words = `The character could not be shown: ${problem.message}`;
  element("app").replaceChildren(created("p", { className: "message" }, words));
  throw problem;
});
