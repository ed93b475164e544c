import { ask, asData, draw, el, faults, field, more, number, percent, points, ratio, scalar, select, sentence, show, step, table } from "./page.js";

const START = { difference: "0.05", ratio: "0.8" };
const listed = (groups) => typeof groups === "string" ? [groups] : Array.isArray(groups) ? groups.filter((name) => typeof name === "string") : Object.keys(groups ?? {});

// Move the threshold, the tolerance or the scale, and every group's numbers move: the address holds the view.
export async function explore(meta, mark, views) {
  step("Result", "Move the threshold");
  const [file, about] = await Promise.all([ask("GET", `/api/files/${meta.file}`), ask("GET", "/api/about")]);
  const asked = new URLSearchParams(window.location.search);
  const data = meta.content.data;
  const score = file.columns.find((one) => one.name === data.score);
  const scale = asked.get("scale") ?? "difference";
  const view = {
    metric: asked.get("metric") ?? "selection_rate", by: asked.get("by") ?? listed(data.groups)[0], target: asked.get("target") ?? "rest",
    threshold: asked.get("threshold") ?? (typeof data.threshold === "number" ? String(data.threshold) : ""), tolerance: asked.get("tolerance") ?? START[scale], scale,
  };
  const roles = ["decision", "outcome", "score"].filter((role) => data[role] || (role === "decision" && data.score));
  const metrics = about.metrics.filter((one) => one.needs.every((role) => roles.includes(role))).map((one) => [one.name, one.label]);
  const out = el("div", { id: "numbers", "aria-live": "polite" }, el("p", { class: "quiet" }, "Counting …"));
  const shown = el("output", { for: "threshold" });
  let latest = 0;
  let resting;
  // While something moves, rates and verdicts follow at once; how many more people it takes is added when it rests.
  async function refresh(sizes = false) {
    const mine = ++latest;
    clearTimeout(resting);
    shown.textContent = view.threshold ? `score of at least ${number(view.threshold)}` : "the decisions as they are";
    const query = new URLSearchParams(Object.entries(view).filter(([, value]) => value !== ""));
    const path = `/audits/${meta.id}/explore`;
    window.history.replaceState({}, "", `${path}?${query}`);
    try {
      const seen = await ask("GET", `${path}.json?${query}${sizes ? "" : "&sizes=false"}`);
      if (mine !== latest) return;
      out.replaceChildren(...numbers(seen, sizes), asData(path, query));
      if (!sizes && seen.certify?.estimates.some((row) => row.state === "undetermined")) resting = setTimeout(() => refresh(true), 300);
    } catch (error) { if (mine === latest) out.replaceChildren(faults(error.faults ?? [String(error)])); }
  }
  const change = (name) => (event) => { view[name] = event.target.value; refresh(); };
  const labels = () => (file.columns.find((one) => one.name === view.by)?.labels ?? []).map((label) => [`${view.by}=${label}`, label]);
  const targets = () => [["rest", "everyone else"], ...labels()];
  const target = select(targets(), view.target, { id: "target", onchange: change("target") });
  const by = select(listed(data.groups).map((name) => [name, name]), view.by, { id: "by", onchange: (event) => {
    Object.assign(view, { by: event.target.value, target: "rest" });
    target.replaceChildren(...targets().map(([value, text]) => el("option", { value }, text)));
    refresh();
  } });
  const tolerance = el("input", { type: "number", id: "tolerance", step: "0.01", min: "0.01", value: view.tolerance, oninput: (event) => { if (event.target.valueAsNumber > 0) change("tolerance")(event); } });
  const scales = select([["difference", "difference"], ["ratio", "ratio"]], view.scale, { id: "scale", onchange: (event) => {
    view.scale = event.target.value;
    tolerance.value = view.tolerance = START[view.scale];
    refresh();
  } });
  const range = score ? score.high - score.low : 0;
  const slider = score?.numeric ? el("input", { type: "range", id: "threshold", min: score.low, max: score.high, step: Number.isInteger(score.low) && range <= 100 ? 1 : range / 200,
    value: view.threshold || (score.low + score.high) / 2, oninput: change("threshold") }) : null;
  show(el("h1", {}, meta.title), mark, views, meta.plan ? null : el("p", { class: "note" }, "Exploratory: the plan was not fixed before this look. Everything that is exported will say so, of this audit and of every later one of the same data."),
    el("div", { class: "row" }, field("Rate", select(metrics, view.metric, { id: "metric", onchange: change("metric") })), field("People by", by), field("Compared with", target), field("Scale", scales), field("Tolerance", tolerance)),
    slider ? field("Threshold of the score", slider) : null, el("p", {}, shown), out, views ? null : el("p", {}, el("a", { href: `/audits/${meta.id}` }, "Back to the audit")));
  await refresh();
}

function numbers(seen, sizes) {
  const judged = new Map((seen.certify?.estimates ?? []).map((row) => [row.group, row]));
  const rates = seen.measure.estimates.map((row) => ["rate", "rate_low", "rate_high"].map((name) => scalar(row[name])));
  const most = Math.max(1e-9, ...rates.flat().filter((value) => value !== null));
  const form = seen.measure.estimates[0]?.value_kind === "percent" ? percent : number;
  const widest = form === percent ? 1 : most;
  const ratios = seen.measure.estimates.some((row) => scalar(row.impact_ratio) !== null);
  const needed = new Map(seen.needed.map((row) => [row.group, row]));
  const open = [...judged.values()].some((row) => row.state === "undetermined");
  const rows = seen.measure.estimates.map((row, index) => {
    const [rate, low, high] = rates[index];
    const verdict = judged.get(row.group);
    const state = verdict?.state ?? row.state;
    const tone = { violated: "bad", harmed: "bad", certified: "good" }[state] ?? "open";
    const why = verdict?.state_reason ?? row.state_reason ?? (rate === null ? row.rate?.reason : null);
    return el("tr", { "data-group": row.group }, el("th", { scope: "row" }, row.group), el("td", { class: "num" }, number(scalar(row.n))), el("td", { class: "num", "data-rate": rate ?? "" }, form(rate)),
      el("td", { class: "within" }, bar(low, rate, high, widest), rate === null ? "" : `${form(low)} to ${form(high)}`),
      el("td", { class: "num" }, form === percent ? points(scalar(row.difference)) : number(scalar(row.difference))), ratios ? el("td", { class: "num" }, ratio(scalar(row.impact_ratio))) : null,
      el("td", { class: `said ${tone}`, "data-state": state }, state, why ? el("span", { class: "quiet" }, why) : null), open ? el("td", { class: "said quiet", "data-more": row.group }, needed.has(row.group) ? more(needed.get(row.group)) : !sizes && state === "undetermined" ? "…" : "") : null);
  });
  const heads = ["group", ["people", "num"], ["rate", "num"], `${percent(seen.measure.details.confidence_level).replace(".0", "")} interval`, [form === percent ? "difference, points" : "difference", "num"],
    ratios ? ["impact ratio", "num"] : null, seen.certify ? "against the tolerance" : "finding", open ? "how many more people?" : null].filter(Boolean);
  const tone = { violated: "bad", certified: "good" }[seen.certify?.verdict.code] ?? "";
  return [el("p", { class: `verdict ${tone}` }, sentence((seen.certify ?? seen.measure).verdict.text)), table(heads, rows.map((row) => labelled(row, heads)), "Every group at this threshold", "stack"), ...notes(seen)];
}

// What the numbers rest on, each sentence once; that nobody is decided differently is said where it is seen.
function notes(seen) {
  const told = new Map([...seen.measure.notes, ...(seen.certify?.notes ?? [])].map((note) => [note.text, note.code]));
  const same = [...told].filter(([, code]) => code === "constant-decision").map(([text]) => el("p", { class: "note" }, text));
  return [...same, el("details", {}, el("summary", {}, "What these numbers rest on"), el("ul", {}, ...[...told.keys()].map((text) => el("li", {}, text))))];
}

// What a cell is, where a narrow page has no room for a head above it.
function labelled(row, heads) {
  [...row.children].forEach((cell, index) => cell.setAttribute("data-label", [heads[index]].flat()[0]));
  return row;
}

function bar(low, rate, high, widest) {
  if (rate === null || low === null || high === null) return el("div", { class: "bar" });
  const at = (value) => 100 * Math.min(1, Math.max(0, value / widest));
  return el("div", { class: "bar" }, draw("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    draw("rect", { x: at(low), y: 2, width: Math.max(0.5, at(high) - at(low)), height: 6 }), draw("line", { x1: at(rate), x2: at(rate), y1: 0, y2: 10 })));
}
