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

  // On a phone the name of an intersection stands in lines, one for each attribute.
  const crossed = (text) =>
    Math.max(0, ...[...text.matchAll(/"label": ?"([^"]*, [^"]*)"/g)].map((found) => found[1].split(", ").length));
  const inLines = (spec, tall) => {
    const views = [spec, ...(spec.layer || [])].filter((view) => view.encoding?.y?.field === "label");
    const step = spec.height?.step;
    if (!step || !views.length) return;
    const axis = { labelExpr: "split(datum.label, ', ')", labelLimit: 150, labelLineHeight: 12, labelFontSize: 11 };
    for (const { encoding } of views) if (encoding.y.axis !== null) encoding.y.axis = { ...encoding.y.axis, ...axis };
    if (tall) spec.height = { step: Math.max(step, 12 * tall + 5) };
  };

  // Tiles that are wider than the page stand in a column: what was beside each other comes below each other.
  const tiles = (spec, room) => {
    const views = [spec, ...(spec.layer || [])].filter((view) => view.encoding?.x?.sort);
    const count = (channel) => views[0]?.encoding[channel]?.sort.length || 0;
    if (!views.length) return;
    if ((count("x") + 1) * spec.width.step > room && count("y") < count("x")) {
      for (const { encoding } of views) {
        const { x, y } = encoding;
        encoding.y = { ...x, axis: { ...x.axis, orient: "left" } };
        if (y) encoding.x = { ...y, axis: { ...y.axis, orient: "top", labelAngle: 0 } };
        else delete encoding.x;
      }
      if (!count("x")) [spec.width, spec.height] = [40, { step: spec.height + 4 }];
    }
    const left = room - count("x") * (spec.width.step || 0) - 24;
    for (const { encoding } of views) if (encoding.y) encoding.y.axis = { ...encoding.y.axis, labelLimit: left };
  };
  const lines = (title) =>
    title.split(" ").reduce((all, word) => {
      const longer = `${all.at(-1)} ${word}`;
      return all.length && longer.length <= 46 ? [...all.slice(0, -1), longer] : [...all, word];
    }, []);

  // Several views stand side by side only where there is room; a single view or a column of them takes the width
  // there is, up to a width at which lines are still easy to follow; true says that this width holds its labels, too.
  const widest = 760;
  const labels = (room) => (room < narrow ? 150 : 190);
  const fit = (spec, room, place, tall) => {
    const beside = spec.hconcat ? spec.hconcat.length : spec.concat ? spec.columns || spec.concat.length : 1;
    const views = spec.hconcat || spec.vconcat || spec.concat;
    if (views) {
      const stacked = beside === 1 || room < narrow || beside * 260 > room;
      if (stacked && beside > 1) {
        spec.vconcat = views;
        delete spec.hconcat;
        delete spec.concat;
        delete spec.columns;
      }
      return views.forEach((view) => fit(view, stacked ? room : room / beside, stacked ? "column" : "row", tall));
    }
    if (spec.facet || spec.repeat) {
      if (room < narrow && spec.columns) spec.columns = 1;
      return fit(spec.spec, room, "row", tall);
    }
    if (room < narrow && place !== "row") inLines(spec, tall);
    const faceted = ["row", "column", "facet"].some((channel) => spec.encoding && spec.encoding[channel]);
    if (room < narrow && typeof spec.title === "string") spec.title = lines(spec.title);
    if (room < narrow && spec.width?.step && !faceted) return void tiles(spec, room);
    if (typeof spec.width === "object" || faceted) return;
    if (place === "alone") {
      spec.width = Math.min(room, Math.max(widest, spec.width || 0));
      return true;
    }
    if (typeof spec.width === "number") {
      const beside = place === "row" ? 90 : labels(room);
      const most = place === "row" ? spec.width : widest - beside;
      spec.width = Math.max(110, Math.min(most, room - beside));
    }
  };

  // Panels that stand in line keep one width for their labels: on a phone a smaller one.
  const compact = (text, room) =>
    room < narrow ? text.replace(/"(minExtent|maxExtent|labelLimit)": ?1[78]0\b/g, '"$1":126') : text;

  // What the specs leave open: legends stand above, and texts are not Vega's default black on a dark page.
  const settings = (room) => {
    const ink = isDark() ? { labelColor: "#c8cfd8", titleColor: "#a7b0bc" } : {};
    const legend = { ...ink, orient: "top", columns: room < narrow ? 1 : 5 };
    const axis = { ...ink, titleLimit: Math.max(200, room / 2 - 40), ...(room < narrow ? { labelLimit: 120 } : {}) };
    const axisX = room < narrow ? { titleAnchor: "end" } : {}; // it may be longer than the axis
    return { legend, header: ink, axis, axisX, ...(isDark() ? { text: { color: "#c8cfd8" } } : {}) };
  };

  // A chart inside a closed fold-out has no width of its own yet: it takes its nearest visible ancestor's.
  const roomFor = (target) => {
    if (target.clientWidth) return target.clientWidth;
    let element = target;
    while (element.clientWidth === 0 && element.parentElement) element = element.parentElement;
    return element.clientWidth - 36; // its frame's padding
  };

  const embed = async (target, room, slack) => {
    const text = compact(themed(document.getElementById(target.dataset.chart).textContent), room);
    const spec = JSON.parse(text);
    const inside = fit(spec, room - slack, "alone", crossed(text));
    if (target.vega) target.vega.finalize();
    // Vega renames the element it draws into; the outer one keeps our role and description.
    const inner = document.createElement("div");
    inner.setAttribute("aria-hidden", "true"); // said as a whole, in words, by the outer element
    target.replaceChildren(inner);
    target.vega = await vegaEmbed(inner, spec, {
      ast: true,
      actions: false,
      renderer: "svg",
      defaultStyle: false,
      // set after Vega-Lite, which warns of lines of a given height whenever something is fitted
      patch: (vega) => (inside ? { ...vega, autosize: { type: "fit-x", contains: "padding" } } : vega),
      config: settings(room),
      tooltip: { disableDefaultStyle: true, theme: "page" },
    });
  };

  const draw = async (target) => {
    const room = roomFor(target);
    target.dataset.drawnFor = String(room);
    const tiled = /"width": ?\{ ?"step"/.test(document.getElementById(target.dataset.chart).textContent);
    // How wide labels beside a column of views come out is only known once they are drawn.
    for (let pass = 0, slack = 0; pass < 3; pass += 1) {
      await embed(target, room, slack);
      const over = Number(target.querySelector("svg")?.getAttribute("width") || 0) - room;
      if (over <= 0 && (pass || over > -40 || room >= narrow || tiled)) break;
      slack += over + 4;
    }
    // what has to be scrolled must be reachable by keyboard
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
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
  document.addEventListener("toggle", resized, true);
  // Paper is light: charts drawn for a dark screen are drawn again for it.
  window.matchMedia("print").addEventListener("change", (event) => {
    const before = isDark();
    printing = event.matches;
    if (before !== isDark()) drawAll();
  });
  drawAll();
})();
