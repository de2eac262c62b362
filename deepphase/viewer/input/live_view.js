// The live page in a frame of its own; the motion that it sends is the component's trigger value.

const frames = new WeakMap();

export function component({ parentElement, data, setTriggerValue }) {
  const root = parentElement.querySelector(".live");
  let shown = frames.get(root);
  if (!shown) {
    shown = { frame: root.querySelector("iframe") };
    frames.set(root, shown);
    shown.listen = (event) => {
      if (event.source === shown.frame.contentWindow && typeof event.data?.driven === "string") {
        shown.send(event.data.driven);
      }
    };
    addEventListener("message", shown.listen);
  }
  shown.send = (motion) => setTriggerValue("driven", motion);
  // The same page again would start again.
  if (shown.page !== data.page) {
    shown.page = data.page;
    shown.frame.title = data.title;
    shown.frame.srcdoc = data.page;
  }
  return () => {
    removeEventListener("message", shown.listen);
    frames.delete(root);
  };
}
