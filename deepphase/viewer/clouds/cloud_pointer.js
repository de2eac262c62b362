// What pointers, wheel and keys do to the figure of a cloud.

import { clamp } from "../vectors.js";

// Pointers, wheel and keys on the figure of a `Cloud`.
export function listenTo(cloud) {
  const { front } = cloud;
  let [from, last, moved] = [null, null, false];
  const react = (name, act, options) => front.addEventListener(name, act, options);
  react("pointerdown", (event) => {
    if (event.button !== 0) return;
    from = last = pointerAt(cloud, event);
    moved = false;
    front.setPointerCapture(event.pointerId);
    cloud.outline = null;
  });
  react("pointermove", (event) => {
    const [x, y] = pointerAt(cloud, event);
    if (!from) return cloud.hover(x, y);
    if (!moved && Math.hypot(x - from[0], y - from[1]) < 4) return;
    moved = true;
    cloud.hover(-99, -99);
    if (cloud.plot.space && !event.shiftKey) {
      cloud.plot.camera.turn(x - last[0], y - last[1]);
      cloud.surface.stale = true;
    } else if (cloud.plot.space || cloud.tool === "move" || cloud.data.small) {
      cloud.plot.view.x += x - last[0];
      cloud.plot.view.y += y - last[1];
      cloud.surface.stale = true;
    } else {
      cloud.outline = [...(cloud.outline || [from]), [x, y]];
      cloud.fresh = true;
    }
    last = [x, y];
  });
  react("pointerup", (event) => {
    if (!from) return;
    from = null;
    if (!moved) cloud.go(cloud.nearest(...pointerAt(cloud, event)));
    else if (cloud.outline) cloud.select(inside(cloud, cloud.outline));
    cloud.outline = null;
    cloud.fresh = true;
  });
  react("pointercancel", () => { from = cloud.outline = null; });
  react("pointerleave", () => { if (!from) cloud.hover(-99, -99); });
  react("dblclick", () => { if (cloud.selected) cloud.select([]); else cloud.fitView(); });
  react("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !cloud.plot.space) return;
    event.preventDefault();
    cloud.zoom(Math.exp(-clamp(event.deltaY, -100, 100) * 0.003), ...pointerAt(cloud, event));
  }, { passive: false });
  react("keydown", (event) => pressKey(cloud, event));
  react("blur", () => cloud.hover(-99, -99));
}

function pressKey(cloud, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 10, ArrowUp: -10 }[event.key];
  const acts = {
    "+": () => cloud.zoom(1.4), "=": () => cloud.zoom(1.4), "-": () => cloud.zoom(1 / 1.4), 0: () => cloud.fitView(),
    Enter: () => cloud.go(cloud.hovered >= 0 ? cloud.hovered : cloud.at),
    " ": () => { const player = cloud.player(); player?.state().playing ? player.pause() : player?.play(); },
    Escape: () => { cloud.corner = cloud.outline = null; cloud.fresh = true; if (cloud.selected) cloud.select([]); },
    b: () => setCorner(cloud),
  };
  if (step && event.shiftKey && cloud.plot.space) {
    if (Math.abs(step) === 1) cloud.plot.camera.turn(-19 * step, 0);
    else cloud.plot.camera.turn(0, 2 * step);
    cloud.surface.stale = true;
  } else if (step) {
    const here = cloud.hovered >= 0 ? cloud.hovered : Math.max(cloud.at, 0);
    cloud.mark((here + step + cloud.count) % cloud.count);
    cloud.of(".said").textContent = cloud.sentence(cloud.hovered);
    if (cloud.corner) cloud.outline = boxTo(cloud, cloud.hovered);
  } else if (acts[event.key]) acts[event.key]();
  else return;
  event.preventDefault();
}

// The marked point becomes a corner of a box; with the second one, the points within are selected.
function setCorner(cloud) {
  if (cloud.hovered < 0 || cloud.data.small) return;
  if (cloud.corner) {
    cloud.select(inside(cloud, boxTo(cloud, cloud.hovered)));
    cloud.corner = cloud.outline = null;
  } else {
    cloud.corner = cloud.placeOf(cloud.hovered);
    cloud.of(".said").textContent = "First corner of the box";
  }
  cloud.fresh = true;
}

// The box from the first corner to a point, with both within.
function boxTo(cloud, i) {
  const [[ax, ay], [bx, by]] = [cloud.corner, cloud.placeOf(i)];
  const [l, r, t, b] = [Math.min(ax, bx) - 1, Math.max(ax, bx) + 1, Math.min(ay, by) - 1, Math.max(ay, by) + 1];
  return [[l, t], [r, t], [r, b], [l, b]];
}

// Points within an outline in the figure.
function inside(cloud, outline) {
  // A line to the right of a point within crosses the outline an odd number of times.
  const crosses = (x, y, [ax, ay], [bx, by]) => ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax;
  return Array.from({ length: cloud.count }, (_, i) => i).filter((i) => {
    const [x, y] = cloud.placeOf(i);
    return outline.filter((corner, at) => crosses(x, y, corner, outline.at(at - 1))).length % 2;
  });
}

// Place of a pointer in the figure, in pixels.
function pointerAt(cloud, event) {
  const box = cloud.front.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}
