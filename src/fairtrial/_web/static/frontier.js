import { ask, asData, draw, el, field, number, percent, points, sentence, table } from "./page.js";

const WIDE = 600, HIGH = 300, EDGE = 78, MOST_LOSS = 0.2;
const keep = (path, name, value) => window.history.replaceState({}, "", `${path}?${new URLSearchParams({ [name]: value })}`);

function scaled(values, from, to) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low || 1) * 0.06;
  const wide = high - low + 2 * room;
  return { at: (value) => from + (to - from) * (value - low + room) / wide, back: (place) => low - room + wide * (place - from) / (to - from), low, high };
}

function axes(x, y, labels) {
  const mark = (text, left, top, anchor) => draw("text", { x: left, y: top, "text-anchor": anchor }, text);
  return [draw("path", { class: "axis", d: `M${EDGE} 8V${HIGH - EDGE}H${WIDE - 8}` }), mark(labels.x, WIDE / 2, HIGH - 20, "middle"), mark(labels.y, EDGE + 6, 18, "start"),
    mark(labels.form(x.low), x.at(x.low), HIGH - EDGE + 16, "middle"), mark(labels.form(x.high), x.at(x.high), HIGH - EDGE + 16, "middle"), mark(labels.form(y.low), EDGE - 4, y.at(y.low) + 4, "end"), mark(labels.form(y.high), EDGE - 4, y.at(y.high) + 4, "end")];
}

// Whoever presses and moves in the picture is told where, in the picture's own measure; a page still scrolls under it.
function dragged(picture, tell) {
  const at = (event) => {
    const box = picture.getBoundingClientRect();
    tell(WIDE * (event.clientX - box.left) / box.width, HIGH * (event.clientY - box.top) / box.height);
  };
  picture.addEventListener("pointerdown", (event) => { picture.setPointerCapture(event.pointerId); at(event); });
  picture.addEventListener("pointermove", (event) => { if (event.buttons) at(event); });
  return picture;
}

// Drag along the rules that nothing beats in both accuracy and gap.
export function frontier(meta, seen, path) {
  return [...Object.entries(seen.searches).flatMap(([section, facts]) => oneFrontier(seen.rows.filter((row) => row.section === section), facts, path, section)), asData(path)];
}

function better(rows, quo) {
  const count = rows.filter((row) => row.gap <= quo.gap && row.accuracy >= quo.accuracy && (row.gap < quo.gap || row.accuracy > quo.accuracy)).length;
  return count ? `${number(count)} of ${number(rows.length)} look better than the present rule in both.` : "None looks better than the present rule in both.";
}

function oneFrontier(rows, facts, path, section) {
  const edge = rows.filter((row) => row.frontier);
  const quo = facts.status_quo;
  const x = scaled([...rows.map((row) => row.gap), quo.gap], EDGE, WIDE - 12);
  const y = scaled([...rows.map((row) => row.accuracy), quo.accuracy], HIGH - EDGE, 34);
  const dot = (row, kind, radius) => draw("circle", { class: kind, cx: x.at(row.gap), cy: y.at(row.accuracy), r: radius }, draw("title", {}, row.candidate ?? "the present rule"));
  const here = draw("circle", { class: "here", r: 8 });
  const told = el("div", { "aria-live": "polite", id: `told-${section}` });
  const tell = (index) => {
    const row = edge[index];
    here.setAttribute("cx", x.at(row.gap));
    here.setAttribute("cy", y.at(row.accuracy));
    keep(path, "candidate", row.candidate);
    const parts = row.groups ?? [];
    told.replaceChildren(table(["rule", [`gap in ${facts.fairness}`, "num"], [facts.accuracy, "num"]], [["the present rule", [percent(quo.gap), "num"], [percent(quo.accuracy), "num"]], [row.candidate, [percent(row.gap), "num"], [percent(row.accuracy), "num"]],
      ["difference, points", [points(row.gap - quo.gap), "num"], [points(row.accuracy - quo.accuracy), "num"]]], "The present rule and this one"),
    parts.length ? table(["under this rule", ["people", "num"], "metric", ["level", "num"]], parts.map((part) => [part.group, [number(part.n), "num"], part.metric, [percent(part.level), "num"]]), "Every group under this rule") : "", row.why ? el("p", { class: "quiet" }, `In the search: ${row.why}.`) : "");
  };
  const asked = edge.findIndex((row) => row.candidate === new URLSearchParams(window.location.search).get("candidate"));
  const start = asked >= 0 ? asked : edge.reduce((best, row, index) => Math.abs(row.accuracy - quo.accuracy) < Math.abs(edge[best].accuracy - quo.accuracy) ? index : best, 0);
  const slider = el("input", { type: "range", min: 0, max: edge.length - 1, step: 1, value: start, id: `slide-${section}`, oninput: (event) => tell(Number(event.target.value)) });
  const picture = draw("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "plot", role: "img", "aria-label": `Gap and accuracy of ${rows.length} rules that were tried` }, ...axes(x, y, { x: `gap in ${facts.fairness}: less is to the left`, y: `${facts.accuracy}: more is higher`, form: percent }),
    ...rows.map((row) => dot(row, row.frontier ? "edge" : "tried", row.frontier ? 4 : 2.5)), draw("rect", { class: "quo", x: x.at(quo.gap) - 5, y: y.at(quo.accuracy) - 5, width: 10, height: 10 }, draw("title", {}, "the present rule")), here);
  dragged(picture, (left, top) => {
    const far = (row) => (x.at(row.gap) - left) ** 2 + (y.at(row.accuracy) - top) ** 2;
    slider.value = edge.reduce((best, row, index) => far(row) < far(edge[best]) ? index : best, 0);
    tell(Number(slider.value));
  });
  tell(start);
  return [el("p", { class: "verdict" }, sentence(facts.verdict)), el("p", { class: "quiet" }, "Other rules than the one that was audited, as the search saw them out of fold. Choosing here proves nothing: the verdict above rests on rows that were not searched."),
    el("figure", {}, picture, el("figcaption", { class: "quiet" }, `Square: the present rule. Large dots: rules that no other of those tried beats in both. ${better(rows, quo)}`)), edge.length > 1 ? field("Along the frontier: from the smallest gap to the highest accuracy", slider) : "", told];
}

// How large a gain is shown at a loss of accuracy that one would accept.
export function surface(meta, seen, path) {
  return [...Object.entries(seen.surfaces).flatMap(([section, facts]) => oneSurface(meta, seen.rows.filter((row) => row.section === section), facts, path, section)), asData(path)];
}

function oneSurface(meta, rows, facts, path, section) {
  const share = facts.margin_kind === "relative" ? "of the present value" : "as a difference";
  const told = el("div", { "aria-live": "polite", id: `gains-${section}` });
  const shown = el("output", { for: `loss-${section}` });
  const picture = rows.length ? stairs(rows, facts) : null;
  let latest = 0;
  const tell = async (loss) => {
    const mine = ++latest;
    slider.value = loss;
    shown.textContent = `a loss of at most ${percent(loss)}, ${share}`;
    keep(path, "loss", loss);
    const { gains } = (await ask("GET", `${path}.json?loss=${loss}`)).surfaces[section];
    if (mine !== latest) return;
    picture?.mark(loss, gains);
    told.replaceChildren(table(["chance of error", [`gap in ${facts.fairness} shown to be smaller by`, "num"]], gains.map((one) => [percent(one.level), [one.gain === null ? "none" : one.gain <= 0 ? `none (${percent(one.gain)})` : percent(one.gain), "num"]]), "What is shown at this loss"));
  };
  const slider = el("input", { type: "range", min: 0, max: MOST_LOSS, step: 0.005, id: `loss-${section}`, oninput: (event) => tell(Number(event.target.value)) });
  if (picture) dragged(picture.node, (left, top) => tell(picture.loss(top)));
  tell(Math.min(MOST_LOSS, Math.max(0, Number(new URLSearchParams(window.location.search).get("loss") ?? 0) || 0)));
  return [el("p", {}, `How much smaller a gap in ${facts.fairness} was shown to be possible, for the loss of ${facts.accuracy} that one would accept.`),
    el("p", { class: "note" }, `Each line has at most its chance of being wrong for a loss that was fixed before looking; for one picked here, after looking, that chance counts twice.`),
    field(`Loss of ${facts.accuracy} that would be accepted`, slider), el("p", {}, shown), told,
    picture ? el("figure", {}, picture.node, el("figcaption", { class: "quiet" }, `Shaded: pairs of gains that are shown, the darker the smaller the chance of error (${facts.gains.map((one) => percent(one.level)).join(", ")}). Dots: what is shown at this loss; drag the line.`))
      : el("p", { class: "quiet" }, `No pair of gains is shown at any level (${number(facts.gains.length)} were computed).`)];
}

// The region of every level, one over the other, and a line at the loss that would be accepted.
function stairs(rows, facts) {
  const x = scaled([0, ...rows.map((row) => row.fairness)], EDGE, WIDE - 12);
  const y = scaled([-MOST_LOSS, 0, ...rows.map((row) => row.accuracy)], HIGH - EDGE, 34);
  const region = (level) => {
    const corners = rows.filter((row) => row.level === level).sort((one, other) => other.accuracy - one.accuracy);
    const path = corners.map((row) => `V${y.at(row.accuracy)}H${x.at(row.fairness)}`).join("");
    return draw("path", { class: "region", d: `M${EDGE} ${HIGH - EDGE}${path}V${HIGH - EDGE}Z` }, draw("title", {}, `chance of error ${percent(level)}`));
  };
  const line = draw("path", { class: "loss" });
  const dots = draw("g", {});
  const node = draw("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "plot", role: "img", "aria-label": `Gains that are shown, at each chance of error; the table above tells them at one loss` },
    ...[...new Set(rows.map((row) => row.level))].sort((one, other) => other - one).map(region), ...axes(x, y, { x: `gap in ${facts.fairness} smaller by`, y: `gain in ${facts.accuracy}`, form: percent }), line, dots);
  const mark = (loss, gains) => {
    line.setAttribute("d", `M${EDGE} ${y.at(-loss)}H${WIDE - 8}`);
    dots.replaceChildren(...gains.filter((one) => one.gain !== null).map((one) => draw("circle", { class: "here", cx: x.at(one.gain), cy: y.at(-loss), r: 5 }, draw("title", {}, `${percent(one.gain)} at ${percent(one.level)}`))));
  };
  return { node, mark, loss: (top) => Math.min(MOST_LOSS, Math.max(0, Math.round(-200 * y.back(top)) / 200)) };
}
