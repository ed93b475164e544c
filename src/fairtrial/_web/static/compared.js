import { draw, el, field, label as shown, number, select } from "./page.js";

const OPEN_LABELS = 30;  // as many as are known of a column; of more, all are compared

// Who is compared with whom, of each attribute: which of its groups, the one they are compared with, and where numbers are cut.
export function comparing(file, named, state, again) {
  const left = new Map();  // groups that are left out, by attribute
  const references = new Map();
  const node = el("div", {});
  const cuts = state.bins;
  const column = (name) => file.columns.find((one) => one.name === name);
  const groups = (name) => {
    const { labels, counts } = column(name);
    if (labels.length >= OPEN_LABELS) return new Map();
    const merged = Object.fromEntries(Object.entries(state.merge[name] ?? {}).flatMap(([one, same]) => same.map((other) => [other, one])));
    const found = new Map();
    labels.forEach((text, place) => found.set(merged[text] ?? text, (found.get(merged[text] ?? text) ?? 0) + counts[place]));
    return found;
  };
  const listed = (name) => [...groups(name).keys()];
  const numbers = (name) => column(name).numeric && !column(name).labels.length;
  const refresh = () => node.replaceChildren(...named("groups").filter((name) => column(name)).map(one));
  const one = (name) => el("fieldset", { class: "answers", "data-attribute": name }, el("legend", {}, name), numbers(name) ? cut(name) : "", alike(name), listed(name).length ? levels(name) : "");
  const alike = (name) => {
    const found = column(name).alike;
    if (!Object.keys(found).length) return "";
    const said = Object.entries(found).map(([to, same]) => `${same.map((text) => `“${text}”`).join(", ")} as “${to}”`).join("; ");
    return el("label", { class: "merge" }, el("input", { type: "checkbox", id: `merge-${name}`, checked: Boolean(state.merge[name]), onchange: (event) => {
      state.merge[name] = event.target.checked ? found : null;
      left.delete(name);
      again();
    } }), el("span", {}, `Count spellings of one group as one: ${said}`));
  };
  const cut = (name) => {
    const given = cuts[name] ??= 4;
    return field("Cut at these edges (25, 45), or into so many equal parts (4)", el("input", { type: "text", id: `cut-${name}`, value: [given].flat().join(", "), oninput: (event) => { cuts[name] = edges(event.target.value); } }));
  };
  const levels = (name) => {
    const out = left.get(name) ?? new Set();
    left.set(name, out);
    const found = groups(name);
    const total = [...found.values()].reduce((sum, count) => sum + count, 0);
    const box = ([text, count]) => el("label", { class: "answer" }, el("input", { type: "checkbox", checked: !out.has(text), onchange: (event) => { if (event.target.checked) out.delete(text); else out.add(text); } }),
      el("span", {}, shown(text)), bar(count / Math.max(total, 1)), el("span", { class: "count" }, number(count)));
    const against = select([["", "everyone else"], ...[...found.keys()].map((text) => [text, shown(text)])], references.get(name) ?? "", { "aria-label": `Groups of ${name} are compared with`, onchange: (event) => references.set(name, event.target.value) });
    return el("div", {}, el("div", { role: "group", "aria-label": `Groups of ${name}` }, ...[...found].sort((a, b) => b[1] - a[1]).map(box)), el("label", { class: "against" }, "Compared with ", against));
  };
  const read = () => named("groups").map((name) => {
    const kept = listed(name).filter((label) => !left.get(name)?.has(label));
    return { name, levels: kept.length && kept.length < listed(name).length ? kept : null, reference: listed(name).includes(references.get(name)) ? references.get(name) : null };
  });
  const bins = () => Object.fromEntries(named("groups").filter((name) => numbers(name)).map((name) => [name, cuts[name] ?? 4]));
  refresh();
  return { node, refresh, read, bins };
}

export function bar(share) {
  return draw("svg", { class: "share", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" }, draw("rect", { width: Math.max(100 * share, 0.5), height: 6 }));
}

function edges(text) {
  const parts = text.split(",").map((part) => part.trim()).filter(Boolean);
  const values = parts.map((part) => Number.isFinite(Number(part)) ? Number(part) : part);
  return values.length === 1 ? values[0] : values;
}

// The questions with what was chosen above, wherever they do not say it themselves; of several references one question each.
export function narrowed(sections, about, compared) {
  const forms = Object.fromEntries(about.questions.map((one) => [one.name, one.form.properties]));
  return Object.fromEntries(Object.entries(sections).map(([name, table]) => [name, "by" in forms[name] && !("by" in table) ? asked(table, forms[name], compared) : table]));
}

function asked(table, form, compared) {
  const by = (list) => list.flatMap((one) => one.levels ? one.levels.map((label) => ({ [one.name]: label })) : [one.name]);
  const key = form.target?.type.includes("string") ? "target" : form.reference?.type.includes("object") ? "reference" : null;
  const paired = key && !(key in table) ? compared.filter((one) => one.reference !== null) : [];
  const others = compared.filter((one) => !paired.includes(one));
  if (!paired.length) return others.some((one) => one.levels) ? { ...table, by: by(others) } : table;
  const tables = paired.map((one) => ({ ...table, by: by([one]), [key]: { [one.name]: one.reference } }));
  if (others.length) tables.push({ ...table, by: by(others) });
  return tables.length > 1 ? tables : tables[0];
}
