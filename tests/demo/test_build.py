"""The folder that the demo leaves behind."""

import pytest

from rankgate.core.errors import UsageError
from rankgate.interface.demo.demo_build import QUERIES, build, judgments, queries
from support.wording import raises

FILES = {
    "docs.sqlite",
    "engine.toml",
    "movies.qrels",
    "movies.run",
    "new.run",
    "old.run",
    "qrels.txt",
    "queries.tsv",
    "sorted.run",
}


def lines(path):
    return [line.split(" ") for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_folder_has_these_files_and_no_others(demo):
    assert {path.name for path in demo.folder.iterdir()} == FILES
    assert demo.queries == len(queries()) == len(lines(demo.folder / QUERIES))


@pytest.mark.parametrize("name", ["old", "new", "movies_run"])
def test_runs_are_in_trec_format_with_scores_that_fall(demo, name):
    previous = None
    for query_id, q0, doc_id, rank, score, tag in lines(getattr(demo, name)):
        assert q0 == "Q0"
        assert tag in {"old", "new", "movies"}
        key = (-float(score), doc_id)
        if rank != "1":
            assert previous[0] == query_id
            assert previous[1] == int(rank) - 1
            assert previous[2] <= key[0]
        previous = query_id, int(rank), key[0]


@pytest.mark.parametrize("name", ["old", "new"])
def test_every_query_has_at_least_twenty_documents_and_at_most_a_hundred(demo, name):
    counts = dict.fromkeys(queries(), 0)
    for query_id, *_ in lines(getattr(demo, name)):
        counts[query_id] += 1
    assert min(counts.values()) >= 20
    assert max(counts.values()) == 100


def test_the_qrels_are_the_judgments_of_documents_that_can_be_found(demo):
    written = {(query_id, doc_id): grade for query_id, _, doc_id, grade in lines(demo.qrels)}
    bundled = {(judgment.query_id, judgment.doc_id): str(judgment.grade) for judgment in judgments()}
    assert written.items() <= bundled.items()
    assert len(written) == demo.judgments >= 0.95 * len(bundled)


def test_a_second_build_writes_the_same_and_leaves_other_files_alone(demo, tmp_path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "old.run").write_text("stale", encoding="utf-8")
    second_build = build(tmp_path)
    assert (tmp_path / "mine.txt").read_text(encoding="utf-8") == "mine"
    for name in FILES:
        assert (second_build.folder / name).read_bytes() == (demo.folder / name).read_bytes(), name


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    with raises("cannot-write", UsageError):
        build(file)
