"""What the wheel alone must do: measure, compare, decide, explain, name a missing extra.

    python release/smoke.py PYTHON              of an environment with nothing but rankgate
    python release/smoke.py PYTHON --extras     of one with the packages of extras, too

Values are written as formulas; nothing of the repository is read.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from math import isclose, log2
from pathlib import Path

QRELS = {"q1": {"a": 1, "b": 1}, "q2": {"c": 1}}
OLD = {"q1": ["x", "a", "b"], "q2": ["x", "y", "c"]}
NEW = {"q1": ["a", "b", "x"], "q2": ["c", "x", "y"]}

IDEAL = 1 + 1 / log2(3)
OLD_NDCG = ((1 / log2(3) + 1 / 2) / IDEAL + 1 / 2) / 2
"""The mean over q1 (ranks 2 and 3 of two relevant documents) and q2 (rank 3 of one)."""


def main() -> int:
    """Run everything; the first thing that is wrong ends it."""
    python = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _files(folder)
        _programs(python, folder)
        _library(python, folder)
        if "--extras" not in sys.argv:
            _missing(python, folder)
    print(f"smoke: {python} is right")
    return 0


def _files(folder: Path) -> None:
    rows = [f"{q} 0 {d} {grade}" for q, grades in QRELS.items() for d, grade in grades.items()]
    (folder / "qrels.txt").write_text("\n".join(rows) + "\n")
    for name, lists in (("old", OLD), ("new", NEW)):
        rows = [
            f"{query} Q0 {document} {rank} {10 - rank} {name}"
            for query, documents in lists.items()
            for rank, document in enumerate(documents, 1)
        ]
        (folder / f"{name}.run").write_text("\n".join(rows) + "\n")


def _programs(python: Path, folder: Path) -> None:
    """The commands of a first hour."""
    version = _run(python, folder, "--version")
    assert version.stdout.startswith("rankgate"), version.stdout
    evaluation = json.loads(_run(python, folder, *_eval("old.run"), "--format", "json").stdout)
    value = evaluation["runs"][0]["mean"]["nDCG@10"]
    assert isclose(value, OLD_NDCG, rel_tol=1e-15), (value, OLD_NDCG)
    files = ("qrels.txt", "old.run", "new.run")
    _run(python, folder, "compare", *files, "-m", "RR")
    verdict = _run(python, folder, "gate", *files, codes=(0, 3))
    assert verdict.stdout.startswith(("PASS", "INCONCLUSIVE")), verdict.stdout
    _run(python, folder, "explain", "qrels.txt", "new.run", "--query", "q1", "-m", "nDCG@10")
    _run(python, folder, "reconcile", "qrels.txt", "old.run", "-m", "nDCG@10")
    _run(python, folder, "validate", "qrels.txt", "old.run")
    _run(python, folder, "metrics", "nDCG")
    _run(python, folder, "conventions", "show", "ranx")
    (folder / "broken.run").write_text("q1 Q0 a\n")
    refused = _run(python, folder, *_eval("broken.run"), codes=(2,))
    assert "broken.run:1" in refused.stderr, refused.stderr
    assert "Traceback" not in refused.stderr, refused.stderr


def _eval(run: str) -> tuple[str, ...]:
    return "eval", "qrels.txt", run, "-m", "nDCG@10"


def _library(python: Path, folder: Path) -> None:
    """The API of Python, with dicts."""
    program = f"""
import rankgate
from rankgate.metrics import RR, nDCG
run = {{q: {{d: -float(i) for i, d in enumerate(found)}} for q, found in {OLD!r}.items()}}
result = rankgate.evaluate({QRELS!r}, run, [nDCG @ 10, RR])
print(repr(float(result.means["nDCG@10"][0])))
"""
    process = _python(python, folder, "-c", program)
    assert isclose(float(process.stdout), OLD_NDCG, rel_tol=1e-15), process.stdout


def _missing(python: Path, folder: Path) -> None:
    """What needs another package says which extra has it."""
    (folder / "events.ndjson").write_text("{}\n")
    for extra, command in (
        ("plots", ("plot", "deltas", "qrels.txt", "old.run", "new.run", "-o", "a.png")),
        ("serve", ("store", "init", "--store", "sqlite:///a.db")),
        ("online", ("online", "kpi", "events.ndjson")),
        ("serve", ("serve", "--store", "sqlite:///a.db")),
    ):
        refused = _run(python, folder, *command, codes=(2,))
        assert f"rankgate[{extra}]" in refused.stderr, refused.stderr


def _run(
    python: Path, folder: Path, *words: str, codes: tuple[int, ...] = (0,)
) -> subprocess.CompletedProcess[str]:
    return _python(python, folder, "-m", "rankgate", *words, codes=codes)


def _python(
    python: Path, folder: Path, *words: str, codes: tuple[int, ...] = (0,)
) -> subprocess.CompletedProcess[str]:
    command = [str(python), *words]
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert process.returncode in codes, (words, process.returncode, process.stdout, process.stderr)
    return process


if __name__ == "__main__":
    sys.exit(main())
