import { el, label as shown, number, sentence } from "./page.js";
import { bar, comparing } from "./compared.js";
import { amount, column, counted, give, item, zeroOne } from "./parts.js";

// What was decided, who is compared, what else counts: each proposed with its reason, and changed with one click.
export function threeCards(file, state, named, again) {
  const node = el("div", { class: "three" });
  const compared = comparing(file, named, state, again);
  const draw = () => {
    const focus = document.activeElement?.id;
    compared.refresh();
    node.replaceChildren(
      card("decided", "What was decided?", decided(file, state, named, again)),
      card("compared", "Who is compared?", who(file, state, named, again, compared)),
      card("else", "What else counts?", also(file, state, named, again)));
    if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
  };
  draw();
  return { node, draw, compared };
}

function card(key, title, parts) {
  const inside = parts.flat().filter(Boolean);
  const asks = inside.some((part) => part.matches?.(".asks") || part.querySelector?.(".asks"));
  const badge = el("span", { class: asks ? "badge ask" : "badge", "aria-hidden": "true" }, asks ? "?" : "✓");
  return el("section", { class: "card", id: `card-${key}`, "aria-labelledby": `title-${key}` }, el("h2", { id: `title-${key}` }, badge, title), ...inside);
}

const open = (text) => el("p", { class: "asks" }, text);
const why = (text) => text ? el("span", { class: "why" }, sentence(text)) : null;

// One column for a part: those that may be meant first, then all others.
function pick(file, role, one, chosen, none, change) {
  const likely = one.choices.filter((choice) => choice.value !== null).map((choice) => choice.value);
  const others = file.columns.map((other) => other.name).filter((name) => !likely.includes(name));
  const option = (name) => el("option", { value: name }, name);
  const node = el("select", { id: `pick-${role}`, onchange: () => change(node.value || null) },
    el("option", { value: "" }, none), likely.length ? el("optgroup", { label: "Likely" }, ...likely.map(option)) : null,
    others.length ? el("optgroup", { label: "All other columns" }, ...others.map(option)) : null);
  node.value = chosen ?? "";
  const reason = chosen === one.value ? one.reason : chosen ? "as you said" : "";
  return el("label", { class: "item" }, el("span", { class: "ask" }, one.question), node, why(reason));
}

function ofHundred(count, total) {
  const share = 100 * count / Math.max(total, 1);
  return share > 0 && share < 0.5 ? "fewer than 1 of 100" : `${Math.round(share)} of 100`;
}

// Rows of a list: what can be chosen, how many people it stands for, and a bar.
function answer(kind, group, one, checked, change, count, total) {
  const id = `${group}-${one.id}`;
  return el("label", { class: "answer", for: id }, el("input", { type: kind, name: group, id, checked, onchange: change }), el("span", {}, one.words),
    count === undefined ? null : bar(count / Math.max(total, 1)), count === undefined ? null : el("span", { class: "count" }, ofHundred(count, total)));
}

function decided(file, state, named, again) {
  const [name] = named("decision");
  const [score] = named("score");
  const one = column(file, name);
  const none = score ? `none: a cut-off of ${score}` : "none of them";
  const parts = [pick(file, "decision", item(file, "decision"), name, none, (chosen) => { give(file, state, named, "decision", chosen); again(); })];
  if (!one) return [...parts, ...(score ? cutOff(state, again) : [open("Without a decision an audit shows how the groups differ, not how they were treated.")])];
  if (named("total").length) return [...parts, good(file, state, again, one, [["1", "yes", 1], ["0", "no", 0]], `Is it good for the person to be counted in ${name}?`)];
  if (state.amount || amount(one)) return [...parts, good(file, state, again, one, [["high", "high values", "high"], ["low", "low values", "low"]], `${name} is a number. Which values are good for the person?`)];
  if (one.labels.length > 2) return [...parts, several(file, state, again, one), good(file, state, again, one, [["1", "yes, these", 1], ["0", "no, the others", 0]], "Are these good for the person?")];
  return [...parts, sides(file, state, again, one)];
}

// Of two values: which is good, with how many people have each.
function sides(file, state, again, one) {
  const total = one.counts.reduce((sum, count) => sum + count, 0);
  const yes = zeroOne(one) ? one.labels.find((label) => ["1", "true"].includes(label)) : state.positive.decision ?? counted(one);
  const rows = one.labels.map((label, place) => answer("radio", "good", { id: String(place), words: shown(label) }, state.favourable !== null && (state.favourable === 1) === (label === yes), () => {
    state.favourable = Number(label === yes);
    if (!zeroOne(one)) state.positive.decision = yes;
    state.told = true;
    again();
  }, one.counts[place], total));
  return asked(state, again, `Which is good for the person?`, rows, reasonOf(file, one));
}

function good(file, state, again, one, pairs, question) {
  const rows = pairs.map(([id, words, value]) => answer("radio", "good", { id, words }, state.favourable === value, () => { state.favourable = value; state.told = true; again(); }));
  return asked(state, again, question, rows, reasonOf(file, one));
}

function reasonOf(file, one) {
  return item(file, "decision").choices.find((choice) => choice.value === one.name)?.then[0]?.reason ?? "";
}

function asked(state, again, question, rows, reason) {
  const unknown = answer("radio", "good", { id: "unknown", words: "I don't know" }, state.told && state.favourable === null, () => { state.favourable = null; state.told = true; again(); });
  return el("fieldset", { class: "answers", id: "good" }, el("legend", {}, question), ...rows, unknown,
    state.told ? why(state.favourable === null ? "Nobody is called harmed or favoured." : reason) : open("Please answer. Until then nobody is called harmed or favoured."));
}

// Of several values: which of them mean yes.
function several(file, state, again, one) {
  const chosen = [state.positive.decision ?? []].flat();
  const total = one.counts.reduce((sum, count) => sum + count, 0);
  const rows = one.labels.map((label, place) => answer("checkbox", "yes", { id: String(place), words: shown(label) }, chosen.includes(label), (event) => {
    const left = chosen.filter((other) => other !== label);
    state.positive.decision = event.target.checked ? [...left, label] : left;
    again();
  }, one.counts[place], total));
  return el("fieldset", { class: "answers", id: "yes" }, el("legend", {}, `Which of ${one.name} mean yes?`), ...rows, chosen.length ? null : open("Please choose at least one."));
}

// The decision is a score at or above a number.
function cutOff(state, again) {
  state.threshold ??= "median";
  const input = el("input", { type: "text", id: "threshold", value: state.threshold, oninput: () => {
    const text = input.value.trim();
    state.threshold = text === "" || text === "median" || !Number.isFinite(Number(text)) ? text : Number(text);
  } });
  const rows = [["1", "a score at or above it", 1], ["0", "a score below it", 0]].map(([id, words, value]) => answer("radio", "good", { id, words }, state.favourable === value, () => { state.favourable = value; state.told = true; again(); }));
  return [el("label", { class: "item" }, el("span", { class: "ask" }, "Decided by a score of at least (a number, or median)"), input), asked(state, again, "Which is good for the person?", rows, "")];
}

function who(file, state, named, again, compared) {
  const one = item(file, "groups");
  const taken = ["decision", "outcome", "score", "count", "total", "unit"].flatMap(named);
  const written = new Map(file.written.map((family) => [family.name, family]));
  const names = [...new Set([...one.value, ...one.choices.map((choice) => choice.value), ...named("groups")])].filter((name) => !taken.includes(name));
  const on = (name) => named("groups").includes(name) || state.families.has(name);
  const chip = (name) => el("label", { class: "chip" }, el("input", { type: "checkbox", id: `who-${name}`, checked: on(name), onchange: (event) => {
    if (written.has(name) && !column(file, name)) { if (event.target.checked) state.families.add(name); else state.families.delete(name); }
    else if (event.target.checked) state.roles.set(name, "groups"); else state.roles.delete(name);
    again();
  } }), " ", name);
  const plain = (name) => { const other = column(file, name); return !other || !other.numeric || other.labels.length === 2; };
  const few = names.filter((name) => !on(name) && plain(name)).slice(0, 6);
  const shownFirst = names.filter((name) => on(name) || few.includes(name));
  const rest = file.columns.map((other) => other.name).filter((name) => !shownFirst.includes(name) && !taken.includes(name));
  const more = el("select", { id: "who-more", "aria-label": "Compare by another column", onchange: () => { if (more.value) { state.roles.set(more.value, "groups"); again(); } } },
    el("option", { value: "" }, "another column …"), ...rest.map((name) => el("option", { value: name }, name)));
  const nobody = !named("groups").length && !state.families.size;
  return [el("fieldset", { class: "chips" }, el("legend", { class: "unseen" }, one.question), ...shownFirst.map(chip), rest.length ? more : null),
    nobody ? open("No name says sex, race or the like. Please choose who is compared.") : why(one.reason),
    compared.node, ...file.written.filter((family) => state.families.has(family.name)).map(family)];
}

function family(one) {
  const total = Object.values(one.counts).reduce((sum, count) => sum + count, 0);
  return el("fieldset", { class: "answers", "data-attribute": one.name }, el("legend", {}, one.name), ...Object.entries(one.counts).map(([words, count]) =>
    el("div", { class: "answer" }, el("span", {}, shown(words)), bar(count / Math.max(total, 1)), el("span", { class: "count" }, number(count)))));
}

const MISSING = [["error", "stop and say so"], ["drop", "leave them out where the value is needed"], ["category", "make missing a group of its own"]];

function also(file, state, named, again) {
  const [outcome] = named("outcome"), [score] = named("score"), [decision] = named("decision");
  const parts = [pick(file, "outcome", item(file, "outcome"), outcome, "not in this file", (chosen) => { give(file, state, named, "outcome", chosen); again(); })];
  const one = column(file, outcome);
  if (one && one.labels.length === 2 && !zeroOne(one) && !named("total").length) parts.push(choice("positive-outcome", `Which of ${outcome} counts as 1?`, one.labels.map((label) => [label, shown(label)]), state.positive.outcome ?? counted(one), "", (value) => { state.positive.outcome = value; again(); }));
  parts.push(pick(file, "score", item(file, "score"), score, "no score", (chosen) => { give(file, state, named, "score", chosen); again(); }));
  if (score && decision) parts.push(choice("favours", "Which scores are good for a person?", [["", "I don't know"], ["high", "high scores"], ["low", "low scores"]], state.favours ?? "", score === file.proposal.score ? file.proposal.remarks.score_favours ?? "" : "", (value) => { state.favours = value || null; again(); }));
  parts.push(factors(file, state, named, again), counts(file, state, named, again), unit(file, state, named, again));
  parts.push(choice("missing", "Rows that lack a value", MISSING, state.missing, "", (value) => { state.missing = value; again(); }));
  return parts;
}

function choice(id, question, pairs, chosen, reason, change) {
  const node = el("select", { id, onchange: () => change(node.value) }, ...pairs.map(([value, text]) => el("option", { value }, text)));
  node.value = chosen;
  return el("label", { class: "item" }, el("span", { class: "ask" }, question), node, why(reason));
}

function factors(file, state, named, again) {
  const one = item(file, "within");
  const able = (one?.choices ?? []).map((choice) => choice.value).filter((name) => [undefined, "features"].includes(state.roles.get(name)));
  for (const name of state.within) if (!able.includes(name)) state.within.delete(name);
  if (!able.length || (!named("decision").length && !named("score").length)) return null;
  const chip = (name) => el("label", { class: "chip" }, el("input", { type: "checkbox", id: `within-${name}`, checked: state.within.has(name), onchange: (event) => {
    if (event.target.checked) state.within.add(name); else state.within.delete(name);
    again();
  } }), " ", name);
  return el("fieldset", { class: "chips" }, el("legend", {}, one.question), ...able.map(chip), why(one.reason));
}

function counts(file, state, named, again) {
  const one = item(file, "count");
  if (!one && !named("count").length) return null;
  const role = named("total").length ? "total" : "count";
  const able = [...new Set([...(one?.choices ?? []).map((each) => each.value), ...named(role)])].filter(Boolean);
  return choice("count", "How many people does each row stand for?", [["", "one person"], ...able.map((name) => [name, `as many as ${name} says`])], named(role)[0] ?? "", one?.reason ?? "", (value) => { give(file, state, named, role, value || null); again(); });
}

function unit(file, state, named, again) {
  const one = item(file, "unit");
  const [chosen] = named("unit");
  if (!one && !chosen) return null;
  const able = [...new Set([...(one?.choices ?? []).map((each) => each.value), chosen])].filter(Boolean);
  return choice("unit", one?.question ?? "Which column names people who have several rows?", [["", "no: each row is a different person"], ...able.map((name) => [name, `yes: ${name} names the person`])], chosen ?? "", one?.reason ?? "", (value) => { give(file, state, named, "unit", value || null); again(); });
}
