"""Faults of inputs by verb, face and source: one code everywhere, or one value; never a number in between."""

from __future__ import annotations

import polars as pl
import pytest

import rankgate
from rankgate.core.errors import RankgateError
from rankgate.interface.mcp.mcp_tools import make_tools, open_folder
from support.command import code_of

GOOD = {f"red {n}": {"a": 1, "b": 0} for n in range(12)}
RUN = {query: {"b": 2.0, "a": 1.0} for query in GOOD}


def rows(table):
    return [(query, doc, number) for query, documents in table.items() for doc, number in documents.items()]


def frame(pairs, number):
    columns = {"query_id": pl.String, "doc_id": pl.String, number: pl.Float64}
    return pl.DataFrame(pairs, columns, orient="row")


QRELS_ROWS, RUN_ROWS = rows(GOOD), rows(RUN)
BAD_JOIN = [(query.replace(" ", "_"), doc, score) for query, doc, score in RUN_ROWS]

FAULTS = {  # judgments, run, code
    "ids of another spelling": (QRELS_ROWS, BAD_JOIN, "ids-do-not-fit"),
    "one id fits": (QRELS_ROWS, [*BAD_JOIN[2:], RUN_ROWS[0]], "ids-do-not-fit"),
    "other queries": (QRELS_ROWS, [("x", "a", 1.0)], "queries-differ"),
    "no judgments": ([], RUN_ROWS, "no-judgments"),
    "no run": (QRELS_ROWS, [], "no-rankings"),
    "a blank query": ([*QRELS_ROWS, (" ", "a", 1)], RUN_ROWS, "empty-value"),
    "a blank document": (QRELS_ROWS, [*RUN_ROWS, ("red 1", " ", 1.0)], "empty-value"),
    "a score that is missing": (QRELS_ROWS, [*RUN_ROWS, ("red 1", "c", None)], "not-a-number"),
    "an infinite score": (QRELS_ROWS, [*RUN_ROWS, ("red 1", "c", float("inf"))], "not-a-number"),
    "a document ranked twice": (QRELS_ROWS, [*RUN_ROWS, RUN_ROWS[0]], "duplicate-document"),
    "a document judged twice": ([*QRELS_ROWS, QRELS_ROWS[0]], RUN_ROWS, "duplicate-document"),
}

SOUND = {  # judgments, run, RR
    "as they are": (QRELS_ROWS, RUN_ROWS, 1 / 2),
    "an unrated pair": ([*QRELS_ROWS, ("red 1", "b2", None)], RUN_ROWS, 1 / 2),
    "a run for half": (QRELS_ROWS, RUN_ROWS[:12], 1 / 4),
    "more queries than judged": (QRELS_ROWS, [*RUN_ROWS, ("x", "a", 1.0)], 1 / 2),
}

VERBS = {
    "evaluate": lambda qrels, run, _: rankgate.evaluate(qrels, run, ["RR"]),
    "compare": lambda qrels, run, again: rankgate.compare(qrels, run, again, ["RR"]),
    "gate": rankgate.gate,
}

SOURCES = {
    "polars": lambda table, _: table,
    "pandas": lambda table, _: table.to_pandas(),
    "Arrow": lambda table, _: table.to_arrow(),
    "columns": lambda table, _: table.to_dict(as_series=False),
    "rows": lambda table, _: table.rows(named=True),
    "csv": lambda table, path: write(table, path, "csv"),
    "jsonl": lambda table, path: write(table, path, "jsonl"),
    "parquet": lambda table, path: write(table, path, "parquet"),
}


def write(table, folder, suffix):
    folder.mkdir(exist_ok=True)
    path = folder / f"{table.columns[-1]}.{suffix}"
    writer = {"csv": table.write_csv, "jsonl": table.write_ndjson, "parquet": table.write_parquet}[suffix]
    writer(path)
    return str(path)


def read_tables(source, judged, ranked, folder):
    """Judgments, a run, and the same run again, as if of another system."""
    run, again = (SOURCES[source](frame(ranked, "score"), folder / name) for name in ("old", "new"))
    return SOURCES[source](frame(judged, "grade"), folder), run, again


def is_empty_form(case, source):
    """True for files and lists without rows that do not say of what they are."""
    return case in {"no judgments", "no run"} and source in {"rows", "jsonl"}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("case", FAULTS)
def test_each_fault_has_one_code_in_every_verb_and_source(case, source, tmp_path):
    judged, ranked, code = FAULTS[case]
    tables = read_tables(source, judged, ranked, tmp_path)
    for verb in VERBS.values():
        with pytest.raises(RankgateError) as caught:
            verb(*tables)
        codes = {code, "invalid-id"} if source == "jsonl" and code == "empty-value" else {code}
        assert is_empty_form(case, source) or caught.value.code in codes, str(caught.value)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("case", SOUND)
def test_sound_sets_have_one_value_in_every_source(case, source, tmp_path):
    judged, ranked, value = SOUND[case]
    tables = read_tables(source, judged, ranked, tmp_path)
    assert VERBS["evaluate"](*tables).means["RR"][0] == value
    assert VERBS["compare"](*tables).only.metrics["baseline"][0] == value


@pytest.mark.parametrize("case", FAULTS)
def test_commands_and_assistants_say_the_same(case, tmp_path, run):
    judged, ranked, code = FAULTS[case]
    write(frame(judged, "grade"), tmp_path, "csv")
    write(frame(ranked, "score"), tmp_path, "csv")
    write(frame(ranked, "score").rename({"score": "sim"}), tmp_path, "csv")  # the same run again
    qrels, old, new = tmp_path / "grade.csv", tmp_path / "score.csv", tmp_path / "sim.csv"
    for words in (("eval", qrels, old), ("compare", qrels, old, new), ("gate", qrels, old, new)):
        ended = run(*words)
        assert (ended.code, code_of(ended.error)) == (2, code)
    tools = {tool.name: tool for tool in make_tools(open_folder(tmp_path, 1 << 20))}
    for name, arguments in (
        ("evaluate", {"qrels": "grade.csv", "runs": ["score.csv"]}),
        ("compare", {"qrels": "grade.csv", "baseline": "score.csv", "candidates": ["sim.csv"]}),
        ("gate", {"qrels": "grade.csv", "baseline": "score.csv", "candidate": "sim.csv"}),
    ):
        with pytest.raises(RankgateError) as caught:
            tools[name](**arguments)
        assert caught.value.code == code
