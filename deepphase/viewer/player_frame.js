// The players of a page: a new one takes the place of the old when it has drawn, and some old ones are kept.

import { componentOf } from "./input/component.js";

// Players that are kept beside the shown one, and milliseconds after which one is shown though it has not drawn.
const KEPT = 3, LATEST_MS = 8000, LOOK_MS = 30;

// The frame that a page brings along while its scripts are read.
const firstPlayer = () => document.querySelector("body > iframe.first-player");

const playerOf = (frame) => {
  try {
    return frame?.contentWindow?.deepphasePlayer ?? null;
  } catch {
    return null;
  }
};

class PlayerFrame {
  constructor(root) {
    this.root = root;
    // The newest is the last.
    this.frames = [];
    // The clip that a click asked the page for; null once the page plays another.
    this.asked = null;
    // For clouds of the page, and for tests.
    root.deepphaseFrames = window.deepphasePlayers = this;
  }

  // Once for each run of the page: `id` names what `page`, the HTML of a player, plays.
  show({ id, page, clip, height, at }) {
    window.deepphasePlayers = this;
    this.asked = null;
    if (this.desired === id) return;
    this.desired = id;
    const known = this.frames.find((frame) => frame.id === id);
    if (known) {
      this.put(known);
      if (clip) playerOf(known)?.seek(at);
      return;
    }
    const adopted = this.adopted(id), frame = adopted ?? document.createElement("iframe");
    Object.assign(frame, { id, title: "Player" });
    frame.deepphaseClip = clip;
    if (!adopted) {
      frame.style.height = `${this.shown?.offsetHeight || height}px`;
      if (this.shown || firstPlayer()) frame.classList.add("next");
      frame.srcdoc = page;
      this.root.append(frame);
    }
    this.frames.push(frame);
    if (adopted || !(this.shown || firstPlayer())) {
      this.put(frame);
      return;
    }
    const began = performance.now();
    const look = () => {
      if (this.desired !== id || !frame.isConnected) return;
      if (playerOf(frame)?.isDrawn() || performance.now() > began + LATEST_MS) this.put(frame);
      else setTimeout(look, LOOK_MS);
    };
    look();
  }

  // The frame that came with the page, moved here where it plays the same; one that plays something else stays over the
  // page until this has drawn.
  adopted(id) {
    const first = firstPlayer(), name = first?.contentDocument?.documentElement.dataset.player;
    if (name !== id || !this.root.moveBefore || !this.root.isConnected) {
      if (!playerOf(first)) first?.remove();
      return null;
    }
    this.root.moveBefore(first, null);
    first.removeAttribute("class");
    first.style.cssText = `height: ${first.style.height}`;
    playerOf(first)?.begin();
    return first;
  }

  put(frame) {
    this.frames = [...this.frames.filter((each) => each !== frame), frame];
    // Those that were never shown have been overtaken.
    for (const each of this.frames.slice(0, -1)) {
      if (each.classList.contains("next")) this.drop(each);
      else each.hidden = true;
    }
    frame.hidden = false;
    frame.classList.remove("next");
    firstPlayer()?.remove();
    this.shown = frame;
    while (this.frames.length > KEPT + 1) this.drop(this.frames[0]);
  }

  drop(frame) {
    this.frames = this.frames.filter((each) => each !== frame);
    frame.remove();
  }

  get player() { return this.shown && playerOf(this.shown); }

  // The player of an id; null once another is asked for: a new one stands in the page before clouds show what it plays.
  playing(id) {
    return this.asked === null && this.desired === id ? playerOf(this.frames.find((frame) => frame.id === id)) : null;
  }

  // Show a kept player of a clip at a time in it, seconds, before the page answers; false without one.
  openClip(clip, time) {
    this.asked = clip;
    const found = this.frames.findLast(({ deepphaseClip: kept }) => kept && kept.name === clip && time >= kept.from && time <= kept.to);
    const player = found && playerOf(found);
    if (!player) return false;
    this.desired = found.id;
    this.put(found);
    player.seek(time - found.deepphaseClip.from);
    player.play();
    return true;
  }

  close() { if (window.deepphasePlayers === this) window.deepphasePlayers = null; }
}

export const component = componentOf(".players", PlayerFrame, "done");
