"""pandas frames where pyarrow is not installed: every verb takes them and gives them back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
from importlib.util import find_spec

import pandas as pd
import rankgate

assert find_spec("pyarrow") is None
N = range(30)


def frame(columns, *rows):
    return pd.DataFrame([row for group in rows for row in group], columns=columns.split())


qrels = frame("query_id doc_id grade", *([(f"q{i}", "x", 1), (f"q{i}", "y", 0)] for i in N))
old = frame("query_id doc_id score", *([(f"q{i}", "x", i % 3), (f"q{i}", "y", 1.5)] for i in N))
new = frame("query_id doc_id score", *([(f"q{i}", "x", 2), (f"q{i}", "y", 1.5)] for i in N))
other = new.assign(score=new["score"] + (new["doc_id"] == "y") * 0.7)
tags = pd.DataFrame({"query_id": [f"q{i}" for i in N], "kind": ["head", "tail"] * 15})
ratings = pd.concat([qrels.assign(rater=rater) for rater in ("ann", "bob")])
log = frame("user_id item_id rating timestamp",
            *([(f"u{i}", f"i{(i + j) % 9}", 1 + j % 5, 10 * i + j) for j in range(6)] for i in N))
items = pd.DataFrame({"item_id": [f"i{j}" for j in range(9)], "genre": list("abcabcabc")})
texts = pd.DataFrame({"query_id": [f"q{i}" for i in N], "text": "words"})
documents = pd.DataFrame({"doc_id": ["x", "y"], "title": ["one", "two"]})
split = rankgate.split(log, rule=rankgate.Truth(threshold=3))
shown = frame("query_id doc_id score", *([(f"u{i}", f"i{j}", 9 - j) for j in range(9)] for i in N))
pooled = rankgate.pool([old, new], rankgate.PoolDesign(depth=2))
tagged = rankgate.Collection(qrels, tags=tags)
liked = rankgate.Collection(shown.rename(columns={"score": "grade"}), training=log, items=items)

made = {
    "evaluate": rankgate.evaluate(qrels, {"old": old, "new": new}, ["AP", "nDCG@10"]),
    "compare": rankgate.compare(tagged, old, new, ["AP"], slices=["kind"]),
    "gate": rankgate.gate(tagged, old, new),
    "holes": rankgate.holes(qrels, old, new, draws=9),
    "blindspots": rankgate.blindspots(qrels, old, new, ["RR"]),
    "advise": rankgate.advise(qrels, [old, new]),
    "reconcile": rankgate.reconcile(qrels, new, "nDCG@10"),
    "explain": rankgate.explain(qrels, new, "q1", "nDCG@10"),
    "stages": rankgate.stages(qrels, [old, new], ["nDCG@10"], test=rankgate.Test(resamples=99)),
    "describe": rankgate.describe(old, as_="run"),
    "validate": rankgate.validate(qrels, as_="qrels"),
    "pool": pooled,
    "reusability": rankgate.reusability(qrels, [old, new, other]),
    "agree": rankgate.agree(ratings),
    "resolve": rankgate.resolve(ratings),
    "admit": rankgate.admit(qrels, qrels, [old, new, other]),
    "split": split,
    "scorecard": rankgate.scorecard(liked, {"a": shown}, resamples=9),
}
for name, result in made.items():
    try:
        assert isinstance(result.to_pandas(), pd.DataFrame), name
    except (AttributeError, rankgate.UsageError) as error:
        assert name in {"advise", "explain", "split", "pool"}, (name, error)  # without a table
rankgate.sheets(pooled, ["ann", "bob"], queries=texts, documents=documents)
rankgate.convert(qrels, "qrels.txt", as_="qrels")
mixed = qrels.assign(doc_id=["x", 1] * 30)
try:
    rankgate.evaluate(mixed, {"new": new}, ["AP"])
except rankgate.InputError as error:
    print(error.code)
"""


@pytest.fixture
def alone(tmp_path):
    """All installed packages but pyarrow."""
    package_folder = tmp_path / "packages"
    package_folder.mkdir()
    for folder in map(Path, sys.path):
        if folder.name == "site-packages":
            for package in folder.iterdir():
                if not package.name.startswith("pyarrow") and not (package_folder / package.name).exists():
                    (package_folder / package.name).symlink_to(package)
    source = Path(__file__).resolve().parents[2] / "src"
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (source, package_folder)))}


def test_every_verb_works_without_pyarrow(tmp_path, alone):
    command = [sys.executable, "-S", "-W", "error", "-c", SCRIPT]
    process = subprocess.run(command, env=alone, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    assert process.stdout.split() == ["wrong-type"]
