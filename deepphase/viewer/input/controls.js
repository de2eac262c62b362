// Buttons and keys.

import { chip, created, dot, element, pressed } from "../scene/elements.js";
import { bindActions } from "./pointer.js";
import { SHOWS } from "../scene/stage.js";

const FEW = 10;
const KEYS = {
  " ": "play", k: "play", ArrowLeft: "step-back", ArrowRight: "step-on", Home: "first", End: "last", "[": "slower", "-": "slower",
  "]": "faster", "+": "faster", "=": "faster", f: "follow", l: "loop", p: "picture", v: "film", 0: "fit", PageUp: "take-before",
  PageDown: "take-after", "?": "keys",
};

export function addControls({ clock, stage, lanes, capture, turnTake, toggleLook }) {
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
    look: toggleLook,
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
}

// Buttons for the layers in space.
export function addChips(stage, onChange) {
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
export function fillActors(stage, onChange, bringForward) {
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
