// Small tools of all views. Texts from data are set as text, never as HTML.
export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function show(...children) {
  const main = document.getElementById("main");
  main.replaceChildren(...children);
  return main;
}

export const STEPS = ["File", "Columns", "Questions", "Plan", "Run", "Result"];

export function step(current) {
  const items = STEPS.map((name) => el("li", { "aria-current": name === current ? "step" : null }, name));
  document.getElementById("steps").replaceChildren(el("ol", {}, ...items));
  document.title = `${current} · fairtrial`;
}

export function faults(list) {
  return el("div", { class: "faults", role: "alert" }, ...list.map((text) => el("p", {}, text)));
}

export function field(text, input, help = "") {
  return el("label", { class: "field" }, el("span", {}, text), input, help ? el("span", {}, help) : null);
}

export function select(options, chosen, properties = {}) {
  const items = options.map(([value, text]) => el("option", { value, selected: value === chosen }, text));
  const node = el("select", properties, ...items);
  node.value = chosen;
  return node;
}

export async function ask(method, path, body) {
  const raw = body instanceof Blob;
  const answer = await fetch(path, {
    method,
    headers: body === undefined || raw ? {} : { "content-type": "application/json" },
    body: body === undefined ? undefined : raw ? body : JSON.stringify(body),
  });
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

export const percent = (value) => value === null || value === undefined ? "–" : `${(100 * value).toFixed(1)}%`;
export const points = (value) => value === null || value === undefined ? "–" : `${value >= 0 ? "+" : "−"}${Math.abs(100 * value).toFixed(1)}`;
export const number = (value) => value === null || value === undefined ? "–" : Number(value).toLocaleString("en");
export const ratio = (value) => value === null || value === undefined ? "–" : value.toFixed(2);
