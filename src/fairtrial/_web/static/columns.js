import { ask, duration, el, faults, field, go, label, number, questions, select, show, step, table } from "./page.js";
import { comparing, narrowed } from "./compared.js";
import { asked } from "./questions.js";

const ROLES = [["", "not used"], ["decision", "the decision"], ["outcome", "what really happened"], ["score", "the score"],
  ["groups", "who is compared"], ["features", "what models see"], ["weight", "survey weight"], ["unit", "who is repeated"],
  ["count", "how many people a row stands for"], ["total", "how many people a row is about, of whom the decision counts some"]];
const SINGLE = ["decision", "outcome", "score", "weight", "unit", "count", "total"];

// From a file to its roles and questions: proposed, changed by clicking, and checked while they are changed.
export async function columns(id) {
  step("Columns");
  const [file, about] = await Promise.all([ask("GET", `/api/files/${id}`), ask("GET", "/api/about")]);
  const state = proposed(file);
  const wrong = el("div", { id: "wrong", "aria-live": "polite" });
  const named = (role) => [...state.roles].filter(([, value]) => value === role).map(([name]) => name);
  const form = asked(about, file, named, state.preset, `Fairness audit of ${file.name}`);
  const compared = comparing(file, named, state.bins);
  const note = el("p", { class: "note", hidden: true }, "");
  let latest = 0;
  const check = async () => {
    const mine = ++latest;
    const given = form.read();
    const content = contentOf(state, named, given, about, compared);
    note.textContent = wholly(given, about, compared.read());
    note.hidden = !note.textContent;
    try {
      const found = await ask("POST", "/api/check", { file: id, content });
      if (mine === latest) wrong.replaceChildren(found.faults.length ? faults(found.faults) : cost(found.questions));
      return found.faults.length ? null : content;
    } catch (error) { if (mine === latest) wrong.replaceChildren(faults(error.faults ?? [String(error)])); return null; }
  };
  let timer;
  const changed = () => { clearTimeout(timer); timer = setTimeout(check, 350); };
  const next = async (look) => {
    clearTimeout(timer);
    const content = await check();
    if (!content) { wrong.scrollIntoView({ block: "center" }); return; }
    const made = await ask("POST", "/api/audits", { file: id, content });
    go(`/audits/${made.id}${look ? "/explore" : ""}`);
  };
  const labels = el("div", { class: "row" });
  const parts = () => labels.replaceChildren(...meaning(state, named, file, parts));
  parts();
  const main = show(
    el("h1", {}, `What are the columns of ${file.name}?`),
    el("p", { class: "quiet" }, `${number(file.rows)} rows; parts proposed from the first ${number(file.rows_looked_at)}: check every line.`),
    ...file.proposal.warnings.map((text) => el("p", { class: "note" }, text)),
    columnTable(file, state, named, () => { parts(); form.refresh(); compared.refresh(); }),
    preview(file), el("h2", {}, "What do they mean?"), labels, el("h2", {}, "Who is compared with whom?"), compared.node, el("h2", {}, "What is asked?"), form.node, note, wrong,
    el("p", { class: "row" }, el("button", { class: "main", id: "continue", onclick: () => next(false) }, "Write the plan down"),
      el("button", { id: "look", onclick: () => next(true) }, "Look first (exploratory)")),
  );
  main.oninput = main.onchange = (event) => { if (event.target.matches("input, select")) changed(); };
  changed();
}

function proposed(file) {
  const found = file.proposal;
  const roles = new Map();
  for (const name of ["decision", "outcome", "score", "count", "total"]) if (found[name]) roles.set(found[name], name);
  for (const name of found.groups) roles.set(name, "groups");
  for (const name of found.features) if (!roles.has(name)) roles.set(name, "features");
  return { roles, positive: { ...found.positive }, favourable: found.favourable, threshold: found.threshold, missing: found.missing, preset: found.preset, bins: { ...found.bins },
    of: { decision: found.decision ?? undefined, outcome: found.outcome ?? undefined } };
}

function columnTable(file, state, named, changed) {
  const inputs = new Map();
  const choose = (one) => {
    const node = select(ROLES, state.roles.get(one.name) ?? "", { "aria-label": `Part of ${one.name}`, onchange: () => {
      if (SINGLE.includes(node.value)) for (const name of named(node.value).filter((other) => other !== one.name)) { state.roles.delete(name); inputs.get(name).value = ""; }
      if (node.value) state.roles.set(one.name, node.value); else state.roles.delete(one.name);
      changed();
    } });
    inputs.set(one.name, node);
    return node;
  };
  const holds = (one) => one.labels.length && !(one.numeric && one.labels.length > 2) ? one.labels.slice(0, 8).map(label).join(", ") + (one.labels.length > 8 ? ", …" : "") : one.numeric ? `${number(one.low)} to ${number(one.high)}` : "";
  const rows = file.columns.map((one) => [one.name, [one.kind, "when"], choose(one), [number(one.missing), "num"],
    el("span", {}, holds(one), one.messy ? el("span", { class: "open" }, " labels differ only by case or blanks") : null)]);
  return table(["column", "holds", "part", ["missing", "num"], "labels"], rows, "Columns and the parts they play", "stack");
}

function preview(file) {
  const rows = file.first_rows.map((row, index) => [String(index + 1), ...row.map((text) => text ?? el("span", { class: "quiet" }, "missing"))]);
  return el("details", { id: "preview" }, el("summary", {}, `The first ${rows.length} rows`), table(["row", ...file.columns.map((one) => one.name)], rows, "The first rows"));
}

// Which label counts as 1, which decision is good, the threshold, and missing values: chosen from what is there.
function meaning(state, named, file, again) {
  const column = (name) => file.columns.find((item) => item.name === name);
  const positive = ["decision", "outcome"].flatMap((role) => {
    const one = column(named(role)[0]);
    settle(state, role, one);
    if (!one || named("total").length || one.labels.length !== 2 || one.labels.every((label) => ["0", "1"].includes(label))) { delete state.positive[role]; return []; }
    const options = [...(one.labels.includes(state.positive[role]) ? [] : [["", "choose one"]]), ...one.labels.map((label) => [label, label])];
    return [field(`Which ${role} counts as 1?`, select(options, state.positive[role] ?? "", { id: `positive-${role}`, onchange: (event) => { count(state, role, event.target.value); again(); } }))];
  });
  const scored = named("score").length && !named("decision").length;
  const [yes, no] = sides(scored, column(named("decision")[0]), state.positive.decision);
  const good = select([["", "not said: nobody is called harmed"], ["1", yes], ["0", no]], state.favourable === null ? "" : String(state.favourable),
    { id: "favourable", onchange: (event) => { state.favourable = event.target.value === "" ? null : Number(event.target.value); } });
  const cut = el("input", { type: "text", id: "threshold", value: state.threshold ?? "median", oninput: (event) => {
    const text = event.target.value.trim();
    state.threshold = text === "median" || !Number.isFinite(Number(text)) ? text : Number(text);
  } });
  if (scored && state.threshold === null) state.threshold = "median";
  const missing = select([["error", "are an error"], ["drop", "are left out of what needs them"], ["category", "are a group of their own"]], state.missing, { onchange: (event) => { state.missing = event.target.value; } });
  return [...positive, field("Which decision is good for a person?", good), scored ? field("Decided by a score of at least (a number, or median)", cut) : "", field("Rows with missing values", missing)].filter(Boolean);
}

// A column that was given its part by hand: what its words say of its labels, as in init; else nothing is chosen.
function settle(state, role, one) {
  if (state.of[role] === one?.name) return;
  state.of[role] = one?.name;
  state.positive[role] = one?.yes ?? "";
  if (role === "decision") state.favourable = one?.good ?? null;
}

// Another label counts as 1: the decision that is good for a person stays the same one.
function count(state, role, label) {
  const turned = role === "decision" && state.positive[role] && state.favourable !== null;
  state.positive[role] = label;
  if (turned) state.favourable = 1 - state.favourable;
}

// The two decisions in words: on both sides of the threshold, or by their labels.
function sides(scored, decision, positive) {
  if (scored) return ["a score at or above the threshold", "a score below the threshold"];
  const labels = decision?.labels.length === 2 ? decision.labels : ["0", "1"];
  const yes = labels.includes(positive) ? positive : labels.includes("1") ? "1" : labels[1];
  return [`the decision ${yes}`, `the decision ${labels.find((label) => label !== yes)}`];
}

function cost(listed) {
  if (!listed.length) return el("p", { class: "note" }, "No question is chosen yet.");
  return el("details", { id: "cost", open: listed.length < 6 }, el("summary", {}, questions(listed)),
    table(["question", "takes"], listed.map((one) => [one.title, duration(one.seconds)]), "What will be asked, and about how long each takes"));
}

// What a preset does not take over of what was chosen: it asks about every group.
function wholly(given, about, compared) {
  const kept = compared.some((one) => one.levels) || (compared.some((one) => one.reference !== null) && !about.with_references.includes(given.preset));
  return given.preset && kept ? "The preset's own questions are about every group, compared with everyone else; what was chosen above goes for the further questions alone." : "";
}

function contentOf(state, named, given, about, compared) {
  const data = {};
  for (const role of SINGLE) if (named(role).length) data[role] = named(role)[0];
  data.groups = named("groups");
  if (named("features").length) data.features = named("features");
  const positive = Object.entries(state.positive).filter(([, label]) => label !== "");
  if (positive.length) data.positive = Object.fromEntries(positive);
  if (state.favourable !== null) data.favourable = state.favourable;
  if (data.score && !data.decision && state.threshold !== null) data.threshold = state.threshold;
  data.missing = state.missing;
  if (Object.keys(compared.bins()).length) data.bins = compared.bins();
  const references = Object.fromEntries(compared.read().filter((one) => one.reference !== null).map((one) => [one.name, one.reference]));
  const own = about.with_references.includes(given.preset) && Object.keys(references).length ? { [given.preset]: { references } } : {};
  return { ...(given.preset ? { preset: given.preset } : {}), report: { title: given.title }, data, ...own, ...narrowed(given.sections, about, compared.read()) };
}
