// What pointers, wheel and keys do to an element: drags, and cameras that turn.

import { clamp } from "../vectors.js";

// Pixels of a drag that one press of a key stands for, and the zoom of one and of a pixel of the wheel.
const KEY_PX = 12, KEY_ZOOM = 0.1, WHEEL_ZOOM = 0.0015;
const TURNS = { a: [-1, 0], d: [1, 0], w: [0, 1], s: [0, -1] }, ZOOMS = { q: -1, e: 1 };

// Dragging: `move(event, dx, dy, others)` for each step, with the places of further fingers; `start` before and `end`
// after it, if given.
export function onDrag(element, { start, move, end }) {
  const places = new Map();
  element.addEventListener("pointerdown", (event) => {
    if (event.button === 1) return;
    places.set(event.pointerId, [event.clientX, event.clientY]);
    element.setPointerCapture(event.pointerId);
    start?.(event);
  });
  element.addEventListener("pointermove", (event) => {
    const last = places.get(event.pointerId);
    if (!last) return;
    const now = [event.clientX, event.clientY];
    places.set(event.pointerId, now);
    const others = [...places].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    move(event, now[0] - last[0], now[1] - last[1], others);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    element.addEventListener(name, (event) => places.delete(event.pointerId) && end?.(event));
  }
}

// An element turns a camera by drags, zooms it by the wheel and by two fingers, and with `keys` by W A S D and Q E. `pan`
// is called for drags with Shift or the right button; `active` says whether any of it counts now.
export function onTurn(element, camera, { onChange = () => {}, pan = null, active = () => true, keys = true } = {}) {
  const change = (event, act) => {
    if (!active(event)) return;
    act();
    onChange();
  };
  onDrag(element, {
    move: (event, dx, dy, [other]) => change(event, () => {
      const gap = (x, y) => Math.hypot(x - other[0], y - other[1]) || 1;
      if (other) camera.zoom(Math.log(gap(event.clientX - dx, event.clientY - dy) / gap(event.clientX, event.clientY)));
      else if (pan && (event.buttons & 2 || event.shiftKey)) pan(dx, dy);
      else camera.turn(dx, dy);
    }),
  });
  element.addEventListener("wheel", (event) => change(event, () => {
    event.preventDefault();
    camera.zoom(clamp(event.deltaY, -100, 100) * WHEEL_ZOOM);
  }), { passive: false });
  if (!keys) return;
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [turn, zoom] = [TURNS, ZOOMS].map((each) => each[event.key.toLowerCase()]);
    if (turn) change(event, () => camera.turn(KEY_PX * turn[0], KEY_PX * turn[1]));
    else if (zoom) change(event, () => camera.zoom(KEY_ZOOM * zoom));
  });
}

// Buttons and keys run actions: `actions` by the ids of buttons, and `keys` (codes or characters) to these ids; without
// the keys of events that the page `ignores`.
export function bindActions(element, actions, keys, ignores) {
  for (const [id, act] of Object.entries(actions)) element(id)?.addEventListener("click", act);
  document.addEventListener("keydown", (event) => {
    const { code, key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || ignores(event)) return;
    // Space presses a focused button, as everywhere.
    if (key === " " && target.matches?.("button")) return;
    const act = actions[keys[code] ?? keys[key.length === 1 ? key.toLowerCase() : key]];
    if (!act) return;
    event.preventDefault();
    act(event);
  });
}
