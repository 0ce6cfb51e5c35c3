"""The fast reader gives the result of the careful reader, or leaves the file to it."""

from __future__ import annotations

import json

from hypothesis import event, given
from hypothesis import strategies as st

from rankgate.data.formats.table import find_schema
from rankgate.data.formats.tables import jsonl
from rankgate.data.streams.source import InputFile
from rankgate.data.text import delimited_records

FIELDS = ["1", "a", "2", "0.5", "", " ", '"', '""', '"a"', '"x,y"', '"x\ny"', '"a""b"', "-3", "1e5"]
ENDS = ["\n", "\r\n", "\n\n", ",", ",", ",", ""]
HEADER = "qid,doc,grade\n"


@given(st.lists(st.tuples(st.sampled_from(FIELDS), st.sampled_from(ENDS)), max_size=14))
def test_separated(parts):
    data = "".join(field + end for field, end in parts).encode()
    header = delimited_records.parse_header(HEADER.encode(), ",")
    table = find_schema(header.names, "runs") or find_schema(header.names)
    layout = delimited_records.ColumnChoice(header, table.kept, frozenset({"grade"}))
    if not data or not delimited_records._has_regular_quotes(data, ","):
        return
    quick = delimited_records._parse_with_polars(data, layout)
    event(f"fast: {quick is not None and len(quick)}")
    if quick is not None:
        careful = delimited_records._parse_by_record(data, 1, layout, InputFile(None, data))
        assert quick.select(careful.columns).equals(careful)


VALUES = [
    *('"1"', "1", "1.5", "0", "-0", "-2", "12e1", "null", "true", '"a"', '""', '"\\u0041"', "[1]"),
    *('"\\ud800"', '{"doc": 1}', '"\\"doc\\": 1"', "NaN", "1e400", '"3"', "0.30000000000000004"),
]
KEYS = ["qid", "doc", "score", "note", "d\\u006fc"]
OBJECT = st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES)), max_size=5)
FINE = st.tuples(st.sampled_from(VALUES[:3]), st.sampled_from(VALUES), st.sampled_from(VALUES))


def whole(values):
    return written(zip(("qid", "doc", "score"), values, strict=True))


def written(pairs):
    return "{" + ", ".join(f'"{key}": {value}' for key, value in pairs) + "}"


@given(st.lists(OBJECT.map(written) | FINE.map(whole), min_size=1, max_size=3))
def test_json_lines(lines):
    data = "\n".join(lines).encode()
    table = find_schema(["qid", "doc", "score"], "runs")
    quick = jsonl._parse_with_polars(data, table)
    if quick is not None:
        careful = jsonl._parse_by_object(jsonl._JsonPiece(data, 1), table, InputFile(None, data))
        assert quick.equals(careful)


def test_the_fast_way_is_taken():
    """Without this, the tests above would show nothing."""
    header = delimited_records.parse_header(HEADER.encode(), ",")
    layout = delimited_records.ColumnChoice(
        header, {"query_id": "qid", "grade": "grade"}, frozenset({"grade"})
    )
    assert delimited_records._parse_with_polars(b'"x\ny",b,2\n1,"c""d",0.5\n', layout) is not None
    line = json.dumps({"qid": "1", "doc": "é", "score": 0.1, "note": {"doc": "x"}})
    table = find_schema(["qid", "doc", "score"], "runs")
    assert (
        jsonl._parse_with_polars(line.replace('"note": {"doc": "x"}', '"note": [1]').encode(), table)
        is not None
    )
    assert jsonl._parse_with_polars(line.encode(), table) is None
