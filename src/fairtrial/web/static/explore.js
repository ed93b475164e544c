import { ask, el, faults, field, number, percent, points, ratio, scalar, select, show, step } from "./page.js";

const NS = "http://www.w3.org/2000/svg";
const METRICS = ["selection_rate", "fpr", "fnr", "tpr", "tnr", "ppv", "npv", "accuracy", "error_rate", "base_rate"];
const SAID = { "no violation shown": "no difference shown", violated: "differs" };

// Move the threshold, the tolerance or the scale, and every group's numbers move: the address holds the view.
export async function explore(meta) {
  step("Result");
  const [file, asked] = [await ask("GET", `/api/files/${meta.file}`), new URLSearchParams(window.location.search)];
  const data = meta.content.data;
  const score = file.columns.find((one) => one.name === data.score);
  const view = {
    metric: asked.get("metric") ?? "selection_rate", by: asked.get("by") ?? data.groups[0], target: asked.get("target") ?? "rest",
    threshold: asked.get("threshold") ?? (typeof data.threshold === "number" ? String(data.threshold) : ""), tolerance: asked.get("tolerance") ?? "0.05", scale: asked.get("scale") ?? "difference",
  };
  const labels = file.columns.find((one) => one.name === view.by)?.labels ?? [];
  const out = el("div", { id: "numbers", "aria-live": "polite" });
  const change = (name) => (event) => { view[name] = event.target.value; refresh(); };
  const slider = score?.numeric ? el("input", { type: "range", id: "threshold", min: score.low, max: score.high, step: (score.high - score.low) <= 20 ? 1 : (score.high - score.low) / 200,
    value: view.threshold || (score.low + score.high) / 2, oninput: change("threshold") }) : null;
  const shown = el("output", { for: "threshold" });
  let latest = 0;
  async function refresh() {
    const mine = ++latest;
    shown.textContent = view.threshold ? `score of at least ${Number(view.threshold).toLocaleString("en", { maximumFractionDigits: 4 })}` : "the decisions as they are";
    const query = new URLSearchParams(Object.entries(view).filter(([, value]) => value !== ""));
    window.history.replaceState({}, "", `/audits/${meta.id}/explore?${query}`);
    try {
      const seen = await ask("GET", `/api/audits/${meta.id}/explore?${query}`);
      if (mine === latest) out.replaceChildren(...numbers(seen, view, meta, query));
    } catch (error) { if (mine === latest) out.replaceChildren(faults(error.faults ?? [String(error)])); }
  }
  show(el("h1", {}, meta.title), meta.plan ? "" : el("p", { class: "note" }, "Exploratory: this audit's plan was not fixed before the look. Everything that is exported will say so."),
    el("div", { class: "row" }, field("Rate", select(METRICS.filter((name) => data.outcome || name === "selection_rate").map((name) => [name, name.replaceAll("_", " ")]), view.metric, { id: "metric", onchange: change("metric") })),
      field("People by", select(data.groups.map((name) => [name, name]), view.by, { onchange: change("by") })),
      field("Compared with", select([["rest", "everyone else"], ...labels.map((label) => [`${view.by}=${label}`, label])], view.target, { onchange: change("target") })),
      field("Scale", select([["difference", "difference"], ["ratio", "ratio"]], view.scale, { id: "scale", onchange: (event) => { view.scale = event.target.value; view.tolerance = view.scale === "ratio" ? "0.8" : "0.05"; tolerance.value = view.tolerance; refresh(); } })),
      field("Tolerance", null)), slider ? field("Threshold of the score", slider) : "", el("p", {}, shown), out,
    el("p", {}, el("a", { href: `/audits/${meta.id}` }, "Back to the audit")));
  const tolerance = el("input", { type: "number", id: "tolerance", step: "0.01", min: "0.01", value: view.tolerance, onchange: change("tolerance") });
  document.querySelectorAll("label.field span").forEach((node) => { if (node.textContent === "Tolerance") node.after(tolerance); });
  await refresh();
}

function numbers(seen, view, meta, query) {
  const judged = new Map((seen.certify?.estimates ?? []).map((row) => [row.group, row]));
  const rows = seen.measure.estimates.map((row) => {
    const [rate, low, high] = ["rate", "rate_low", "rate_high"].map((name) => scalar(row[name]));
    const verdict = judged.get(row.group);
    const state = verdict?.state ?? row.state;
    const tone = { violated: "bad", certified: "good", harmed: "bad" }[state] ?? "open";
    return el("tr", { "data-group": row.group }, el("th", { scope: "row" }, row.group), el("td", { class: "num" }, number(scalar(row.n))), el("td", { class: "num", "data-rate": rate ?? "" }, percent(rate)),
      el("td", {}, bar(low, rate, high)), el("td", { class: "num" }, rate === null ? "–" : `${percent(low)} to ${percent(high)}`),
      el("td", { class: "num" }, points(scalar(row.difference))), el("td", { class: "num" }, ratio(scalar(row.impact_ratio))),
      el("td", { class: tone, "data-state": state }, verdict ? state : (SAID[state] ?? state), verdict?.state_reason || row.state_reason ? el("span", { class: "quiet" }, ` ${verdict?.state_reason ?? row.state_reason}`) : ""));
  });
  const heads = [["group"], ["n", "num"], ["rate", "num"], [""], ["95% interval", "num"], ["difference, points", "num"], ["impact ratio", "num"], [seen.certify ? "against the tolerance" : "finding"]];
  return [el("p", { class: "verdict" }, (seen.certify ?? seen.measure).verdict.text),
    el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...heads.map(([text, kind]) => el("th", { scope: "col", class: kind ?? null }, text)))), el("tbody", {}, ...rows))),
    el("p", { class: "quiet" }, "Numbers about few people are masked. As data: ", el("a", { href: `/api/audits/${meta.id}/explore.json?${query}` }, "JSON"), ", ",
      el("a", { href: `/api/audits/${meta.id}/explore.csv?${query}` }, "CSV"))];
}

function bar(low, rate, high) {
  const svg = document.createElementNS(NS, "svg");
  svg.setAttribute("viewBox", "0 0 100 10");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  if (rate !== null && low !== null && high !== null) {
    const box = document.createElementNS(NS, "rect");
    for (const [name, value] of Object.entries({ x: 100 * low, y: 2, width: Math.max(0.5, 100 * (high - low)), height: 6 })) box.setAttribute(name, value);
    const mark = document.createElementNS(NS, "line");
    for (const [name, value] of Object.entries({ x1: 100 * rate, x2: 100 * rate, y1: 0, y2: 10 })) mark.setAttribute(name, value);
    svg.append(box, mark);
  }
  return el("div", { class: "bar" }, svg);
}
