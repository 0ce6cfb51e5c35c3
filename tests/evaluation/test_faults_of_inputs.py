"""Faults of inputs by verb, face and source: one code everywhere, or one value; never a number in between."""

from __future__ import annotations

import pytest

import rankgate
from rankgate.core.errors import RankgateError
from rankgate.interface.mcp.mcp_tools import make_tools, open_folder
from support.command import code_of
from support.faulty_inputs import FAULTS, SOUND, frame

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
