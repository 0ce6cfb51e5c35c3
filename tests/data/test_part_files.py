"""A folder of part files is one table: judgments, runs, logs, tables of items, events."""

import gzip
import json

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from rankgate import evaluate, split
from rankgate.core.errors import DuplicateError, InputError
from rankgate.data.files.validate import validate
from rankgate.data.formats.registry import detect_format
from rankgate.data.logs.item_tables import read_frame
from rankgate.data.logs.read_logs import read_interactions
from rankgate.data.read import contents_of, read_qrels, read_run
from rankgate.data.streams.source import open_source
from rankgate.online.events.events import Events
from support.wording import raises

RUN = pl.DataFrame(
    {
        "query_id": [f"q{i // 4}" for i in range(40)],
        "doc_id": [f"d{i % 4 + i // 4}" for i in range(40)],
        "score": [float(i * 7 % 11) for i in range(40)],
    }
)
QRELS = RUN.select("query_id", "doc_id", grade=pl.col("score").cast(pl.Int64) % 3)


def packed(table, path):
    with gzip.open(path, "wb") as stream:
        table.write_ndjson(stream)


def trec(table, path):
    lines = [f"{query} Q0 {doc} 0 {score} bm25\n" for query, doc, score in table.rows()]
    path.write_text("".join(lines))


WRITERS = {
    "parquet": pl.DataFrame.write_parquet,
    "csv": pl.DataFrame.write_csv,
    "json": pl.DataFrame.write_ndjson,
    "json.gz": packed,
}


def parts(folder, table, suffix, write=None, rows=13):
    """A table in a folder as Spark leaves it, in parts that cut queries."""
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    (folder / ".part-00000.crc").write_text("crc")
    for i, chunk in enumerate(table.iter_slices(rows)):
        (write or WRITERS[suffix])(chunk, folder / f"part-{i:05}.{suffix}")
    return folder


@pytest.mark.parametrize("suffix", [*WRITERS, "txt"])
def test_a_folder_is_read_as_one_table(tmp_path, suffix):
    run = parts(tmp_path / "new.run", RUN, suffix, trec if suffix == "txt" else None)
    qrels = parts(tmp_path / "qrels", QRELS, "csv" if suffix == "txt" else suffix)
    if "json" in suffix:
        (run / f"part-00009.{suffix}").touch()  # of a task without rows
    if suffix in {"csv", "parquet"}:
        WRITERS[suffix](RUN.clear(), run / f"part-00009.{suffix}")
        WRITERS[suffix](QRELS.clear(), qrels / f"part-00000-0.{suffix}")
    folder_run = read_run(run)
    assert folder_run.name == "new"
    assert_frame_equal(folder_run.table, RUN)
    assert_frame_equal(read_qrels(qrels).table, QRELS.cast({"grade": pl.Float64}))
    evaluations = evaluate(QRELS, RUN, ["nDCG@3"]), evaluate(str(qrels), str(run), ["nDCG@3"])
    assert evaluations[0].runs[0].per_query("nDCG@3") == evaluations[1].runs[0].per_query("nDCG@3")
    assert detect_format(open_source(run))[1].startswith("a folder of ")
    form = {"parquet": "parquet", "csv": "csv", "txt": "csv"}.get(suffix, "jsonl")
    assert contents_of(qrels, form).qrels
    assert not [problem for problem in validate([str(qrels)]).problems if problem.severity == "error"]


def test_a_duplicate_in_two_files_names_both(tmp_path):
    folder = parts(tmp_path / "run", RUN, "csv")
    with (folder / "part-00003.csv").open("a") as last:
        last.write("q0,d2,1\n")
    with raises("duplicate-document", DuplicateError) as caught:
        _ = read_run(folder).table
    assert (caught.value.source, caught.value.line) == (str(folder / "part-00003.csv"), 3)
    assert f"{folder / 'part-00000.csv'}:4" in caught.value.problem
    (error,) = [problem for problem in validate([str(folder)]).problems if problem.severity == "error"]
    assert str(error.file) == str(folder / "part-00003.csv")


def test_a_wrong_row_names_its_file_and_line(tmp_path):
    folder = parts(tmp_path / "qrels", QRELS, "csv")
    part_file = folder / "part-00001.csv"
    part_file.write_text(part_file.read_text().replace("q4,d6,", "q4,d6,x", 1))
    with raises("not-a-number", InputError) as caught:
        read_qrels(folder)
    assert (caught.value.source, caught.value.line) == (str(part_file), 7)


def test_folders_that_are_no_table(tmp_path):
    def refused(code, folder, source=None):
        with raises(code, InputError) as caught:
            _ = read_run(folder).table
        assert caught.value.source == str(source or folder)

    (tmp_path / "empty").mkdir()
    refused("is-a-folder", tmp_path / "empty")
    for name in ("day=1", "_delta_log", ".hoodie"):
        parts(tmp_path / f"with {name}", RUN, "parquet")
        (tmp_path / f"with {name}" / name).mkdir()
        refused("is-a-folder", tmp_path / f"with {name}")
    unfinished = parts(tmp_path / "unfinished", RUN, "parquet")
    (unfinished / "_temporary").mkdir()
    refused("unfinished-folder", unfinished)
    mixed = parts(tmp_path / "mixed", RUN, "parquet")
    RUN.write_csv(mixed / "part-00007.csv")
    refused("mixed-formats", mixed, mixed / "part-00007.csv")
    two_runs = parts(tmp_path / "several", RUN, "txt", trec)
    last = two_runs / "part-00003.txt"
    last.write_text(last.read_text().replace("bm25", "dense"))
    refused("mixed-runs", two_runs, last)
    for suffix in ("csv", "parquet"):
        changed_folder = parts(tmp_path / f"other {suffix}", RUN, suffix)
        part_file = changed_folder / f"part-00002.{suffix}"
        WRITERS[suffix](RUN.rename({"score": "rank"}), part_file)
        refused("columns-differ", changed_folder, part_file)
    damaged = parts(tmp_path / "damaged", RUN, "parquet")
    part_file = damaged / "part-00001.parquet"
    part_file.write_bytes(part_file.read_bytes()[:300])
    refused("damaged-file", damaged, part_file)
    books = tmp_path / "books"
    books.mkdir()
    (books / "a.json").write_text(json.dumps({"cases": []}))
    with raises("unknown-format", InputError):
        read_run(books)


LOG = pl.DataFrame(
    {
        "user": [f"u{i % 7}" for i in range(60)],
        "item": [f"i{i % 11}" for i in range(60)],
        "time": [1_700_000_000 + i * 50 for i in range(60)],
    }
)


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_log_in_part_files(tmp_path, suffix):
    folder = parts(tmp_path / "log", LOG, suffix)
    frame_split, folder_split = split(LOG, "leave-last"), split(folder, "leave-last")
    assert_frame_equal(frame_split.train, folder_split.train)
    assert_frame_equal(frame_split.test, folder_split.test)
    assert folder_split.log == "log"


def test_a_wrong_log_names_the_file(tmp_path):
    def refused(code, line=None):
        with raises(code, InputError) as caught:
            read_interactions(folder)
        assert (caught.value.source, caught.value.line) == (str(part_file), line)

    folder = parts(tmp_path / "log", LOG, "csv")
    part_file = folder / "part-00002.csv"
    text = part_file.read_text()
    part_file.write_text(text.replace("1700001350", "1700001350000"))
    refused("mixed-times", 3)
    part_file.write_text(text.replace("time", "other"))
    refused("columns-differ")
    LOG.write_parquet(part_file)
    refused("mixed-formats")
    part_file.write_text("u1: i1 i2\n")
    with raises("is-a-folder", InputError):
        read_interactions(folder, from_="lists")


def test_other_tables_and_events_in_part_files(tmp_path):
    items = pl.DataFrame({"item_id": ["a", "b", "c"], "genre": ["x", None, "y"]})
    for suffix in WRITERS:
        folder = parts(tmp_path / f"items {suffix}", items, suffix, rows=2)
        frame, location = read_frame(folder, "items")
        assert frame["item_id"].to_list() == ["a", "b", "c"]
        assert location.file(2) == str(folder / f"part-00001.{suffix}")
    with raises("columns-differ", InputError):
        items.drop("genre").write_csv(tmp_path / "items csv" / "part-00005.csv")
        read_frame(tmp_path / "items csv", "items")
    events = pl.DataFrame(
        {"kind": ["search"] * 3, "at": [1, 2, 3], "query_event_id": ["1", "2", "3"]}
    ).with_columns(pl.col("at").cast(pl.Datetime("us")))
    folder = parts(tmp_path / "events", events, "parquet", rows=2)
    with Events(folder).open() as log:
        assert log.base.rows("SELECT count(*) AS n FROM events")["n"].to_list() == [3]
