"""What ir_measures, ranx, gdeval, trectools, cwl_eval, pyNTCIREVAL and BEIR give, row by row."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import replace

import polars as pl
import pytest

from rankgate.measurement.metrics.facet_metrics import FACET_METRICS
from rankgate.measurement.metrics.metric_catalogue import by_name
from rankgate.measurement.metrics.metric_name_parser import parse
from rankgate.measurement.scoring import CONVENTIONS
from support.golden import Call, assert_rows, batches, evaluated, parsed, rows_of

COUNTS = {
    "ir_measures": 1031,
    "ranx": 595,
    "trectools": 476,
    "ntcir": 323,
    "cwl": 225,
    "beir": 5,
    "gdeval": 3,
}

OUTSIDE = {"2.8-0059": "asks whether a document is judged for any query at all"}
"""Rows that no metric over the judgments of a query can have."""

ELSEWHERE = ("2.10-0001", "2.10-0002", "2.10-0013")  # of subtopics, and the p-value of a test
"""Rows that ``test_rows_lists`` checks."""

_EMPTY_RUN = "there is nothing in the run"
_JUDGED_TWICE = "a document is judged twice"
REFUSED = {
    "2.8-0073": _EMPTY_RUN,
    "2.8-0074": _EMPTY_RUN,
    "2.8-0075": _EMPTY_RUN,
    "2.9-0048": _EMPTY_RUN,
    "2.9-0079": _EMPTY_RUN,
    "2.9-0008": _JUDGED_TWICE,
    "2.9-0009": _JUDGED_TWICE,
    "2.9-0071": _JUDGED_TWICE,
    "2.9-0073": "a line has seven fields",
}
"""Rows where the tool goes on without a word and we say what is wrong."""

_COMMENT = "the tool knows no comment lines, which trec_eval 10 skips"
_FRACTION = "the tool takes whole grades only"
_RESIDUAL = "the tool's residual of graded gains falls below 0; ours is of grades 0 and 1"
ANSWERED = {
    "2.5-0037": (1.0, "the tool has no NumRel of another level"),
    "2.7-0024": (1 - 0.75, _RESIDUAL),
    "2.7-0027": (1 - 0.75, _RESIDUAL),
    "2.7-0028": (1 - 0.5, _RESIDUAL),
    "2.8-0065": (0.0, "the tool cannot sort the judgments of a query that has none"),
    "2.8-0066": (0.0, "the tool cannot sort a run of empty lists"),
    "2.9-0023": (1.0, _COMMENT),
    "2.9-0024": (1.0, _COMMENT),
    "2.9-0074": (1.0, _COMMENT),
    "2.9-0028": (0.0, _FRACTION),
    "2.9-0029": (0.0, _FRACTION),
    "2.9-0033": (1.0, _FRACTION),
    "2.9-0034": (1.0, _FRACTION),
    "2.9-0067": (0.0, _FRACTION),
    "2.9-0077": (1.0, "the tool reads the document 007 as the number 7"),
    # relevant at 1, 2 and 4 of five; the ideal has them in this order
    "random-0852": (
        (1 + 0.8 + 0.64 * 2 / 3 + 0.512 * 3 / 4 + 0.4096 * 3 / 5)
        / (1 + 0.8 + 0.64 + 0.512 * 3 / 4 + 0.4096 * 3 / 5),
        "the tool's ideal has documents of equal grade and score in the order of the judgments",
    ),
}
"""Rows where the tool fails or errs, and the value that we give: by id, with the reason."""

RESIDUALS = {
    "get_rbp(p=0.5, binary_topical_relevance=False)": "RBPResid(p=0.5)",
    "get_rbp(p=0.5, depth=1, binary_topical_relevance=False)": "RBPResid(p=0.5)@1",
}


ROWS = rows_of(COUNTS)
INSIDE = [row for row in ROWS if row["id"] not in (*OUTSIDE, *ELSEWHERE)]
FILE = re.compile(r"qrels file ('(?:[^'\\]|\\.)*'); run file ('(?:[^'\\]|\\.)*')")


def tables_of(row, folder):
    """The judgments and the run of a row: files, a frame or dictionaries."""
    file_match = FILE.search(row["note"])
    if file_match and "[file" in row["metric"]:
        texts = [ast.literal_eval(text) for text in file_match.groups()]
    elif "abc" in row["run"]:  # only a file can hold a score that is not a number
        texts = ["1 0 a 1\n1 0 b 0\n", "1 Q0 a 1 abc t\n"]
    else:
        qrels, run = parsed(row["qrels"], "="), parsed(row["run"], "@")
        grades = {query: {doc: float(grade) for doc, grade in qrels[query]} for query in qrels}
        return grades, frame(run) if "interleaved" in row["metric"] or twice(run) else dicts(run)
    paths = [folder / f"{row['id']}.{kind}" for kind in ("qrels", "run")]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text.encode())
    return paths


def twice(run):
    return any(len({name for name, _ in pairs}) < len(pairs) for pairs in run.values())


def dicts(run):
    return {query: {doc: float(score) for doc, score in run[query]} for query in run}


def frame(run):
    """The rows by score, the queries in turn."""
    rows = [(query, doc, float(score)) for query in run for doc, score in run[query]]
    if not twice(run):
        rows.sort(key=lambda row: -row[2])
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")


def how_of(row, inside):
    """The convention of a row, with the text of the row in brackets."""
    convention = CONVENTIONS[row["convention"]]
    if "make_comparable" in row["metric"]:
        return replace(convention, missing="zero", unknown="ignore")
    if inside.startswith("gains") and inside != "gains 1:3:7":  # these are the convention's own
        gains = tuple(enumerate(map(float, inside.removeprefix("gains ").split(":")), start=1))
        return replace(convention, parameters=gained(convention.parameters, gains))
    return convention


def gained(parameters, gains):
    """The parameters of a convention with gains for its grades."""
    settings = {name: dict(values) for name, values in parameters.items()}
    for name in ("ERR", "nERR", "Q", "RBP", "nDCG"):
        settings[name]["gain"] = gains
        if "max_grade" in settings[name]:
            settings[name]["max_grade"] = len(gains)
    return settings


def call(row, folder):
    metric, _, bracket_text = row["metric"].removesuffix("]").partition("[")
    metric = metric.strip().replace("(make_comparable=True)", "")
    metric = metric.replace(", average_ties=True, per_query=True", "")
    if bracket_text == "residual":
        metric = RESIDUALS[metric]
    arguments = (*tables_of(row, folder), metric, how_of(row, bracket_text))
    if bracket_text == "query 1":
        return Call(*arguments, lambda scores, name: scores.per_query(name)["1"])
    return Call(*arguments)


@pytest.mark.parametrize("batch", batches(INSIDE))
def test_the_convention_gives_what_the_tool_gives(batch, tmp_path):
    expected = {name: value for name, (value, _) in ANSWERED.items()}
    assert_rows(batch, evaluated({row["id"]: call(row, tmp_path) for row in batch}), expected, REFUSED)


def test_no_row_is_missing():
    assert Counter(row["convention"] for row in ROWS) == COUNTS
    row_ids = {row["id"] for row in ROWS}
    assert row_ids >= OUTSIDE.keys() | REFUSED.keys() | ANSWERED.keys()


def test_what_we_answer_otherwise_is_otherwise():
    rows = {row["id"]: row["value"] for row in ROWS}
    for row_id, (rankgate_value, _) in ANSWERED.items():
        tool_value = rows[row_id]
        assert tool_value.startswith("error") or float(tool_value) != pytest.approx(rankgate_value, abs=1e-6)


SPELLINGS = [(name, spelling) for name in COUNTS for spelling in CONVENTIONS[name].spellings]


@pytest.mark.parametrize(("name", "theirs"), SPELLINGS)
def test_each_name_of_a_tool_is_a_metric_with_all_that_it_needs(name, theirs):
    share = "5" if theirs.startswith("rbp.") else "0.5"
    filled = theirs.format(k=3, rel=2, level=2, top=3, r=0.1, beta=2, p=share, b=4, gamma=0.5)
    metric_name = CONVENTIONS[name].spelled(filled)
    assert metric_name == CONVENTIONS[name].spellings[theirs].format(
        k=3, rel=2, level=2, top=3, r=0.1, beta=2, p=share, b=4, gamma=0.5
    )
    assert not parse(metric_name).missing


@pytest.mark.parametrize("name", COUNTS)
def test_what_is_chosen_for_single_metrics_exists(name):
    convention = CONVENTIONS[name]
    for metric, settings in convention.parameters.items():
        if metric != "*":
            assert dict(by_name[metric](**settings).given).keys() == settings.keys(), metric
    for metric, settings in convention.special.items():
        assert parse(metric.removesuffix("@"), FACET_METRICS)
        assert settings.keys() <= convention.axes.keys()
