"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
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
  const drawn = (plot) => {
    const content = read(`${plot.id}-data`);
    if (!content.choices) return content;
    const { name, data, layout } = content.choices[chosen.get(plot) ?? 0];
    // Traces hidden by a click in one legend stay visible in other figures.
    layout.legend = { ...layout.legend, uirevision: name };
    return { data, layout };
  };
  const draw = (plot, scheme) => {
    const { data, layout } = drawn(plot);
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
  const drawAll = (scheme) => {
    for (const plot of document.querySelectorAll(".plot")) draw(plot, scheme);
  };
  const addChoices = (plot) => {
    const { choices } = read(`${plot.id}-data`);
    if (!choices) return;
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
  document.querySelectorAll(".plot").forEach(addChoices);
  drawAll(look());
  dark.addEventListener("change", () => drawAll(look()));
  const toggle = document.querySelector("button.look");
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    root.dataset.look = look() === "dark" ? "light" : "dark";
    drawAll(look());
  });
  // Pages are printed in the light look.
  addEventListener("beforeprint", () => look() === "dark" && drawAll("light"));
  addEventListener("afterprint", () => look() === "dark" && drawAll("dark"));
})();
