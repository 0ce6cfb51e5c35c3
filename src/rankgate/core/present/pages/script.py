"""The script of a page: sort and search tables, and keep the state in the address."""

SCRIPT = """
"use strict";
const asked = () => {
  const [place, rest] = location.hash.slice(1).split("?");
  return [place, new URLSearchParams(rest || "")];
};
const keep = (name, value) => {
  const [place, words] = asked();
  if (value) words.set(name, value); else words.delete(name);
  const rest = words.toString();
  history.replaceState(null, "", "#" + place + (rest ? "?" + rest : ""));
};
const text = (row, i) => row.cells[i].textContent.trim();
const number = (word) => {
  const found = /^[\\[<> ]*([+-]?\\d[\\d,]*\\.?\\d*)/.exec(word);
  return found ? parseFloat(found[1].replaceAll(",", "")) : NaN;
};
const order = (one, two) => {
  const x = number(one), y = number(two);
  if (!isNaN(x) && !isNaN(y) && x !== y) return x - y;
  return one.localeCompare(two, "en", {numeric: true});
};
const sort = (table, i, down) => {
  [...table.tHead.rows[0].cells].forEach((head, j) => {
    if (j === i) head.setAttribute("aria-sort", down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
  const known = (row) => !["", "\\u2013"].includes(text(row, i));
  const rows = [...table.tBodies[0].rows].sort((a, b) =>
    known(b) - known(a) || (down ? -1 : 1) * order(text(a, i), text(b, i)));
  table.tBodies[0].replaceChildren(...rows);
};
const find = (table, words, output) => {
  const wanted = words.toLowerCase();
  let shown = 0;
  for (const row of table.tBodies[0].rows) {
    row.hidden = !row.textContent.toLowerCase().includes(wanted);
    shown += !row.hidden;
  }
  output.textContent = wanted ? shown + " of " + table.tBodies[0].rows.length : "";
};
const fields = new Map();
for (const table of document.querySelectorAll("table.sort")) {
  [...table.tHead.rows[0].cells].forEach((head, i) => {
    if (head.tagName !== "TH" || head.textContent === "chart") return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      sort(table, i, down);
      keep(table.id + ".sort", i + (down ? "-" : "+"));
    });
  });
  if (!table.dataset.find) continue;
  const label = document.createElement("label"), field = document.createElement("input");
  const output = document.createElement("output");
  label.className = "find";
  field.type = "search";
  label.append("Find in this table ", field, " ", output);
  table.parentElement.before(label);
  field.addEventListener("input", () => {
    find(table, field.value, output);
    keep(table.id + ".find", field.value);
  });
  fields.set(table.id + ".find", (words) => { field.value = words; find(table, words, output); });
}
const go = () => {
  const [place, words] = asked();
  for (const [name, set] of fields) set(words.get(name) || "");
  for (const [name, value] of words) {
    const table = name.endsWith(".sort") && document.getElementById(name.slice(0, -5));
    if (table && table.tHead) sort(table, parseInt(value), value.endsWith("-"));
  }
  const found = document.getElementById(place);
  if (!found) return;
  for (let fold = found.closest("details"); fold; fold = fold.parentElement.closest("details"))
    fold.open = true;
  found.scrollIntoView();
};
addEventListener("hashchange", go);
const opened = [];
addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("details:not([open]):not(.part)")) {
    each.open = true;
    opened.push(each);
  }
});
addEventListener("afterprint", () => { while (opened.length) opened.pop().open = false; });
go();
"""
"""The page is whole without it."""
