// The frame of a page's first player, about where the page will draw its own, which takes it over or replaces it.
{
  // Page -> share of the width, in the right column of wide windows, and pixels from the top, below what the page writes
  // there, which mostly has a line more in narrow windows.
  const PLACES = {
    data: [6 / 11, 108], manifold: [5 / 11, 186], channels: [1, 186], matches: [1, 186], control: [0.7, 108], dance: [0.7, 108],
    edit: [0.7, 193], train: [5 / 7, 108],
  };
  const LINE = 24, SIDEBAR = 281, SIDES = 66, GAP = 30, WIDEST = 1680, NARROW = 1100, PHONE = 768;
  // Milliseconds between two looks at the frame, after which Streamlit's scripts no longer wait for its picture, and for
  // which a page has ended without a player before it is said to have none, with an error and without: components are
  // drawn after a run has ended, on busy machines seconds later.
  const LOOK_MS = 30, LATEST_MS = 2500, WITHOUT_MS = 2000, SILENT_MS = 20000;
  const page = location.pathname.slice(1) || "data";
  const [share, top] = PLACES[page] ?? [];
  const readScripts = () => document.head.append(document.importNode(document.getElementById("later").content, true));
  if (share) {
    const inside = Math.min(innerWidth - (innerWidth < PHONE ? 0 : SIDEBAR), WIDEST) - SIDES;
    const isWide = innerWidth > NARROW, width = isWide && share < 1 ? share * inside - GAP / 2 : inside;
    const frame = Object.assign(document.createElement("iframe"), { title: "Player", className: "first-player" });
    frame.style.cssText = `position: fixed; z-index: 10; top: ${isWide ? top : top + LINE}px; right: ${SIDES / 2}px; width: ${width}px;
      height: 640px; box-sizing: border-box; border: 1px solid rgba(133, 137, 143, 0.28); border-radius: 10px`;
    const given = new URLSearchParams(location.search), began = performance.now();
    if (matchMedia("(prefers-color-scheme: dark)").matches) given.set("dark", "1");
    frame.src = `/first-player/${page}?${given}`;
    const player = () => frame.contentWindow?.deepphasePlayer;
    frame.onload = () => { if (!player()) frame.remove(); };
    document.body.append(frame);
    let read = false, last = began;
    const look = () => {
      if (!read && (player()?.isDrawn() || !frame.isConnected || performance.now() > began + LATEST_MS)) {
        read = true;
        readScripts();
      }
      // A page that ends without a player has something else to say there.
      const said = document.querySelector('[data-testid="stAlertContentError"]');
      const ended = (said || document.querySelector("h1")) && document.querySelector('[data-test-script-state="notRunning"]');
      if (!ended || window.deepphasePlayers) last = performance.now();
      if (performance.now() > last + (said ? WITHOUT_MS : SILENT_MS)) frame.remove();
      if (!read || (frame.isConnected && !window.deepphasePlayers)) setTimeout(look, LOOK_MS);
    };
    look();
  } else readScripts();
}
