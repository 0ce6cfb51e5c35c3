"""The columns of judgments that few have: subtopics, probabilities, strata."""

from __future__ import annotations

import io

import polars as pl
import pytest

import rankgate
from rankgate.core.errors import InputError
from rankgate.data import FileContents, contents_of
from rankgate.data.files.conversion import convert
from rankgate.data.files.validate import validate
from rankgate.data.formats.registry import FORMATS, find_format
from rankgate.data.qrels import OPTIONAL, Qrels
from rankgate.data.streams.source import InputFile
from support.wording import raises

TABLES = ("csv", "tsv", "jsonl", "parquet", "arrow")
WRITERS = [file_format.name for file_format in FORMATS if file_format.write and "qrels" in file_format.holds]

SUBTOPICS = pl.DataFrame(
    {
        "query_id": ["51", "51", "51", "052"],
        "doc_id": ["a", "a", "b", "a"],
        "grade": [1.0, 2.0, 0.0, -2.0],
        "subtopic": ["01", "2", "2", None],
        "subtopic_weight": [0.25, 0.75, 0.75, 0.0],
        "inclusion": [0.25, 0.25, None, 1 / 3],
        "stratum": ["top", None, "rest, or so", "top"],
    }
)
DRAWN = SUBTOPICS.drop("subtopic", "subtopic_weight").unique(["query_id", "doc_id"], maintain_order=True)


def written(name, table):
    out = io.BytesIO()
    losses = find_format(name).write(FileContents(qrels=Qrels(table)), out)
    return out.getvalue(), losses


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    "table", [SUBTOPICS, DRAWN, SUBTOPICS.drop("inclusion", "stratum", "subtopic_weight")]
)
def test_tables_carry_them(name, table):
    data, losses = written(name, table)
    contents = contents_of(InputFile(None, data), name)
    assert losses == ()
    assert contents.qrels.table.equals(table)
    assert contents.qrels.sha256 == Qrels(table).sha256


@pytest.mark.parametrize(
    "name", [name for name in WRITERS if name not in {"quepid-snapshot", "trec-rag"}]
)  # these need a run, or sentences
@pytest.mark.parametrize("table", [SUBTOPICS, DRAWN])
def test_other_formats_tell_what_they_drop(name, table, tmp_path):
    """A format without subtopics has the highest grade of each document, and nothing else."""
    contents = FileContents(qrels=Qrels(table.with_columns(pl.col("grade").clip(0))))
    result = convert(contents, tmp_path / "out", to=name)
    lost = {column for loss in result.losses for column in loss.examples}
    flat = "subtopic" in table.columns and "subtopic" not in find_format(name).columns
    format_columns = () if flat else find_format(name).columns
    assert lost & {*OPTIONAL} == ({*OPTIONAL} - {"subtopic"}) & {*table.columns} - {*format_columns}
    assert any("by subtopic" in loss.what for loss in result.losses) == flat


def test_judgments_by_subtopic_in_tables_are_used_as_those_of_trec(tmp_path):
    """The first document b answers neither of two subtopics, and a answers both."""
    table = SUBTOPICS.filter(pl.col("query_id") == "51")
    path = tmp_path / "q.csv"
    path.write_bytes(written("csv", table)[0])
    trec = tmp_path / "q.subtopic.qrels"
    trec.write_bytes(written("trec-subtopics", table)[0])
    run = {"51": {"b": 2.0, "a": 1.0}}
    values = [
        rankgate.evaluate(judgments, run, ["StRecall@1", "StRecall@2"]).means.row(0)[1:]
        for judgments in (path, trec, table)
    ]
    assert values == [(0.0, 1.0)] * 3
    with raises("wrong-type", InputError):
        rankgate.evaluate(path, run, ["AP"])
    assert not [problem for problem in validate([path, trec]).problems if problem.severity == "error"]


def test_the_record_of_judgments_is_reported_when_it_is_lost(tmp_path):
    qrels = Qrels(DRAWN, made_by={"rule": "majority"})
    result = convert(qrels, tmp_path / "q.csv")
    assert [(loss.what, loss.examples) for loss in result.losses] == [
        ("record of how judgments were made", ("majority",))
    ]
