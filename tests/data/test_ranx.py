"""ranx's files: JSON, LZ4 and Parquet. The packed samples were made with cbor2 5.7 and lz4 4.4."""

from __future__ import annotations

import io

import cbor2
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.core.errors import InputError
from rankgate.data import FileContents, contents_of
from rankgate.data.formats import ranx_files
from rankgate.data.formats.registry import find_format
from rankgate.data.qrels import Qrels, Scale
from rankgate.data.run import Run
from rankgate.data.streams.source import InputFile
from support.wording import raises

QRELS = {"q1": {"d1": 2, "d2": -1, "d300": 300}}
RUN = {"q1": {"d1": 1.5, "d2": 2.0}}
PLAIN = {  # cbor2.dumps
    "a1627131a36264310262643220646433303019012c": QRELS,
    "a1627131a2626431fb3ff8000000000000626432fb4000000000000000": RUN,
}
PACKED = bytes.fromhex(  # lz4.frame.compress twice, of QRELS
    "04224d1868402c000000000000003c2b0000008204224d18684015000100f00f3615000080a1627131a362643102"
    "62643220646433303019012c0000000000000000"
)


def held(data, name=None):
    return contents_of(InputFile(None, data), name)


def test_packed_files_that_are_cut_off():
    for end in range(len(PACKED)):
        with pytest.raises(InputError):
            held(PACKED[:end], "ranx-lz4")


def test_a_packed_bomb_has_a_limit():
    import lz4.frame

    bomb = lz4.frame.compress(lz4.frame.compress(bytes(400 << 20)))
    assert len(bomb) < 1 << 20
    with raises("too-large", InputError):
        held(bomb, "ranx-lz4")


def test_cbor_has_a_limit_of_values(monkeypatch):
    monkeypatch.setattr(ranx_files, "VALUES", 100_000)
    data = cbor2.dumps({f"d{i}": [float(i)] for i in range(200_000)})
    with raises("invalid-syntax", InputError):
        ranx_files.decode(data, "")


@pytest.mark.parametrize(("data", "value"), PLAIN.items())
def test_cbor_as_another_program_writes_it(data, value):
    assert ranx_files.decode(bytes.fromhex(data), "") == value
    assert ranx_files.encode(value).hex() == data


@pytest.mark.parametrize(
    ("data", "value"),
    [  # RFC 8949, appendix A
        ("1903e8", 1000),
        ("1b000000e8d4a51000", 1000000000000),
        ("3903e7", -1000),
        ("f93e00", 1.5),
        ("fa47c35000", 100000.0),
        ("fb3ff199999999999a", 1.1),
        ("f4", False),
        ("f6", None),
        ("62c3bc", "ü"),
        ("83010203", [1, 2, 3]),
        ("9f018202039f0405ffff", [1, [2, 3], [4, 5]]),
        ("bf61610161629f0203ffff", {"a": 1, "b": [2, 3]}),
    ],
)
def test_cbor_of_the_standard(data, value):
    assert ranx_files.decode(bytes.fromhex(data), "") == value


@pytest.mark.parametrize(
    "data",
    [
        "",
        "a1",
        "62ff",
        "62c328",
        "ff",
        "c000",
        "1c",
        "a10102",
        "a2616101616102",
        "0101",
        "bb" + "ff" * 8,
        "81" * 100,
        "9f",
        "c11a514b67b0",
        "a1416101",
        "d81c81d81d00",
        "d8236128",
        "c482187f01",
    ],
)
def test_cbor_that_is_none(data):
    with raises("invalid-syntax", InputError):
        ranx_files.decode(bytes.fromhex(data), "")


NUMBERS = st.one_of(st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False))


@given(st.dictionaries(st.text(), st.dictionaries(st.text(), NUMBERS)))
def test_cbor_comes_back(table):
    assert ranx_files.decode(ranx_files.encode(table), "") == table


def test_parquet_as_ranx_writes_it(tmp_path):
    table = pl.DataFrame({"q_id": ["q1", "q1"], "doc_id": ["a", "b"], "score": [2, 0]})
    table.write_parquet(tmp_path / "qrels.parquet")
    assert contents_of(tmp_path / "qrels.parquet").qrels.table.rows() == [("q1", "a", 2.0), ("q1", "b", 0.0)]
    table.cast({"score": pl.Float64}).write_parquet(tmp_path / "run.parquet")
    assert contents_of(tmp_path / "run.parquet").parts == ("runs",)


@pytest.mark.parametrize("name", ["ranx", "ranx-lz4"])
def test_both_come_back_and_losses_are_reported(name):
    table = pl.DataFrame({"query_id": ["1", "1"], "doc_id": ["ä", "b"], "grade": [3.0, 0.0]})
    out = io.BytesIO()
    qrels = Qrels(table, unjudged=("2",), scale=Scale(0, 3))
    lost = find_format(name).write(FileContents(qrels=qrels), out)
    assert [loss.what for loss in lost] == ["scale of the grades"]
    restored_qrels = held(out.getvalue(), name).qrels
    assert (restored_qrels.table.rows(), restored_qrels.unjudged) == (table.rows(), ("2",))
    rows = pl.DataFrame({"query_id": ["1"], "doc_id": ["b"], "score": [0.1]})
    out = io.BytesIO()
    lost = find_format(name).write(FileContents(runs=(Run("r", lambda: iter([rows]), tag="t"),)), out)
    assert [loss.what for loss in lost] == ["tag of a run"]
    assert held(out.getvalue(), name).runs[0].table.rows() == rows.rows()
