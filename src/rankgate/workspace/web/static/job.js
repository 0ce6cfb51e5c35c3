// Shows the progress of a job, and loads the page again when it has ended.
"use strict";
(() => {
  const box = document.getElementById("job");
  const show = (name, value) => {
    const element = box.querySelector(`[data-show="${name}"]`);
    if (element && element.textContent !== String(value)) element.textContent = value;
  };
  const update = async () => {
    try {
      const answer = await fetch(box.dataset.from, { headers: { accept: "application/json" } });
      if (!answer.ok) return;
      const { job } = await answer.json();
      for (const name of ["done", "requests", "failed"]) show(name, job[name]);
      show("state", job.abandoned ? "interrupted" : job.state);
      show("tokens", job.input_tokens + job.output_tokens);
      show("cost", Number(job.cost.toPrecision(4)));
      box.querySelector("progress").value = job.done;
      if (!job.under_way) location.reload();
    } catch { /* the server is away; the next update tries again */ }
  };
  if (box?.dataset.from) setInterval(update, 2000);
})();
