"""Real runs and topics are detected, with the counts of their index; judgments are in tests/files."""

from __future__ import annotations

import io

import pytest

from rankgate.data import contents_of
from rankgate.data.formats.registry import detect_format, find_format
from rankgate.data.streams.source import InputFile, open_source

RUNS = {
    "cranfield/runs/bm25.run.gz": 225,
    "cacm/runs/qld.run.gz": 64,
    "dl20-doc/runs/BIT.UA-run1.txt.gz": 199,
    "trec-covid-r1/runs/T5R1.gz": 30,
}
TOPICS = {
    "cranfield/cran.qry.xml": 225,
    "cranfield/smart/cran.qry": 225,
    "cacm/topics.cacm.txt": 64,
    "trec-covid-r1/topics.covid-round1.xml": 30,
    "qrels-pack/topics.msmarco-passage.dev-subset.txt.gz": 6980,
    "web-diversity-2009-2010/2009/wt2009.topics.xml": 50,
    "web-diversity-2009-2010/2010/wt2010.topics.xml": 50,
}


def test_grades_of_features_are_from_0_to_4(shared):
    for name in ("train", "test"):
        grades = contents_of(shared / f"lightgbm-lambdarank/rank.{name}.gz").qrels.table["grade"]
        assert (grades.min(), grades.max()) == (0, 4)


@pytest.mark.parametrize("file", TOPICS)
def test_topics_have_texts(shared, file):
    source = open_source(shared / file)
    assert detect_format(source)[0].name == "topics"
    table = contents_of(source).queries
    assert len(table) == TOPICS[file]
    assert not (table["text"] == "").any()


@pytest.mark.parametrize("file", RUNS)
def test_runs_have_the_queries_of_the_index(shared, file):
    source = open_source(shared / file)
    assert detect_format(source)[0].name == "trec"
    (run,) = contents_of(source).runs
    assert run.table["query_id"].n_unique() == RUNS[file]


@pytest.mark.parametrize("file", ["cranfield/cranqrel.trec.txt", *list(RUNS)])
@pytest.mark.parametrize("name", ["csv", "tsv", "jsonl", "parquet", "arrow", "trec"])
def test_real_files_survive_every_table(shared, file, name):
    contents = contents_of(shared / file)
    out = io.BytesIO()
    losses = find_format(name).write(contents, out)
    reread_contents = contents_of(InputFile(None, out.getvalue()), name, "run" if contents.runs else "qrels")
    if contents.runs:
        assert reread_contents.runs[0].table.equals(contents.runs[0].table)
    else:
        assert reread_contents.qrels.table.equals(contents.qrels.table)
    assert {loss.what for loss in losses} <= {"tag of a run"}
