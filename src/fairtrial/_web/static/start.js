import { ask, day, draw, el, faults, go, show, step, table } from "./page.js";

export async function start() {
  step("File");
  const [about, audits, local] = await Promise.all([ask("GET", "/api/about"), ask("GET", "/api/audits"), ask("GET", "/api/files/local")]);
  const wrong = el("div", { id: "wrong", "aria-live": "assertive" });
  const opened = async (work, size = 0) => {
    wrong.replaceChildren(el("p", { role: "status" }, size > 32 * 1024 ** 2 ? `Reading ${Math.round(size / 1024 ** 2).toLocaleString("en")} MB: this takes a minute or two …` : "Reading …"));
    try { go(`/?file=${(await work()).id}`); } catch (error) { wrong.replaceChildren(faults(error.faults ?? [String(error)])); }
  };
  const upload = (file) => {
    if (!file) return;
    if (file.size > about.most_megabytes * 1024 ** 2) wrong.replaceChildren(faults([`${file.name} is larger than ${about.most_megabytes.toLocaleString("en")} MB, the most that a file may have here. Start the server with --upload, or with --folder to read a file where it lies.`]));
    else opened(() => ask("POST", `/api/files?name=${encodeURIComponent(file.name)}`, file), file.size);
  };
  const input = el("input", { type: "file", id: "file", accept: ".csv,.gz,.tsv,.txt,.jsonl,.ndjson,.json,.parquet,.arrow,.feather,.xlsx,.xlsm", onchange: (event) => upload(event.target.files[0]) });
  const drop = el("div", { class: "drop",
    ondragover: (event) => { event.preventDefault(); drop.classList.add("over"); },
    ondragleave: () => drop.classList.remove("over"),
    ondrop: (event) => { event.preventDefault(); drop.classList.remove("over"); upload(event.dataTransfer.files[0]); },
  }, arrow(), el("p", {}, el("label", { for: "file" }, "Drop a file of decisions here, or choose one")), input,
     el("p", { class: "quiet" }, "Excel, CSV, Parquet, Arrow or JSON, as your office exports it. One row for each person, or a table of how many: who was judged, what was decided, what really happened."));
  show(
    el("h1", {}, "Which decisions are on trial?"), drop, wrong,
    local.length ? el("h2", {}, "Files of this folder") : null,
    local.length ? el("div", { class: "row" }, ...local.map((name) => el("button", { onclick: () => opened(() => ask("POST", "/api/files/local", { path: name })) }, name))) : null,
    el("h2", {}, "Or look at an example"),
    el("ul", { class: "cards" }, ...Object.entries(about.datasets).map(([name, text]) => el("li", {},
      el("p", {}, text), el("button", { "data-dataset": name, onclick: () => opened(() => ask("POST", "/api/files/dataset", { name })) }, `Open ${name}`)))),
    audits.length ? el("h2", {}, "Audits kept here") : null,
    audits.length ? kept(audits) : null,
    el("p", {}, el("a", { href: "/watches" }, "Watches: does it stay fair?")),
  );
}

const arrow = () => draw("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, draw("path", { d: "M12 15V4m-4.5 4L12 3.5 16.5 8M4 14v4.5A1.5 1.5 0 0 0 5.5 20h13a1.5 1.5 0 0 0 1.5-1.5V14" }));

const STAGES = { queued: "waiting", running: "running", done: "done", cancelled: "cancelled", stopped: "stopped", failed: "failed" };

function kept(audits) {
  const chosen = [];
  const compare = el("button", { id: "compare", disabled: true, onclick: () => {
    const pair = audits.filter((meta) => chosen.includes(meta.id)).map((meta) => meta.id);  // the newest first
    go(`/compare?old=${pair[1]}&new=${pair[0]}`);
  } }, "Compare the two chosen");
  const choose = (meta) => el("input", { type: "checkbox", "aria-label": `Choose ${meta.title}`, onchange: (event) => {
    if (event.target.checked) chosen.push(meta.id); else chosen.splice(chosen.indexOf(meta.id), 1);
    compare.disabled = chosen.length !== 2;
  } });
  const remove = (meta) => el("button", { "aria-label": `Delete ${meta.title}`, onclick: async (event) => {
    if (!window.confirm(`Delete “${meta.title}” and everything of it?`)) return;
    await ask("DELETE", `/api/audits/${meta.id}`);
    event.target.closest("tr").remove();
  } }, "Delete");
  const rows = audits.map((meta) => [el("a", { href: `/audits/${meta.id}` }, meta.title), meta.stage === "done" ? choose(meta) : "",
    (STAGES[meta.stage] ?? (meta.plan ? "ready to run" : "not planned yet")) + (meta.exploratory ? ", exploratory" : ""), meta.verdict?.text ?? meta.error ?? "", [day(meta.made), "when"], remove(meta)]);
  return el("div", {}, table(["audit", "compare", "stage", "verdict", "made (UTC)", "delete"], rows, "Audits kept here", "stack"), el("p", {}, compare));
}
