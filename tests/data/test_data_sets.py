"""Data sets as their libraries keep them: BEIR and Hugging Face in Parquet, ir_datasets, MTEB."""

from __future__ import annotations

import json
import sys

import polars as pl
import pytest

import rankgate
from rankgate.core.errors import MissingExtraError
from rankgate.data import contents_of
from support.command import assert_refused

QRELS = {"q1": {"d1": 2, "d2": 0}, "q2": {"d2": 1}}
RANKED = {"q1": {"d2": 2.0, "d1": 1.0}, "q2": {"d2": 1.0}}
CORPUS = pl.DataFrame({"_id": ["d1", "d2"], "title": ["A", ""], "text": ["a jaguar", "b"]})
QUERIES = pl.DataFrame({"_id": ["q1", "q2"], "text": ["jaguar speed", "cars"]})
JUDGED = pl.DataFrame(
    [
        {"query-id": query, "corpus-id": doc, "score": grade}
        for query, row in QRELS.items()
        for doc, grade in row.items()
    ]
)
LAYOUTS = {
    "files": {"corpus.parquet": CORPUS, "queries.parquet": QUERIES, "qrels.parquet": JUDGED},
    "hugging-face": {
        "corpus/corpus-00000-of-00001.parquet": CORPUS.rename({"_id": "id"}),
        "queries/queries-00000-of-00001.parquet": QUERIES.rename({"_id": "id"}),
        "qrels/test-00000-of-00002.parquet": JUDGED.head(1),
        "qrels/test-00001-of-00002.parquet": JUDGED.tail(2),
        "qrels/train-00000-of-00001.parquet": JUDGED.with_columns(score=9),
    },
    "mteb": {
        "corpus/test-00000-of-00001.parquet": CORPUS,
        "queries/test-00000-of-00001.parquet": QUERIES,
        "data/test-00000-of-00001.parquet": JUDGED,
    },
}


def _written(folder, layout):
    for name, frame in LAYOUTS[layout].items():
        path = folder / "data set" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        frame.write_parquet(path)
    return folder / "data set"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_folder_in_parquet_is_a_collection(tmp_path, run, layout):
    folder = _written(tmp_path, layout)
    contents = contents_of(folder)
    assert contents.queries.rows() == QUERIES.rows()
    assert contents.documents.rows()[0] == ("d1", "A", "a jaguar")
    expected = rankgate.evaluate(QRELS, RANKED, ["nDCG@10"]).means["nDCG@10"].to_list()
    means = rankgate.evaluate(rankgate.Collection(folder), RANKED, ["nDCG@10"]).means
    assert means["nDCG@10"].to_list() == expected
    described = json.loads(run("describe", folder, "--format", "json").out)["files"][0]
    assert described["format"] == "beir"


def test_two_splits_without_test_are_named(tmp_path, run):
    (tmp_path / "qrels").mkdir()
    for split in ("dev", "train"):
        JUDGED.write_parquet(tmp_path / "qrels" / f"{split}.parquet")
    assert_refused(run("eval", tmp_path, tmp_path), "several-candidates", tmp_path)


class _Registered:
    """A named data set of ir_datasets, made with its own classes."""

    name = "rankgate-test"

    def __init__(self):
        import ir_datasets
        from ir_datasets.datasets.base import Dataset
        from ir_datasets.formats import TrecQrels, TrecScoredDocs, TsvQueries

        self.registry = ir_datasets.registry

        class Bytes:
            def __init__(self, data):
                self.data = data

            def stream(self):
                import contextlib
                import io

                return contextlib.closing(io.BytesIO(self.data))

        judged = "".join(f"{q} 0 {d} {g}\n" for q, row in QRELS.items() for d, g in row.items())
        ranked = "".join(f"{q} Q0 {d} 1 {s} x\n" for q, row in RANKED.items() for d, s in row.items())
        self.dataset = Dataset(
            TsvQueries(Bytes(b"q1\tjaguar speed\nq2\tcars\n")),
            TrecQrels(Bytes(judged.encode()), {0: "not", 1: "yes", 2: "very"}),
            TrecScoredDocs(Bytes(ranked.encode())),
        )

    def __enter__(self):
        self.registry.register(self.name, self.dataset)
        return self.dataset

    def __exit__(self, *_):
        self.registry._registered.pop(self.name)


@pytest.mark.ir_datasets
def test_a_data_set_of_ir_datasets_is_read_by_its_name(run):
    with _Registered():
        name = f"ir_datasets:{_Registered.name}"
        expected = rankgate.evaluate(QRELS, RANKED, ["nDCG@10", "RR"]).means.row(0)[-2:]
        assert rankgate.evaluate(name, name, ["nDCG@10", "RR"]).means.row(0)[-2:] == expected
        assert contents_of(name).queries.rows() == QUERIES.rows()
        result = run("eval", name, name, "-m", "RR")
        assert result.code == 0, result.err
        assert run("describe", name).code == 0
    assert_refused(run("describe", "ir_datasets:no/such"), "no-such-dataset", "no/such")


def test_without_ir_datasets_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingExtraError, match="pip install ir_datasets"):
        rankgate.evaluate("ir_datasets:vaswani", RANKED)


def test_logs_that_split_reads_are_judgments(tmp_path, run):
    path = tmp_path / "lists.txt"
    path.write_text("1: 7 8\n2: 7 9\n")
    grades, ranked = {"1": ["7", "8"], "2": ["7", "9"]}, {"1": ["8", "7", "6"], "2": ["6", "7"]}
    expected = rankgate.evaluate(grades, ranked, ["nDCG@10"]).means["nDCG@10"].to_list()
    assert rankgate.evaluate(path, ranked, ["nDCG@10"]).means["nDCG@10"].to_list() == expected
    described = json.loads(run("describe", path, "--format", "json").out)["files"][0]
    assert described["judgments"]["queries"] == 2
    (tmp_path / "top.json").write_text(json.dumps({"1": {"8": 1.0}, "2": {"7": 1.0}}))
    card = run("scorecard", path, tmp_path / "top.json", "-m", "nDCG@10", "--format", "json")
    assert card.code == 0, card.err
