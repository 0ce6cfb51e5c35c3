"use strict";
(() => {
  const page = document.getElementById("page"), box = document.getElementById("task");
  const stateLine = document.getElementById("state"), help = document.getElementById("help");
  const root = `${page.dataset.base}/projects/${encodeURIComponent(page.dataset.project)}`;
  const KEY = `rankgate.queue.${root}.${page.dataset.user}`, OFF = "rankgate.keys.off";
  const BURST = 100, FAST = 250; // ms: pasted text comes as many keys at once
  let shown = 0, seen = 0, began = 0, busy = false, wait = 1, lastKey = -BURST, pending = 0;

  const queue = () => { try { return JSON.parse(localStorage.getItem(KEY)) || []; } catch { return []; } };
  const keep = (requests) => localStorage.setItem(KEY, JSON.stringify(requests));
  const newId = () => {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  };
  const say = (message, kind = "") => { stateLine.textContent = message; stateLine.className = kind; };
  const texts = JSON.parse(page.dataset.texts);
  const text = (key, values = {}) =>
    texts[key].replace(/\{(\w+)\}/g, (all, name) => String(values[name] ?? all));
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
    const newPage = new DOMParser().parseFromString(await answer.text(), "text/html");
    const task = newPage.getElementById("task");
    if (task) show(task.innerHTML);
  };

  const add = (path, body) => {
    keep([...queue(), {path, body, key: newId()}]);
    for (const button of box.querySelectorAll("button")) button.disabled = true;
    flush();
  };
  const drop = (posted) => keep(queue().filter((queued) => queued.key !== posted.key));
  const post = (queued) => fetch(root + queued.path, {
    method: "POST", body: JSON.stringify(queued.body), keepalive: true,
    headers: {"content-type": "application/json", "x-csrf-token": page.dataset.csrf, "x-fragment": "1"},
  });
  const withLock = (work) => navigator.locks ? navigator.locks.request(KEY, work) : work();

  const flush = async () => {
    if (busy || !queue().length) return;
    busy = true;
    let data = null, stop = false;
    await withLock(async () => {
      while (queue().length && !stop) {
        const queued = queue()[0];
        try {
          const answer = await post(queued);
          if (answer.ok) {
            data = await answer.json();
            drop(queued);
            wait = 1;
            say("");
          } else {
            stop = await refused(answer, queued);
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
  const refused = async (answer, queued) => {
    if (answer.status === 401 || answer.status === 403) {
      say(text("signed_out", {count: queue().length}), "fail");
      return true;
    }
    if (answer.status >= 500 || answer.status === 429 || answer.status === 408) { later(); return true; }
    drop(queued);
    const result = await answer.json().catch(() => ({}));
    say(text("not_saved", {problem: result.error ? result.error.message : answer.status}), "fail");
    await refresh();
    return false;
  };
  const later = () => {
    say(text("offline", {count: queue().length}), "warning");
    setTimeout(flush, wait * 1000);
    wait = Math.min(15, wait * 2);
  };
  addEventListener("online", () => { wait = 1; flush(); });
  addEventListener("storage", (event) => {
    if (event.key === KEY && !queue().length && !busy) refresh();
  });

  const value = (name) => { const input = form().elements[name]; return input ? input.value : ""; };
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
    const button = event.submitter;
    if (!button) return;
    if (button.id === "later") add("/ratings/later", sendRating({}));
    else if (button.name === "grade") give({grade: Number(button.value)});
    else if (button.name === "choice") give({choice: button.value});
    else if (button.name === "cannot") {
      const reason = value("why").trim() || value("reason");
      if (!reason) { say(text("choose_reason"), "warning"); return; }
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
    const details = document.getElementById(id);
    if (!details) return;
    details.open = true;
    const field = details.querySelector(focus);
    if (field) field.focus();
  };
  const toggles = {
    u: undo,
    b: () => document.getElementById("back")?.click(),
    l: () => document.getElementById("later")?.click(),
    c: () => open("cannot", "input"),
    z: () => box.querySelector(".zoom > summary")?.click(),
    m: () => open("commenting", "textarea"),
    o: () => document.getElementById("open")?.click(),
    g: () => { const guide = document.getElementById("guide"); guide.open = !guide.open; },
    "?": () => help.showModal(),
  };
  const press = (key) => {
    const withKey = [...box.querySelectorAll("[data-key]")];
    const button = withKey.find((element) => element.dataset.key === key);
    if (button && !button.disabled) button.click();
    else if (!button && toggles[key]) toggles[key]();
  };
  document.addEventListener("keydown", (event) => {
    const target = event.target;
    const writes = target.matches?.("textarea, select, input:not([type=radio]):not([type=checkbox])");
    if (event.key === "Escape" && writes) { target.blur(); return; }
    if (writes || event.ctrlKey || event.metaKey || event.altKey || event.repeat || help.open) return;
    if (event.key.startsWith("Arrow") && target.matches?.("input, .scroll")) return;
    const action = toggles[event.key] || box.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    const burst = event.timeStamp - lastKey < BURST;
    if (event.key.length === 1 || action) lastKey = event.timeStamp;
    if (burst) { clearTimeout(pending); return; } // pasted, or typed by a program: rates nothing
    if (!action || (localStorage.getItem(OFF) && event.key !== "?")) return;
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
