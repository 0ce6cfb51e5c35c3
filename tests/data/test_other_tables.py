"""Tables of databases and workbooks, JSON tables and more kinds of compression."""

from __future__ import annotations

import bz2
import io
import json
import lzma
import sqlite3

import polars as pl
import pytest

import rankgate
from rankgate.data.read import read_qrels
from support.command import assert_refused
from support.table_sources import write_duckdb, write_excel, write_sqlite
from support.wording import raises

QRELS = {"1": {"a": 3, "b": 0}, "2": {"c": 1}}
RANKED = {"1": {"b": 2.5, "a": 1.0}, "2": {"c": 1.0, "d": 0.5}}
JUDGED = pl.DataFrame(
    {"query_id": ["1", "1", "2", "2"], "doc_id": ["a", "b", "c", "z"], "grade": [3, 0, 1, None]}
)
RAN = pl.DataFrame({"query_id": [1, 1, 2, 2], "doc_id": ["b", "a", "c", "d"], "score": [2.5, 1, 1, 0.5]})
QRELS_TREC, RUN_TREC = (b"1 0 a 3\n1 0 b 0\n2 0 c 1\n", b"1 Q0 b 1 2.5 x\n1 Q0 a 2 1 x\n2 Q0 c 1 1 x\n")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


WRITERS = {"sqlite": write_sqlite, "duckdb": write_duckdb, "excel": write_excel}
PATHS = {"sqlite": "shop.db", "duckdb": "shop.duckdb", "excel": "shop.xlsx"}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("form", "path"), PATHS.items(), ids=PATHS)
def test_a_table_of_a_file_is_named_behind_a_colon(run, form, path):
    WRITERS[form]({"judgments": JUDGED, "old run": RAN}, path)
    expected = rankgate.evaluate(QRELS, RANKED, ["nDCG@10", "RR"]).means.row(0)[-2:]
    evaluation = rankgate.evaluate(f"{path}:judgments", f"{path}:old run", ["nDCG@10", "RR"])
    assert evaluation.means.row(0)[-2:] == expected
    assert evaluation.means["run"].to_list() == ["old run"]
    assert rankgate.evaluate(f"{form}:{path}:judgments", RANKED, ["RR"])
    assert_refused(run("eval", path, f"{path}:old run"), "several-candidates", path)
    assert_refused(run("eval", f"{path}:jugments", f"{path}:old run"), "no-such-table", path)
    described = json.loads(run("describe", f"{path}:judgments", "--format", "json").out)
    assert (described["files"][0]["format"], described["files"][0]["judgments"]["judgments"]) == (form, 3)
    clash = run("convert", f"{path}:judgments", path, "--to", "trec")
    assert_refused(clash, "output-is-input")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("form", "path"), PATHS.items(), ids=PATHS)
def test_the_only_table_needs_no_name_and_columns_are_guessed(run, form, path):
    foreign = JUDGED.drop_nulls().rename({"query_id": "Suchbegriff", "doc_id": "sku"})
    WRITERS[form]({"judgments": foreign}, path)
    result = run("describe", path)
    assert result.error.suggestions[0] == "--columns query=Suchbegriff,doc=sku,grade=grade"
    columns = result.error.suggestions[0].split()[1]
    assert rankgate.Collection(path, columns=columns).qrels().table.height == 3


def test_files_that_are_damaged_or_no_table_are_errors(folder):
    (folder / "a.db").write_bytes(b"SQLite format 3\x00" + b"x" * 200)
    (folder / "b.xlsx").write_bytes(b"PK\x03\x04 xl/workbook.xml" + b"\x00" * 200)
    for name in ("a.db", "b.xlsx"):
        with raises("damaged-file", source=name):
            read_qrels(name)
    write_sqlite({"judgments": JUDGED}, "shop.db").close()
    with sqlite3.connect(folder / "shop.db") as connection:
        connection.execute("DROP TABLE judgments")
    connection.close()
    with raises("several-candidates", source="shop.db"):
        read_qrels("shop.db")


def test_a_packed_database_is_read_in_memory(folder):
    write_sqlite({"judgments": JUDGED}, "shop.db").close()
    (folder / "shop.db.xz").write_bytes(lzma.compress((folder / "shop.db").read_bytes()))
    assert read_qrels("shop.db.xz").table.height == 3


@pytest.mark.parametrize(("suffix", "pack"), [("bz2", bz2.compress), ("xz", lzma.compress)])
def test_bzip2_and_xz_are_unpacked(folder, suffix, pack):
    (folder / f"q.txt.{suffix}").write_bytes(pack(QRELS_TREC))
    (folder / f"bm25.run.{suffix}").write_bytes(pack(RUN_TREC) + pack(b"2 Q0 d 2 0.5 x\n"))
    evaluation = rankgate.evaluate(f"q.txt.{suffix}", f"bm25.run.{suffix}", ["RR"])
    assert evaluation.means["RR"].to_list() == [0.75]
    assert evaluation.means["run"].to_list() == ["bm25"]
    data = pack(RUN_TREC * 2000)
    (folder / "cut").write_bytes(data[: len(data) // 2])
    damaged = bytearray(data)
    damaged[len(data) // 2] ^= 0xFF
    (folder / "damaged").write_bytes(damaged)
    for name in ("cut", "damaged"):
        with raises("damaged-file", source=name):
            rankgate.evaluate(QRELS, name, ["RR"])
    (folder / "twice").write_bytes(pack(pack(QRELS_TREC)))
    with raises("unknown-format", source="twice"):
        read_qrels("twice")


def test_a_workbook_on_standard_input_is_read(folder, run):
    write_excel({"judgments": JUDGED}, "shop.xlsx")
    data = io.BytesIO((folder / "shop.xlsx").read_bytes())
    result = run("convert", "-", "-", "--to", "trec", "--as", "qrels", stdin=data.getvalue())
    assert result.out == QRELS_TREC.decode()
