"""The style and the script of a report."""

STYLE = """
nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem;border-block:1px solid var(--line);padding:.5rem 0}
a{color:var(--move)}h3{font-size:1rem;margin:1.2rem 0 .4rem}
h1{overflow-wrap:anywhere}h2,h3,p,summary{overflow-wrap:anywhere}
figure{margin:1rem 0}svg{width:100%;height:auto;max-height:14rem}
.bar{fill:var(--move)}.axis{stroke:var(--dim);stroke-width:1}
figcaption{color:var(--dim);font-size:.9rem}
pre{background:var(--soft);padding:.6rem;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere}
input{font:inherit;color:inherit;background:var(--paper);border:1px solid var(--dim);
border-radius:.3em;padding:.2em .5em;max-width:100%}
th button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer}
th[aria-sort=ascending] button::after{content:" ▲"}
th[aria-sort=descending] button::after{content:" ▼"}
"""
"""Beside the style that all pages have."""

SCRIPT = """
"use strict";
const value = (row, i) => row.cells[i].textContent.trim();
const number = (text) => /^[+-]?[\\d.]+/.test(text) ? parseFloat(text) : NaN;
for (const table of document.querySelectorAll("table.sort")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].sort((a, b) => {
        const one = value(a, i), two = value(b, i), x = number(one), y = number(two);
        const order = isNaN(x) || isNaN(y) ? one.localeCompare(two) : x - y;
        return down ? -order : order;
      });
      body.replaceChildren(...rows);
    });
  });
}
for (const input of document.querySelectorAll("input[data-for]")) {
  input.closest(".find").hidden = false;
  const rows = document.getElementById(input.dataset.for).querySelectorAll("tbody tr");
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
}
const open = () => {
  const found = document.getElementById(location.hash.slice(1));
  if (found && found.tagName === "DETAILS") { found.open = true; found.scrollIntoView(); }
};
addEventListener("hashchange", open);
addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("details")) each.open = true;
});
open();
"""
"""Sorts tables, filters rows, opens what a link names; the page is whole without it."""
