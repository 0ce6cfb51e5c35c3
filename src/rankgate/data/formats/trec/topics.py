"""Topics: the queries of a test collection, as TREC, SMART or plain lines have them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import TYPE_CHECKING

from rankgate.core.errors import InputError
from rankgate.data.columns import strings
from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format
from rankgate.data.notes import Note
from rankgate.data.text.utf8 import BOM, decoded

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_LIMIT = 64 << 20  # bytes of a file; as Python's strings they take ten times as many
_BLOCK = re.compile(r"<(top|topic)\b([^>]*)>|<(doc)>", re.IGNORECASE)
_TAG = re.compile(r"<(/?)(\w+)\b[^>]*>")
_NUMBER = re.compile(r"""\bnumber\s*=\s*["']([^"']+)["']""", re.IGNORECASE)
_HEADINGS = re.compile(r"^\s*(?:number|topic|description|narrative)\s*:\s*", re.IGNORECASE)
_SMART = re.compile(r"^\.I[ \t]+(\S+)[ \t]*\r?\n\.W\b", re.MULTILINE)
_IDS = ("num", "docno")
_TEXTS = ("title", "query", "question", "description", "")
_NAMES = {"desc": "description", "narr": "narrative"}
_LOOKED_AT = 50
_TWO = 2  # fields of a line: number and text


def sniff(head: bytes, name: str) -> str | None:
    """Elements of topics, SMART's ``.I`` and ``.W``, or lines of a number, a tab and some words."""
    text = head.removeprefix(BOM).decode(errors="replace").lstrip()
    if _SMART.match(text):
        return "queries begin with .I and a number, their texts with .W"
    found = _BLOCK.search(text) if text.startswith("<") else None
    if found and (not found[3] or re.search("topic|quer", name.lower())):
        return f"elements of topics, <{found[1] or found[3]}>"
    lines = [line.split("\t") for line in text.splitlines()[:_LOOKED_AT] if line.strip()]
    if lines and all(len(line) == _TWO and " " not in line[0].strip() for line in lines):
        worded = sum(" " in line[1].strip() for line in lines)
        if worded > len(lines) / 2:
            return "lines of a number, a tab and some words"
    return None


def read(source: InputFile) -> FileContents:
    """The queries with their texts, and anything else that topics tell of them.

    Raises:
        InputError: no topics, one without a number, two of one number; text that is not UTF-8.
    """
    text = decoded(source.everything(_LIMIT).removeprefix(BOM), source.label)
    if _SMART.search(text):
        rows = list(_smart(text))
    elif _BLOCK.search(text):
        rows = list(_elements(text, source))
    else:
        rows = list(_lines(text, source))
    if not rows:
        raise InputError("no topics found.", source=source.label, code="no-queries")
    seen: set[str] = set()
    for row in rows:
        if row["query_id"] in seen:
            problem = f"topic '{row['query_id']}' appears twice; remove one of them."
            raise InputError(problem, source=source.label, code="duplicate-query")
        seen.add(row["query_id"])
    table = strings(rows, ("query_id", "text"))
    without = [row["query_id"] for row in rows if not row["text"]]
    return FileContents(queries=table, notes=Note.of("topics without a text", without))


def _smart(text: str) -> Iterator[dict[str, str]]:
    """Cornell's SMART: ``.I 1``, then ``.W`` and the text."""
    found = list(_SMART.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)]
    for match, end in zip(found, ends, strict=True):
        yield {"query_id": match[1], "text": _plain(text[match.end() : end])}


def _elements(text: str, source: InputFile) -> Iterator[dict[str, str]]:
    """TREC's topics, with end tags or without."""
    text = re.sub(r"<!--.*?-->", " ", text, flags=re.DOTALL)
    found = list(_BLOCK.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)]
    for match, end in zip(found, ends, strict=True):
        fields = _fields(text[match.end() : end])
        number = _NUMBER.search(match[2] or "")
        ids = [number[1] if number else "", *(fields.pop(name, "") for name in _IDS)]
        query_id = next((each for each in ids if each), "")
        if not query_id:
            line = text.count("\n", 0, match.start()) + 1
            problem = "a topic without a number; write it as <num> or number='…'."
            raise InputError(problem, source=source.label, line=line, code="empty-value")
        words = next((fields.pop(name) for name in _TEXTS if fields.get(name)), "")
        fields.pop("", None)
        yield {"query_id": query_id, "text": words, **fields}


def _fields(block: str) -> dict[str, str]:
    """What is after each tag, those of one name together; text outside under no name."""
    fields: dict[str, list[str]] = {}
    name, begin = "", 0
    for tag in [*_TAG.finditer(block), None]:
        words = _plain(block[begin : tag.start() if tag else len(block)])
        if words:
            fields.setdefault(name, []).append(words)
        if tag:
            lower = tag[2].lower()
            name = "" if tag[1] else _NAMES.get(lower, lower)
            begin = tag.end()
    return {name: "\n".join(parts) for name, parts in fields.items()}


def _plain(text: str) -> str:
    return " ".join(unescape(_HEADINGS.sub("", text)).split())


def _lines(text: str, source: InputFile) -> Iterator[dict[str, str]]:
    """A number, a tab and a text a line."""
    for line, content in enumerate(text.splitlines(), 1):
        if not content.strip():
            continue
        number, tab, words = content.partition("\t")
        if not tab or not number.strip():
            problem = "no number and text with a tab between them."
            raise InputError(problem, source=source.label, line=line, code="invalid-syntax")
        yield {"query_id": number.strip(), "text": " ".join(words.split())}


FORMAT = Format(
    name="topics",
    title="topics of TREC and SMART, and lines of a number, a tab and a text",
    suffixes=(".topics", ".qry"),
    sniff=sniff,
    read=read,
    holds=("queries",),
    detail=(
        "Topics in <top> or <topic> elements with a <num> or a number, with end tags or without; "
        "SMART's .I and .W; or a number, a tab and a text a line. The title, or else the query or "
        "the question, is the text of a query; description, narrative and others are kept too, "
        "those of one name in lines. rankgate validate TOPICS --against QRELS checks whether the "
        "judgments number the queries likewise."
    ),
)
