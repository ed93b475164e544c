import { el, faults, show } from "./page.js";
import { start } from "./start.js";
import { columns } from "./columns.js";
import { audit } from "./audit.js";
import { compare, watches } from "./compare.js";

// Every view has an address: /, /?file=ID, /audits/ID, /audits/ID/VIEW, /compare?old=ID&new=ID, /watches
export async function route() {
  const place = window.location.pathname.split("/").filter(Boolean);
  const asked = new URLSearchParams(window.location.search);
  try {
    if (place[0] === "audits") await audit(place[1], place[2] ?? "");
    else if (place[0] === "compare") await compare(asked.get("old") ?? "", asked.get("new") ?? "");
    else if (place[0] === "watches") await watches();
    else if (asked.get("file")) await columns(asked.get("file"));
    else await start();
  } catch (error) {
    show(el("h1", {}, "That did not work"), faults(error.faults ?? [String(error)]), el("p", {}, el("a", { href: "/" }, "To the start")));
  }
  document.getElementById("main").focus({ preventScroll: true });
}

export function go(path) {
  window.history.pushState({}, "", path);
  window.scrollTo(0, 0);
  return route();
}

window.addEventListener("popstate", route);
window.addEventListener("go", (event) => go(event.detail));
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='/']");
  if (!link || link.hasAttribute("download") || link.target || event.metaKey || event.ctrlKey) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});
route();
