// Shows how far a job is, and loads the page again when it has ended.
"use strict";
(() => {
  const box = document.getElementById("job");
  const show = (name, value) => {
    const place = box.querySelector(`[data-show="${name}"]`);
    if (place && place.textContent !== String(value)) place.textContent = value;
  };
  const look = async () => {
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
    } catch { /* the server is away; it is asked again */ }
  };
  if (box?.dataset.from) setInterval(look, 2000);
})();
