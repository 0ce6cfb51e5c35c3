"""What trec_eval 10, trec_eval 9 and pytrec_eval print for small inputs, number by number.

The table is not part of the repository: it is sought beside it, and the tests are skipped
where it is missing.
"""

from __future__ import annotations

import ast
import csv
import re
from collections import Counter
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

from rankgate.compat import pytrec_eval
from rankgate.errors import RankgateError
from rankgate.evaluation.evaluate import evaluate
from rankgate.evaluation.trec_eval import trec_eval
from rankgate.scoring import CONVENTIONS

TABLE = Path(__file__).resolve().parents[3] / "shared" / "golden" / "conventions.csv"
CONVENTION_NAMES = ("trec", "trec9", "pytrec_eval")

pytestmark = pytest.mark.skipif(not TABLE.is_file(), reason="the table is not beside us")


def table():
    if not TABLE.is_file():
        return []
    with TABLE.open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["convention"] in CONVENTION_NAMES]
    return [row for row in rows if row["reproducible"] == "yes"]


ROWS = table()
FILE = re.compile(r"qrels file ('(?:[^'\\]|\\.)*'); run file ('(?:[^'\\]|\\.)*')")


def parsed(text, sign):
    """``1:a=3,b=2;2:`` as ``{"1": [("a", "3"), ("b", "2")], "2": []}``."""
    table = {}
    for ranking in text.split(";") if text else []:
        query, _, items = ranking.partition(":")
        pairs = [item.rpartition(sign) for item in items.split(",") if item]
        table.setdefault(query, []).extend((left, right) for left, _, right in pairs)
    return table


def numbers(table, kind=float):
    return {query: {name: kind(text) for name, text in row} for query, row in table.items()}


def told(metric):
    """A metric of the table as name, parameters, and what stands in brackets behind it."""
    name, _, inside = metric.removesuffix("]").partition("[")
    match = re.fullmatch(r"(\w+)(?:\((.*)\))?(?:@(.*))?", name.strip())
    name, given, cut = match.groups() if match else (name.strip(), None, None)
    return name, dict(each.split("=") for each in (given or "").split(",") if each), cut, inside


def word_of(name, given, cut):
    """The metric as trec_eval spells it."""
    if name == "RBP":
        return f"rbp.p={given['p']}"
    whole, at = SPELLED.get(name, (name, name))
    return whole if cut is None else f"{at}.{cut}"


SPELLED = {
    "AP": ("map", "map_cut"),
    "Bpref": ("bpref", ""),
    "IPrec": ("", "iprec_at_recall"),
    "NumQ": ("num_q", ""),
    "NumRel": ("num_rel", ""),
    "NumRet": ("num_ret", ""),
    "R": ("", "recall"),
    "RR": ("recip_rank", ""),
    "SetP": ("set_P", ""),
    "SetR": ("set_recall", ""),
    "SetRelP": ("set_relative_P", "relative_P"),
    "Success": ("", "success"),
    "nDCG": ("ndcg", "ndcg_cut"),
}


def texts_of(row):
    """The two files that a row was made from."""
    found = FILE.search(row["note"])
    if found and "[file" in row["metric"]:
        return [ast.literal_eval(text) for text in found.groups()]
    qrels, run = parsed(row["qrels"], "="), parsed(row["run"], "@")
    return [
        "".join(f"{query} 0 {name} {grade}\n" for query in qrels for name, grade in qrels[query]),
        "".join(f"{query} Q0 {name} 1 {score} t\n" for query in run for name, score in run[query]),
    ]


def by_trec_eval(row, folder):
    """The value of a row, read from files as trec_eval is."""
    name, given, cut, options = told(row["metric"])
    paths = [folder / "qrels", folder / "run"]
    for path, text in zip(paths, texts_of(row), strict=True):
        path.write_bytes(text.encode())
    result = trec_eval(
        *paths,
        [word_of(name, given, cut)],
        complete="-c" in options.split(),
        judged_only="-J" in options or "judged_only" in given,
        level=2 if "-l2" in options or given.get("rel") == "2" else 1,
        depth=10 if "-M 10" in options else None,
        te9=row["convention"] == "trec9",
    )
    return result.summary[0]


def by_pytrec_eval(row):
    """The value of a row, from dictionaries or through the readers."""
    name, given, cut, options = told(row["metric"])
    if "[file" in row["metric"] or "abc" in row["run"]:
        lines = [text.splitlines(keepends=True) for text in texts_of(row)]
        qrels, run = pytrec_eval.parse_qrel(lines[0]), pytrec_eval.parse_run(lines[1])
    else:
        whole = lambda text: float(text) if "." in text else int(text)  # noqa: E731
        score = np.float32 if "float32" in options else float
        grade = np.int64 if "numpy int" in options else whole
        qrels, run = (
            numbers(parsed(row["qrels"], "="), grade),
            numbers(parsed(row["run"], "@"), score),
        )
    level = 2 if "relevance_level=2" in options or given.get("rel") == "2" else 1
    judged_only = "judged_only" in given
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, [word_of(name, given, cut)], level, judged_only
    )
    evaluator.evaluate(run)  # a second call is as good as the first
    found = evaluator.evaluate(run)
    if not found:
        return "empty result"
    values = [value for values in found.values() for value in values.values()]
    return float(np.mean(values))


def check(got, row):
    if row["value"] == "empty result":
        assert got == row["value"]
    else:
        want = float(row["value"])
        assert got == pytest.approx(want, rel=0, abs=float(row["tolerance"] or 0), nan_ok=True)


REFUSALS = {
    "error: AssertionError": AssertionError,
    "error: TypeError": TypeError,
    "error: ValueError": ValueError,
    "error: exit 2": RankgateError,
    "error: exit 4": RankgateError,
}


def fits_a_face(row):
    """Whether the tool can be given the row: no file holds a query without documents."""
    return "[file" in row["metric"] or row["convention"] == "pytrec_eval" or all(texts_of(row))


FACED = [row for row in ROWS if fits_a_face(row)]


@pytest.mark.parametrize("row", FACED, ids=[row["id"] for row in FACED])
def test_the_face_gives_what_the_tool_gives(row, tmp_path):
    run = partial(by_trec_eval, row, tmp_path)
    if row["convention"] == "pytrec_eval":
        run = partial(by_pytrec_eval, row)
    if row["value"].startswith("error"):
        with pytest.raises(REFUSALS[row["value"]]):
            run()
    else:
        check(run(), row)


def has_own_meaning(row):
    """Whether `evaluate` reads the row as the tool does: no options of its own, no files."""
    _, _, _, options = told(row["metric"])
    return (
        not row["value"].startswith("error")
        and "abc" not in row["run"]
        and set(options.split()) <= {"-c", "-J", "-M", "10"}
        and not row["metric"].startswith("SetRelP@")
    )


OWN = [row for row in ROWS if has_own_meaning(row)]


KIND = ("convention", "qrels", "run")


@cache
def means(kind, options):
    """The means of all rows that share an input and options, by metric."""
    named = [row["metric"].partition("[") for row in OWN if kind == tuple(row[k] for k in KIND)]
    metrics = [name.strip() for name, _, inside in named if inside.removesuffix("]") == options]
    name, qrels, run = kind
    how = replace(
        CONVENTIONS[name],
        missing="zero" if "-c" in options else CONVENTIONS[name].missing,
        judged_only="-J" in options,
        depth=10 if "-M 10" in options else None,
    )
    tables = numbers(parsed(qrels, "=")), numbers(parsed(run, "@"))
    return evaluate(*tables, metrics, how).runs[0].means


@pytest.mark.parametrize("row", OWN, ids=[row["id"] for row in OWN])
def test_evaluate_gives_what_the_tool_gives(row):
    metric, _, options = row["metric"].removesuffix("]").partition("[")
    check(means(tuple(row[k] for k in KIND), options)[metric.strip()], row)


def test_no_row_is_missing():
    assert Counter(row["convention"] for row in ROWS) == {
        "trec": 994,
        "trec9": 971,
        "pytrec_eval": 714,
    }
    assert (len(FACED), len(OWN)) == (2670, 2617)
    assert all(row in FACED or row in OWN for row in ROWS)
