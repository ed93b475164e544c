import { ask, el, faults, field, number, select, show, step } from "./page.js";

const go = (path) => window.dispatchEvent(new CustomEvent("go", { detail: path }));
const ROLES = [["", "not used"], ["decision", "the decision"], ["outcome", "what really happened"], ["score", "the score"],
  ["groups", "who is compared"], ["features", "what models see"], ["weight", "survey weight"], ["unit", "who is repeated"]];

// From a file to its roles and questions: proposed, and changed by clicking.
export async function columns(id) {
  step("Columns");
  const [file, about] = await Promise.all([ask("GET", `/api/files/${id}`), ask("GET", "/api/about")]);
  const found = file.proposal;
  const roles = new Map();
  for (const name of ["decision", "outcome", "score"]) if (found[name]) roles.set(found[name], name);
  for (const name of found.groups) roles.set(name, "groups");
  for (const name of found.features) if (!roles.has(name)) roles.set(name, "features");
  const state = { roles, positive: { ...found.positive }, favourable: found.favourable, threshold: found.threshold, missing: found.missing,
    preset: found.preset, title: `Fairness audit of ${file.name}`, questions: {} };
  const wrong = el("div", { "aria-live": "polite" });
  const labels = el("div", { class: "row" });
  const named = (role) => [...state.roles].filter(([, value]) => value === role).map(([name]) => name);
  const column = (name) => file.columns.find((item) => item.name === name);
  const parts = () => {
    labels.replaceChildren(...["decision", "outcome"].flatMap((role) => {
      const one = column(named(role)[0]);
      if (!one || one.labels.length !== 2 || one.labels.every((label) => ["0", "1"].includes(label))) { delete state.positive[role]; return []; }
      state.positive[role] = one.labels.includes(state.positive[role]) ? state.positive[role] : one.labels[1];
      return [field(`Which ${role} counts as 1?`, select(one.labels.map((label) => [label, label]), state.positive[role], { onchange: (event) => { state.positive[role] = event.target.value; } }))];
    }), field("Which decision is good for a person?", select([["", "nobody can say"], ["1", "1"], ["0", "0"]], state.favourable === null ? "" : String(state.favourable),
      { id: "favourable", onchange: (event) => { state.favourable = event.target.value === "" ? null : Number(event.target.value); } })),
    named("score").length && !named("decision").length ? field("The decision is a score of at least", el("input", { type: "text", id: "threshold", value: state.threshold ?? "median",
      onchange: (event) => { state.threshold = event.target.value === "median" ? "median" : Number(event.target.value); } }), "a number, or median") : "",
    field("Rows with missing values", select([["error", "are an error"], ["drop", "are left out of what needs them"], ["category", "are a group of their own"]], state.missing,
      { onchange: (event) => { state.missing = event.target.value; } })));
  };
  const rows = file.columns.map((one) => el("tr", {}, el("th", { scope: "row" }, one.name), el("td", {}, one.kind),
    el("td", {}, select(ROLES, state.roles.get(one.name) ?? "", { "aria-label": `Part of ${one.name}`, onchange: (event) => {
      if (["decision", "outcome", "score", "weight", "unit"].includes(event.target.value)) for (const name of named(event.target.value)) {
        state.roles.delete(name);
        for (const other of body.querySelectorAll("select")) if (other.getAttribute("aria-label") === `Part of ${name}`) other.value = "";
      }
      event.target.value ? state.roles.set(one.name, event.target.value) : state.roles.delete(one.name);
      parts();
    } })), el("td", { class: "num" }, number(one.missing)),
    el("td", {}, one.labels.length ? one.labels.slice(0, 8).join(", ") + (one.labels.length > 8 ? ", …" : "") : one.numeric ? `${one.low} to ${one.high}` : "",
      one.messy ? el("span", { class: "open" }, " labels differ only by case or blanks") : "")));
  const body = el("tbody", {}, ...rows);
  parts();
  const next = async (look) => {
    const content = contentOf(state, named, questions.read());
    wrong.replaceChildren(el("p", {}, "Checking …"));
    try {
      const { faults: list } = await ask("POST", "/api/check", { file: id, content });
      if (list.length) { wrong.replaceChildren(faults(list)); return; }
      const made = await ask("POST", "/api/audits", { file: id, content });
      go(`/audits/${made.id}${look ? "/explore" : ""}`);
    } catch (error) { wrong.replaceChildren(faults(error.faults ?? [String(error)])); }
  };
  const questions = asked(state, about);
  show(
    el("h1", {}, `What are the columns of ${file.name}?`),
    el("p", { class: "quiet" }, `Proposed from ${number(file.rows_looked_at)} rows; check every line.`),
    ...found.warnings.map((text) => el("p", { class: "note" }, text)),
    el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...["column", "holds", "part", "missing", "labels"].map((text) => el("th", { scope: "col" }, text)))), body)),
    labels, el("h2", {}, "What is asked?"), questions.node, wrong,
    el("p", { class: "row" }, el("button", { class: "main", id: "continue", onclick: () => next(false) }, "Write the plan down"),
      el("button", { id: "look", onclick: () => next(true) }, "Look first (exploratory)")),
  );
}

function asked(state, about) {
  const title = el("input", { type: "text", id: "title", value: state.title, size: 50 });
  const preset = select([["", "only what is chosen below"], ...about.presets.map((name) => [name, `what is usual in ${name}`])], state.preset, { id: "preset" });
  const forms = about.questions.filter((one) => one.name !== "watch").map((one) => form(one));
  return {
    node: el("div", {}, el("div", { class: "row" }, field("Title", title), field("Questions", preset)), ...forms.map((one) => one.node)),
    read: () => ({ title: title.value, preset: preset.value, sections: Object.fromEntries(forms.map((one) => [one.name, one.read()]).filter(([, value]) => value)) }),
  };
}

// A form from the method's declaration: what is not changed is not written.
function form(one) {
  const inputs = Object.entries(one.form.properties).filter(([name]) => name !== "title").map(([name, schema]) => [name, schema, input(name, schema)]);
  const on = el("input", { type: "checkbox", "data-question": one.name });
  const detail = el("details", {}, el("summary", {}, "Settings"), el("div", { class: "row" }, ...inputs.map(([name, schema, node]) => field(name.replaceAll("_", " "), node, schema.description))));
  return {
    name: one.name,
    node: el("fieldset", {}, el("legend", {}, el("label", {}, on, " ", one.question)), el("p", { class: "quiet" }, one.help), detail),
    read: () => on.checked ? Object.fromEntries(inputs.map(([name, schema, node]) => [name, value(node, schema)]).filter(([, given]) => given !== undefined)) : null,
  };
}

function input(name, schema) {
  const choices = schema.enum ?? schema.anyOf?.find((part) => part.enum)?.enum;
  const shown = schema.default === null || schema.default === undefined ? "" : typeof schema.default === "object" ? JSON.stringify(schema.default) : String(schema.default);
  if (schema.enum) return select([["", `default${shown ? ` (${shown})` : ""}`], ...choices.filter((item) => item !== null).map((item) => [String(item), String(item)])], "", { "data-option": name });
  if (schema.type === "boolean") return select([["", `default (${shown || "false"})`], ["true", "yes"], ["false", "no"]], "", { "data-option": name });
  return el("input", { type: "text", placeholder: shown, "data-option": name });
}

function value(node, schema) {
  const text = node.value.trim();
  if (!text) return undefined;
  if (schema.enum) return schema.enum.find((item) => String(item) === text);
  try { return JSON.parse(text); } catch { return text.includes("=") && !text.includes(" ") ? Object.fromEntries([text.split("=")]) : text; }
}

function contentOf(state, named, given) {
  const data = {};
  for (const role of ["decision", "outcome", "score", "weight", "unit"]) if (named(role).length) data[role] = named(role)[0];
  data.groups = named("groups");
  if (named("features").length) data.features = named("features");
  if (Object.keys(state.positive).length) data.positive = state.positive;
  if (state.favourable !== null) data.favourable = state.favourable;
  if (data.score && !data.decision && state.threshold !== null) data.threshold = state.threshold;
  data.missing = state.missing;
  return { ...(given.preset ? { preset: given.preset } : {}), report: { title: given.title || state.title }, data, ...given.sections };
}
