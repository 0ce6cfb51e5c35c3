"""Real files are detected, with the counts of their index."""

from __future__ import annotations

import io

import pytest

from rankgate.data import contents_of, read_qrels
from rankgate.data.formats.registry import detect_format, find_format
from rankgate.data.streams.source import InputFile, open_source

PACK = "qrels-pack/qrels."
JUDGMENTS = {
    # file: queries, judgments, as the index of the data states them
    "cranfield/cranqrel.trec.txt": (225, 1837),
    "cranfield/cranqrel.graded.trec.txt": (225, 1837),
    "cranfield/smart/cranqrel": (225, 1837),
    "cacm/qrels.cacm.txt": (52, 796),
    "trec-covid-r1/qrels.covid-round1.txt": (30, 8691),
    "dl20-doc/qrels.dl20-doc.txt.gz": (45, 7331 + 1187 + 315 + 265),
    "cast2021/trec-cast-qrels-docs.2021.qrel.gz": (158, 19334),
    f"{PACK}beir-v1.0.0-nfcorpus.test.txt.gz": (323, 12334),
    f"{PACK}beir-v1.0.0-scifact.test.txt.gz": (300, 339),
    f"{PACK}beir-v1.0.0-fiqa.test.txt.gz": (648, 1706),
    f"{PACK}beir-v1.0.0-arguana.test.txt.gz": (1406, 1406),
    f"{PACK}beir-v1.0.0-webis-touche2020.test.txt.gz": (49, 932),
    f"{PACK}dl19-passage.txt.gz": (43, 9260),
    f"{PACK}dl19-doc.txt.gz": (43, 16258),
    f"{PACK}dl20-passage.txt.gz": (54, 11386),
    f"{PACK}dl21-passage.txt.gz": (53, 10828),
    f"{PACK}msmarco-passage.dev-subset.txt.gz": (6980, 7437),
    f"{PACK}adhoc.401-450.txt.gz": (50, 86830),
    f"{PACK}web.51-100.txt.gz": (48, 25329),
    f"{PACK}core17.txt.gz": (50, 30030),
    f"{PACK}bright-biology.txt.gz": (103, 372),
    f"{PACK}microblog2011.txt.gz": (49, 60129),
    "rag25-human-vs-llm/qrels.rag25.test.txt.gz": (22, 10284),
    "rag25-human-vs-llm/qrels.rag25.test-umbrela2.txt.gz": (22, 10284),
    "web-diversity-2009-2010/2009/2009.diversity.qrels.gz": (50, 27_964),
    "web-diversity-2009-2010/2010/2010.diversity.qrels.gz": (48, 9_006),
    "lightgbm-lambdarank/rank.train.gz": (201, 3005),
    "lightgbm-lambdarank/rank.test.gz": (50, 768),
    "chorus-electronics/Chorus_Electronics_basic.csv": (2, 207),
    "chorus-electronics/Broad_Query_Set_rated.csv": (135, 3668),
}
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


@pytest.mark.parametrize("file", JUDGMENTS)
def test_judgments_have_the_counts_of_the_index(shared, file):
    queries, judgments = JUDGMENTS[file]
    table = contents_of(shared / file).qrels.table
    assert (table["query_id"].n_unique(), len(table)) == (queries, judgments)
    if file.startswith("lightgbm"):
        assert (table["grade"].min(), table["grade"].max()) == (0, 4)


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


def test_empty_ratings_are_unrated(shared):
    """In chorus's file without ratings 6 pairs of one query have a grade; nothing becomes 0."""
    file = shared / "products" / "chorus" / "Broad_Query_Set_unrated.csv"
    lines = file.read_text().splitlines()[1:]
    rated = [line for line in lines if line and not line.endswith(",")]
    qrels = read_qrels(file)
    assert len(qrels.table) == len(rated) == 6
    assert len(qrels.unjudged) == 134


@pytest.mark.parametrize("change", ["bom", "crlf", "both"])
def test_marks_and_line_ends_change_nothing(shared, tmp_path, change):
    for file in ("chorus-electronics/Chorus_Electronics_basic.csv", "cacm/qrels.cacm.txt"):
        data = (shared / file).read_bytes().replace(b"\r\n", b"\n")
        data = data.replace(b"\n", b"\r\n") if change != "bom" else data
        data = b"\xef\xbb\xbf" + data if change != "crlf" else data
        path = tmp_path / "x"
        path.write_bytes(data)
        assert read_qrels(path).sha256 == read_qrels(shared / file).sha256
