import { ask, asData, day, duration, el, EXPLORATORY, faults, go, number, presetWords, questions, show, step, table, words } from "./page.js";
import { explore } from "./explore.js";
import { frontier, surface } from "./frontier.js";
import { heatmap, needed, subgroups, tests, watch } from "./views.js";

const VIEWS = { heatmap, tests, subgroups, frontier, surface, needed, watch };
const NAMES = { heatmap: "Groups and metrics", tests: "Every test", subgroups: "Subgroups", frontier: "Fairer rules", surface: "How far it reaches", needed: "How many more people?", watch: "Watch" };
const SANDBOX = "allow-scripts allow-downloads allow-popups allow-modals";

// One audit at whatever stage it is.
export async function audit(id, view) {
  const meta = await ask("GET", `/api/audits/${id}`);
  if (view === "explore") return explore(meta, meta.plan && meta.exploratory ? stamp(meta) : null, meta.stage === "done" ? tabs(meta, await ask("GET", `/api/audits/${id}/views`), "explore") : null);
  if (VIEWS[view]) return looked(meta, view);
  if (!meta.plan) return plan(meta);
  if (["queued", "running"].includes(meta.stage)) return running(meta);
  if (meta.stage === "done") return result(meta);
  return ready(meta);
}

async function looked(meta, view) {
  step("Result", NAMES[view]);
  const [seen, present] = await Promise.all([ask("GET", `/audits/${meta.id}/${view}.json`), ask("GET", `/api/audits/${meta.id}/views`)]);
  show(el("h1", {}, meta.title), meta.exploratory ? stamp(meta) : null, tabs(meta, present, view), ...VIEWS[view](meta, seen, `/audits/${meta.id}/${view}`));
}

function tabs(meta, present, current) {
  const link = (name, text) => el("li", {}, el("a", { href: `/audits/${meta.id}${name ? `/${name}` : ""}`, "aria-current": name === current ? "page" : null }, text));
  return el("nav", { class: "tabs", "aria-label": "Views" }, el("ul", {}, link("", "Report"), ...present.map((name) => link(name, NAMES[name])), link("explore", "Move the threshold")));
}

const MISSING = { error: "are an error", drop: "are left out of what needs them", category: "are a group of their own" };
const PARTS = { outcome: "what really happened", decision: "the decision", score: "the score", groups: "who is compared", features: "what models see", weight: "survey weight", unit: "who is repeated", count: "how many people a row stands for", total: "of how many the decision counts some", positive: "counts as 1", favourable: "good for a person", missing: "missing values" };

// What is fixed about the data, the preset, and what was chosen beside the questions, which are listed by themselves.
function written(meta, names) {
  const { data, report, preset, ...chosen } = meta.content;
  return table(["what", "fixed as"], [...Object.entries(data).map(([name, value]) => [PARTS[name] ?? name, name === "favourable" ? goodWords(data) : name === "missing" ? MISSING[value] ?? words(value) : words(value)]), ...(preset ? [["questions", presetWords(preset)]] : []),
    ...Object.entries(chosen).filter(([name]) => !names.includes(name)).map(([name, value]) => [name.replaceAll("_", " "), words(value)])], "The plan");
}

function goodWords(data) {
  const cut = data.score && !data.decision;
  if (cut) return data.favourable === 1 ? "a score at or above the threshold" : "a score below the threshold";
  const label = data.positive?.decision;
  return data.favourable === 1 ? `the decision ${label ?? 1}` : label ? `another decision than ${label}` : "the decision 0";
}

async function expected(meta) {
  const [found, about] = await Promise.all([ask("POST", "/api/check", { file: meta.file, content: meta.content }), ask("GET", "/api/about")]);
  const told = written(meta, about.questions.map((one) => one.name));
  if (found.faults.length) return [told, faults(found.faults)];
  const rows = found.questions.map((one) => [one.title, words(one.arguments), duration(one.seconds)]);
  return [told, el("p", {}, questions(found.questions)), table(["question", "asked with", "takes"], rows, "Every question, its settings and what it takes", "stack")];
}

async function plan(meta) {
  step("Plan");
  const wrong = el("div", { "aria-live": "assertive" });
  const fix = el("button", { class: "main", id: "fix", onclick: async () => {
    try { await ask("POST", `/api/audits/${meta.id}/plan`); go(`/audits/${meta.id}`); } catch (error) { wrong.replaceChildren(faults(error.faults)); }
  } }, meta.exploratory ? "Fix the questions (marked exploratory)" : "Fix the plan, before any rate is shown");
  show(el("h1", {}, meta.title), el("p", {}, "Groups, metrics, tolerance and scale are written down before any rate is shown; the plan gets a date and a fingerprint, and both stand in the report."),
    meta.exploratory ? el("p", { class: "note" }, "Rates of these data were shown already, in this audit or another: everything that is exported will say “exploratory”.") : null,
    await expected(meta), wrong, el("p", { class: "row" }, fix, el("a", { class: "button", href: `/audits/${meta.id}/explore` }, "Look first (exploratory)"), el("a", { class: "button", href: `/?file=${meta.file}` }, "Ask something else")));
}

function stamp(meta) {
  if (meta.exploratory) return el("p", { class: "note" }, EXPLORATORY);
  return el("p", { class: "quiet" }, `Plan fixed ${day(meta.planned)} UTC, fingerprint ${meta.plan.slice(0, 16)}…: the SHA-256 of `, el("a", { href: `/api/audits/${meta.id}/plan.json`, download: "" }, "plan.json"), ".");
}

async function ready(meta) {
  step("Run");
  const wrong = el("div", { "aria-live": "assertive" });
  const run = el("button", { class: "main", id: "run", onclick: async () => {
    try { await ask("POST", `/api/audits/${meta.id}/run`); go(`/audits/${meta.id}`); } catch (error) { wrong.replaceChildren(faults(error.faults)); }
  } }, meta.stage === "open" ? "Run" : "Run again");
  show(el("h1", {}, meta.title), stamp(meta), meta.error ? faults(meta.error.split("\n")) : null,
    meta.stage === "cancelled" ? el("p", { class: "note" }, "The run was cancelled; what was finished is kept.") : null,
    await expected(meta), wrong, el("p", { class: "row" }, run, el("a", { class: "button", href: `/?file=${meta.file}` }, "Ask something else")));
}

const STARTING = "Starting: the questions are listed in a moment. You can close this page and come back.";

function running(meta) {
  step("Run");
  const rows = new Map();
  const list = table(["question", "state", "so far"], [], "Progress");
  const told = el("p", { role: "status", id: "told" }, meta.stage === "queued" ? "Waiting for its turn …" : STARTING);
  const source = new EventSource(`/api/audits/${meta.id}/events`);
  const cancel = el("button", { id: "cancel", onclick: () => { cancel.disabled = true; ask("POST", `/api/audits/${meta.id}/cancel`); } }, "Cancel");
  const waiting = el("progress", { id: "waiting", "aria-label": "The run has begun" });
  show(el("h1", {}, meta.title), stamp(meta), told, waiting, list, el("p", {}, cancel));
  const left = () => window.location.pathname !== `/audits/${meta.id}`;
  source.onerror = () => { if (!left()) told.textContent = "The server does not answer; this page goes on asking. What is finished is kept."; };
  source.onmessage = (message) => {
    const event = JSON.parse(message.data);
    if (left()) { source.close(); return; }
    if (event.what === "ended") { source.close(); go(window.location.pathname); return; }
    if (event.what === "started") told.textContent = STARTING;
    if (event.what !== "event") return;
    told.textContent = "Running. You can close this page and come back.";
    waiting.remove();
    if (!rows.has(event.section)) {
      const cells = [el("th", { scope: "row" }, event.title), el("td"), el("td")];
      rows.set(event.section, cells);
      list.querySelector("tbody").append(el("tr", { "data-section": event.section }, ...cells));
    }
    const [, state, more] = rows.get(event.section);
    state.textContent = event.status;
    const counted = event.status === "running" && event.total;
    more.replaceChildren(counted ? el("progress", { max: event.total, value: event.done, "aria-label": `${event.title}: ${event.text}` }) : "",
      counted ? `${event.text} ${number(event.done)} of ${number(event.total)}` : event.text);
  };
}

async function result(meta) {
  step("Result");
  const base = `/api/audits/${meta.id}`;
  const [code, present] = await Promise.all([ask("GET", `${base}/code`), ask("GET", `${base}/views`)]);
  const tone = { violated: "bad", certified: "good" }[meta.verdict.code] ?? "open";
  const download = (href, text) => el("a", { class: "button", href, download: "" }, text);
  const same = (name, text) => el("details", {}, el("summary", {}, text), el("p", {}, download(`${base}/code/${name}`, `Download ${name}`)), el("pre", { tabindex: 0, "aria-label": text }, code[name]));
  show(el("h1", {}, meta.title), el("p", { class: `verdict ${tone}`, id: "verdict" }, meta.verdict.text), tabs(meta, present, ""),
    el("iframe", { src: `${base}/report/report.html`, title: "The report", sandbox: SANDBOX }), el("p", {}, el("a", { href: `${base}/report/report.html`, target: "_blank" }, "Open the report on a page of its own")),
    el("h2", {}, "To keep or to pass on"), el("p", { class: "row", id: "downloads" }, download(`${base}/report/report.html?download=true`, "Report"), meta.verdict.code === "certified" ? download(`${base}/certificate.html`, "Certificate") : null, download(`${base}/report/results.json?download=true`, "Results"),
      download(`${base}/tables.xlsx`, "Excel"), download(`${base}/tables.zip`, "Tables"), download(`${base}/report/summary.md?download=true`, "Summary"), download(`${base}/code/audit.toml`, "audit.toml"), download(`${base}/plan.json`, "Plan")),
    stamp(meta), asData(`/audits/${meta.id}`),
    el("h2", {}, "The same in code"), same("audit.py", "Python"), same("audit.toml", "The audit as a file"), same("audit.sh", "Command line"),
    el("p", {}, el("button", { id: "again", onclick: async () => { await ask("POST", `${base}/run`); go(`/audits/${meta.id}`); } }, "Run again")));
}
