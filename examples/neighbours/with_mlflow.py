"""MLflow: the figures, the verdict and the page of a comparison, logged to a run."""

import tempfile
from pathlib import Path

import mlflow

import rankgate
from rankgate.metrics import nDCG

qrels = {f"q{i}": {"a": 3, "b": 1, "c": 0} for i in range(20)}
old = {query: {"b": 3.0, "a": 2.0, "c": 1.0} for query in qrels}
new = {query: {"a": 3.0, "b": 2.0 + 2 * (i % 3), "c": 1.0} for i, query in enumerate(qrels)}

comparison = rankgate.compare(qrels, old, {"new": new}, [nDCG @ 10, nDCG @ 1])
verdict = rankgate.gate(qrels, old, new)

with tempfile.TemporaryDirectory() as folder, mlflow.start_run() as run:
    mlflow.log_metrics(comparison.to_flat())
    mlflow.set_tags({"verdict": verdict.verdict, "convention": "trec"})
    page = Path(folder) / "comparison.html"
    comparison.report(str(page))
    mlflow.log_artifact(str(page))
    mlflow.log_dict(verdict.to_dict(), "verdict.json")

logged = mlflow.get_run(run.info.run_id)
assert logged.data.metrics["nDCG_at_10/delta"] == comparison.to_polars()["delta"][0]
print(f"{logged.data.tags['verdict']}: {len(logged.data.metrics)} figures and the page are logged")
