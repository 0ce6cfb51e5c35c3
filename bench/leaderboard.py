"""Time of a folder of MTEB's results: ``python bench/leaderboard.py [models] [tasks]``.

Seconds of the processor from the files to the ranks of all models, and how many times as long as
Python's ``json`` takes to parse the same files.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rankgate import compare_data_sets, read_scores


def write(root: Path, models: int, tasks: int) -> None:
    """Results as ``mteb`` keeps them; every other task has ten experiments, the others fifty metrics."""
    rng = np.random.default_rng(0)
    means, difficulty = np.sort(rng.normal(0.55, 0.07, models)), rng.normal(0, 0.15, tasks)
    values = np.clip(means + difficulty[:, None] + rng.normal(0, 0.03, (tasks, models)), 0, 1)
    for model in range(models):
        folder = root / f"org__model-{model}" / f"{model:040x}"
        folder.mkdir(parents=True)
        (folder / "model_meta.json").write_text(json.dumps({"name": f"org/model-{model}"}))
        for task, value in enumerate(values[:, model].tolist()):
            names = ("map", "mrr", "ndcg", "precision", "recall", "nauc_map", "nauc_mrr")
            row: dict[str, object] = {
                f"{name}_at_{k}": value for name in names for k in (1, 3, 5, 10, 20, 100, 1000)
            }
            if task % 2:
                experiment = {"accuracy": value, "f1": value, "f1_weighted": value}
                row = {**experiment, "scores_per_experiment": [experiment] * 10}
            row |= {"hf_subset": "default", "languages": ["eng-Latn"], "main_score": value}
            content = {"task_name": f"Task{task}", "mteb_version": "2.1.0", "scores": {"test": [row]}}
            (folder / f"Task{task}.json").write_text(json.dumps(content, indent=2))


def seconds(do: Callable[[], object]) -> float:
    """Seconds of the processor, as other programs may be busy."""
    begin = time.process_time()
    do()
    return time.process_time() - begin


def main(models: int = 181, tasks: int = 41) -> None:
    """Write the files into a temporary folder, and print both times."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write(root, models, tasks)
        parsing = seconds(lambda: [json.loads(path.read_bytes()) for path in root.rglob("*.json")])
        ranking = seconds(lambda: compare_data_sets(read_scores(root)))
    print(
        f"{models} models, {tasks} tasks: {ranking:.1f} s, {ranking / parsing:.1f} times as long as parsing"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
