import { asData, chance, el, more, number, percent, points, ratio, sentence, table } from "./page.js";

const span = (low, high, form) => low === null || low === undefined ? "" : ` (${form(low)} to ${form(high)})`;
const keep = (path, name, value) => window.history.replaceState({}, "", `${path}?${new URLSearchParams({ [name]: value })}`);
const wanted = (name) => new URLSearchParams(window.location.search).get(name);
const facts = (pairs) => el("dl", {}, ...pairs.filter(([, text]) => text !== null && text !== undefined && text !== "" && text !== "–").flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]));
// A chart of the report, in the page's colours whether it is light or dark.
function svg(meta, name, text) {
  const place = `/api/audits/${meta.id}/report/charts/${name}.svg`;
  const picture = el("picture", {}, el("source", { srcset: `${place}?dark=true`, media: "(prefers-color-scheme: dark)" }),
    el("img", { class: "chart", src: place, alt: text, loading: "lazy", onerror: () => picture.remove() }));
  return picture;
}

// Every group by every metric; a click tells the rest.
export function heatmap(meta, seen, path) {
  const detail = el("div", { id: "detail", class: "panel", "aria-live": "polite" }, el("p", { class: "quiet" }, "Choose a cell to see its numbers."));
  const cells = new Map(seen.rows.map((row) => [`${row.group}|${row.metric}`, row]));
  const tell = (row) => { keep(path, "cell", `${row.group}|${row.metric}`); detail.replaceChildren(...cellDetail(row, seen)); detail.scrollIntoView({ block: "nearest" }); };
  const button = (row) => el("button", { class: `cell ${row.tested ? row.tone : "none"}`, "data-cell": `${row.group}|${row.metric}`, onclick: () => tell(row) },
    el("strong", {}, row.rate === null || row.rate === undefined ? "–" : percent(row.rate)), el("span", {}, row.state));
  const rows = seen.groups.map((group) => [group, ...seen.metrics.map((metric) => [button(cells.get(`${group}|${metric}`)), "heat"])]);
  const chosen = cells.get(wanted("cell"));
  if (chosen) detail.replaceChildren(...cellDetail(chosen, seen));
  return [el("p", {}, `Colours follow the verdict after the correction over all ${number(seen.correction.tests)} tests: red where a disparity remains, green where a certificate was given. Hatched cells were not tested.`),
    table(["group", ...seen.metrics.map((metric) => seen.labels[metric])], rows, "Groups and metrics"), detail, asData(path)];
}

function cellDetail(row, seen) {
  const gap = row.ratio !== null && row.ratio !== undefined && (row.difference === null || row.difference === undefined);
  return [el("h2", {}, `${row.group}: ${seen.labels[row.metric]}`), el("p", { class: row.tone }, row.state), row.reason ? el("p", { class: "quiet" }, row.reason) : "",
    facts([["people", number(row.n)], ["rate", percent(row.rate) + span(row.rate_low, row.rate_high, percent)], ["compared with", row.target], ["their rate", percent(row.target_rate)],
      gap ? ["ratio", ratio(row.ratio) + span(row.ratio_low, row.ratio_high, ratio)] : ["difference, points", points(row.difference) + span(row.difference_low, row.difference_high, points)],
      ["impact ratio", ratio(row.impact_ratio)], ["p", chance(row.p_value)], ["p after correction", chance(row.adjusted)],
      ["question", row.section ? seen.titles[row.section] : ""]])].filter(Boolean);
}

// Groups that were listed or searched for; a click tells their rates and how each was found.
export function subgroups(meta, seen, path) {
  const detail = el("div", { id: "detail", class: "panel", "aria-live": "polite" }, el("p", { class: "quiet" }, "Choose a subgroup to see its rates and how it was found."));
  const tell = (row) => { keep(path, "subgroup", row.id); detail.replaceChildren(...subgroupDetail(meta, row, seen.searches[row.section])); detail.scrollIntoView({ block: "nearest" }); };
  const name = (row) => row.group ?? `${row.protected}: ${row.subgroup}`;
  const rows = seen.rows.map((row) => [el("button", { class: "link", "data-subgroup": row.id, onclick: () => tell(row) }, name(row)), seen.titles[row.section], [number(row.n), "num"], [percent(row.rate), "num"], [percent(row.expected ?? row.target_rate), "num"],
    [points(row.difference), "num"], el("span", { class: ["found", "flagged"].includes(row.state) ? "bad" : "open" }, row.state)]);
  const chosen = seen.rows.find((row) => row.id === wanted("subgroup"));
  if (chosen) detail.replaceChildren(...subgroupDetail(meta, chosen, seen.searches[chosen.section]));
  return [table(["subgroup", "question", ["people", "num"], ["rate", "num"], ["compared with", "num"], ["difference, points", "num"], "finding"], rows, "Subgroups", "stack"), detail, asData(path)];
}

// What a difference is taken to: with a search, what comparable people get; else who the group is compared with.
function compared(row) {
  const others = percent(row.target_rate) + span(row.target_rate_low, row.target_rate_high, percent);
  const difference = ["difference, points", points(row.difference) + span(row.difference_low, row.difference_high, points)];
  if (row.expected === undefined) return [["compared with", row.target], ["their rate", others], difference];
  return [["comparable people outside", percent(row.expected)], difference, [`the same subgroup, ${row.target}`, others]];
}

function subgroupDetail(meta, row, search) {
  const parts = search.values.filter((part) => part.restricted).map((part) => [`${part.attribute}: ${part.value}`, part.inside ? "inside" : "outside", [number(part.n), "num"], [percent(part.rate), "num"], [percent(part.target_rate), "num"]]);
  return [el("h2", {}, row.group ?? `${row.protected}: ${row.subgroup}`), row.reason ? el("p", { class: "quiet" }, row.reason) : "",
    facts([["people", number(row.n)], ["rate", percent(row.rate) + span(row.rate_low, row.rate_high, percent)], ...compared(row),
      ["score", row.score === undefined ? "" : number(row.score)], ["p", chance(row.p_value)], ["p after correction", chance(row.p_adjusted)], ["finding", row.state]]),
    el("h3", {}, "How it was found"), el("p", {}, search.question), ...search.reading.map((text) => el("p", {}, text)),
    facts(Object.entries(search.facts).map(([key, value]) => [key.replaceAll("_", " "), typeof value === "number" ? number(value) : String(value)])),
    parts.length ? table(["value", "inside or outside", ["people", "num"], ["rate", "num"], ["others", "num"]], parts, "The best subgroup, value by value") : "",
    svg(meta, `${row.section}.subgroup`, "The best subgroup, value by value"), el("details", {}, el("summary", {}, "The method"), el("p", {}, search.method))].filter(Boolean);
}

export function tests(meta, seen, path) {
  const rows = seen.rows.map((row) => [row.subject + (row.against ? `, compared with ${row.against}` : ""), row.metric, seen.titles[row.section], [row.kind === "points" && row.effect !== null ? `${points(row.effect)} points` : number(row.effect), "num"], [chance(row.p_value), "num"], [chance(row.adjusted), "num"],
    el("span", { class: row.significant ? "bad" : "open" }, row.significant ? "significant" : "not significant")]);
  return [el("p", {}, `${number(seen.correction.tests)} tests, corrected together (${seen.correction.words}, ${percent(seen.correction.alpha).replace(".0", "")}).`),
    table(["who", "metric", "question", ["effect", "num"], ["p", "num"], ["p after correction", "num"], "finding"], rows, "Every test of the trial", "stack"), asData(path)];
}

export function needed(meta, seen, path) {
  if (!seen.rows.length) return [el("p", { class: "card" }, "No group is undetermined: nobody more is needed."), asData(path)];
  const rows = seen.rows.map((row) => [row.group, row.label, [number(row.n), "num"], more(row), seen.titles[row.section]]);
  return [el("p", {}, "Undetermined means: these people do not decide it. So many would have sufficed with the power asked for, if no gap were there."),
    table(["group", "metric", ["people", "num"], "how many more people?", "question"], rows, "Who would be needed", "stack"), asData(path)];
}

// The status of a watch: its sentences, its groups, and its course.
export function watch(meta, seen, path) {
  const rows = seen.rows.map((row) => [row.group, [number(row.n), "num"], [percent(row.rate), "num"], [points(row.difference) + span(row.difference_low, row.difference_high, points), "num"], row.average_state ?? "",
    el("span", { class: row.state === "violated" ? "bad" : "open" }, row.state), row.since ?? "–", row.changed ?? "–"]);
  const said = Object.entries(seen.watches).flatMap(([section, one]) => [...one.reading.map((text, index) => el("p", { class: index ? null : `verdict ${{ violated: "bad", certified: "good" }[one.verdict.code] ?? ""}` }, sentence(text))), svg(meta, `${section}.average`, "The average gap over time")]);
  return [...said, table(["group", ["people", "num"], ["rate", "num"], ["average gap, points", "num"], "on average so far", "any period", "shown since", "changed since"], rows, "Where every group stands", "stack"), asData(path),
    el("p", {}, el("a", { href: "/watches" }, "All watches"))];
}
