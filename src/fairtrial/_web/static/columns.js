import { ask, duration, el, faults, go, number, questions, show, step, table } from "./page.js";
import { narrowed } from "./compared.js";
import { threeCards } from "./cards.js";
import { chosenOf, proposed } from "./parts.js";
import { allColumns, preview } from "./roles.js";
import { asked } from "./questions.js";

// From a file to its answer: three cards hold what was understood; all else is folded away.
export async function columns(id) {
  step("Columns", "What was understood");
  const [file, about] = await Promise.all([ask("GET", `/api/files/${id}`), ask("GET", "/api/about")]);
  const state = proposed(file);
  const wrong = el("div", { id: "wrong", "aria-live": "polite" });
  const named = (role) => [...state.roles].filter(([, value]) => value === role).map(([name]) => name);
  const form = asked(about, file, named, state.preset, `Fairness audit of ${file.name}`);
  const note = el("p", { class: "note", hidden: true }, "");
  let latest = 0, timer;
  const check = async () => {
    const mine = ++latest;
    const given = form.read();
    const content = contentOf(file, state, named, given, about, cards.compared);
    note.textContent = wholly(given, about, cards.compared.read());
    note.hidden = !note.textContent;
    try {
      const found = await ask("POST", "/api/check", { file: id, content });
      if (mine === latest) wrong.replaceChildren(found.faults.length ? faults(found.faults) : cost(found.questions));
      return found.faults.length ? null : content;
    } catch (error) { if (mine === latest) wrong.replaceChildren(faults(error.faults ?? [String(error)])); return null; }
  };
  const changed = () => { clearTimeout(timer); timer = setTimeout(check, 350); };
  const says = () => `Check ${number(file.people)} ${named("unit").length ? "rows" : "people"}`;
  const again = () => { cards.draw(); all.draw(); form.refresh(); button.textContent = says(); changed(); };
  const cards = threeCards(file, state, named, again);
  const all = allColumns(file, state, named, again);
  const made = async () => {
    clearTimeout(timer);
    const content = await check();
    if (!content) { wrong.scrollIntoView({ block: "center" }); return null; }
    return ask("POST", "/api/audits", { file: id, content });
  };
  const next = async (look) => { const audit = await made(); if (audit) go(`/audits/${audit.id}${look ? "/explore" : ""}`); };
  const run = async () => {
    button.disabled = true;
    try {
      const audit = await made();
      if (!audit) return;
      await ask("POST", `/api/audits/${audit.id}/plan`);
      await ask("POST", `/api/audits/${audit.id}/run`);
      go(`/audits/${audit.id}`);
    } catch (error) { wrong.replaceChildren(faults(error.faults ?? [String(error)])); } finally { button.disabled = false; }
  };
  const button = el("button", { class: "main large", id: "check", onclick: run }, says());
  const main = show(
    el("h1", {}, `What we understood of ${file.name}`),
    el("p", { class: "quiet" }, looked(file)),
    read(file),
    cards.node, note,
    el("div", { class: "act" }, el("p", { class: "row" }, button, el("button", { id: "continue", onclick: () => next(false) }, "Write the plan down first"), el("button", { id: "look", onclick: () => next(true) }, "Look first (exploratory)")), wrong),
    el("details", { id: "all" }, el("summary", {}, `All ${number(file.columns.length)} columns`), all.node, preview(file)),
    el("details", { id: "asked" }, el("summary", {}, "What is asked of them"), form.node),
  );
  main.oninput = main.onchange = (event) => { if (event.target.matches("input, select")) changed(); };
  changed();
}

function looked(file) {
  const rows = `${number(file.rows)} rows, ${number(file.columns.length)} columns`;
  const people = file.people === file.rows ? "" : `; the rows stand for ${number(file.people)} people`;
  const sample = file.rows_looked_at < file.rows ? `; counts are of ${number(file.rows_looked_at)} rows` : "";
  return `${rows}${people}${sample}. Change what is not right; nothing is computed before you ask for it.`;
}

// What was converted on the way, and what deserves a second look.
function read(file) {
  const said = file.read.map((text) => el("li", {}, text));
  return [said.length ? el("details", { id: "read", open: said.length < 4 }, el("summary", {}, "How the file was read"), el("ul", {}, ...said)) : null,
    ...file.proposal.warnings.map((text) => el("p", { class: "note" }, text))];
}

function cost(listed) {
  if (!listed.length) return el("p", { class: "note" }, "No question is chosen yet.");
  return el("details", { id: "cost" }, el("summary", {}, questions(listed)),
    table(["question", "takes"], listed.map((one) => [one.title, duration(one.seconds)]), "What will be asked, and about how long each takes"));
}

// What a preset does not take over of what was chosen: it asks about every group.
function wholly(given, about, compared) {
  const kept = compared.some((one) => one.levels) || (compared.some((one) => one.reference !== null) && !about.with_references.includes(given.preset));
  return given.preset && kept ? "The preset's own questions are about every group, compared with everyone else; what was chosen above goes for the further questions alone." : "";
}

function contentOf(file, state, named, given, about, compared) {
  const { data, groups } = chosenOf(file, state, named);
  if (Object.keys(compared.bins()).length) data.bins = compared.bins();
  const kept = about.with_references.includes(given.preset);
  const references = Object.fromEntries(compared.read().filter((one) => one.reference !== null).map((one) => [one.name, one.reference]));
  const within = [...state.within];
  const own = kept ? { ...(Object.keys(references).length ? { references } : {}), ...(within.length ? { within } : {}) } : {};
  const sections = { ...given.sections };
  if (within.length && !kept) {
    const plain = { metric: state.amount ? "mean_decision" : "selection_rate" };
    sections.flag = sections.flag ? { within, ...sections.flag } : [plain, { ...plain, within }];
  }
  return { ...(given.preset ? { preset: given.preset } : {}), report: { title: given.title }, data, ...(Object.keys(groups).length ? { groups } : {}),
    ...(Object.keys(own).length ? { [given.preset]: own } : {}), ...narrowed(sections, about, compared.read()) };
}


