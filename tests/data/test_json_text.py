"""JSON from strangers: the right value, or an error with its line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.core.errors import InputError
from rankgate.data.streams.source import InputFile
from rankgate.data.text import json_text
from support.wording import raises

leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(
    leaves, lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside), max_leaves=20
)


@given(values, st.sampled_from([None, 0, 3]))
def test_what_is_json_reads_as_json(value, indent):
    try:
        data = json.dumps(value, indent=indent).encode()
        expected = json.loads(data, parse_constant=float)
        json.dumps(expected, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, UnicodeEncodeError):
        return
    assert json_text.parse_json(data, "f") == expected


@given(st.binary(max_size=200))
def test_anything_else_is_an_input_error(data):
    try:
        json_text.parse_json(data, "f")
    except InputError as error:
        result = error.line
    else:
        result = 1
    assert result


@pytest.mark.parametrize(
    ("data", "line", "code"),
    [
        (b'{"a": 1,\n "a": 2}', 2, "duplicate-key"),
        (b'[{"a": {"b": 1}, "b": 2},\n{"x": 1,\n"c": [{"x": 0}],\n"x": 2}]', 4, "duplicate-key"),
        (b'{"a": 1, "b": "\\"a\\": 2",\n"\\u0061": 2}', 2, "duplicate-key"),
        (b'{"a": 1,\n}', 2, "invalid-json"),
        (b"[1,\n2", 2, "invalid-json"),
        (b"[\n1, NaN]", 1, "invalid-json"),
        (b"[\n" + b"[" * 64 + b"]" * 65, 2, "too-deep"),
        (b'{"a":' * 100_000, 1, "too-deep"),
        (b"1" * 5000, 1, "invalid-json"),
        (b'"ok"\n\xff', 2, "not-utf8"),
        (b'"\\ud800"', 1, "invalid-json"),
        (b"", 1, "invalid-json"),
    ],
)
def test_errors_have_lines(data, line, code):
    with raises(code, InputError) as error:
        json_text.parse_json(data, "f")
    assert error.value.line == line


def test_brackets_in_strings_are_no_depth():
    assert json_text.parse_json(json.dumps("[" * 1000).encode(), "f") == "[" * 1000


def test_documents_have_a_limit(tmp_path):
    import gzip

    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b"[" + b" " * (1 << 22) + b"]"))
    assert json_text.read_document(InputFile(bomb)) == []
    with raises("too-large", InputError):
        json_text.read_document(InputFile(bomb), limit=1 << 20)


@pytest.mark.parametrize("item", [b"[],", b'{"a":1},', b'"ab",'])
def test_documents_hold_so_many_values(item):
    """What is small as text and large as Python's objects."""
    with raises("too-large", InputError):
        json_text.parse_json(b"[" + item * 17_000_000 + b"1]", "f")


def test_lines_are_counted():
    data = b'\xef\xbb\xbf{"a": 1}\r\n\n{"a": 2}\n{"a": 3'
    numbered_lines = json_text.read_json_lines(InputFile(None, data))
    assert next(numbered_lines) == (1, {"a": 1})
    assert next(numbered_lines) == (3, {"a": 2})
    with raises("invalid-json", InputError) as error:
        next(numbered_lines)
    assert error.value.line == 4
    with raises("wrong-type", InputError, line=1):
        next(json_text.read_json_objects(InputFile(None, b"[]")))


@pytest.mark.parametrize("value", [True, None, "x", "", [], "1_0", "inf", 10**400, float("inf")])
def test_no_number(value):
    with raises("not-a-number", InputError, line=7):
        json_text.number(value, "grade", "f", 7)


@pytest.mark.parametrize("value", [True, None, "", 1.5, {}])
def test_no_id(value):
    with raises("invalid-id", InputError, line=7):
        json_text.identifier(value, "doc", "f", 7)


def test_numbers_and_ids():
    assert json_text.number("3.000", "grade", "f") == 3
    assert json_text.identifier(12, "doc", "f") == "12"
    assert json_text.JsonRecord({"a": 2}, "f", "x").number("a") == 2
    for fields, code in (({}, "missing-key"), ({"a": True}, "wrong-type")):
        with raises(code, InputError):
            json_text.JsonRecord(fields, "f", "x").require("a", float)


def test_records_name_their_paths():
    root = json_text.read_record(
        InputFile(None, b'{"a": [{"b": null}], "c": null, "d": {"e": "x", "f": [1]}}')
    )
    (inner,) = root.records("a")
    assert (inner.path, inner.location_text, root.location_text) == ("a[0]", "a[0]", "the document")
    assert inner.text("b") is None
    assert inner.record("b") == {}
    assert [*root.records("missing")] == [*root.records("c", nullable=True)] == []
    assert root.record("d").texts("e") == {"f": "[1]"}
    assert root.values_except("a", "d") == {"c": None}


@pytest.mark.parametrize(
    ("read", "code"),
    [
        (lambda root: [*root.records("c")], "wrong-type"),
        (lambda root: [*root.records("x", required=True)], "missing-key"),
        (lambda root: [*root.records("list")], "wrong-type"),
        (lambda root: root.text("n"), "wrong-type"),
        (lambda root: root.id("c"), "invalid-id"),
        (lambda root: root.number("text"), "not-a-number"),
        (lambda root: root.as_list(root["n"], "n"), "wrong-type"),
    ],
)
def test_records_refuse_other_values(read, code):
    root = json_text.JsonRecord({"c": None, "n": 1, "text": "x", "list": [1]}, "file", line=3)
    with pytest.raises(InputError) as error:
        read(root)
    assert (error.value.code, error.value.line) == (code, 3)


def test_lines_of_queries_are_read_once():
    def ids(data):
        return [
            id_ for id_, _ in json_text.read_query_lines(InputFile(None, data), lambda record: record.id("q"))
        ]

    assert ids(b'{"q": 1}\n\n{"q": "b"}\n') == ["1", "b"]
    for data, code in ((b'{"q": 1}\n{"q": "1"}\n', "duplicate-query"), (b"\n", "no-queries")):
        with pytest.raises(InputError) as error:
            ids(data)
        assert error.value.code == code


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'[{"id": 1, "ratings": []}]', "ratings"),
        (b'[{"id": 1, "fields": {"x": {"y": 2}}}]', "ratings"),
        (b'[{"id": 1, "ratings": [], "bad": 1}]', None),
        (b'{"type": "KNOWN"}', "a type"),
        (b'{"type": "other"}', None),
    ],
)
def test_keys_are_detected(data, reason):
    detect = json_text.detect_keys(
        ("ratings", "[].id", "[].ratings|[].fields.*.y", "![].bad"), ("a type", "type", b'"KNOWN"')
    )
    assert detect(data, "") == reason
    assert detect.__doc__ == "Ratings; or a type."
