import { ask, asData, chance, day, el, points, ratio, sentence, show, step, table, words } from "./page.js";

const value = (side) => side === null ? "not asked" : side.effect === null ? "–" : side.kind === "points" ? points(side.effect) : Number(side.effect).toFixed(3);
const judged = (side) => side === null ? "" : `${side.significant ? "significant" : "not significant"}, p ${chance(side.adjusted)}`;

function gapChange(test) {
  const found = test.gap_change;
  if (!found) return "";
  const form = test.new.kind === "points" ? points : ratio;
  return `${form(found.estimate)} (${form(found.low)} to ${form(found.high)})${found.shown ? ", shown" : ""}`;
}

// Of two tables what differs, in words; anything else as it is.
function differing(old, fresh) {
  if ([old, fresh].some((side) => side === null || typeof side !== "object" || Array.isArray(side))) return [words(old), words(fresh)];
  const names = [...new Set([...Object.keys(old), ...Object.keys(fresh)])].filter((name) => JSON.stringify(old[name]) !== JSON.stringify(fresh[name]));
  return [old, fresh].map((side) => names.map((name) => `${name.replaceAll("_", " ")}: ${name in side ? words(side[name]) : "–"}`).join("; "));
}

// Two finished audits side by side.
export async function compare(before, after) {
  step("Result", "Two audits");
  const query = new URLSearchParams({ old: before, new: after });
  const [found, old, fresh] = await Promise.all([ask("GET", `/compare.json?${query}`), ask("GET", `/api/audits/${before}`), ask("GET", `/api/audits/${after}`)]);
  const named = (meta) => el("span", {}, el("a", { href: `/audits/${meta.id}` }, meta.title), meta.exploratory ? ", exploratory" : "");
  const moved = found.tests.some((test) => test.gap_change);
  const tests = [...found.tests].sort((one, other) => !one.change - !other.change).map((test) => [test.subject + (test.against ? `, compared with ${test.against}` : ""), test.metric, test.question,
    [value(test.old), "num"], judged(test.old), [value(test.new), "num"], judged(test.new), ...(moved ? [[gapChange(test), "num"]] : []), test.change ? el("strong", { class: test.change.startsWith("became") ? "bad" : null }, test.change) : ""]);
  show(el("h1", {}, "Two audits side by side"),
    el("p", { class: "verdict", id: "verdict" }, found.verdict.changed ? "The verdict has changed." : "The verdict is the same."),
    table(["what", "before", "after"], [["audit", named(old), named(fresh)], ["made (UTC)", day(old.made), day(fresh.made)], ["verdict", found.verdict.old.text, found.verdict.new.text],
      ...found.setting.map((item) => [item.what, ...differing(item.old, item.new)])], "What differs around the numbers"),
    el("p", {}, el("a", { class: "button", href: `/compare?old=${after}&new=${before}` }, "The other way round")),
    found.not_compared ? el("p", { class: "note" }, found.not_compared) : el("p", {}, found.changed_gaps.length ? `${found.changed_gaps.length === 1 ? "1 gap" : `${found.changed_gaps.length} gaps`} changed by more than chance, all corrected together.` : "No gap is shown to have changed by more than chance, all corrected together."),
    el("h2", {}, "Every test, each gap once"), table(["who", "metric", "question", ["before", "num"], "judged before", ["after", "num"], "judged after", ...(moved ? [["gap changed by", "num"]] : []), "change"], tests, "Every test of both audits", "stack"), asData("/compare", query));
}

// Every watch that is kept here.
export async function watches() {
  step("Result", "Watches");
  const found = await ask("GET", "/watches.json");
  show(el("h1", {}, "Does it stay fair?"),
    found.length ? table(["watch", "so far", "last rows added (UTC)", "more"], found.map((one) => [one.watch, sentence(one.verdict) + (one.exploratory ? " (exploratory)" : ""), day(one.ended), el("a", { href: `/audits/${one.audit}/watch` }, "Status")]), "Watches kept here", "stack")
      : el("p", {}, "No watch is kept here yet. Open the rows of the first period, choose “Does it stay fair?”, and give the watch a name; bring the rows of each later period with the same name."),
    asData("/watches"));
}
