// Two sliders and a table. Texts from data become text nodes, never markup.
function element(name, text = "", parent = null) {
  const made = document.createElement(name);
  made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function slider(model, el, name, label) {
  const line = element("label", `${label} `, el);
  const input = element("input", "", line);
  const shown = element("output", "", line);
  input.type = "range";
  const range = model.get(`${name}_range`);
  [input.min, input.max, input.step] = range;
  const show = () => {
    input.value = model.get(name);
    shown.textContent = ` ${model.get(name)}`;
  };
  input.addEventListener("change", () => {
    model.set(name, Number(input.value));
    model.save_changes();
  });
  input.addEventListener("input", () => (shown.textContent = ` ${input.value}`));
  model.on(`change:${name}`, show);
  show();
  line.style.display = "block";
}

function render({ model, el }) {
  if (model.get("threshold_range").length) slider(model, el, "threshold", "Threshold");
  slider(model, el, "tolerance", "Tolerance");
  const verdict = element("p", "", el);
  verdict.setAttribute("role", "status");
  const table = element("table", "", el);
  const show = () => {
    verdict.textContent = model.get("verdict");
    table.replaceChildren();
    const head = element("tr", "", element("thead", "", table));
    for (const title of model.get("headings")) element("th", title, head).scope = "col";
    const body = element("tbody", "", table);
    for (const line of model.get("lines")) {
      const row = element("tr", "", body);
      for (const cell of line) element("td", cell, row);
    }
  };
  model.on("change:lines", show);
  model.on("change:verdict", show);
  show();
}

export default { render };
