// Buttons and keys.

import { SHOWS } from "../scene/stage.js";

const FEW = 10;

export function pressed(button, on) {
  button.setAttribute("aria-pressed", on);
}

export function addControls({ clock, stage, lanes, capture, element, turnTake, toggleLook }) {
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
  };
  for (const [id, act] of Object.entries(actions)) element(id).addEventListener("click", act);
  // A clicked button loses the focus, so that the space key plays again.
  document.addEventListener("click", (event) => {
    if (event.detail > 0) event.target.closest?.("button")?.blur();
  });

  const keys = {
    " ": actions.play,
    k: actions.play,
    ArrowLeft: actions["step-back"],
    ArrowRight: actions["step-on"],
    Home: actions.first,
    End: actions.last,
    "[": actions.slower,
    "-": actions.slower,
    "]": actions.faster,
    "+": actions.faster,
    "=": actions.faster,
    f: () => stage.toggle("follow"),
    l: actions.loop,
    p: actions.picture,
    v: actions.film,
    0: actions.fit,
    PageUp: actions["take-before"],
    PageDown: actions["take-after"],
    "?": actions.keys,
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || element("help").open) return;
    const { target } = event;
    if (target.matches?.("select, input")) return;
    // Space presses a focused button, as everywhere.
    if (event.key === " " && target.matches?.("button")) return;
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act(event);
  });
}

// Buttons for the layers in space, and for each body.
export function addChips(stage, element, onChange) {
  const shows = element("shows");
  const chips = {};
  for (const [key, words, letter] of SHOWS) {
    const chip = document.createElement("button");
    chip.type = "button";
    chip.textContent = words;
    if (letter) chip.title = `${words} (${letter})`;
    chip.addEventListener("click", () => stage.toggle(key));
    shows.append(chip);
    chips[key] = chip;
    pressed(chip, stage.shows[key]);
  }
  stage.toggle = (key) => {
    stage.shows[key] = !stage.shows[key];
    pressed(chips[key], stage.shows[key]);
    onChange();
  };
}

export function fillActors(stage, element, onChange) {
  const box = element("actors");
  box.replaceChildren();
  box.hidden = stage.bodies.length < 2;
  for (const body of stage.bodies) {
    const chip = document.createElement("button");
    const dot = document.createElement("span");
    chip.type = "button";
    chip.title = "Show or hide this body";
    dot.className = "dot";
    dot.style.background = body.colour;
    const words = document.createElement("span");
    words.textContent = body.name;
    chip.append(dot, words);
    pressed(chip, true);
    chip.addEventListener("click", () => {
      body.shown = !body.shown;
      pressed(chip, body.shown);
      onChange();
    });
    box.append(chip);
  }
}
