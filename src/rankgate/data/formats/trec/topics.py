"""Topics: the queries of a test collection in TREC, SMART or line format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import TYPE_CHECKING

from rankgate.core.errors import InputError
from rankgate.data.file_contents import FileContents, Note
from rankgate.data.foreign_frames import string_table
from rankgate.data.formats.format import Format
from rankgate.data.text.text_values import BOM, decode_utf8

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_MAX_BYTES = 64 << 20  # bytes of a file; as Python strings they need ten times the memory
_BLOCK = re.compile(r"<(top|topic)\b([^>]*)>|<(doc)>", re.IGNORECASE)
_TAG = re.compile(r"<(/?)(\w+)\b[^>]*>")
_NUMBER = re.compile(r"""\bnumber\s*=\s*["']([^"']+)["']""", re.IGNORECASE)
_HEADINGS = re.compile(r"^\s*(?:number|topic|description|narrative)\s*:\s*", re.IGNORECASE)
_SMART = re.compile(r"^\.I[ \t]+(\S+)[ \t]*\r?\n\.W\b", re.MULTILINE)
_IDS = ("num", "docno")
_TEXTS = ("title", "query", "question", "description", "")
_NAMES = {"desc": "description", "narr": "narrative"}
_MAX_LINES = 50
_FIELD_COUNT = 2  # fields of a line: number and text


def sniff(first_bytes: bytes, name: str) -> str | None:
    """Elements of topics, SMART's ``.I`` and ``.W``, or lines of a number, a tab and some words."""
    text = first_bytes.removeprefix(BOM).decode(errors="replace").lstrip()
    if _SMART.match(text):
        return "queries begin with .I and a number, their texts with .W"
    match = _BLOCK.search(text) if text.startswith("<") else None
    if match and (not match[3] or re.search("topic|quer", name.lower())):
        return f"elements of topics, <{match[1] or match[3]}>"
    lines = [line.split("\t") for line in text.splitlines()[:_MAX_LINES] if line.strip()]
    if lines and all(len(line) == _FIELD_COUNT and " " not in line[0].strip() for line in lines):
        lines_with_words = sum(" " in line[1].strip() for line in lines)
        if lines_with_words > len(lines) / 2:
            return "lines of a number, a tab and some words"
    return None


def read(source: InputFile) -> FileContents:
    """The queries with their texts, and all other fields of topics.

    Raises:
        InputError: no topics, one without a number, two of one number; text that is not UTF-8.
    """
    text = decode_utf8(source.everything(_MAX_BYTES).removeprefix(BOM), source.label)
    if _SMART.search(text):
        rows = list(_read_smart(text))
    elif _BLOCK.search(text):
        rows = list(_read_elements(text, source))
    else:
        rows = list(_read_lines(text, source))
    if not rows:
        raise InputError("no topics found.", source=source.label, code="no-queries")
    ids_so_far: set[str] = set()
    for row in rows:
        if row["query_id"] in ids_so_far:
            problem = f"topic '{row['query_id']}' appears twice; remove one of them."
            raise InputError(problem, source=source.label, code="duplicate-query")
        ids_so_far.add(row["query_id"])
    table = string_table(rows, ("query_id", "text"))
    textless = [row["query_id"] for row in rows if not row["text"]]
    return FileContents(queries=table, notes=Note.of("topics without a text", textless))


def _read_smart(text: str) -> Iterator[dict[str, str]]:
    """Cornell's SMART: ``.I 1``, then ``.W`` and the text."""
    for match, block in _find_blocks(_SMART, text):
        yield {"query_id": match[1], "text": _plain_text(block)}


def _find_blocks(pattern: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each match of a pattern with the text up to the next one."""
    matches = list(pattern.finditer(text))
    ends = [match.start() for match in matches[1:]] + [len(text)]
    return ((match, text[match.end() : end]) for match, end in zip(matches, ends, strict=True))


def _read_elements(text: str, source: InputFile) -> Iterator[dict[str, str]]:
    """TREC's topics, with end tags or without."""
    text = re.sub(r"<!--.*?-->", " ", text, flags=re.DOTALL)
    for match, block in _find_blocks(_BLOCK, text):
        fields = _parse_fields(block)
        number = _NUMBER.search(match[2] or "")
        ids = [number[1] if number else "", *(fields.pop(name, "") for name in _IDS)]
        query_id = next((candidate_id for candidate_id in ids if candidate_id), "")
        if not query_id:
            line = text.count("\n", 0, match.start()) + 1
            problem = "a topic without a number; write it as <num> or number='…'."
            raise InputError(problem, source=source.label, line=line, code="empty-value")
        query_text = next((fields.pop(name) for name in _TEXTS if fields.get(name)), "")
        fields.pop("", None)
        yield {"query_id": query_id, "text": query_text, **fields}


def _parse_fields(block: str) -> dict[str, str]:
    """The text after each tag, joined by tag name; text outside tags has an empty name."""
    fields: dict[str, list[str]] = {}
    name, text_start = "", 0
    for tag in [*_TAG.finditer(block), None]:
        tag_text = _plain_text(block[text_start : tag.start() if tag else len(block)])
        if tag_text:
            fields.setdefault(name, []).append(tag_text)
        if tag:
            lower = tag[2].lower()
            name = "" if tag[1] else _NAMES.get(lower, lower)
            text_start = tag.end()
    return {name: "\n".join(texts) for name, texts in fields.items()}


def _plain_text(text: str) -> str:
    return " ".join(unescape(_HEADINGS.sub("", text)).split())


def _read_lines(text: str, source: InputFile) -> Iterator[dict[str, str]]:
    """A number, a tab and a text a line."""
    for line, content in enumerate(text.splitlines(), 1):
        if not content.strip():
            continue
        number, tab, query_text = content.partition("\t")
        if not tab or not number.strip():
            problem = "no number and text with a tab between them."
            raise InputError(problem, source=source.label, line=line, code="invalid-syntax")
        yield {"query_id": number.strip(), "text": " ".join(query_text.split())}


FORMAT = Format(
    name="topics",
    title="topics of TREC and SMART, and lines of a number, a tab and a text",
    suffixes=(".topics", ".qry"),
    sniff=sniff,
    read=read,
    holds=("queries",),
    detail=(
        "Topics in <top> or <topic> elements with a <num> or a number, with end tags or without; SMART's .I "
        "and .W; or a number, a tab and a text a line. The title, or else the query or the question, is the "
        "text of a query; description, narrative and other fields are also kept, fields with the same name "
        "as lines. rankgate validate TOPICS --against QRELS checks that the judgments number the queries in "
        "the same way."
    ),
)
