"use strict";
(async () => {
  const texts = {};
  await Promise.all([...document.querySelectorAll("script[type='application/gzip']")].map(async ({ id, textContent }) => {
    const packed = new Blob([Uint8Array.from(atob(textContent), (letter) => letter.charCodeAt(0))]);
    texts[id] = await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }));
  const read = (id) => JSON.parse(texts[id]);
  const templates = read("templates");
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const config = {
    responsive: true,
    displaylogo: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };
  // Figure -> index of the visible choice.
  const chosen = new Map();
  const look = () => {
    const chosen = root.dataset.look;
    return chosen === "light" || chosen === "dark" ? chosen : dark.matches ? "dark" : "light";
  };
  const draw = (plot, scheme) => {
    const { name, data, layout } = read(`${plot.id}-data`)[chosen.get(plot) ?? 0];
    // Traces hidden by a click in one legend stay visible in other figures.
    layout.legend = { ...layout.legend, uirevision: name };
    if (plot.clientWidth < 640) {
      // In narrow pages, legends and scales go below the plot.
      layout.legend = { ...layout.legend, orientation: "h", x: 0, y: -0.15, yanchor: "top" };
      layout.margin = { ...layout.margin, r: 10 };
      if (layout.yaxis?.scaleanchor) {
        // Height of the plot and its legend, without a gap between them.
        layout.height = Math.min(layout.height, plot.clientWidth + 260);
        plot.style.height = `${layout.height}px`;
      }
      if (layout.coloraxis) {
        const { colorbar } = layout.coloraxis;
        layout.coloraxis.colorbar = {
          ...colorbar, orientation: "h", y: -0.22, yanchor: "top", len: 1,
          title: { ...colorbar.title, side: "top" },
        };
      }
    }
    Plotly.react(plot, data, { ...layout, template: templates[scheme] }, config);
  };
  // Figures are drawn as they come near the screen: all at once, they would keep the page from opening.
  const near = new Set();
  const drawAll = (scheme) => near.forEach((plot) => draw(plot, scheme));
  const coming = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => {
    if (!isIntersecting || near.has(target)) return;
    near.add(target);
    draw(target, look());
  }), { rootMargin: "50%" });
  const addChoices = (plot) => {
    const choices = read(`${plot.id}-data`);
    if (choices.length < 2) return;
    const row = document.createElement("div");
    choices.forEach(({ name }, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.setAttribute("aria-pressed", index === 0);
      button.addEventListener("click", () => {
        chosen.set(plot, index);
        for (const each of row.children) each.setAttribute("aria-pressed", each === button);
        draw(plot, look());
      });
      row.append(button);
    });
    plot.parentElement.before(row);
  };
  const plots = document.querySelectorAll(".plot");
  plots.forEach(addChoices);
  plots.forEach((plot) => coming.observe(plot));
  dark.addEventListener("change", () => drawAll(look()));
  const toggle = document.querySelector("button.look");
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    root.dataset.look = look() === "dark" ? "light" : "dark";
    drawAll(look());
  });
  // Pages are printed in the light look.
  addEventListener("beforeprint", () => plots.forEach((plot) => draw(plot, "light")));
  addEventListener("afterprint", () => drawAll(look()));
})();
