"""Helpers for tests of products' formats: store, detect and rewrite a file."""

from __future__ import annotations

import io
import json

import pytest

from rankgate.data import contents_of
from rankgate.data.formats.registry import detect_format, find_format
from rankgate.data.streams.source import InputFile


@pytest.fixture
def held():
    """Everything that bytes, a text, or a value as JSON, hold."""

    def read(value, name=None):
        return contents_of(InputFile(None, _bytes(value)), name)

    return read


@pytest.fixture
def kind():
    """The name of the format that bytes, a text, or a value as JSON, are known to be of."""
    return lambda value: detect_format(InputFile(None, _bytes(value)))[0].name


@pytest.fixture
def grades():
    """The judgments of contents: ``{(query, document): grade}``."""
    return lambda contents: {(q, d): g for q, d, g in contents.qrels.table.rows()}


@pytest.fixture
def result():
    """The notes of contents: ``{what: (count, examples)}``."""
    return lambda contents: {note.what: (note.count, note.examples) for note in contents.notes}


@pytest.fixture
def written():
    """The bytes of contents in a format, and counts of the losses."""

    def write(contents, name):
        out = io.BytesIO()
        losses = find_format(name).write(contents, out)
        return out.getvalue(), {loss.what: loss.count for loss in losses}

    return write


@pytest.fixture
def rewritten(written):
    """The same with a value of JSON instead of bytes."""

    def write(contents, name):
        data, losses = written(contents, name)
        return json.loads(data), losses

    return write


def _bytes(value):
    if isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value)).encode()
