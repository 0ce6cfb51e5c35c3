"""Tables are read in every format of tables: the format is found, or --from names it."""

from __future__ import annotations

import re
import sqlite3
from random import Random

import polars as pl
import pytest

from support.command import assert_refused

RANDOM = Random(3)
SHOWN = [
    (f"s{session}", query, rank, f"d{RANDOM.randrange(9)}", int(RANDOM.random() < 0.4 / rank))
    for session in range(80)
    for query in (RANDOM.choice(["red shoes", "blue hat"]),)
    for rank in range(1, 5)
]
TABLES = {
    "log": pl.DataFrame(SHOWN, ["session", "query", "rank", "doc", "clicked"], orient="row"),
    "decisions": pl.DataFrame(
        [(RANDOM.choice("xyz"), RANDOM.randrange(2), 0.25) for _ in range(300)],
        ["action", "reward", "propensity"],
        orient="row",
    ),
    "pool": pl.DataFrame({"query": ["q1", "q1", "q2"], "document": ["7", "8", "9"]}),
    "sheet": pl.DataFrame(
        {"query": ["q1", "q1"], "document": ["7", "8"], "grade": ["2", "0"], "rater": ["ann"] * 2}
    ),
    "items": pl.DataFrame({"item_id": [f"d{i}" for i in range(9)], "category": list("abcabcabc")}),
    "texts": pl.DataFrame({"query_id": ["q1", "q2"], "text": ["red shoes", "blue hat"]}),
    "past": pl.DataFrame(
        [
            (f"e{i}", side, name, round(RANDOM.gauss(0, 1), 3), 0.1)
            for i in range(6)
            for side, name in (("offline", "nDCG@10"), ("online", "search_ctr"))
        ],
        ["experiment", "side", "name", "delta", "standard_error"],
        orient="row",
    ),
}
MAPPING = """
[log]
kind = "impression"
[columns]
query = "query"
doc_id = "doc"
rank = "rank"
session = "session"
query_event_id = "session+query"
[flags]
click = "clicked"
"""
COMMANDS = (
    "online judgments {log} --mapping log.toml --model dctr --format json",
    "online ope {decisions} --target uniform --format json",
    "online agreement {past} --format json --resamples 50",
    "sheet {pool} --raters ann --queries {texts} -o out.csv",
    "collect {sheet} --scale graded",
    "scorecard qrels.txt new.run --items {items} --format json",
)
FORMATS = ("csv", "semicolons", "jsonl", "arrow", "parquet", "excel", "sqlite")


def written(folder, form):
    """Every table in one format, and the options that name it; the path of each table."""
    paths = {name: str(folder / f"{name}.{form}") for name in TABLES}
    if form == "sqlite":
        with sqlite3.connect(folder / "shop.db") as database:
            for name, table in TABLES.items():
                database.execute(f"create table {name} ({', '.join(table.columns)})")
                cells = ", ".join("?" * len(table.columns))
                database.executemany(f"insert into {name} values ({cells})", table.rows())  # noqa: S608
        return {name: f"{folder / 'shop.db'}:{name}" for name in TABLES}, []
    for name, table in TABLES.items():
        if form == "semicolons":
            table.write_csv(paths[name], separator=";")
        else:
            writers = {"jsonl": "write_ndjson", "arrow": "write_ipc", "excel": "write_excel"}
            if form == "excel":
                paths[name] += ".xlsx"
            getattr(table, writers.get(form, f"write_{form}"))(paths[name])
    return paths, ["--from", "csv"] if form == "semicolons" else []


def rounded(text):
    """Numbers with nine digits, as DuckDB adds floats in any order; the time of a model is 0."""
    text = re.sub(r'("seconds": )[\d.]+', r"\g<1>0", text)
    return re.sub(r"-?\d+\.\d+(?:e-?\d+)?", lambda number: f"{float(number[0]):.9g}", text)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.toml").write_text(MAPPING)
    (tmp_path / "qrels.txt").write_text("u1 0 d1 1\nu1 0 d2 0\nu2 0 d3 1\n")
    (tmp_path / "new.run").write_text("u1 Q0 d1 1 2 new\nu2 Q0 d4 1 2 new\nu2 Q0 d3 2 1 new\n")
    return tmp_path


@pytest.mark.parametrize("words", COMMANDS)
def test_a_table_gives_the_same_in_every_format(folder, run, words):
    outputs = {}
    for form in FORMATS:
        (folder / form).mkdir()
        paths, options = written(folder / form, form)
        if "scorecard" in words:  # --from is that of judgments and runs there
            options = []
        result = run(*words.format(**paths).split(), *options)
        assert result.code in {0, 3}, (form, result.err)
        output_file = folder / "out.csv"
        text = output_file.read_text() if output_file.exists() else result.out
        outputs[form] = rounded(text.replace(f".{form}", "").replace(form, ""))
    assert outputs["csv"]
    assert outputs == dict.fromkeys(FORMATS, outputs["csv"])


def test_a_format_of_a_command_is_that_of_what_it_can_hold(folder, run):
    paths, _ = written(folder, "csv")
    target_options = ("--target", "uniform")
    assert_refused(
        run("online", "ope", paths["decisions"], *target_options, "--from", "topics"), "format-cannot-hold"
    )
    assert_refused(run("online", "ope", "trec:qrels.txt", *target_options), "wrong-type", "qrels.txt")
    mistaken = run("online", "ope", paths["decisions"], *target_options, "--from", "parquet")
    assert_refused(mistaken, "damaged-file", paths["decisions"])
