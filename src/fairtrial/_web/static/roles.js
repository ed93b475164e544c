import { el, label, number, select, table } from "./page.js";
import { give, SINGLE } from "./parts.js";

const ROLES = [["", "not used"], ["decision", "the decision"], ["outcome", "what really happened"], ["score", "the score"],
  ["groups", "who is compared"], ["features", "what models see"], ["weight", "survey weight"], ["unit", "who is repeated"],
  ["count", "how many people a row stands for"], ["total", "how many people a row is about, of whom the decision counts some"]];

// Every column with the part that it plays, for those who look for one that no card shows.
export function allColumns(file, state, named, again) {
  const inputs = new Map();
  const choose = (one) => {
    const node = select(ROLES, state.roles.get(one.name) ?? "", { "aria-label": `Part of ${one.name}`, onchange: () => {
      const before = state.roles.get(one.name);
      if (SINGLE.includes(before)) give(file, state, named, before, null);
      if (SINGLE.includes(node.value)) give(file, state, named, node.value, one.name);
      else if (node.value) state.roles.set(one.name, node.value);
      else state.roles.delete(one.name);
      again();
    } });
    inputs.set(one.name, node);
    return node;
  };
  const holds = (one) => one.labels.length && !(one.numeric && one.labels.length > 2) ? one.labels.slice(0, 8).map(label).join(", ") + (one.labels.length > 8 ? ", …" : "") : one.numeric ? `${number(one.low)} to ${number(one.high)}` : "";
  const rows = file.columns.map((one) => [one.name, [one.kind, "when"], choose(one), [number(one.missing), "num"],
    el("span", {}, holds(one), one.messy ? el("span", { class: "open" }, " labels differ only by case or blanks") : null)]);
  return {
    node: table(["column", "holds", "part", ["missing", "num"], "labels"], rows, "Columns and the parts they play", "stack"),
    draw: () => { for (const [name, node] of inputs) node.value = state.roles.get(name) ?? ""; },
  };
}

export function preview(file) {
  const rows = file.first_rows.map((row, index) => [String(index + 1), ...row.map((text) => text ?? el("span", { class: "quiet" }, "missing"))]);
  return el("details", { id: "preview" }, el("summary", {}, `The first ${rows.length} rows`), table(["row", ...file.columns.map((one) => one.name)], rows, "The first rows"));
}
