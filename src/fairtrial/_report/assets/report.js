// Sorting, filtering and copying tables, the light/dark switch, where one is in the page, and printing.
(() => {
  "use strict";
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const said = document.getElementById("said");
  const say = (text) => {
    said.textContent = "";
    requestAnimationFrame(() => (said.textContent = text));
  };

  const copyText = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Pages opened from disk may not be given the clipboard: select the text and copy it the old way.
      const area = document.createElement("textarea");
      area.value = text;
      area.className = "visually-hidden";
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  const copied = (button, text) => {
    const before = button.textContent;
    copyText(text).then(() => {
      button.textContent = "Copied";
      say("Copied to the clipboard");
      setTimeout(() => (button.textContent = before), 1500);
    });
  };

  // An undefined value has no number to sort by and always stays at the end.
  const compare = (a, b, direction) => {
    if (a === "" || b === "") return a === b ? 0 : a === "" ? 1 : -1;
    const [x, y] = [Number(a), Number(b)];
    if (Number.isFinite(x) && Number.isFinite(y)) return direction * (x - y);
    return direction * a.localeCompare(b, "en", { numeric: true });
  };

  const sortBy = (table, index, wanted) => {
    const headings = all("thead th", table);
    const direction = wanted || (headings[index].getAttribute("aria-sort") === "ascending" ? -1 : 1);
    headings.forEach((heading) => heading.removeAttribute("aria-sort"));
    headings[index].setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
    const body = table.tBodies[0];
    const value = (row) => row.cells[index].dataset.value;
    const rows = [...body.rows].sort((a, b) => compare(value(a), value(b), direction));
    body.append(...rows);
    say(`Sorted by ${headings[index].querySelector("button").textContent}, ${direction === 1 ? "ascending" : "descending"}`);
  };

  const cellText = (cell) => (cell.querySelector("button") || cell).textContent.trim().replace(/^−/, "-");
  const visible = (table) => all("tr", table).filter((row) => !row.hidden);
  const tableText = (table) => visible(table).map((row) => [...row.cells].map(cellText).join("\t")).join("\n");

  // Numbers with all their digits, intervals as they are shown; a text that a spreadsheet would run gets an apostrophe.
  const csvCell = (cell) => {
    const shown = cellText(cell);
    const exact = cell.matches("td.num") && cell.dataset.value && !/ to /.test(shown) ? cell.dataset.value : shown;
    const safe = /^[=+\-@\t\r\n]/.test(exact) && !Number.isFinite(Number(exact)) ? `'${exact}` : exact;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const saveCsv = (table) => {
    const text = visible(table).map((row) => [...row.cells].map(csvCell).join(",")).join("\r\n");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text + "\r\n"], { type: "text/csv" }));
    link.download = `${table.id}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  for (const box of all("[data-table]")) {
    const table = box.querySelector("table");
    const count = box.querySelector("[data-count]");
    all("[data-sort]", table).forEach((button, index) => button.addEventListener("click", () => sortBy(table, index)));
    box.querySelector("[data-copy-table]").addEventListener("click", (event) => copied(event.target, tableText(table)));
    box.querySelector("[data-csv]").addEventListener("click", () => saveCsv(table));
    box.querySelector("[data-sort-by]").addEventListener("change", (event) => {
      if (event.target.value !== "") sortBy(table, Number(event.target.value), 1);
    });
    const fold = box.querySelector("[data-fold]");
    fold?.addEventListener("click", () => {
      const open = table.classList.toggle("all");
      fold.setAttribute("aria-pressed", String(open));
    });
    const filter = box.querySelector("[data-filter]");
    if (!filter) continue;
    filter.addEventListener("input", () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      const rows = [...table.tBodies[0].rows];
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
      const shown = rows.filter((row) => !row.hidden).length;
      count.textContent = shown === rows.length ? `${rows.length} rows` : `${shown} of ${rows.length} rows`;
    });
  }

  for (const button of all("[data-copy]")) {
    button.addEventListener("click", () => copied(button, document.getElementById(button.dataset.copy).textContent));
  }

  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  document.getElementById("theme").addEventListener("click", () => {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
    root.dataset.theme = isDark ? "light" : "dark";
    document.dispatchEvent(new Event("themechange"));
  });

  const links = new Map(all("nav a").map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        links.forEach((link) => link.removeAttribute("aria-current"));
        links.get(entry.target.id)?.setAttribute("aria-current", "true");
      }
    },
    { rootMargin: "-15% 0px -75% 0px" },
  );
  all("main > section").forEach((section) => seen.observe(section));

  // On paper nothing can be unfolded: everything is open, and closed again afterwards.
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = all("details:not([open])");
    opened.forEach((details) => (details.open = true));
  });
  window.addEventListener("afterprint", () => opened.forEach((details) => (details.open = false)));
})();
