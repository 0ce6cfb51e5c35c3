"use strict";
// a table that is wider than the page says so below it
(() => {
  const note = (frame) => {
    const isCut = frame.scrollWidth > frame.clientWidth + 1;
    const sentence = frame.nextElementSibling?.matches(".cut") ? frame.nextElementSibling : null;
    if (isCut && !sentence && frame.clientWidth) {
      const added = document.createElement("p");
      added.className = "cut";
      added.textContent = document.body.dataset.cut;
      frame.after(added);
    } else if (!isCut && sentence) sentence.remove();
  };
  const watch = new ResizeObserver((entries) => entries.forEach((entry) => note(entry.target)));
  const watchAll = () => document.querySelectorAll(".scroll:has(table)").forEach((frame) => watch.observe(frame));
  watchAll();
  new MutationObserver(watchAll).observe(document.getElementById("main"), {childList: true, subtree: true});
})();
