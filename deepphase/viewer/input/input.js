// What the user wants: direction and speed out of keys, mouse, gamepad and the touch stick.

import { onDrag } from "./pointer.js";

const MOVES = {
  KeyW: [0, 1], ArrowUp: [0, 1], KeyS: [0, -1], ArrowDown: [0, -1],
  KeyA: [-1, 0], ArrowLeft: [-1, 0], KeyD: [1, 0], ArrowRight: [1, 0],
};
// Deflections below this are the rest position of a worn stick.
const DEAD_ZONE = 0.15;
const TYPING = /^(INPUT|SELECT|TEXTAREA)$/;

export const isTyping = (target) => TYPING.test(target?.tagName ?? "") && target.type !== "range";

// A stick's deflection without its dead zone, at most 1 long.
function deflection(x, y) {
  const size = Math.hypot(x, y);
  if (size < DEAD_ZONE) return [0, 0];
  const scale = Math.min((size - DEAD_ZONE) / (1 - DEAD_ZONE), 1) / size;
  return [x * scale, y * scale];
}

export class Input {
  constructor(stick) {
    Object.assign(this, { keys: new Set(), fast: false, touch: [0, 0], pads: new Map(), onPadButton: () => {} });
    addEventListener("keydown", (event) => {
      this.fast = event.shiftKey;
      if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey || !MOVES[event.code]) return;
      // Arrow keys move a slider that has the focus.
      if (event.target.type === "range" && event.code.startsWith("Arrow")) return;
      this.keys.add(event.code);
      event.preventDefault();
    });
    addEventListener("keyup", (event) => {
      this.fast = event.shiftKey;
      this.keys.delete(event.code);
    });
    addEventListener("blur", () => this.keys.clear());
    this.readStick(stick);
  }

  readStick(stick) {
    const knob = stick.firstElementChild;
    const move = (event) => {
      const box = stick.getBoundingClientRect();
      const x = (2 * (event.clientX - box.left)) / box.width - 1;
      const y = 1 - (2 * (event.clientY - box.top)) / box.height;
      this.touch = deflection(x, y);
      const size = Math.max(1, Math.hypot(x, y));
      knob.style.transform = `translate(${(30 * x) / size}px, ${(-30 * y) / size}px)`;
    };
    onDrag(stick, {
      start: (event) => {
        move(event);
        event.preventDefault();
      },
      move,
      end: () => {
        this.touch = [0, 0];
        knob.style.transform = "";
      },
    });
  }

  // Deflection (right, ahead), that of the second stick or null, and whether shift is held.
  read() {
    const [x, y] = [0, 1].map((axis) => [...this.keys].reduce((sum, code) => sum + MOVES[code][axis], 0));
    const size = Math.hypot(x, y);
    let move = size > 0 ? [x / size, y / size] : [0, 0];
    let [analog, look, turn] = [false, null, [0, 0]];
    if (Math.hypot(...this.touch) > 0) [move, analog] = [this.touch, true];
    for (const pad of navigator.getGamepads?.() ?? []) {
      if (!pad?.connected) continue;
      const left = deflection(pad.axes[0] ?? 0, -(pad.axes[1] ?? 0));
      if (Math.hypot(...left) > 0) [move, analog] = [left, true];
      const right = deflection(pad.axes[2] ?? 0, -(pad.axes[3] ?? 0));
      if (Math.hypot(...right) > 0) {
        // The second stick gives the facing; with the left trigger, it turns the camera.
        if (pad.buttons[6]?.pressed) turn = right;
        else look = right;
      }
      this.readButtons(pad);
    }
    return { move, look, turn, analog, fast: this.fast };
  }

  readButtons(pad) {
    const before = this.pads.get(pad.index) ?? [];
    const now = pad.buttons.map((button) => button.pressed);
    now.forEach((pressed, at) => pressed && !before[at] && this.onPadButton(at));
    this.pads.set(pad.index, now);
  }
}
