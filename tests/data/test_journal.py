"""What is on disk when a rating is acknowledged."""

import os

import pytest

from rankgate.core.errors import InputError, UsageError
from rankgate.data.streams.journal import Journal
from support.wording import raises


def test_rows_come_back(tmp_path):
    path = tmp_path / "a.jsonl"
    with Journal.open(path) as journal:
        journal.add({"a": 1})
        journal.add({"b": "ü"})
    with Journal.open(path) as journal:
        assert journal.rows == [{"a": 1}, {"b": "ü"}]
        assert journal.cut == 0
    assert path.read_text() == '{"a": 1}\n{"b": "ü"}\n'


@pytest.mark.parametrize("end", range(1, 9))
def test_an_unfinished_line_is_cut_off_wherever_it_was_torn(tmp_path, end):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\n' + b'{"b": 2}'[:end])
    with Journal.open(path) as journal:
        is_complete = end == 8  # only the end of the line is missing
        assert journal.rows == [{"a": 1}, *([{"b": 2}] if is_complete else [])]
        assert journal.cut == (0 if is_complete else end)
        journal.add({"c": 3})
    text = '{"a": 1}\n' + ('{"b": 2}\n' if is_complete else "") + '{"c": 3}\n'
    assert path.read_text() == text


def test_two_programs_do_not_write_at_once(tmp_path):
    with Journal.open(tmp_path / "a.jsonl"), raises("cannot-write", UsageError):
        Journal.open(tmp_path / "a.jsonl")


def test_a_file_of_something_else_stays_as_it_is(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("hello\nworld")
    with raises("invalid-json", InputError, line=1):
        Journal.open(path)
    assert path.read_text() == "hello\nworld"


def test_a_full_disk_keeps_nothing_of_the_row(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    with Journal.open(path) as journal:
        journal.add({"a": 1})
        write = os.write
        monkeypatch.setattr(os, "write", lambda handle, line: write(handle, line[:4]))
        with raises("cannot-write", UsageError):
            journal.add({"b": 2})
        monkeypatch.setattr(os, "write", write)
        assert journal.rows == [{"a": 1}]
        journal.add({"c": 3})
    assert path.read_text() == '{"a": 1}\n{"c": 3}\n'


def test_every_row_is_synced(tmp_path, monkeypatch):
    synced = []
    fsync = os.fsync
    with Journal.open(tmp_path / "a.jsonl") as journal:
        monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(handle), fsync(handle)))
        journal.add({"a": 1})
        journal.add({"b": 1})
        assert len(synced) == 2
