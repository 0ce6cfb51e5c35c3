"use strict";
(() => {
  const PAUSE = 10_000; // ms between looks at what others did
  const parsed = async (answer) =>
    new DOMParser().parseFromString(await answer.text(), "text/html");

  // parts that show what others do are fetched again, without a reload
  const refresh = async () => {
    if (document.hidden) return;
    let other;
    try {
      const answer = await fetch(location.href, {headers: {accept: "text/html"}});
      if (!answer.ok || answer.redirected) return;
      other = await parsed(answer);
    } catch { return; }
    for (const part of document.querySelectorAll("[data-live]")) {
      const found = other.getElementById(part.id);
      if (!found || part.contains(document.activeElement)) continue;
      const open = [...part.querySelectorAll("details")].map((each) => each.open);
      if (found.innerHTML === part.dataset.last) continue;
      part.dataset.last = found.innerHTML;
      part.innerHTML = found.innerHTML;
      part.querySelectorAll("details").forEach((each, i) => { each.open = Boolean(open[i]); });
    }
  };
  if (document.querySelector("[data-live]")) setInterval(refresh, PAUSE);

  // a check of a form shows its report on the same page, where the file is still chosen
  const box = document.getElementById("account");
  const form = box && document.querySelector("form[data-check]");
  if (!form) return;
  const check = async () => {
    if (!form.reportValidity()) return;
    const data = new FormData(form);
    data.set("preview", "1");
    box.textContent = "Checking …";
    try {
      const other = await parsed(await fetch(form.action, {method: "POST", body: data}));
      const found = other.getElementById("account") || other.getElementById("main");
      box.innerHTML = found.innerHTML;
    } catch {
      box.textContent = "No connection; try again.";
    }
  };
  form.addEventListener("submit", (event) => {
    if (!event.submitter || event.submitter.name !== "preview") return;
    event.preventDefault();
    check().then(propose);
  });

  // what is chosen for each column is written into the field of columns
  const compose = () => {
    const named = {};
    let last = "";
    for (const each of box.querySelectorAll("[data-column]")) {
      if (!each.value) continue;
      const ours = each.value === "final" ? "grade" : each.value;
      if (each.value === "final") last = each.dataset.column;
      named[ours] = named[ours] ? `${named[ours]}+${each.dataset.column}` : each.dataset.column;
    }
    form.elements.columns.value = Object.entries(named).map((each) => each.join("=")).join(",");
    form.elements.final.value = last;
    form.querySelector("details.options").open = true;
    return named;
  };
  const propose = () => { // a sheet that is not recognised, with columns that look right
    if (!box.querySelector(".problem") || form.elements.columns.value) return;
    const named = compose();
    if (named.query_id && named.doc_id && named.grade) check();
    else form.elements.columns.value = "";
  };
  box.addEventListener("change", (event) => {
    if (!event.target.matches("[data-column]")) return;
    compose();
    const at = event.target.dataset.column;
    check().then(() => {
      const again = [...box.querySelectorAll("[data-column]")];
      again.find((each) => each.dataset.column === at)?.focus();
    });
  });
})();
