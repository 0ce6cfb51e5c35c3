"use strict";
(() => {
  // the key of a grade gives the final word on the focused pair, or on the first pair
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    if (event.target.matches("input, textarea, select")) return;
    const pair = event.target.closest(".dispute") || document.querySelector(".dispute");
    if (!pair) return;
    const hasKey = (button) => button.dataset.key === event.key;
    const button = [...pair.querySelectorAll("button[data-key]")].find(hasKey);
    if (!button) return;
    event.preventDefault();
    button.click();
  });
})();
