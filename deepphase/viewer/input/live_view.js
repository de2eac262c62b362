// The live page in a frame of its own; the motion that it sends is the component's value.

import { componentOf } from "./component.js";

class LiveView {
  constructor(root) {
    this.frame = root.querySelector("iframe");
    this.listen = ({ source, data }) => {
      if (source === this.frame.contentWindow && typeof data?.driven === "string") this.send(data.driven);
    };
    addEventListener("message", this.listen);
  }

  show({ page, title }) {
    // The same page again would start again.
    if (this.page === page) return;
    this.page = page;
    this.frame.title = title;
    this.frame.srcdoc = page;
  }

  close() { removeEventListener("message", this.listen); }
}

export const component = componentOf(".live", LiveView, "driven");
