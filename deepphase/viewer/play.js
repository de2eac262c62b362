// The page: one clock, the views that draw its time, and the animation loop.

import { scene, look, useLook } from "./page_content.js";
import { arrayOf, Timed, Series, Body } from "./tracks/take_data.js";
import { Song, Clock } from "./timeline/clock.js";
import { chip, created, dot, element, pressed } from "./scene/elements.js";
import { shortNumber } from "./scene/surface2d.js";
import { SHOWS, Stage } from "./scene/stage.js";
import { Wheels } from "./tracks/wheels.js";
import { Manifold } from "./clouds/manifold.js";
import { CostTable } from "./tracks/costs.js";
import { ChannelChoice } from "./tracks/channel_choice.js";
import { lanesOf } from "./tracks/lane_kinds.js";
import { Lanes } from "./tracks/lanes.js";
import { Overview } from "./timeline/overview.js";
import { Capture } from "./scene/capture.js";
import { bindActions } from "./input/pointer.js";

// Milliseconds without a further change after which the moment is kept.
const REST_MS = 250;
// More channels than this get more room for their wheels.
const MANY_CHANNELS = 6;
// Frames of an arrow key with Shift, and actions of the keys.
const FEW = 10;
const KEYS = {
  " ": "play", k: "play", ArrowLeft: "step-back", ArrowRight: "step-on", Home: "first", End: "last", "[": "slower", "-": "slower",
  "]": "faster", "+": "faster", "=": "faster", f: "follow", l: "loop", p: "picture", v: "film", 0: "fit", PageUp: "take-before",
  PageDown: "take-after", "?": "keys",
};

// Show a text in an element; an empty one hides it.
const say = (id, text) => Object.assign(element(id), { textContent: text, hidden: !text });

const showMessage = (text) => say("message", text);

// Whether it is shown while the scripts of a page are read, which it leaves the processor to.
const isFirst = () => window.frameElement?.classList.contains("first-player");

function startPlayer(Lit) {
  let [requested, last, shownTake, take] = [false, 0, 0, null];

  const invalidate = () => {
    if (requested) return;
    requested = true;
    requestAnimationFrame(frame);
  };
  const clock = new Clock(invalidate);
  const stage = new Stage(element("stage"), invalidate, Lit && new Lit(invalidate, { waits: true }));
  const wheels = new Wheels(element("wheels"), invalidate);
  const manifold = new Manifold(element("manifold"), [element("manifold-2d"), element("manifold-3d")], invalidate);
  const costs = new CostTable((name) => bringForward(stage.bodies.find((body) => body.name === name)));
  const capture = new Capture(clock, showMessage);
  const onSeek = (time) => clock.seek(time);
  const lanes = new Lanes({ onSeek, onView: () => { overview.surface.stale = true; }, onChange: invalidate });
  const choice = new ChannelChoice(element("channel-choice"), (others = true) => {
    if (others) lanes.resize();
    stage.emphasis = emphasisOf(choice);
    invalidate();
  });
  const overview = new Overview({ lanes, onSeek, onChange: invalidate });

  function frame(now) {
    requested = false;
    const passed = last ? Math.min((now - last) / 1000, 0.1) : 0;
    clock.tick(now);
    const moving = stage.draw(clock.time, passed);
    for (const view of [wheels, manifold, costs, lanes, overview]) view.draw(clock.time);
    updateTexts();
    capture.draw();
    last = clock.playing || moving ? now : 0;
    if (clock.playing || moving) invalidate();
  }

  // Element -> its text, to write only what changes.
  const written = new Map();
  function write(id, text, put) {
    if (written.get(id) === text) return;
    written.set(id, text);
    put(element(id), text);
  }

  function updateTexts() {
    const put = (target, text) => { target.textContent = text; };
    const parts = [`${clock.time.toFixed(2)} s`, `of ${clock.duration.toFixed(2)} s`, `· frame ${clock.frame + 1} of ${clock.frames}`];
    write("now", parts.join(" "), (target) => target.replaceChildren(...parts.map((part, at) => created(at ? "span" : "b", {}, part))));
    write("speed", `${clock.speed}×`, put);
    write("play", clock.playing ? "Pause" : "Play", (target, text) => {
      target.setAttribute("aria-label", text);
      target.classList.toggle("playing", clock.playing);
    });
    write("loop", String(clock.loop), (target) => pressed(target, clock.loop));
    write("plain", stage.lit?.missing ?? "", (target, text) => say("plain", text));
    write("grid-size", stage.gridStep ? `grid ${shortNumber(stage.gridStep)} m` : "", put);
    if (!clock.playing || Math.round(clock.time * 2) !== written.get("slider")) {
      written.set("slider", Math.round(clock.time * 2));
      const row = element("overview-row");
      row.setAttribute("aria-valuenow", clock.time.toFixed(2));
      row.setAttribute("aria-valuetext", `${clock.time.toFixed(2)} seconds of ${clock.duration.toFixed(2)}`);
    }
  }

  function partsOf(described) {
    const bodies = described.actors.map((actor, index) => new Body(actor, index, described.actors.length === 1));
    const { channels: part } = described;
    let channels = null;
    if (part) {
      channels = new Timed(part, part.phase.shape[0]);
      channels.interior = arrayOf(part.interior);
      channels.jointShares = arrayOf(part.jointShares);
      if (channels.jointShares) channels.jointShares.joints = part.jointShares.shape[1];
      // Frames whose window reaches past the clip have amplitudes of their own, and set no scale.
      for (const name of ["phase", "frequency", "amplitude", "offset"]) channels[name] = new Series(part, part[name], channels.interior);
    }
    return { bodies, channels, gating: described.gating && new Series(described.gating, described.gating.weights) };
  }

  // Draw one of several ghosts as a solid body, and the others faint.
  function bringForward(body) {
    for (const each of stage.bodies) if (each.compared) each.ghost = each !== body;
    body.shown = true;
    pressed(element("actors").children[stage.bodies.indexOf(body)], true);
    for (const row of element("costs-rows").children) row.classList.toggle("marked", row.dataset.actor === body.name);
    invalidate();
  }

  // Bodies that are compared stand over each other: the first of several ghosts is forward.
  function compareGhosts() {
    const ghosts = stage.bodies.filter((body) => body.ghost);
    stage.compares = ghosts.length > 1;
    for (const body of stage.bodies) body.compared = body.ghost;
    fillActors(stage, invalidate, bringForward);
    costs.draw(0);
    if (stage.compares) bringForward(ghosts[0]);
  }

  function openTake(index) {
    shownTake = index;
    take = scene.takes[index];
    showMessage("");
    clock.pause();
    const parts = partsOf(take);
    const openCurves = () => {
      lanes.open(lanesOf({ take, ...parts, song }), clock.duration, take.markers);
      overview.open(take, clock.duration);
      invalidate();
    };
    const song = take.song && new Song(take.song, showMessage, (end) => {
      clock.duration = Math.max(take.duration, end);
      openCurves();
    });
    choice.open(parts.channels);
    stage.emphasis = emphasisOf(choice);
    clock.open(take, song);
    if (song) song.audio.volume = Number(element("volume").value);
    stage.open(parts.bodies, take.terrain);
    wheels.open(parts.channels);
    manifold.open(take.manifold);
    costs.open(take.costs);
    openCurves();
    compareGhosts();
    const { manifold: cloud } = take, { channels, bodies } = parts;
    const hidden = {
      "volume-label": !song, "manifold-card": !cloud, "manifold-axes": cloud?.path.shape[1] === 2, "costs-card": !take.costs,
      wheels: !channels, "wheels-card": !channels && Boolean(cloud || take.costs),
    };
    for (const [id, value] of Object.entries(hidden)) element(id).hidden = value;
    element("take").value = String(index);
    element("manifold-colours").textContent = cloud?.colourTitle ? `coloured by ${cloud.colourTitle}` : "";
    element("wheels-card").classList.toggle("many", (channels?.phase.columns ?? 0) > MANY_CHANNELS);
    element("app").classList.toggle("stage-only", !channels && !cloud && !take.costs && bodies.length > 0);
    say("note", take.note);
    say("wheels-empty", channels ? "" : "This clip has no phases. “deepphase play CLIP --model MODEL” adds those of a phase model.");
    say("stage-empty", bodies.length ? "" : "No skeleton in this clip.");
  }

  // The joints that the marked channel follows: their shares of movement, and its colour.
  function emphasisOf({ marked, channels }) {
    const shares = marked === null ? null : channels.jointShares;
    return shares && { shares: shares.subarray(marked * shares.joints, (marked + 1) * shares.joints), colour: channels.choice.style(marked).colour };
  }

  function tryToOpen(index) {
    try {
      openTake(index);
    } catch (problem) {
      showMessage(`This clip cannot be shown: ${problem.message}. Make the page again, or choose another clip.`);
      console.error(problem);
    }
  }

  const preferred = matchMedia("(prefers-color-scheme: dark)");
  let [chosenLook, printed] = [scene.look, false];
  function applyLook() {
    const dark = !printed && (chosenLook === "auto" ? preferred.matches : chosenLook === "dark");
    useLook(dark ? "dark" : "light");
    for (const name of ["page", "wall", "ink", "soft", "line"]) document.documentElement.style.setProperty(`--${name}`, look[name]);
    manifold.surface.redraw();
    overview.surface.redraw();
    costs.redraw();
    lanes.redraw();
    for (const [i, body] of stage.bodies.entries()) {
      const dot = element("actors").children[i]?.firstChild;
      if (dot) dot.style.background = body.colour;
    }
    invalidate();
  }
  preferred.addEventListener("change", applyLook);
  // Paper is white. What is printed is drawn at once: no animation frame comes before it.
  for (const [event, on] of [["beforeprint", true], ["afterprint", false]]) {
    addEventListener(event, () => {
      printed = on;
      applyLook();
      frame(performance.now());
    });
  }

  // Play while the page is in view, with finer bodies.
  function begin() {
    if (stage.lit) {
      stage.lit.waits = false;
      stage.lit.refineLater();
    }
    if (!scene.playing || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    if (clock.song) {
      // Sound waits for the reader, as browsers ask for.
      const { song } = clock, volume = element("volume"), { value } = volume;
      [song.silent, volume.value] = [true, 0];
      const beHeard = () => {
        if (!song.silent) return;
        song.silent = false;
        // Not where the reader has just set it.
        if (!Number(volume.value)) volume.value = value;
      };
      for (const event of ["pointerup", "keydown"]) addEventListener(event, beHeard, { once: true });
    }
    let [inView, desired] = [false, true];
    new IntersectionObserver((entries) => {
      const seen = entries[entries.length - 1].isIntersecting;
      if (seen === inView) return;
      inView = seen;
      if (!seen) {
        desired = clock.playing;
        clock.pause();
      } else if (desired) clock.play();
    }, { threshold: 0.05 }).observe(element("app"));
  }

  // The surrounding frame takes the height of the content, so that nothing hides in it.
  function fitFrame() {
    element("app").classList.add("embedded");
    const outer = window.frameElement;
    if (!outer) return;
    const app = element("app");
    new ResizeObserver(() => {
      const height = Math.ceil(app.getBoundingClientRect().height);
      if (height > 50) outer.style.height = `${height + 2}px`;
    }).observe(app);
    // A page that is printed smaller says so; its frames keep the width that they have been drawn in.
    addEventListener("beforeprint", () => {
      const zoom = getComputedStyle(outer).getPropertyValue("--printed-zoom");
      if (!zoom) return;
      app.style.width = `${app.getBoundingClientRect().width}px`;
      document.documentElement.style.zoom = zoom;
    });
    addEventListener("afterprint", () => { app.style.width = document.documentElement.style.zoom = ""; });
  }

  // The address of the surrounding page names the moment at which the reader has stopped.
  function keepMoment() {
    let waiting = 0;
    clock.onRest = () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        // Of several players in one place, the page keeps the moment of the shown one.
        if (window.frameElement?.hidden || isFirst()) return;
        const address = new URL(parent.location.href);
        address.searchParams.set("now", (scene.clipFrom + clock.time).toFixed(2));
        parent.history.replaceState(parent.history.state, "", address);
      }, REST_MS);
    };
  }

  const turnTake = (by) => {
    const count = scene.takes.length;
    if (count > 1) tryToOpen((shownTake + by + count) % count);
  };
  Object.assign(element("title"), { textContent: scene.title, title: scene.title });
  element("take").append(...scene.takes.map((each, index) => new Option(each.name, index)));
  element("takes").hidden = scene.takes.length < 2;
  element("take").addEventListener("change", () => {
    tryToOpen(Number(element("take").value));
    element("take").blur();
  });
  element("volume").addEventListener("input", () => {
    if (clock.song) clock.song.audio.volume = Number(element("volume").value);
  });
  document.addEventListener("visibilitychange", () => { last = clock.last = 0; });
  addChips(stage, invalidate);
  const actions = {
    first: () => clock.step(-clock.frames),
    last: () => clock.step(clock.frames),
    "step-back": (event) => clock.step(event.shiftKey ? -FEW : -1),
    "step-on": (event) => clock.step(event.shiftKey ? FEW : 1),
    play: () => clock.toggle(),
    loop: () => { clock.loop = !clock.loop; clock.onChange(); },
    slower: () => clock.changeSpeed(-1),
    faster: () => clock.changeSpeed(1),
    speed: () => clock.setSpeed(1),
    fit: () => lanes.showAll(),
    look: () => { chosenLook = look.dark ? "light" : "dark"; applyLook(); },
    picture: () => capture.picture(),
    film: () => capture.film(),
    keys: () => element("help").showModal(),
    "take-before": () => turnTake(-1),
    "take-after": () => turnTake(1),
    follow: () => stage.toggle("follow"),
  };
  // A clicked button loses the focus, so that the space key plays again.
  document.addEventListener("click", (event) => {
    if (event.detail > 0) event.target.closest?.("button")?.blur();
  });
  bindActions(element, actions, KEYS, ({ target }) => element("help").open || target.matches?.("select, input"));
  element("app").hidden = false;
  applyLook();
  if (scene.embedded) fitFrame();
  element("app").classList.toggle("bare", Boolean(scene.bare));
  if (scene.takes.length) {
    tryToOpen(0);
    clock.seek(scene.at);
    if (scene.embedded && scene.clipFrom !== null) keepMoment();
    if (!isFirst()) begin();
  } else {
    element("app").classList.add("nothing");
    showMessage("Nothing to play: this page has no clip. “deepphase play CLIP” makes a page with yours.");
  }

  // Interface for a surrounding page and for tests.
  window.deepphasePlayer = {
    state: () => ({
      time: clock.time, frame: clock.frame, frames: clock.frames, duration: clock.duration,
      playing: clock.playing, speed: clock.speed, loop: clock.loop, take: shownTake,
      view: [lanes.from, lanes.to], plot: [lanes.left, lanes.right],
      camera: { yaw: stage.camera.yaw, pitch: stage.camera.pitch, distance: stage.camera.distance, target: [...stage.camera.target] },
      songTime: clock.song ? clock.song.time : null, songRuns: Boolean(clock.song?.running),
      shows: { ...stage.shows }, dark: look.dark, filmed: capture.bytes,
    }),
    time: () => clock.time,
    begin,
    play: () => clock.play(),
    pause: () => clock.pause(),
    seek: (time) => clock.seek(time),
    // Position of a joint at the time cursor, in the world and in pixels of the stage.
    joint: (actor, joint) => {
      const body = stage.bodies[actor];
      const world = [...body.poseAt(clock.time).slice(3 * joint, 3 * joint + 3)];
      return { world, screen: [...stage.camera.project(...world)] };
    },
    // Whether a picture with the bodies has been drawn, or one of a page that has none.
    isDrawn: () => Boolean(stage.isDrawn || !scene.takes.length),
  };
}

// Buttons for the layers in space.
function addChips(stage, onChange) {
  stage.toggle = (key) => {
    stage.shows[key] = !stage.shows[key];
    pressed(chips[key], stage.shows[key]);
    onChange();
    return stage.shows[key];
  };
  const chips = Object.fromEntries(SHOWS.map(([key, words, letter]) =>
    [key, chip([words], stage.shows[key], () => stage.toggle(key), letter ? { title: `${words} (${letter})` } : {})]));
  element("shows").append(...Object.values(chips));
}

// A button for each body, where there are several. Of several ghosts it brings one forward, and hides that.
function fillActors(stage, onChange, bringForward) {
  const box = element("actors");
  box.hidden = stage.bodies.length < 2;
  box.replaceChildren(...stage.bodies.map((body) =>
    chip([dot(body.colour), created("span", {}, body.name)], true, () => {
      if (!body.shown || !body.ghost || !stage.compares) body.shown = !body.shown;
      if (body.shown && stage.compares && body.compared) bringForward(body);
      onChange();
      return body.shown;
    }, { title: stage.compares && body.compared ? "Bring this body forward; again to hide it" : "Show or hide this body" })));
}

// Start the page; with the class of its lit bodies, which pages without any leave out.
export function play(Lit = null) {
  try {
    startPlayer(Lit);
  } catch (problem) {
    element("app").hidden = false;
    showMessage(`The player cannot start: ${problem.message}. Make the page again, or open it in a newer browser.`);
    console.error(problem);
  }
}
