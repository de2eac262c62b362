"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const templates = read("templates");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const config = {
    responsive: true,
    displaylogo: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };
  const draw = (scheme) => {
    for (const plot of document.querySelectorAll(".plot")) {
      const { data, layout } = read(`${plot.id}-data`);
      if (plot.clientWidth < 640) {
        // Beside the plot, a legend would leave it no room.
        layout.legend = { ...layout.legend, orientation: "h", y: -0.15, yanchor: "top" };
        layout.margin = { ...layout.margin, r: 10 };
      }
      Plotly.react(plot, data, { ...layout, template: templates[scheme] }, config);
    }
  };
  const drawForScreen = () => draw(dark.matches ? "dark" : "light");
  drawForScreen();
  dark.addEventListener("change", drawForScreen);
  // Paper is white, whatever the screen is.
  addEventListener("beforeprint", () => dark.matches && draw("light"));
  addEventListener("afterprint", () => dark.matches && drawForScreen());
})();
