"""Damaging a file: the same seed and number make the same damage."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import zstandard

LONGEST = 1 << 20
"""Bytes of a damaged file at most."""

TOKENS = (
    b"",
    b" ",
    b"\t",
    b"\n",
    b"\r\n",
    b"\r",
    b",",
    b";",
    b"|",
    b'"',
    b'""',
    b"'",
    b"\\",
    b"#",
    b":",
    b"{",
    b"}",
    b"[",
    b"]",
    b"{}",
    b"[]",
    b"null",
    b"true",
    b"NaN",
    b"Infinity",
    b"-",
    b"+",
    b"=",
    b"0",
    b"-0",
    b"1e999",
    b"1_0",
    b"0x1",
    b"9" * 400,
    b"1" + b"0" * 30,
    b"-1",
    b"3.5",
    b"nan",
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xfe\xff",
    b"\xc3",
    b"\\ud800",
    b"\\u0000",
    b"\x1b[31m",
    b"[" * 100,
    b'{"a":' * 100,
    b'"' + b"x" * 5000 + b'"',
    b"PAR1",
    b"ARROW1",
    b"\x1f\x8b",
    b"query",
    b"docid",
    b"rating",
    b"score",
    b"grade",
    b"qid:",
    b"query_id",
    b"doc_id",
    b"L2",
    "٣".encode(),
    "\u2028".encode(),
    "é".encode("latin-1"),
    b'"id": 1, ',
    b'"x": {}, ',
)

VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2.5,
    10**30,
    1e308,
    "",
    " ",
    "x",
    "3",
    "1e999",
    "\x00",
    "é",
    [],
    {},
    [[]],
    [None],
    [1, "a"],
    {"": None},
    {"a": {"b": []}},
    "2024-13-45",
    "2024-01-01T00:00:00Z",
)

_WORD = re.compile(rb"[\w.+-]+")

Change = Callable[[random.Random, bytes, bytes], bytes]


def mutated(chance: random.Random, seed: bytes, other: bytes) -> bytes:
    """A seed with a few kinds of damage, perhaps spliced with another one."""
    data = seed
    for _ in range(chance.choice((1, 1, 1, 1, 2, 3, 5))):
        data = chance.choice(CHANGES)(chance, data, other)[:LONGEST]
    packer = chance.randrange(100)
    if packer < len(PACKED):
        data = PACKED[packer](data)
        return chance.choice(CHANGES)(chance, data, other) if chance.random() < 1 / 2 else data
    return data


PACKED = (lambda data: gzip.compress(data, mtime=0), zstandard.compress)


def _place(chance: random.Random, data: bytes) -> tuple[int, int]:
    """A stretch, short as a rule."""
    begin = chance.randint(0, len(data))
    return begin, min(len(data), begin + chance.choice((1, 1, 2, 4, 16, 64, 1024)))


def _flip(chance: random.Random, data: bytes, other: bytes) -> bytes:  # noqa: ARG001
    if not data:
        return b"\x00"
    position = chance.randrange(len(data))
    return data[:position] + bytes([data[position] ^ 1 << chance.randrange(8)]) + data[position + 1 :]


def _byte(chance: random.Random, data: bytes, other: bytes) -> bytes:  # noqa: ARG001
    start, end = _place(chance, data)
    return data[:start] + chance.randbytes(chance.choice((1, 1, 4, 16))) + data[end:]


def _cut(chance: random.Random, data: bytes, other: bytes) -> bytes:  # noqa: ARG001
    return data[: chance.randint(0, len(data))]


def _drop(chance: random.Random, data: bytes, other: bytes) -> bytes:  # noqa: ARG001
    start, end = _place(chance, data)
    return data[:start] + data[end:]


def _insert(chance: random.Random, data: bytes, other: bytes) -> bytes:  # noqa: ARG001
    position = chance.randint(0, len(data))
    return data[:position] + chance.choice(TOKENS) + data[position:]


def _replace(chance: random.Random, data: bytes, other: bytes) -> bytes:  # noqa: ARG001
    start, end = _place(chance, data)
    return data[:start] + chance.choice(TOKENS) + data[end:]


def _repeat(chance: random.Random, data: bytes, other: bytes) -> bytes:  # noqa: ARG001
    start, end = _place(chance, data)
    return data[:start] + data[start:end] * chance.choice((2, 2, 3, 50, 1000)) + data[end:]


def _word(chance: random.Random, data: bytes, other: bytes) -> bytes:  # noqa: ARG001
    """A word or number, whole, for something else."""
    matches = list(_WORD.finditer(data))
    if not matches:
        return data
    match = chance.choice(matches)
    return data[: match.start()] + chance.choice(TOKENS) + data[match.end() :]


def _value(chance: random.Random, data: bytes, other: bytes) -> bytes:
    """In JSON, or a line of it, some value for another one; in other texts a word."""
    lines = data.split(b"\n")
    line_index = chance.randrange(len(lines))
    for prefix, text, suffix in ((b"", data, b""), _around(lines, line_index)):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        return prefix + json.dumps(_other(chance, value)).encode() + suffix
    return _word(chance, data, other)


def _around(lines: list[bytes], at: int) -> tuple[bytes, bytes, bytes]:
    prefix = b"".join(line + b"\n" for line in lines[:at])
    suffix = b"".join(b"\n" + line for line in lines[at + 1 :])
    return prefix, lines[at], suffix


def _other(chance: random.Random, value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    if isinstance(value, dict | list) and value and chance.random() < 5 / 6:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key, container = chance.choice(keys), value.copy()
        if chance.random() < 1 / 10:
            del container[key]
        else:
            container[key] = _other(chance, value[key])
        return container
    return chance.choice(VALUES)


def _line(chance: random.Random, data: bytes, other: bytes) -> bytes:  # noqa: ARG001
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    source, target = chance.randrange(len(lines)), chance.randrange(len(lines) + 1)
    lines.insert(target, lines[source])
    return b"".join(lines)


def _swap(chance: random.Random, data: bytes, other: bytes) -> bytes:  # noqa: ARG001
    a, b, c = sorted(chance.randint(0, len(data)) for _ in range(3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def _splice(chance: random.Random, data: bytes, other: bytes) -> bytes:
    end, begin = chance.randint(0, len(data)), chance.randint(0, len(other))
    return data[:end] + other[begin:]


CHANGES: Sequence[Change] = (
    _flip,
    _byte,
    _cut,
    _drop,
    _insert,
    _insert,
    _replace,
    _replace,
    _repeat,
    _line,
    _swap,
    _splice,
    _word,
    _word,
    _word,
    _word,
    _value,
    _value,
    _value,
    _value,
)
