"""What trec_eval 10, trec_eval 9 and pytrec_eval print for small inputs, number by number."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from rankgate.compat import pytrec_eval
from rankgate.core.errors import RankgateError
from rankgate.measurement.evaluation.trec.trec_columns import parse_columns
from rankgate.measurement.evaluation.trec.trec_eval import trec_eval
from rankgate.measurement.scoring import CONVENTIONS
from support.golden import Call, assert_rows, batches, evaluated, parsed, rows_of

CONVENTION_NAMES = ("trec", "trec9", "pytrec_eval")

ROWS = rows_of(CONVENTION_NAMES)
FILE = re.compile(r"qrels file ('(?:[^'\\]|\\.)*'); run file ('(?:[^'\\]|\\.)*')")


def numbers(table, kind=float):
    return {query: {name: kind(text) for name, text in row} for query, row in table.items()}


def outcome(metric):
    """A metric of the table as name, parameters, and what is in brackets behind it."""
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


@cache
def column(word, level, te9):
    """The column that trec_eval prints for a word."""
    return parse_columns([word], level=level, te9=te9)[0]


def joined(words):
    """The words with all cutoffs of a metric in one, as trec_eval takes them: ``P.5,10``."""
    cutoffs = defaultdict(list)
    for word in dict.fromkeys(words):
        name, _, cutoff = word.partition(".")
        cutoffs[name].append(cutoff)
    alone = [name for name, given in cutoffs.items() if "" in given]
    return alone + [
        f"{name}.{','.join(filter(None, given))}" for name, given in cutoffs.items() if any(given)
    ]


def by_trec_eval(rows, folder):
    """The values of rows that share files and options, read from files as trec_eval is."""
    row = rows[0]
    _, given, _, options = outcome(row["metric"])
    paths = [folder / f"{row['id']}.{part}" for part in ("qrels", "run")]
    for path, text in zip(paths, texts_of(row), strict=True):
        path.write_bytes(text.encode())
    level = 2 if "-l2" in options or given.get("rel") == "2" else 1
    te9 = row["convention"] == "trec9"
    words = {each["id"]: word_of(*outcome(each["metric"])[:3]) for each in rows}
    result = trec_eval(
        *paths,
        joined(words.values()),
        complete="-c" in options.split(),
        judged_only="-J" in options or "judged_only" in given,
        level=level,
        depth=10 if "-M 10" in options else None,
        te9=te9,
    )
    return {name: result.mean(column(word, level, te9).label) for name, word in words.items()}


def by_pytrec_eval(rows, _):
    """The values of rows that share dictionaries and options."""
    row = rows[0]
    _, given, _, options = outcome(row["metric"])
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
    words = {each["id"]: word_of(*outcome(each["metric"])[:3]) for each in rows}
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, joined(words.values()), level, "judged_only" in given
    )
    evaluator.evaluate(run)  # a second call is as good as the first
    found = evaluator.evaluate(run)
    if not found:
        return dict.fromkeys(words, "empty result")
    names = {}
    for name, word in words.items():
        at = column(word, level, te9=True)
        names[name] = at.label if at.label in next(iter(found.values())) else at.name
    return {
        name: float(np.mean([values[at] for values in found.values()]))
        for name, at in names.items()
    }


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


def options_of(row):
    """Equal for rows of a batch that one call computes; rows that fail are called alone."""
    name, given, cut, options = outcome(row["metric"])
    fails = row["value"].startswith("error")
    alone = fails or "[file" in row["metric"] or "=" in word_of(name, given, cut)
    return options, given.get("rel"), "judged_only" in given, alone and row["id"]


@pytest.mark.parametrize("batch", batches(FACED))
def test_the_interface_gives_what_the_tool_gives(batch, tmp_path):
    groups, got = defaultdict(list), {}
    for row in batch:
        groups[options_of(row)].append(row)
    for rows in groups.values():
        by = by_pytrec_eval if rows[0]["convention"] == "pytrec_eval" else by_trec_eval
        if rows[0]["value"].startswith("error"):
            with pytest.raises(REFUSALS[rows[0]["value"]]) as caught:
                by(rows, tmp_path)
            got[rows[0]["id"]] = caught.value
        else:
            got |= by(rows, tmp_path)
    empty = [row for row in batch if row["value"] == "empty result"]
    assert all(got[row["id"]] == "empty result" for row in empty)
    assert_rows([row for row in batch if row not in empty], got)


def has_own_meaning(row):
    """Whether `evaluate` reads the row as the tool does: no options of its own, no files."""
    _, _, _, options = outcome(row["metric"])
    return (
        not row["value"].startswith("error")
        and "abc" not in row["run"]
        and set(options.split()) <= {"-c", "-J", "-M", "10"}
        and not row["metric"].startswith("SetRelP@")
    )


OWN = [row for row in ROWS if has_own_meaning(row)]


def call(row):
    metric, _, options = row["metric"].removesuffix("]").partition("[")
    how = CONVENTIONS[row["convention"]]
    how = replace(
        how,
        missing="zero" if "-c" in options else how.missing,
        judged_only="-J" in options,
        depth=10 if "-M 10" in options else None,
    )
    qrels, run = numbers(parsed(row["qrels"], "=")), numbers(parsed(row["run"], "@"))
    return Call(qrels, run, metric.strip(), how)


@pytest.mark.parametrize("batch", batches(OWN))
def test_evaluate_gives_what_the_tool_gives(batch):
    got = evaluated({row["id"]: call(row) for row in batch})
    assert_rows([row for row in batch if row["value"] != "empty result"], got)


def test_no_row_is_missing():
    assert Counter(row["convention"] for row in ROWS) == {
        "trec": 994,
        "trec9": 971,
        "pytrec_eval": 714,
    }
    assert (len(FACED), len(OWN)) == (2670, 2617)
    assert all(row in FACED or row in OWN for row in ROWS)
