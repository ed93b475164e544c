// Small tools of all views. Texts from data are set as text, never as HTML.
const NS = "http://www.w3.org/2000/svg";

export function el(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

export function draw(tag, properties = {}, ...children) {
  return filled(document.createElementNS(NS, tag), properties, children);
}

function filled(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

export function show(...children) {
  const main = document.getElementById("main");
  main.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return main;
}

export const go = (path) => window.dispatchEvent(new CustomEvent("go", { detail: path }));
export const STEPS = ["File", "Columns", "Plan", "Run", "Result"];

export function step(current, title = current) {
  const items = STEPS.map((name) => el("li", { "aria-current": name === current ? "step" : null }, name));
  document.getElementById("steps").replaceChildren(el("ol", {}, ...items));
  document.title = `${title} · fairtrial`;
}

export function faults(list) {
  return el("div", { class: "faults", role: "alert" }, ...list.map((text) => el("p", {}, text)));
}

export function field(text, input, help = "") {
  return el("label", { class: "field" }, el("span", {}, text), input, help ? el("span", {}, help) : null);
}

export function select(options, chosen, properties = {}) {
  const node = el("select", properties, ...options.map(([value, text]) => el("option", { value }, text)));
  node.value = chosen;
  return node;
}

// Headings are texts, or [text, class]; cells are texts or nodes, or [content, class].
export function table(headings, rows, caption = "", kind = null) {
  const pair = (item) => Array.isArray(item) ? item : [item, null];
  const head = headings.map((item) => el("th", { scope: "col", class: pair(item)[1] }, pair(item)[0]));
  const body = rows.map((row) => row instanceof Node ? row : el("tr", {}, ...row.map((item, index) => el(index ? "td" : "th", { scope: index ? null : "row", class: pair(item)[1], "data-label": kind ? pair(headings[index])[0] : null }, pair(item)[0]))));
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption || "Table" }, el("table", { class: kind }, caption ? el("caption", {}, caption) : null, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...body)));
}

// A view's own address, with .json and .csv beside it.
export function asData(path, query = "") {
  const asked = query ? `?${query}` : "";
  return el("p", { class: "quiet" }, "This view as data: ", el("a", { href: `${path}.json${asked}`, target: "_blank" }, "JSON"), ", ", el("a", { href: `${path}.csv${asked}`, download: "" }, "CSV"), ".");
}

const GONE = "The server does not answer: it may have been stopped. Start it again with “fairtrial serve” and open the address that it prints; audits are kept.";

export async function ask(method, path, body) {
  const raw = body instanceof Blob;
  const answer = await fetch(path, {
    method,
    headers: body === undefined || raw ? {} : { "content-type": "application/json" },
    body: body === undefined ? undefined : raw ? body : JSON.stringify(body),
  }).catch(() => { throw Object.assign(new Error(GONE), { faults: [GONE] }); });
  const text = await answer.text();
  let content = null;
  try { content = text ? JSON.parse(text) : null; } catch { content = { faults: [text] }; }
  if (!answer.ok) {
    const told = content?.faults ?? content?.detail ?? [`The server answered ${answer.status}.`];
    const list = Array.isArray(told) ? told.map((item) => item.msg ?? String(item)) : [String(told)];
    throw Object.assign(new Error(list.join(" ")), { faults: list, status: answer.status });
  }
  return content;
}

export function scalar(cell) {
  return cell !== null && typeof cell === "object" ? (cell.value ?? null) : cell;
}

const none = (value) => value === null || value === undefined;
export const percent = (value) => none(value) ? "–" : `${(100 * value).toFixed(1)}%`.replace("-", "−");
export const points = (value) => none(value) ? "–" : `${value >= 0 ? "+" : "−"}${Math.abs(100 * value).toFixed(1)}`;
export const number = (value) => none(value) ? "–" : Number(value).toLocaleString("en", { maximumFractionDigits: 4 });
export const ratio = (value) => none(value) ? "–" : Number(value).toFixed(2);
export const chance = (value) => none(value) ? "–" : value < 0.001 ? "<0.001" : Number(value).toFixed(3);
// A value of a spec in words: race, sex; or metric: fpr; tolerance: 0.1
export function words(value) {
  if (Array.isArray(value)) return value.map(words).join(", ");
  if (value === null || typeof value !== "object") return String(value);
  return Object.entries(value).map(([name, part]) => `${name.replaceAll("_", " ")}: ${words(part)}`).join("; ") || "as usual";
}
export const presetWords = (name) => name === "general" ? "what any file can tell" : `the usual ones: ${name.replaceAll("-", " ")}`;
export const EXPLORATORY = "Exploratory: rates of these data were shown before the questions were fixed.";
// A label that begins or ends with a blank is seen to.
export const label = (text) => text.trim() === text ? text : `“${text}”`;
export const sentence = (text) => text.slice(0, 1).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
export const day = (text) => String(text).slice(0, 16).replace("T", " ");

export function duration(seconds) {
  if (seconds < 3) return "a few seconds";
  if (seconds < 90) return `about ${Math.max(5, Math.round(seconds / 5) * 5)} seconds`;
  if (seconds < 5400) return `about ${Math.round(seconds / 60)} minutes`;
  return `about ${Math.round(seconds / 3600)} hours`;
}

export const questions = (list) => `${list.length === 1 ? "1 question" : `${list.length} questions`}, ${duration(list.reduce((sum, one) => sum + one.seconds, 0))} on this machine`;

export function more(row) {
  if (row.reason || (none(row.more) && none(row.rows_needed))) return row.reason ?? "";
  const members = none(row.more) ? "" : `about ${number(row.more)} more in this group`;
  const rows = none(row.rows_needed) ? "" : `an audit of about ${number(row.rows_needed)} rows`;
  return [members, rows].filter(Boolean).join(", or ");
}
