// A table of moments that a search compared: a bar of squared distances by feature, and the cost.

import { styleOf } from "../page_content.js";
import { arrayOf } from "./take_data.js";
import { shortNumber } from "../scene/surface2d.js";

export class CostTable {
  constructor({ text, legend, rows }) {
    this.text = text;
    this.legend = legend;
    this.rows = rows;
    this.costs = null;
    this.shown = -1;
  }

  open(costs) {
    this.costs = costs;
    this.shown = -1;
    if (!costs) return;
    this.terms = arrayOf(costs.terms);
    this.firsts = [0];
    for (const count of costs.counts) this.firsts.push(this.firsts[this.firsts.length - 1] + count);
    this.fillLegend();
  }

  // Colours depend on the look.
  redraw() {
    this.shown = -1;
    if (this.costs) this.fillLegend();
  }

  fillLegend() {
    this.legend.replaceChildren(...this.costs.features.map((feature, index) => {
      const item = document.createElement("li");
      item.append(swatch(index), feature);
      return item;
    }));
  }

  // The last search at a time; before the first one, the first.
  searchAt(time) {
    const { times } = this.costs;
    let [low, high] = [0, times.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (times[middle] <= time + 1e-6) low = middle;
      else high = middle;
    }
    return low;
  }

  draw(time) {
    if (!this.costs) return;
    const search = this.searchAt(time);
    if (search === this.shown) return;
    this.shown = search;
    this.text.textContent = this.costs.texts[search];
    const [first, stop] = [this.firsts[search], this.firsts[search + 1]];
    const totals = [];
    for (let option = first; option < stop; option++) {
      let total = 0;
      for (const term of this.termsOf(option)) total += term;
      totals.push(total);
    }
    const longest = Math.max(...totals, 1e-12);
    this.rows.replaceChildren(...totals.map((total, at) => this.row(first + at, total, longest)));
  }

  termsOf(option) {
    const count = this.costs.features.length;
    return this.terms.subarray(option * count, (option + 1) * count);
  }

  row(option, total, longest) {
    const { features, names, labels, marks } = this.costs;
    const row = document.createElement("tr");
    const mark = marks[option];
    if (mark) row.className = "marked";
    const name = document.createElement("th");
    name.scope = "row";
    const text = document.createElement("bdi");
    text.textContent = name.title = names[labels[option]];
    name.append(text);
    const what = document.createElement("td");
    what.textContent = mark;
    const bar = document.createElement("td");
    const parts = document.createElement("div");
    parts.className = "terms";
    [...this.termsOf(option)].forEach((term, index) => {
      const part = document.createElement("span");
      part.style.width = `${(100 * term) / longest}%`;
      part.style.background = styleOf(index).colour;
      part.title = `${features[index]}: ${shortNumber(term)}, ${Math.round((100 * term) / (total || 1))} % of this row`;
      parts.append(part);
    });
    bar.append(parts);
    const cost = document.createElement("td");
    cost.textContent = Math.sqrt(total).toFixed(2);
    row.append(name, what, bar, cost);
    return row;
  }
}

function swatch(index) {
  const dot = document.createElement("span");
  dot.className = "dot";
  dot.style.background = styleOf(index).colour;
  return dot;
}
