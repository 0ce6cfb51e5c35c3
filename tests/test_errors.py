"""Every deliberate error has a code, and its message names the place."""

from __future__ import annotations

import errno
import os
import re

import pytest

from rankgate.core import errors

KINDS = [
    errors.RankgateError,
    errors.InputError,
    errors.DuplicateError,
    errors.UsageError,
    errors.FunctionError,
    errors.MissingExtraError,
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_has_a_code_of_its_own(kind):
    code = kind("a problem").code
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", code)
    assert [error_class.default_code for error_class in KINDS].count(code) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_raise_site_chooses_the_code(kind):
    assert kind("a problem", code="not-a-number").code == "not-a-number"


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ({}, "a problem."),
        ({"source": "run.txt"}, "run.txt: a problem."),
        ({"source": "run.txt", "line": 3}, "run.txt:3: a problem."),
    ],
)
def test_the_message_begins_with_the_place(place, message):
    error = errors.InputError("a problem.", **place)
    assert str(error) == message
    assert error.problem == "a problem."
    assert (error.source, error.line) == (place.get("source", ""), place.get("line"))


def test_quoted_data_stays_on_one_line():
    assert str(errors.InputError("the id 'a\nb'.")) == "the id 'a\\nb'."


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "out of memory"),
        (OSError(errno.ENOMEM, "no"), "out of memory"),
        (RuntimeError("can't start new thread"), "out of memory"),
        (OSError(errno.EMFILE, "no"), "too many open files"),
        (RuntimeError(f"panic: (os error {errno.ENFILE})"), "too many open files"),
        (RuntimeError(f"panic: {os.strerror(errno.EMFILE)}"), "too many open files"),
        (OSError(errno.ENOSPC, "no"), "cannot write"),
        (OSError(errno.ENOENT, "not there", "run.txt"), "run.txt"),
        (OSError(errno.EPIPE, "ended"), "ended"),
        (ValueError("of rankgate"), None),
    ],
)
def test_what_the_machine_lacks_is_told_from_errors_of_rankgate(error, words):
    problem = errors.describe_resource_error(error)
    assert (problem and re.split("[:;]", problem)[0]) == words
