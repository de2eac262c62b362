// Which phase channels curves and wheels show, the strongest first.

import { styleOf } from "../page_content.js";
import { chip, created, dot, pressed } from "../scene/elements.js";

// Channels that are shown at first where there are many, and how many have colours that differ.
const FEW = 8, COLOURS = 12;

export class ChannelChoice {
  // `box`: element of the buttons; `onChange`: called where other channels are shown.
  constructor(box, onChange) {
    [this.box, this.onChange] = [box, onChange];
    this.open(null);
  }

  open(channels) {
    const count = channels?.phase.columns ?? 0;
    // One list for all that draw channels, changed in place.
    this.channels = channels;
    this.strengths = Array.from({ length: count }, (_, c) => meanSquare(channels.amplitude.column(c), channels.interior));
    this.order = [...this.strengths.keys()].sort((one, other) => this.strengths[other] - this.strengths[one]);
    this.many = count > COLOURS;
    this.chosen = new Set(this.many ? this.order.slice(0, FEW) : this.order);
    this.pointed = null;
    this.box.hidden = count < 2;
    this.fill();
    if (channels) channels.choice = this;
  }

  // Channels in the order in which they are drawn.
  get shown() {
    const shown = this.order.filter((channel) => this.chosen.has(channel));
    return this.many ? shown : shown.sort((one, other) => one - other);
  }

  // The channel whose joints are marked: the one under the mouse, or the only one.
  get marked() {
    return this.pointed ?? (this.chosen.size === 1 && this.order.length > 1 ? [...this.chosen][0] : null);
  }

  // Of many channels the strongest have the colours that differ.
  style(channel) { return styleOf(this.many ? this.order.indexOf(channel) : channel); }

  fill() {
    const { order, chosen } = this;
    const change = (channels) => {
      this.chosen = new Set(channels);
      this.press();
      this.onChange();
      return true;
    };
    this.all = chip(["All"], false, () => change(order), { title: "Show all channels" });
    this.few = chip([`Strongest ${FEW}`], false, () => change(order.slice(0, FEW)));
    this.few.hidden = order.length <= FEW;
    const more = chip([`${order.length - FEW} more`], false, () => this.box.classList.toggle("unfolded"));
    more.hidden = !this.many;
    this.buttons = new Map(order.map((channel, rank) => {
      const hertz = meanOf(this.channels.frequency.column(channel));
      const button = created("button", {
        type: "button", className: this.many && rank >= FEW ? "weak" : "", title: `Channel ${channel}, ${hertz.toFixed(2)} Hz. Click: show or hide; with Shift: alone`,
      }, dot(this.style(channel).colour), `${channel}`);
      button.addEventListener("click", ({ shiftKey }) => {
        if (shiftKey) change(this.marked === channel && this.chosen.size === 1 ? order : [channel]);
        else change(this.chosen.has(channel) ? [...this.chosen].filter((each) => each !== channel) : [...this.chosen, channel]);
      });
      for (const [name, pointed] of [["pointerenter", channel], ["pointerleave", null], ["focus", channel], ["blur", null]]) {
        button.addEventListener(name, () => { this.pointed = pointed; this.onChange(false); });
      }
      return [channel, button];
    }));
    this.box.replaceChildren(...(order.length ? [created("small", {}, this.many ? "Channels, strongest first" : "Channels"),
      this.all, this.few, ...this.buttons.values(), more] : []));
    this.box.classList.remove("unfolded");
    this.press();
  }

  press() {
    for (const [channel, button] of this.buttons) pressed(button, this.chosen.has(channel));
    pressed(this.all, this.chosen.size === this.order.length);
    const few = this.order.slice(0, FEW);
    pressed(this.few, this.chosen.size === few.length && few.every((channel) => this.chosen.has(channel)));
  }
}

const meanOf = (values) => values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1);

function meanSquare(values, counted) {
  const inside = counted?.includes(1) ? values.filter((_, i) => counted[i]) : values;
  return meanOf(inside.map((value) => value * value));
}
