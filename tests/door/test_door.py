"""Every shape that judgments, runs, ratings and texts have at the door, read from every kind of source.

The samples are the files of the folders here, or a `text` in the TOML file (in an `encoding`, by default
UTF-8), or several `files` by their paths, of which one has the sample's name or all are in a folder of that
name; `name#other` is the same file again. The TOML file says for each sample what it holds:

- `qrels`, `run`, `ratings`, `queries`, `documents`, `values`: the rows, where an empty text is null;
  `interactions`: those of a log;
- `show`: the columns of a part that are stated, by default all (of ratings: ids, rater and grade);
- `unjudged`, `states`: queries without judgments, and of a run with their states and latencies;
- `parts`: what the file holds if it is read without a word; by default all that is stated;
- `notes`: the codes of its cautions, or words of them by code; `reader_notes`: text, count and examples of
  what its reader noted;
- `metrics`: values by metric and query, if it is judgments and a run, where an empty text is no value;
- `extra`: what no other format has;
- `format`, `reason`: how it is detected, and what it is read as if the user names its format;
- `written`: true if a writer of its format, or of the one that `to` names, gives the same bytes or values of
  JSON, or what it gives instead; `losses`: texts and counts of what is lost by that;
- `columns`, `grades`, `from`: what the user names; `from` is the format;
- `answers`: true if these are an engine's answers by query, which are read in other forms too;
- `any_line_ends`: true if it is also read with a byte order mark and the line ends of Windows;
- `separator`, `is_text`: how a user reads the file into a frame: by default with commas and numbers.

Or it says how the file is refused: `read` is what it is read as, then `code`, `line`, `words` and the
`suggestion` of the error (a list states all of them), with `codes` of kinds of sources that have another one,
and the `file` of several that it names; `only_as` is true if nothing but that reading is wrong, which
`validate` does not report.

Or it says what a check of `validate` `finds` in it: the check, its severity, the line or 0, and the count,
and gives a `good` file in which it finds nothing; a run may be held `against` judgments and `good_against`
others.

A sample that is a table is read as every other kind of table too, in files and in memory, and gives
the same rows or the same code; `not_as` lists the sources, or kinds of them, that differ, and `why`.
"""

from __future__ import annotations

import io
import json
import re
import tomllib
from contextlib import suppress
from itertools import islice
from pathlib import Path

import pytest

import rankgate
from rankgate.core.errors import DuplicateError, InputError
from rankgate.data.collection import Collection
from rankgate.data.files.validate import validate
from rankgate.data.formats.registry import detect_format, find_format
from rankgate.data.logs.read_logs import read_interactions
from rankgate.data.read import contents_of, read_qrels, read_ratings, read_run
from rankgate.data.streams.source import open_source
from support.table_sources import (
    FLAT,
    GROUPS,
    MEMORY,
    PACKERS,
    READ_ONCE,
    WRITERS,
    answer_sources,
    lists_as_text,
    table_of,
)

FOLDER = Path(__file__).parent
PARTS = {name: name for name in ("qrels", "runs", "ratings", "queries", "documents", "values")} | {
    "runs": "run"
}
TEXTS = {"queries", "documents", "values"}
CONTENT = {"text", "encoding", "files"}
SAMPLES = {
    f"{group.stem}/{name}": tables.get("*", {})
    | {key: entry for key, entry in tables.get(name.partition("#")[0], {}).items() if key in CONTENT}
    | sample
    for group in sorted(FOLDER.glob("*.toml"))
    for tables in [tomllib.loads(group.read_text("utf-8"))]
    for name, sample in tables.items()
    if name != "*"
}
SOUND = [key for key, sample in SAMPLES.items() if "code" not in sample]
BROKEN = [key for key, sample in SAMPLES.items() if "code" in sample]


def sample_path(key, folder):
    """The file or folder of a sample, written if its TOML file has the text."""
    sample, path = SAMPLES[key], FOLDER / key.partition("#")[0]
    files = sample.get("files", {}) | ({path.name: sample["text"]} if "text" in sample else {})
    for name, text in files.items():
        file = folder / "sample" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode(sample.get("encoding", "utf-8")))
    return folder / "sample" / path.name if files else path


def sources(key, folder):
    """The sample itself, packed, and as every other kind of source that it can be, by name."""
    sample, path = SAMPLES[key], sample_path(key, folder)
    left_out = {source for name in sample.get("not_as", ()) for source in GROUPS.get(name, [name])}
    yield "itself", str(path)
    if "files" not in sample and "packed" not in left_out:
        suffix = [*PACKERS][len(key) % len(PACKERS)]
        packed = folder / f"{path.name}.{suffix}"
        packed.write_bytes(PACKERS[suffix](path.read_bytes()))
        yield "packed", str(packed)
    if sample.get("any_line_ends"):
        for mark, end in [(b"\xef\xbb\xbf", b"\n"), (b"", b"\r\n"), (b"\xef\xbb\xbf", b"\r\n")]:
            other = folder / f"{len(mark)}{len(end)}_{path.name}"
            other.write_bytes(mark + path.read_bytes().replace(b"\n", end))
            yield other.name, str(other)
    if sample.get("answers"):
        yield from answer_sources(path, folder).items()
    if sample.get("not_as") == "all":
        return
    if not key.startswith(("tables/", "lists/")):
        left_out.add("table.duckdb")  # making and reading one takes longer than all others
    if path.suffix == ".json" and "object" not in left_out:
        yield "object", json.loads(path.read_text("utf-8"))
    table = table_of(path, sample.get("separator"), is_text=bool(sample.get("is_text")))
    names = {*WRITERS, *MEMORY} - left_out if table is not None else set()
    is_flat = table is not None and not any("Struct" in str(dtype) for dtype in table.dtypes)
    for name in [name for name in [*WRITERS, *MEMORY] if name in names and (is_flat or name not in FLAT)]:
        form = lists_as_text(table) if name in FLAT else table
        if name in WRITERS:
            WRITERS[name](form, folder / name)
        yield name, str(folder / name) if name in WRITERS else MEMORY[name](form)


def _read(kind, source, sample):
    """A part of a source, by the columns and grades that the user names."""
    if kind == "interactions":
        return read_interactions(source, sample.get("columns"), from_=sample.get("from"))
    options = {key: sample[key] for key in ("columns", "grades") if key in sample}
    if options:
        is_run = kind == "run"
        collection = Collection({"t": {"x": 1}} if is_run else source, **options)
        return collection.run(source) if is_run else collection.qrels()
    from_ = sample.get("from")
    if kind in TEXTS:
        return getattr(contents_of(source, from_), kind)
    if kind == "qrels":
        return read_qrels(source, from_=from_, subtopics=True)
    return {"run": read_run, "ratings": read_ratings, "contents": contents_of}[kind](source, from_=from_)


def _check(kind, content, sample, name):
    """The rows of a part, and what is known of queries without rows."""
    table = getattr(content, "table", content)
    columns = ["query_id", "doc_id", "rater", "grade"] if kind == "ratings" else table.columns
    columns = sample.get("show", {}).get(kind, columns)
    assert _rows(table.select(columns)) == sample[kind], name
    if kind == "qrels":
        assert list(content.unjudged) == sample.get("unjudged", []), name
    if kind == "run" and ("states" in sample or content.queries is not None):
        assert _rows(content.queries.select("query_id", "state", "^latency_ms$")) == sample["states"], name


def _rows(table):
    return [["" if cell is None else cell for cell in row] for row in table.rows()]


def test_every_key_of_a_sample_is_explained_above():
    assert {key for sample in SAMPLES.values() for key in sample} <= {*re.findall(r"`(\w+)`", __doc__)}


@pytest.mark.parametrize("key", SOUND)
def test_every_source_of_a_sample_gives_its_rows(key, tmp_path):
    sample = SAMPLES[key]
    for name, source in sources(key, tmp_path):
        kinds = [kind for kind in [*PARTS.values(), "interactions"] if kind in sample]
        for kind in kinds[:1] if name in READ_ONCE else kinds:  # which is read once
            if name not in MEMORY or kind not in TEXTS:
                _check(kind, _read(kind, source, sample), sample, name)
            if "format" in sample and name not in {*WRITERS, *MEMORY, "object"}:
                named = sample | {"from": sample["format"]}
                _check(kind, _read(kind, source, named), sample, f"{name}, named")


@pytest.mark.parametrize("key", [key for key in SOUND if {*PARTS.values(), "parts"} & {*SAMPLES[key]}])
def test_a_file_is_read_as_what_it_holds(key, tmp_path):
    sample, path = SAMPLES[key], sample_path(key, tmp_path)
    stated = [kind for kind in PARTS.values() if kind in sample]
    parts = sample.get("parts", [part for part, kind in PARTS.items() if kind in stated])
    if not parts:
        with pytest.raises(InputError):
            contents_of(path, sample.get("from"))
    else:
        contents = contents_of(path, sample.get("from"))
        assert [part for part in contents.parts if part != "extra" or part in parts] == parts
        for part in [part for part in parts if PARTS.get(part) in stated and "columns" not in sample]:
            _check(PARTS[part], contents.runs[0] if part == "runs" else getattr(contents, part), sample, part)
        reader_notes = [[note.what, note.count, [*note.examples]] for note in contents.notes]
        assert reader_notes == sample.get("reader_notes", reader_notes)
        assert contents.extra == sample.get("extra", contents.extra)
    tables = [_read(kind, str(path), sample) for kind in stated if kind in {"qrels", "run"}]
    cautions = {code: words for table in tables for code, words in table.cautions.items()}
    notes = sample.get("notes", [])
    assert {*cautions} == {*notes}
    assert not isinstance(notes, dict) or all(words in cautions[code] for code, words in notes.items())


@pytest.mark.parametrize("key", [key for key in SAMPLES if "format" in SAMPLES[key]])
def test_the_format_of_a_file_is_detected(key, tmp_path):
    for _, source in islice(sources(key, tmp_path), 2 - ("files" in SAMPLES[key])):  # itself, and packed
        detected, reason = detect_format(open_source(source))
        assert detected.name == SAMPLES[key]["format"]
        assert SAMPLES[key].get("reason", "") in reason


@pytest.mark.parametrize("key", [key for key in SAMPLES if {"written", "losses"} & {*SAMPLES[key]}])
def test_what_is_written_of_a_file(key, tmp_path):
    sample, path = SAMPLES[key], sample_path(key, tmp_path)
    name, out = sample.get("from") or detect_format(open_source(path))[0].name, io.BytesIO()
    losses = find_format(sample.get("to", name)).write(contents_of(path, sample.get("from")), out)
    assert [[loss.what, loss.count] for loss in losses] == sample.get("losses", [])
    stated = sample.get("written", out.getvalue().decode())
    expected = path.read_bytes() if stated is True else stated.encode()
    if out.getvalue() != expected:
        assert out.getvalue()[:1] in {b"[", b"{"}, out.getvalue()
        assert _json_values(out.getvalue()) == _json_values(expected)


def _json_values(content):
    """The document of JSON, or its lines; 3 is not 3.0."""
    with suppress(ValueError):
        return json.loads(content, parse_float=str)
    return [json.loads(line, parse_float=str) for line in content.splitlines()]


@pytest.mark.parametrize("key", [key for key in SAMPLES if "metrics" in SAMPLES[key]])
def test_values_of_a_file_of_judgments_and_a_run(key, tmp_path):
    metrics, path = SAMPLES[key]["metrics"], str(sample_path(key, tmp_path))
    scores = rankgate.evaluate(path, path, [*metrics]).runs[0]
    for metric, values in metrics.items():
        stated = {query: None if value == "" else value for query, value in values.items()}
        assert scores.per_query(metric) == pytest.approx(stated, abs=1e-12), metric


@pytest.mark.parametrize("key", BROKEN)
def test_every_source_of_a_broken_sample_is_refused_alike(key, tmp_path):
    sample = SAMPLES[key]
    codes = {
        name: code for kind, code in sample.get("codes", {}).items() for name in GROUPS.get(kind, [kind])
    }
    for name, source in sources(key, tmp_path):
        if sample["read"] == "contents" and name in MEMORY:
            continue
        with pytest.raises(InputError) as caught:
            getattr(_read(sample["read"], source, sample), "table", None)  # runs are read when needed
        error = caught.value
        assert error.code == codes.get(name, sample["code"]), f"{name}: {error}"
        assert isinstance(error, DuplicateError) or not re.search("(judg|rank)ed twice", error.problem)
        if name in {"itself", "packed"}:
            file = str(Path(source).parent / sample["file"]) if "file" in sample else source
            assert (error.source, error.line) == (file, sample.get("line"))
            assert str(error).startswith(f"{file}:{error.line}: " if error.line else f"{file}: ")
            assert sample["words"] in error.problem.replace(f"{Path(source).parent}/", "")
            stated = sample.get("suggestion", error.suggestions)
            assert stated in error.suggestions if isinstance(stated, str) else (*stated,) == error.suggestions


NOT_VALIDATED = {"columns", "grades", "interactions", "finds"}
VALIDATED = [key for key, sample in SAMPLES.items() if not NOT_VALIDATED & {*sample, sample.get("read", "")}]


@pytest.mark.parametrize("key", VALIDATED)
def test_validate_finds_the_same(key, tmp_path):
    sample, path = SAMPLES[key], sample_path(key, tmp_path)
    problems = validate([path], from_=sample.get("from")).problems
    errors = [problem for problem in problems if problem.severity == "error"]
    is_broken = "code" in sample and not sample.get("only_as")
    assert [error.line for error in errors[:1]] == ([sample.get("line")] if is_broken else [])


@pytest.mark.parametrize("key", [key for key in SAMPLES if "finds" in SAMPLES[key]])
def test_a_check_finds_its_fault_and_nothing_without_it(key, tmp_path):
    sample, found = SAMPLES[key], {}
    check, *expected = sample["finds"]
    for text, against in (("text", "against"), ("good", "good_against")):
        paths = [tmp_path / name for name in (text, against) if name == text or name in sample]
        for path in paths:
            path.write_text(sample.get(path.name, sample["text"]), encoding="utf-8", newline="")
        found[text] = [problem for problem in validate(*paths).problems if problem.check == check]
    problem, *_ = found["text"]
    assert [problem.severity, problem.line or 0, problem.count] == expected
    assert problem.what
    assert found["good"] == []
