"use strict";
(() => {
  const page = document.getElementById("page"), box = document.getElementById("task");
  const stateLine = document.getElementById("state"), help = document.getElementById("help");
  const root = `${page.dataset.base}/projects/${encodeURIComponent(page.dataset.project)}`;
  const KEY = `rankgate.queue.${root}.${page.dataset.user}`, OFF = "rankgate.keys.off";
  const BURST = 100, FAST = 250; // ms: pasted text comes as many keys at once
  let shown = 0, seen = 0, began = 0, busy = false, wait = 1, lastKey = -BURST, pending = 0;

  const queue = () => { try { return JSON.parse(localStorage.getItem(KEY)) || []; } catch { return []; } };
  const keep = (items) => localStorage.setItem(KEY, JSON.stringify(items));
  const newId = () => {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return Array.from(bytes, (each) => each.toString(16).padStart(2, "0")).join("");
  };
  const say = (words, kind = "") => { stateLine.textContent = words; stateLine.className = kind; };
  const form = () => document.getElementById("rating");

  const begin = () => { shown = performance.now(); seen = 0; began = document.hidden ? 0 : shown; };
  const seconds = () => Math.round((seen + (began ? performance.now() - began : 0)) / 100) / 10;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { if (began) seen += performance.now() - began; began = 0; }
    else { began = performance.now(); flush(); }
  });

  const ready = () => {
    const undo = document.getElementById("undo");
    if (undo) undo.hidden = !document.getElementById("progress").dataset.last;
    begin();
  };
  const show = (html) => {
    box.innerHTML = html;
    ready();
    (document.getElementById("query") || box.querySelector("h1")).focus({preventScroll: true});
    window.scrollTo(0, 0);
  };
  const refresh = async () => {
    const answer = await fetch(location.href, {headers: {accept: "text/html"}});
    if (answer.redirected) { location.reload(); return; }
    const other = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = other.getElementById("task");
    if (found) show(found.innerHTML);
  };

  const add = (path, body) => {
    keep([...queue(), {path, body, key: newId()}]);
    for (const each of box.querySelectorAll("button")) each.disabled = true;
    flush();
  };
  const drop = (item) => keep(queue().filter((each) => each.key !== item.key));
  const post = (item) => fetch(root + item.path, {
    method: "POST", body: JSON.stringify(item.body), keepalive: true,
    headers: {"content-type": "application/json", "x-csrf-token": page.dataset.csrf, "x-fragment": "1"},
  });
  const alone = (work) => navigator.locks ? navigator.locks.request(KEY, work) : work();

  const flush = async () => {
    if (busy || !queue().length) return;
    busy = true;
    let data = null, stop = false;
    await alone(async () => {
      while (queue().length && !stop) {
        const item = queue()[0];
        try {
          const answer = await post(item);
          if (answer.ok) {
            data = await answer.json();
            drop(item);
            wait = 1;
            say("");
          } else {
            stop = await refused(answer, item);
          }
        } catch {
          later();
          stop = true;
        }
      }
    });
    busy = false;
    if (data && data.html && !stop) show(data.html);
  };
  const refused = async (answer, item) => {
    if (answer.status === 401 || answer.status === 403) {
      say(`You are signed out. ${queue().length} of your ratings wait in this browser; `
        + "sign in again and come back to this page.", "fail");
      return true;
    }
    if (answer.status >= 500 || answer.status === 429 || answer.status === 408) { later(); return true; }
    drop(item);
    const told = await answer.json().catch(() => ({}));
    say(`Not saved: ${told.error ? told.error.message : answer.status}`, "fail");
    await refresh();
    return false;
  };
  const later = () => {
    say(`No connection. ${queue().length} of your ratings wait in this browser and are sent `
      + "when it is back; you can close this page.", "warning");
    setTimeout(flush, wait * 1000);
    wait = Math.min(15, wait * 2);
  };
  addEventListener("online", () => { wait = 1; flush(); });
  addEventListener("storage", (event) => {
    if (event.key === KEY && !queue().length && !busy) refresh();
  });

  const value = (name) => { const found = form().elements[name]; return found ? found.value : ""; };
  const sendRating = (more) => {
    const body = {task: Number(value("task")), ...more};
    const batch = value("batch");
    if (batch) body.batch = Number(batch);
    return body;
  };
  const give = (more) => {
    const at = new Date().toISOString();
    const comment = value("comment").trim();
    add("/ratings", sendRating({rating_id: newId(), seconds: seconds(), at,
      ...(comment ? {comment} : {}), ...more}));
  };
  box.addEventListener("submit", (event) => {
    event.preventDefault();
    const by = event.submitter;
    if (!by) return;
    if (by.id === "later") add("/ratings/later", sendRating({}));
    else if (by.name === "grade") give({grade: Number(by.value)});
    else if (by.name === "choice") give({choice: by.value});
    else if (by.name === "cannot") {
      const reason = value("why").trim() || value("reason");
      if (!reason) { say("Choose a reason, or write one.", "warning"); return; }
      give({reason});
    }
  });
  const undo = () => {
    const last = Number(document.getElementById("progress").dataset.last);
    if (last) add("/ratings/withdraw", {task: last, rating_id: newId()});
  };
  box.addEventListener("click", (event) => {
    if (event.target.closest("#undo")) undo();
  });

  const open = (id, focus) => {
    const found = document.getElementById(id);
    if (!found) return;
    found.open = true;
    const field = found.querySelector(focus);
    if (field) field.focus();
  };
  const toggles = {
    u: undo,
    b: () => document.getElementById("back")?.click(),
    l: () => document.getElementById("later")?.click(),
    c: () => open("cannot", "input"),
    m: () => open("commenting", "textarea"),
    o: () => document.getElementById("open")?.click(),
    g: () => { const guide = document.getElementById("guide"); guide.open = !guide.open; },
    "?": () => help.showModal(),
  };
  const press = (key) => {
    const button = [...box.querySelectorAll("[data-key]")].find((each) => each.dataset.key === key);
    if (button && !button.disabled) button.click();
    else if (!button && toggles[key]) toggles[key]();
  };
  document.addEventListener("keydown", (event) => {
    const on = event.target;
    const writes = on.matches?.("textarea, select, input:not([type=radio]):not([type=checkbox])");
    if (event.key === "Escape" && writes) { on.blur(); return; }
    if (writes || event.ctrlKey || event.metaKey || event.altKey || event.repeat || help.open) return;
    if (event.key.startsWith("Arrow") && on.matches?.("input, .scroll")) return;
    const known = toggles[event.key] || box.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    const burst = event.timeStamp - lastKey < BURST;
    if (event.key.length === 1 || known) lastKey = event.timeStamp;
    if (burst) { clearTimeout(pending); return; } // pasted, or typed by a program: rates nothing
    if (!known || (localStorage.getItem(OFF) && event.key !== "?")) return;
    event.preventDefault();
    if (performance.now() - shown < FAST) return;
    clearTimeout(pending);
    pending = setTimeout(press, BURST, event.key);
  });
  const keys = document.getElementById("keys");
  keys.checked = !localStorage.getItem(OFF);
  keys.addEventListener("change", () => {
    if (keys.checked) localStorage.removeItem(OFF); else localStorage.setItem(OFF, "1");
  });

  if (matchMedia("(max-width: 60rem)").matches) document.getElementById("guide").open = false;
  ready();
  if (queue().length) flush();
})();
