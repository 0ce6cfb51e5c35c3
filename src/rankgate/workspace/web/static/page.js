"use strict";
(() => {
  const PAUSE = 10_000; // ms between refreshes
  const SOON = 2_000; // ms between refreshes while a job of the page is running
  const parsed = async (answer) =>
    new DOMParser().parseFromString(await answer.text(), "text/html");

  // a form that somebody has begun to fill in stays
  const isTyped = (section) =>
    [...section.querySelectorAll("textarea,input:not([type=hidden])")].some((field) =>
      field.type === "checkbox" ? field.checked !== field.defaultChecked : field.value !== field.defaultValue);

  // sections that other users change are fetched again, without a reload of the page
  const refresh = async () => {
    if (document.hidden) return;
    let newPage;
    try {
      const answer = await fetch(location.href, {headers: {accept: "text/html"}});
      if (!answer.ok || answer.redirected) return;
      newPage = await parsed(answer);
    } catch { return; }
    for (const section of document.querySelectorAll("[data-live]")) {
      const newSection = newPage.getElementById(section.id);
      if (!newSection || section.contains(document.activeElement) || isTyped(section)) continue;
      const open = [...section.querySelectorAll("details")].map((details) => details.open);
      if (newSection.innerHTML === section.dataset.last) continue;
      section.dataset.last = newSection.innerHTML;
      section.innerHTML = newSection.innerHTML;
      section.querySelectorAll("details").forEach((details, i) => { details.open = Boolean(open[i]); });
    }
  };
  const refreshLater = () => {
    const pause = document.querySelector("[data-soon]") ? SOON : PAUSE;
    setTimeout(() => refresh().finally(refreshLater), pause);
  };
  if (document.querySelector("[data-live]")) refreshLater();

  // a check of a form shows its report on the same page, where the file is still chosen
  const box = document.getElementById("account");
  const form = box && document.querySelector("form[data-check]");
  if (!form) return;
  const isLive = box.hasAttribute("data-live-check");
  const check = async () => {
    if (isLive ? !form.checkValidity() : !form.reportValidity()) return;
    const data = new FormData(form);
    data.set("preview", "1");
    if (isLive) box.setAttribute("aria-busy", "true");
    else box.textContent = "Checking …";
    try {
      const newPage = await parsed(await fetch(form.action, {method: "POST", body: data}));
      const report = newPage.getElementById("account") || newPage.getElementById("main");
      box.innerHTML = report.innerHTML;
    } catch {
      box.textContent = "No connection; try again.";
    }
    box.removeAttribute("aria-busy");
  };
  form.addEventListener("submit", (event) => {
    if (!event.submitter || event.submitter.name !== "preview") return;
    event.preventDefault();
    check().then(propose);
  });

  // a sandbox measures again after each change, one measurement at a time
  if (isLive) {
    const PAUSE_OF_TYPING = 700; // ms
    let timer = 0, isChanged = false, isMeasuring = false;
    const measure = async () => {
      if (isMeasuring) return;
      isMeasuring = true;
      while (isChanged) {
        isChanged = false;
        await check();
      }
      isMeasuring = false;
    };
    const change = () => {
      isChanged = true;
      clearTimeout(timer);
      timer = setTimeout(measure, PAUSE_OF_TYPING);
    };
    form.addEventListener("input", change);
    if (form.checkValidity()) change();
  }

  // the type chosen for each column is written into the field of columns
  const compose = () => {
    const columns = {};
    let finalColumn = "";
    for (const select of box.querySelectorAll("[data-column]")) {
      if (!select.value) continue;
      const column = select.dataset.column;
      const field = select.value === "final" ? "grade" : select.value;
      if (select.value === "final") finalColumn = column;
      columns[field] = columns[field] ? `${columns[field]}+${column}` : column;
    }
    form.elements.columns.value = Object.entries(columns).map((pair) => pair.join("=")).join(",");
    form.elements.final.value = finalColumn;
    form.querySelector("details.options").open = true;
    return columns;
  };
  const propose = () => { // a sheet that is not recognised, with columns that look right
    if (!form.elements.columns) return; // only files have columns to choose
    if (!box.querySelector(".problem") || form.elements.columns.value) return;
    const columns = compose();
    if (columns.query_id && columns.doc_id && columns.grade) check();
    else form.elements.columns.value = "";
  };
  box.addEventListener("change", (event) => {
    if (!event.target.matches("[data-column]")) return;
    compose();
    const column = event.target.dataset.column;
    check().then(() => {
      const selects = [...box.querySelectorAll("[data-column]")];
      selects.find((select) => select.dataset.column === column)?.focus();
    });
  });
})();
