import { ask, el, faults, number, show, step } from "./page.js";
import { explore } from "./explore.js";

const go = (path) => window.dispatchEvent(new CustomEvent("go", { detail: path }));

// One audit at whatever stage it is.
export async function audit(id, view) {
  const meta = await ask("GET", `/api/audits/${id}`);
  if (view === "explore") return explore(meta);
  if (!meta.plan) return plan(meta);
  if (["queued", "running"].includes(meta.stage)) return running(meta);
  if (meta.stage === "done") return result(meta);
  return ready(meta);
}

function written(meta) {
  const { data, report, preset, ...questions } = meta.content;
  const line = (name, value) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, typeof value === "string" ? value : JSON.stringify(value)));
  return el("div", { class: "scroll" }, el("table", {}, el("tbody", {}, ...Object.entries(data).map(([name, value]) => line(name, value)),
    preset ? line("questions of", preset) : "", ...Object.entries(questions).map(([name, value]) => line(name, value)))));
}

function plan(meta) {
  step("Plan");
  const wrong = el("div", { "aria-live": "assertive" });
  const fix = el("button", { class: "main", id: "fix", onclick: async () => {
    try { await ask("POST", `/api/audits/${meta.id}/plan`); go(`/audits/${meta.id}`); } catch (error) { wrong.replaceChildren(faults(error.faults)); }
  } }, meta.exploratory ? "Fix the questions (marked exploratory)" : "Fix the plan, before any rate is shown");
  show(el("h1", {}, meta.title), el("p", {}, "Groups, metrics, tolerance and scale are written down before any rate is shown; the plan gets a date and a fingerprint, and both stand in the report."),
    meta.exploratory ? el("p", { class: "note" }, "Rates were looked at already: everything that is exported will say “exploratory”.") : "",
    written(meta), wrong, el("p", { class: "row" }, fix, el("a", { class: "button", href: `/audits/${meta.id}/explore` }, "Look first (exploratory)")));
}

function stamp(meta) {
  return el("p", { class: "quiet" }, meta.exploratory ? "Exploratory: rates were looked at before the questions were fixed." : `Plan fixed ${String(meta.planned).replace("T", " ").slice(0, 16)} UTC, fingerprint ${meta.plan.slice(0, 16)}…`);
}

function ready(meta) {
  step("Run");
  const wrong = el("div", { "aria-live": "assertive" });
  show(el("h1", {}, meta.title), stamp(meta), meta.error ? faults([meta.error]) : "",
    meta.stage === "cancelled" ? el("p", { class: "note" }, "The run was cancelled; what was finished is kept.") : "", written(meta), wrong,
    el("p", {}, el("button", { class: "main", id: "run", onclick: async () => {
      try { await ask("POST", `/api/audits/${meta.id}/run`); go(`/audits/${meta.id}`); } catch (error) { wrong.replaceChildren(faults(error.faults)); }
    } }, meta.stage === "open" ? "Run" : "Run again")));
}

function running(meta) {
  step("Run");
  const rows = new Map();
  const list = el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...["question", "state", ""].map((text) => el("th", { scope: "col" }, text)))), el("tbody")));
  const source = new EventSource(`/api/audits/${meta.id}/events`);
  const cancel = el("button", { id: "cancel", onclick: () => { cancel.disabled = true; ask("POST", `/api/audits/${meta.id}/cancel`); } }, "Cancel");
  show(el("h1", {}, meta.title), stamp(meta), el("p", { role: "status" }, "Running. You can close this page and come back."), list, el("p", {}, cancel));
  source.onmessage = (message) => {
    const event = JSON.parse(message.data);
    if (event.what === "ended") { source.close(); if (window.location.pathname === `/audits/${meta.id}`) go(window.location.pathname); return; }
    if (event.what !== "event") return;
    if (!rows.has(event.section)) {
      const cells = [el("th", { scope: "row" }, event.title), el("td"), el("td")];
      rows.set(event.section, cells);
      list.querySelector("tbody").append(el("tr", {}, ...cells));
    }
    const [, state, more] = rows.get(event.section);
    state.textContent = event.status;
    more.replaceChildren(event.status === "running" && event.total ? el("progress", { max: event.total, value: event.done, "aria-label": `${event.title}: ${event.text}` }) : "",
      event.status === "running" ? `${event.text} ${event.total ? `${number(event.done)} of ${number(event.total)}` : ""}` : event.text);
  };
}

async function result(meta) {
  step("Result");
  const base = `/api/audits/${meta.id}/report`;
  const code = await ask("GET", `/api/audits/${meta.id}/code`);
  const tone = { violated: "bad", certified: "good" }[meta.verdict.code] ?? "open";
  const download = (href, text) => el("a", { class: "button", href, download: "" }, text);
  show(el("h1", {}, meta.title), el("p", { class: `verdict ${tone}`, id: "verdict" }, meta.verdict.text), stamp(meta),
    el("p", { class: "row" }, download(`${base}/report.html?download=true`, "Report"), download(`${base}/results.json?download=true`, "Results"),
      download(`${base}/summary.md?download=true`, "Summary"), download(`/api/audits/${meta.id}/audit.toml`, "audit.toml"),
      el("a", { class: "button", href: `/audits/${meta.id}/explore` }, "Move the threshold"),
      el("button", { onclick: async () => { await ask("POST", `/api/audits/${meta.id}/run`); go(`/audits/${meta.id}`); } }, "Run again")),
    el("iframe", { src: `${base}/report.html`, title: "The report", sandbox: "allow-scripts allow-downloads allow-popups allow-modals" }),
    el("h2", {}, "The same in code"), el("details", {}, el("summary", {}, "Python"), el("pre", { tabindex: 0 }, code.python)),
    el("details", {}, el("summary", {}, "audit.toml"), el("pre", { tabindex: 0 }, code.toml)), el("details", {}, el("summary", {}, "Command line"), el("pre", { tabindex: 0 }, code.command)));
}
