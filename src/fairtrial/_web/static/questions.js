import { el, field, presetWords, select } from "./page.js";

// The questions in words; each form comes from the method's declaration, and what is not changed is not written.
export function asked(about, file, named, chosen, heading) {
  const title = el("input", { type: "text", id: "title", value: heading, size: 40 });
  const preset = select([["", "only what is chosen below"], ...about.presets.map((name) => [name, presetWords(name)])], chosen, { id: "preset" });
  const lists = { metric: el("datalist", { id: "list-metric" }), criterion: el("datalist", { id: "list-criterion" }), columns: el("datalist", { id: "list-columns" }), group: el("datalist", { id: "list-group" }) };
  const refresh = () => {
    const roles = ["decision", "outcome", "score"].filter((role) => named(role).length);
    if (roles.includes("score") && !roles.includes("decision")) roles.push("decision");
    const metrics = about.metrics.filter((one) => one.needs.every((role) => roles.includes(role)));
    const groups = named("groups").flatMap((name) => (file.columns.find((one) => one.name === name)?.labels ?? []).map((label) => [`${name}=${label}`, ""]));
    const fill = (list, pairs) => list.replaceChildren(...pairs.map(([value, text]) => el("option", { value }, text)));
    fill(lists.metric, metrics.map((one) => [one.name, one.label]));
    fill(lists.criterion, about.criteria.map((name) => [name, ""]));
    fill(lists.columns, file.columns.map((one) => [one.name, ""]));
    fill(lists.group, groups);
  };
  refresh();
  const forms = about.questions.map((one) => form(one, lists));
  const head = () => preset.value ? "Further questions, beside those" : "The questions";
  const summary = el("summary", {}, head());
  const more = el("details", { id: "more", open: !preset.value }, summary, ...forms.map((one) => one.node));
  preset.addEventListener("change", () => { summary.textContent = head(); more.open = more.open || !preset.value; });
  return {
    refresh,
    node: el("div", {}, ...Object.values(lists), el("div", { class: "row" }, field("Title", title), field("Questions", preset)), more),
    read: () => ({ title: title.value || heading, preset: preset.value, sections: Object.fromEntries(forms.map((one) => [one.name, one.read()]).filter(([, value]) => value)) }),
  };
}

function form(one, lists) {
  const inputs = Object.entries(one.form.properties).filter(([name]) => name !== "title").map(([name, schema]) => [name, schema, input(name, schema)]);
  const shown = ([name, schema, node]) => field(name.replaceAll("_", " "), node, schema.description);
  const required = inputs.filter(([name]) => one.form.required.includes(name));
  const optional = inputs.filter(([name]) => !one.form.required.includes(name));
  const settings = el("div", { class: "settings", hidden: true }, required.length ? el("div", { class: "row" }, ...required.map(shown)) : null,
    el("details", {}, el("summary", {}, "More settings"), el("div", { class: "row" }, ...optional.map(shown))));
  const on = el("input", { type: "checkbox", "data-question": one.name, onchange: () => {
    settings.hidden = !on.checked;
    for (const [, schema, node] of required) if (!node.value) node.value = lists[schema.format]?.firstElementChild?.value ?? "";
  } });
  return {
    name: one.name,
    node: el("fieldset", {}, el("legend", {}, el("label", {}, on, " ", one.question)), el("p", { class: "quiet" }, one.help.replace(one.question, "").trim() || one.help), settings),
    read: () => on.checked ? Object.fromEntries(inputs.map(([name, schema, node]) => [name, value(node, schema)]).filter(([, given]) => given !== undefined)) : null,
  };
}

function input(name, schema) {
  const shown = schema.default === null || schema.default === undefined ? "" : typeof schema.default === "object" ? JSON.stringify(schema.default) : String(schema.default);
  if (schema.enum) return select([["", `default${shown ? ` (${shown})` : ""}`], ...schema.enum.filter((item) => item !== null).map((item) => [String(item), String(item)])], "", { "data-option": name });
  if (schema.type === "boolean") return select([["", `default (${shown || "false"})`], ["true", "yes"], ["false", "no"]], "", { "data-option": name });
  return el("input", { type: "text", placeholder: shown, "data-option": name, list: schema.format ? `list-${schema.format}` : null });
}

// A text is a value of JSON where it is one; race=White is a group, and a, b is a list where one may stand.
function value(node, schema) {
  const text = node.value.trim();
  if (!text) return undefined;
  if (schema.enum) return schema.enum.find((item) => String(item) === text);
  try { return JSON.parse(text); } catch { /* a plain text */ }
  if (schema.format === "group" || (text.includes("=") && (schema.type ?? []).includes("object"))) return pairs(text);
  return (schema.type ?? []).includes("array") && text.includes(",") ? text.split(",").map((part) => part.trim()) : text;
}

function pairs(text) {
  const at = text.indexOf("=");
  return at < 0 ? text : { [text.slice(0, at).trim()]: text.slice(at + 1).trim() };
}
