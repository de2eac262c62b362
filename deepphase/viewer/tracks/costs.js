// A table of moments that a search compared: a bar of squared distances by feature, and the cost.

import { styleOf } from "../page_content.js";
import { arrayOf } from "./take_data.js";
import { created, dot, element } from "../scene/elements.js";
import { shortNumber } from "../scene/surface2d.js";

export class CostTable {
  // `onChoose`: called with the name of a body whose row is chosen.
  constructor(onChoose) {
    const [text, unit, legend, rows] = ["text", "unit", "legend", "rows"].map((part) => element(`costs-${part}`));
    Object.assign(this, { text, unit, legend, rows, onChoose, costs: null, shown: -1 });
  }

  open(costs) {
    this.costs = costs;
    this.shown = -1;
    if (!costs) return;
    this.terms = arrayOf(costs.terms);
    this.unit.textContent = costs.unit || "Cost";
    this.firsts = [0];
    for (const count of costs.counts) this.firsts.push(this.firsts.at(-1) + count);
    element("costs-card").classList.toggle("single", Math.max(...costs.counts) === 1);
    this.fillLegend();
  }

  // Colours depend on the look.
  redraw() {
    this.shown = -1;
    if (this.costs) this.fillLegend();
  }

  fillLegend() {
    this.legend.replaceChildren(...this.costs.features.map((feature, index) =>
      created("li", {}, dot(styleOf(index).colour), feature.replaceAll("_", " "))));
  }

  draw(time) {
    if (!this.costs) return;
    // Before the first search, the first.
    const search = Math.max(this.costs.times.findLastIndex((moment) => moment <= time + 1e-6), 0);
    if (search === this.shown) return;
    this.shown = search;
    this.text.textContent = this.costs.texts[search];
    const [first, stop] = [this.firsts[search], this.firsts[search + 1]];
    const totals = Array.from({ length: stop - first }, (_, at) => this.termsOf(first + at).reduce((sum, term) => sum + term, 0));
    const longest = Math.max(...totals, 1e-12);
    this.rows.replaceChildren(...totals.map((total, at) => this.row(first + at, total, longest)));
  }

  termsOf(option) {
    const count = this.costs.features.length;
    return this.terms.subarray(option * count, (option + 1) * count);
  }

  row(option, total, longest) {
    const { features, names, labels, marks, actors, unit } = this.costs;
    const [mark, name, actor] = [marks[option], names[labels[option]], actors[option]];
    const title = created("bdi", {}, name);
    const parts = [...this.termsOf(option)].map((term, index) => {
      const share = Math.round((100 * term) / (total || 1));
      const part = created("span", { title: `${features[index].replaceAll("_", " ")}: ${shortNumber(term)}, ${share} % of this row` });
      Object.assign(part.style, { width: `${(100 * term) / longest}%`, background: styleOf(index).colour });
      return part;
    });
    const heading = actor ? created("button", { type: "button", onclick: () => this.onChoose(actor) }, title) : title;
    const added = created("tr", { className: mark && !actor ? "marked" : "" },
      created("th", { scope: "row", title: name }, heading),
      created("td", {}, mark),
      created("td", {}, created("div", { className: "terms" }, ...parts)),
      created("td", {}, Math.sqrt(total).toFixed(unit ? 1 : 2)));
    added.dataset.actor = actor;
    return added;
  }
}
