"""A sample of every product's format is detected, and unchanged after a round trip."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from rankgate.data import contents_of
from rankgate.data.formats.registry import detect_format, find_format
from rankgate.data.streams.source import InputFile, open_source

SAMPLES = sorted((Path(__file__).parent / "samples").iterdir())
NAMES = [path.name for path in SAMPLES]
REFUSED = {"rank-eval-response.json", "opensearch-experiment.results.json"}  # of what runs answer

BOM = b"\xef\xbb\xbf"


def format_of(path):
    return path.name.split(".", 1)[0]


def written(contents, name):
    out = io.BytesIO()
    losses = find_format(name).write(contents, out)
    return out.getvalue(), losses


def tables(contents):
    """Everything that is held, as plain values."""
    qrels, ratings = contents.qrels, contents.ratings
    parts = {
        "qrels": qrels and (sorted(qrels.table.rows()), qrels.unjudged, qrels.scale),
        "ratings": ratings and (ratings.table.rows(), ratings.scale),
        "runs": [
            (run.table.rows(), run.tag, None if run.queries is None else run.queries.rows())
            for run in contents.runs
        ],
    }
    for name in ("queries", "documents", "values"):
        table = getattr(contents, name)
        parts[name] = None if table is None else (table.columns, table.rows())
    return parts


@pytest.mark.parametrize("path", SAMPLES, ids=NAMES)
def test_samples_are_known_by_what_they_hold(path):
    """Whatever the file is called."""
    file_format, reason = detect_format(InputFile(None, path.read_bytes()))
    assert file_format.name == format_of(path)
    assert reason


@pytest.mark.parametrize("path", SAMPLES, ids=NAMES)
@pytest.mark.parametrize("change", ["bom", "crlf", "cr at the end", "gzip"])
def test_marks_and_line_ends_change_nothing(path, change, tmp_path):
    import gzip

    data = path.read_bytes().replace(b"\r\n", b"\n")
    changed = {
        "bom": data if data.startswith(BOM) else BOM + data,
        "crlf": data.replace(b"\n", b"\r\n"),
        "cr at the end": data.rstrip(b"\n"),
        "gzip": gzip.compress(data),
    }[change]
    target = tmp_path / (path.name + (".gz" if change == "gzip" else ""))
    target.write_bytes(changed)
    assert detect_format(open_source(target))[0].name == format_of(path)
    assert tables(contents_of(target)) == tables(contents_of(path))


@pytest.mark.parametrize("path", SAMPLES, ids=NAMES)
def test_what_is_written_in_the_same_format_is_read_as_before(path):
    """Data that the format can hold are not reported as lost."""
    name, contents = format_of(path), contents_of(path)
    if path.name in REFUSED:
        assert find_format(name).write is None or not contents.extra
        return
    data, losses = written(contents, name)
    assert losses == (), path.name
    reread_contents = contents_of(InputFile(path, data), name)
    assert tables(reread_contents) == tables(contents)
    assert written(reread_contents, name)[0] == data


@pytest.mark.parametrize(
    "path",
    [path for path in SAMPLES if path.suffix == ".json" and path.name not in REFUSED],
    ids=lambda path: path.name,
)
def test_documents_come_back_with_all_that_is_theirs(path):
    """Templates, placeholders, settings, comments: fields that evaluation does not need."""
    data, _ = written(contents_of(path), format_of(path))
    assert keys(json.loads(data)) == keys(json.loads(path.read_bytes()))


def keys(value, path=()):
    """The paths of all values, with those values that are no objects or lists."""
    if isinstance(value, dict):
        return {key_path for key, child in value.items() for key_path in keys(child, (*path, key))}
    if isinstance(value, list):
        return {key_path for child in value for key_path in keys(child, (*path, "[]"))}
    try:
        return {(*path, str(float(value)))}  # 3 is 3.0 and "3.000"
    except (TypeError, ValueError):
        return {(*path, json.dumps(value))}
