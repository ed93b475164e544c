// Which column plays which part, as it was proposed and as it is changed; and what of it the audit's file says.
export const SINGLE = ["decision", "outcome", "score", "weight", "unit", "count", "total"];
const ZERO_ONE = [["0", "1"], ["false", "true"]];

export const column = (file, name) => file.columns.find((one) => one.name === name);
export const item = (file, key) => file.cards.flatMap((card) => card.items).find((one) => one.key === key);
export const zeroOne = (one) => ZERO_ONE.some((pair) => one.labels.length === 2 && pair.every((label) => one.labels.includes(label)));
export const amount = (one) => one.numeric && !zeroOne(one) && (!one.labels.length || one.labels.length > 10);

export function proposed(file) {
  const found = file.proposal;
  const roles = new Map();
  for (const name of ["decision", "outcome", "score", "count", "total"]) if (found[name]) roles.set(found[name], name);
  const unit = item(file, "unit")?.value;
  if (unit) roles.set(unit, "unit");
  const written = new Set(file.written.map((family) => family.name));
  for (const name of found.attributes) if (column(file, name)) roles.set(name, "groups");
  const left = new Set(file.written.filter((family) => found.attributes.includes(family.name)).flatMap((family) => Object.values(family.columns)));
  for (const name of found.features) if (!roles.has(name) && !left.has(name)) roles.set(name, "features");
  return { roles, families: new Set(found.attributes.filter((name) => written.has(name) && !column(file, name))), positive: { ...found.positive },
    favourable: found.favourable, favours: found.score_favours, threshold: found.threshold, missing: found.missing, preset: found.preset,
    bins: { ...found.bins }, amount: found.amount, told: found.favourable !== null, within: new Set(),
    merge: Object.fromEntries(file.columns.filter((one) => Object.keys(one.alike).length).map((one) => [one.name, one.alike])) };
}

// Another column plays a part, or none does; what its words say of its labels follows.
export function give(file, state, named, role, name) {
  for (const other of named(role)) state.roles.delete(other);
  if (name) state.roles.set(name, role);
  if (role === "decision" || role === "outcome") settle(file, state, role, column(file, name));
  if (role === "score") { state.favours = name === file.proposal.score ? file.proposal.score_favours : null; }
}

function settle(file, state, role, one) {
  delete state.positive[role];
  if (one?.yes && !zeroOne(one)) state.positive[role] = one.yes;
  if (role !== "decision") return;
  state.amount = Boolean(one) && amount(one);
  const said = one && item(file, "decision").choices.find((choice) => choice.value === one.name)?.then[0];
  const chosen = said?.value == null ? null : said.choices.find((choice) => choice.value === said.value);
  state.favourable = chosen ? chosen.writes.data.favourable : null;
  state.told = chosen !== null;
  if (chosen?.writes.data.positive) Object.assign(state.positive, chosen.writes.data.positive);
}

// Of two labels that say nothing the rarer one is counted: no finding depends on which, as long as nobody knows which is good.
export function counted(one) {
  if (one.yes) return one.yes;
  const [first, second] = one.labels;
  return one.counts[0] <= one.counts[1] ? first : second;
}

// [data] and [groups] of the audit's file.
export function chosenOf(file, state, named) {
  const data = {};
  for (const role of SINGLE) if (named(role).length) data[role] = named(role)[0];
  const families = file.written.filter((family) => state.families.has(family.name));
  const groups = Object.assign({}, ...families.map((family) => family.groups));
  data.groups = [...named("groups"), ...Object.keys(groups)];
  if (named("features").length) data.features = named("features");
  const positive = {};
  for (const role of ["decision", "outcome"]) {
    const one = column(file, data[role]);
    if (!one || data.total || zeroOne(one) || !one.labels.length || (role === "decision" && state.amount)) continue;
    const label = state.positive[role] ?? (one.labels.length === 2 ? counted(one) : undefined);
    if (label !== undefined && label.length) positive[role] = label;
  }
  if (Object.keys(positive).length) data.positive = positive;
  if (state.favourable !== null) data.favourable = state.favourable;
  if (data.score && data.decision && state.favours !== null) data.score_favours = state.favours;
  if (data.score && !data.decision && state.threshold !== null) data.threshold = state.threshold;
  data.missing = state.missing;
  const merge = Object.entries(state.merge).filter(([name, alike]) => alike && ["groups", "features"].includes(state.roles.get(name)));
  if (merge.length) data.merge = Object.fromEntries(merge);
  return { data, groups };
}
