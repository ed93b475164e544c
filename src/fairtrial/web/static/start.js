import { ask, el, faults, show, step } from "./page.js";

const go = (path) => window.dispatchEvent(new CustomEvent("go", { detail: path }));

export async function start() {
  step("File");
  const [about, audits, local] = await Promise.all([ask("GET", "/api/about"), ask("GET", "/api/audits"), ask("GET", "/api/files/local")]);
  const wrong = el("div", { "aria-live": "assertive" });
  const opened = async (work) => {
    wrong.replaceChildren(el("p", {}, "Reading …"));
    try { go(`/?file=${(await work()).id}`); } catch (error) { wrong.replaceChildren(faults(error.faults ?? [String(error)])); }
  };
  const upload = (file) => file && opened(() => ask("POST", `/api/files?name=${encodeURIComponent(file.name)}`, file));
  const input = el("input", { type: "file", id: "file", accept: ".csv,.gz,.tsv,.parquet,.arrow,.feather,.xlsx", onchange: (event) => upload(event.target.files[0]) });
  const drop = el("div", { class: "drop",
    ondragover: (event) => { event.preventDefault(); drop.classList.add("over"); },
    ondragleave: () => drop.classList.remove("over"),
    ondrop: (event) => { event.preventDefault(); drop.classList.remove("over"); upload(event.dataTransfer.files[0]); },
  }, el("p", {}, el("label", { for: "file" }, "Drop a file of decisions here, or choose one: "), input),
     el("p", { class: "quiet" }, "CSV, Parquet, Arrow or Excel; one row per person: who was judged, what was decided, what really happened."));
  show(
    el("h1", {}, "Which decisions are on trial?"), drop, wrong,
    local.length ? el("h2", {}, "Files of this folder") : null,
    local.length ? el("div", { class: "row" }, ...local.map((name) => el("button", { onclick: () => opened(() => ask("POST", "/api/files/local", { path: name })) }, name))) : null,
    el("h2", {}, "Or look at an example"),
    el("ul", { class: "cards" }, ...Object.entries(about.datasets).map(([name, text]) => el("li", {},
      el("p", {}, text), el("button", { "data-dataset": name, onclick: () => opened(() => ask("POST", "/api/files/dataset", { name })) }, `Open ${name}`)))),
    audits.length ? el("h2", {}, "Audits kept here") : null,
    audits.length ? kept(audits) : null,
  );
}

function kept(audits) {
  const chosen = new Set();
  const told = el("div");
  const compare = el("button", { disabled: true, onclick: () => side([...chosen], told) }, "Compare the two chosen");
  const rows = audits.map((meta) => el("tr", {},
    el("td", {}, meta.stage === "done" ? el("input", { type: "checkbox", "aria-label": `Choose ${meta.title}`, onchange: (event) => {
      event.target.checked ? chosen.add(meta.id) : chosen.delete(meta.id);
      compare.disabled = chosen.size !== 2;
    } }) : ""),
    el("th", { scope: "row" }, el("a", { href: `/audits/${meta.id}` }, meta.title)),
    el("td", {}, meta.exploratory ? `${meta.stage}, exploratory` : meta.stage), el("td", {}, meta.verdict?.text ?? meta.error ?? ""),
    el("td", {}, String(meta.made).slice(0, 16).replace("T", " ")),
    el("td", {}, el("button", { onclick: async (event) => { await ask("DELETE", `/api/audits/${meta.id}`); event.target.closest("tr").remove(); } }, "Delete"))));
  return el("div", {}, el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {},
    ...["", "audit", "stage", "verdict", "made", ""].map((text) => el("th", { scope: "col" }, text)))), el("tbody", {}, ...rows))), compare, told);
}

async function side(pair, told) {
  const found = await ask("GET", `/api/compare?new=${pair[0]}&old=${pair[1]}`);
  const line = (test) => el("li", {}, `${test.metric}: ${test.subject}${test.against ? `, compared with ${test.against}` : ""}`);
  told.replaceChildren(
    el("p", {}, found.verdict.changed ? "The verdict has changed." : "The verdict is the same."),
    el("p", {}, `Before: ${found.verdict.old.text}`), el("p", {}, `After: ${found.verdict.new.text}`),
    el("h3", {}, "Became significant"), el("ul", {}, ...found.became_significant.map(line)),
    el("h3", {}, "No longer significant"), el("ul", {}, ...found.no_longer_significant.map(line)));
}
