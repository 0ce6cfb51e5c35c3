"""Products' files that were damaged: read as far as they make sense, or one error, no traceback."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.core.errors import RankgateError
from rankgate.data.formats.registry import detect_format, find_format
from rankgate.data.read import contents_of
from rankgate.data.streams.source import InputFile
from support.wording import raises

SAMPLES = sorted((Path(__file__).parent / "samples").iterdir())
DOCUMENTS = [path for path in SAMPLES if path.suffix == ".json"]
SHEETS = [path for path in SAMPLES if path.suffix != ".json"]

VALUES = [
    None,
    True,
    False,
    0,
    -1,
    2.5,
    10**30,
    "",
    " ",
    "x",
    "3",
    "1e999",
    "\x00",
    "2024-13-45",
    [],
    {},
    [[]],
    [None],
    [1, "a"],
    {"": None},
    {"a": {"b": []}},
    {"gain": "x"},
    "Ã©\n\"'",
]
CELLS = [
    "",
    " ",
    '"',
    '""',
    "x",
    "-1",
    "=1+1",
    " =1",
    "1e999",
    "nan",
    "1_0",
    "\x00",
    "\r",
    '"a\nb"',
    "a,b",
    "é",
    "0x1",
    "\ufeff",
    "'",
    "٣",
    "9" * 400,
]


def name_of(path):
    return path.name.split(".", 1)[0]


def endured(name, data):
    """Read, inspect and write: only deliberate errors may occur, in one line."""
    fmt = find_format(name)
    try:
        contents = fmt.read(InputFile(None, data))
        for run in contents.runs:
            _ = run.table
        if fmt.write and contents.parts:
            out = io.BytesIO()
            fmt.write(contents, out)
            fmt.read(InputFile(None, out.getvalue()))
    except RankgateError as error:
        assert str(error).strip()  # noqa: PT017 - the error is one of two good ends
        assert "\n" not in str(error)  # noqa: PT017 - as above
    with contextlib.suppress(RankgateError):
        detect_format(InputFile(None, data))


def places(value, path=()):
    """The paths of all values."""
    yield path
    if isinstance(value, dict | list):
        children = value.items() if isinstance(value, dict) else enumerate(value)
        for key, child in children:
            yield from places(child, (*path, key))


def changed(value, path, new):
    """The document with another value at a path; without it where that is ``...``."""
    if not path:
        return None if new is ... else new
    document_copy = value.copy()
    if len(path) == 1 and new is ...:
        del document_copy[path[0]]
    else:
        document_copy[path[0]] = changed(value[path[0]], path[1:], new)
    return document_copy


@pytest.mark.slow
@pytest.mark.explore
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_any_value_of_a_document_may_be_wrong_or_missing(path, several):
    document = json.loads(path.read_bytes())
    for count, value_path in enumerate(places(document)):
        for new in (*several(VALUES, count), ...):
            data = json.dumps(changed(document, value_path, new)).encode()
            endured(name_of(path), data)


@pytest.fixture
def several(thorough):
    """One of many, another one at each place; all of them in ``make explore``."""

    def chosen(every, place):
        return every if thorough else [every[place % len(every)]]

    return chosen


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
@given(data=st.data())
def test_two_values_of_a_document_may_be_wrong(path, data):
    """`HYPOTHESIS_PROFILE=thorough` tries more of them."""
    document = json.loads(path.read_bytes())
    for _ in range(2):
        value_path = data.draw(st.sampled_from(list(places(document))))
        document = changed(document, value_path, data.draw(st.sampled_from([*VALUES, ...])))
        if not isinstance(document, dict | list):
            break
    endured(name_of(path), json.dumps(document).encode())


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_a_key_twice_is_an_error_with_its_line(path):
    """The intended one of the two is unknown."""
    lines = path.read_text().split("\n")
    keyed = [index for index, line in enumerate(lines) if line.strip().endswith(",") and '": ' in line]
    repeated_indexes = [index for index in keyed if not line_of_bracket(lines[index])][:20]
    assert repeated_indexes
    for index in repeated_indexes:
        text = "\n".join([*lines[: index + 1], lines[index], *lines[index + 1 :]])
        with raises("duplicate-key") as error:
            find_format(name_of(path)).read(InputFile(None, text.encode()))
        assert error.value.line == index + 2


def line_of_bracket(line):
    return any(sign in line.split('": ', 1)[1] for sign in "{}[]")


@pytest.mark.slow
@pytest.mark.explore
@pytest.mark.parametrize("path", SHEETS, ids=lambda path: path.name)
def test_any_cell_may_be_wrong(path, several):
    text = path.read_text(encoding="utf-8")
    separator = " " if path.suffix == ".txt" else ","
    lines = text.split("\n")
    for row, line in enumerate(lines):
        cells = line.split(separator)
        for column in range(len(cells)):
            for new in several(CELLS, 20 * row + column):
                broken = separator.join([*cells[:column], new, *cells[column + 1 :]])
                data = "\n".join([*lines[:row], broken, *lines[row + 1 :]])
                endured(name_of(path), data.encode())
        for fewer in (cells[:-1], [*cells, "x"], []):
            data = "\n".join([*lines[:row], separator.join(fewer), *lines[row + 1 :]])
            endured(name_of(path), data.encode())


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
@given(data=st.data())
def test_files_may_be_cut_off_anywhere(path, data):
    content = path.read_bytes()
    endured(name_of(path), content[: data.draw(st.integers(0, len(content)))])


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_half_a_document_is_an_error_with_its_line(path):
    content = path.read_bytes()
    half = content[: len(content) // 2]
    with raises("invalid-json") as error:
        contents_of(InputFile(None, half), name_of(path))
    assert error.value.line


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
@pytest.mark.parametrize("coding", ["utf-16-be", "utf-32", "cp037", "cp1251"])
def test_other_codings_are_an_error(path, coding):
    text = path.read_text(encoding="utf-8-sig").replace("a", "ä" if coding != "cp1251" else "я")
    with pytest.raises(RankgateError) as error:
        contents_of(InputFile(None, text.encode(coding)), name_of(path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_byte_order_mark_says_that_text_is_utf16(path):
    text = path.read_text(encoding="utf-8-sig")
    plain, marked = (
        contents_of(InputFile(None, text.encode(coding)), name_of(path)) for coding in ("utf-8", "utf-16")
    )
    assert marked.parts == plain.parts
    if plain.qrels is not None:
        assert marked.qrels.table.equals(plain.qrels.table)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_may_not_be_too_deep(path):
    deep = "[" * 100 + "]" * 100
    text = path.read_text().replace("null", deep)
    document = text if deep in text else text.replace("\n", f'\n "x": {deep},\n', 1)
    with raises("too-deep"):
        contents_of(InputFile(None, document.encode()), name_of(path))


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A file of very many columns, and its judgments by the detected format."""
    names = ",".join(["query", "docid", *(f"c{i}" for i in range(20_000)), "rating"])
    row = ",".join(["q", "d", *["0"] * 20_000, "2"])
    path = tmp_path_factory.mktemp("wide") / "wide.csv"
    path.write_text(f"{names}\n{row}\n")
    return path, contents_of(path).qrels.table.rows()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["quepid-csv", "quepid-book-csv", "quepid-detail", "govuk"])
def test_very_many_columns_are_an_error_that_names_the_way_out(name, wide):
    path, judgments = wide
    with raises("too-large", line=1):
        contents_of(path, name)
    assert judgments == [("q", "d", 2.0)]


def test_many_columns_are_fields(tmp_path):
    names = ",".join(["query", "docid", *(f"c{i}" for i in range(900)), "rating"])
    row = ",".join(["q", "d", *["0"] * 900, "2"])
    path = tmp_path / "wide.csv"
    path.write_text(f"{names}\n{row}\n")
    assert contents_of(path).documents.shape == (1, 902)
