// Draws every chart of the page. Each `.chart[data-chart=ID]` finds its Vega-Lite spec in `script#ID`.
(() => {
  "use strict";
  const narrow = 640;
  const scheme = window.matchMedia("(prefers-color-scheme: dark)");
  const colours = JSON.parse(document.getElementById("chart-colours").textContent);
  const pattern = new RegExp(`"(${Object.keys(colours).join("|")})"`, "gi");
  let printing = false;

  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return !printing && (chosen ? chosen === "dark" : scheme.matches);
  };

  // Chart colours are exact texts of the theme, so a dark page swaps them one for one.
  const themed = (text) =>
    isDark() && Object.keys(colours).length
      ? text.replace(pattern, (_, colour) => `"${colours[colour.toLowerCase()]}"`)
      : text;

  // Several views stand side by side only where there is room; a single view takes the width there is.
  const fit = (spec, room, top) => {
    if (spec.hconcat) {
      if (room < narrow || spec.hconcat.length * 260 > room) {
        spec.vconcat = spec.hconcat;
        delete spec.hconcat;
      } else {
        return spec.hconcat.forEach((view) => fit(view, room / spec.hconcat.length, false));
      }
    }
    const views = spec.vconcat || spec.concat;
    if (views) return views.forEach((view) => fit(view, room, false));
    if (spec.facet || spec.repeat) {
      if (room < narrow && spec.columns) spec.columns = 1;
      return fit(spec.spec, room, false);
    }
    const faceted = ["row", "column", "facet"].some((channel) => spec.encoding && spec.encoding[channel]);
    if (typeof spec.width === "object" || faceted) return;
    if (top) {
      spec.width = room;
      spec.autosize = { type: "fit-x", contains: "padding" };
    } else if (typeof spec.width === "number") {
      spec.width = Math.max(140, Math.min(640, room - 190));
    }
  };

  // What the specs leave open: legends stand above, and texts are not Vega's default black on a dark page.
  const settings = (room) => {
    const ink = isDark() ? { labelColor: "#c8cfd8", titleColor: "#a7b0bc" } : {};
    const legend = { ...ink, orient: "top", columns: room < narrow ? 2 : 5, labelLimit: room < narrow ? 130 : 260 };
    const axis = room < narrow ? { ...ink, labelLimit: 120 } : ink;
    return { legend, header: ink, axis, ...(isDark() ? { text: { color: "#c8cfd8" } } : {}) };
  };

  // A chart inside a closed fold-out has no width of its own yet: it takes its nearest visible ancestor's.
  const roomFor = (target) => {
    let element = target;
    while (element.clientWidth === 0 && element.parentElement) element = element.parentElement;
    return element.clientWidth;
  };

  const draw = async (target) => {
    const source = document.getElementById(target.dataset.chart);
    const spec = JSON.parse(themed(source.textContent));
    const room = roomFor(target);
    fit(spec, room, true);
    if (target.vega) target.vega.finalize();
    target.dataset.drawnFor = String(room);
    target.vega = await vegaEmbed(target, spec, {
      ast: true,
      actions: false,
      renderer: "svg",
      defaultStyle: false,
      config: settings(room),
      tooltip: { disableDefaultStyle: true, theme: "page" },
    });
    target.dataset.drawn = "true";
  };

  const drawAll = async () => {
    for (const target of document.querySelectorAll(".chart[data-chart]")) {
      try {
        await draw(target);
      } catch (error) {
        target.dataset.drawn = "failed";
        target.textContent = "This chart could not be drawn; the table holds its numbers.";
        console.error(error);
      }
    }
    document.documentElement.dataset.charts = "drawn";
  };

  let waiting = 0;
  const redraw = () => {
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 150);
  };
  const resized = () => {
    const charts = [...document.querySelectorAll(".chart[data-chart]")];
    if (charts.some((target) => Number(target.dataset.drawnFor) !== roomFor(target))) redraw();
  };

  scheme.addEventListener("change", redraw);
  document.addEventListener("themechange", redraw);
  window.addEventListener("resize", resized);
  // Paper is light: charts drawn for a dark screen are drawn again for it.
  window.matchMedia("print").addEventListener("change", (event) => {
    const before = isDark();
    printing = event.matches;
    if (before !== isDark()) drawAll();
  });
  drawAll();
})();
