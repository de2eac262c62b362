// Frames of clouds, kept in the browser for all views that draw them and for later runs of the page.

const MOST = 4;

// Id -> what the server sent of the frames, the newest last.
export const keptFrames = () => (window.deepphaseFrames ??= new Map());

export function component({ data }) {
  const kept = keptFrames();
  if (!data || kept.has(data.id)) return;
  kept.set(data.id, data);
  while (kept.size > MOST) kept.delete(kept.keys().next().value);
  window.dispatchEvent(new Event("deepphase-frames"));
}
