"""The table of formats: detect the format of a file by its contents.

A format's file is imported when a file could be of that format, so that a command loads only
what it needs; `FORMATS` is all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import PluginObjects, find_declared, find_plugin_objects
from rankgate.core.errors import InputError, UsageError
from rankgate.data.formats import unsupported
from rankgate.data.streams.part_files import is_folder, list_part_files
from rankgate.data.streams.source import InputFile, open_source, split_table
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.formats.format import Format

    FORMATS: tuple[Format, ...]

TABLE = (
    # name of the format, its module in this folder, and the beginning of such files, as in
    # `_beginning_kinds`
    ("parquet", "tables.arrow:PARQUET", "binary"),
    ("arrow", "tables.arrow", "binary"),
    ("ranx-lz4", "ranx.lz4", "binary"),
    ("sqlite", "tables.databases:SQLITE", "binary"),
    ("duckdb", "tables.databases:DUCKDB", "binary"),
    ("excel", "tables.excel", "binary"),
    ("quepid-book", "quepid.book", "json"),
    ("quepid-case", "quepid.case", "json"),
    ("quepid-snapshot", "quepid.snapshot", "json"),
    ("quepid-ratings", "quepid.ratings", "json"),
    ("rank-eval", "elasticsearch.request", "json"),
    ("rank-eval-response", "elasticsearch.response", "json"),
    ("rre", "rre:GAINS", "json"),
    ("rre-array", "rre:ARRAYS", "json"),
    ("opensearch-judgments", "opensearch.judgments", "json"),
    ("opensearch-experiment", "opensearch.experiment", "json"),
    ("opensearch-configuration", "opensearch.configuration", "json"),
    ("opensearch-metrics", "opensearch.metrics", "json"),
    ("opensearch-query-set", "opensearch.query_set", "json labels"),
    ("rankquest", "rankquest", "json"),
    ("searchtweak", "searchtweak.api", "json"),
    ("label-studio", "label_studio", "json"),
    ("argilla", "argilla", "json"),
    ("umbrela", "umbrela.judgments", "json"),
    ("umbrela-requests", "umbrela.requests", "json"),
    ("ragas", "rag.ragas", "json"),
    ("ragas-normalized", "rag.ragas:NORMALIZED", "json"),
    ("nuggets", "rag.nuggets", "json"),
    ("trec-rag", "rag.answers", "json"),
    ("trajectories", "rag.trajectories", "json"),
    ("mteb", "mteb", "json"),
    ("elasticsearch", "answers:ELASTICSEARCH", "json"),
    ("solr", "answers:SOLR", "json"),
    ("algolia", "answers:ALGOLIA", "json"),
    ("vespa", "answers:VESPA", "json"),
    ("qdrant", "answers:QDRANT", "json"),
    ("weaviate", "answers:WEAVIATE", "json"),
    ("meilisearch", "answers:MEILISEARCH", "json"),
    ("typesense", "answers:TYPESENSE", "json"),
    ("beir", "beir", "json header"),
    ("ranx", "ranx.json", "json"),
    ("jsonl", "tables.jsonl", "json"),
    ("json-table", "tables.other_tables", "json"),
    ("quepid-book-csv", "quepid.book_csv", "comma"),
    ("quepid-detail", "quepid.detail", "comma"),
    ("quepid-snapshot-csv", "quepid.snapshot_csv", "comma"),
    ("quepid-general", "quepid.general", "comma"),
    ("information-need", "quepid.information_need", "comma"),
    ("quaerite", "quaerite", "comma"),
    ("searchtweak-csv", "searchtweak.csv", "comma"),
    ("quepid-csv", "quepid.ratings_csv", "comma"),
    ("govuk", "govuk", "comma"),
    ("completions", "suggestions:COMPLETIONS", "header"),
    ("corrections", "suggestions:CORRECTIONS", "header"),
    ("facets", "suggestions:FACETS", "header"),
    ("svmlight", "letor.svmlight", "labels"),
    ("quepid-ltr", "quepid.ltr", "labels"),
    ("model-scores", "letor.model_scores", "numbers"),
    ("recbole", "tables.interactions:RECBOLE", "header"),
    ("movielens-100k", "tables.interactions:U_DATA", "header"),
    ("tsv", "tables.csv:TSV", "header"),
    ("csv", "tables.csv", "header"),
    ("movielens-1m", "tables.interactions:RATINGS_DAT", "colon"),
    ("lists", "tables.interactions:LISTS", "colon"),
    ("topics", "trec.topics", "topics"),
    ("ntcir", "trec.ntcir", "text"),
    ("prels", "trec.prels", "text"),
    ("trec-subtopics", "trec.subtopics", "text"),
    ("trec", "trec.trec", "text"),
    ("ir_datasets", "ir_datasets", "named"),
)
"""Formats, the most particular first; ``FORMAT`` is one's name in a module that has no other.

A file that is not listed works too, but is found later and slower: list what you keep.
"""

_CONTROL = rb"[\x00-\x08\x0e-\x1f]"
_SEPARATORS = re.compile(rb"[,;|\t]")
_LABELS = re.compile(rb"\b(?:qid|query):|^\S+[ \t]+\d+:")
_NUMBERS = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[ \t]*(?:\r?\n|$)")
_RANKLIB = re.compile(rb"\S+\t0\t[-+.\dEe]+[ \t]*\r?\n")
_COLON = re.compile(rb"[^\s:]+:(?:[: \t]|\S+[ \t])")
_JSON = re.compile(rb"\{|\[\s*[\[{\"\]\n]")  # what no id begins with; [7] could be one
_HEAD, _LONG = 1 << 16, 1 << 23  # bytes of a beginning
_SEARCHED_BYTES = 1 << 12
TABLES = ("tables", "logs", "pools", "sheets")
"""Inputs of commands that are tables with columns of their own, in any format of tables."""


def __getattr__(name: str) -> Any:
    if name == "FORMATS":
        return (*(_load_format(module) for _, module, _ in TABLE), *_unlisted_formats())
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


@cache
def _load_format(module: str) -> Format:
    path, _, name = module.partition(":")
    format_: Format = getattr(import_module(f"rankgate.data.formats.{path}"), name or "FORMAT")
    return format_


@cache
def _unlisted_formats() -> tuple[Format, ...]:
    """Formats of files in this folder that `TABLE` does not list yet, the last to be tried.

    Finding them loads every file of the folder, so they are looked for only where no listed
    format has the name or fits.
    """
    from rankgate.data.formats.format import Format

    listed_names = {name for name, _, _ in TABLE}
    declared_formats = find_declared("rankgate.data.formats", Format)
    return tuple(format_ for format_ in declared_formats if format_.name not in listed_names)


def load_plugin_formats() -> PluginObjects[Format]:
    """The formats that plug-ins add; they are tried where no other format fits."""
    from rankgate.data.formats.format import Format

    known_formats = {name: None for name, _, _ in TABLE} | {
        format_.name: format_ for format_ in _unlisted_formats()
    }
    return find_plugin_objects("rankgate.formats", Format, known_formats)


def find_format(name: str) -> Format:
    """The format of a name; upper and lower case, ``_`` and ``-`` are one.

    Raises:
        UsageError: no format has it.
    """
    normalized_name = name.strip().lower().replace("_", "-")
    for format_name, module, _ in TABLE:
        if format_name.replace("_", "-") == normalized_name:
            return _load_format(module)
    for format_ in _unlisted_formats():
        if format_.name == normalized_name:
            return format_
    plugin_formats = load_plugin_formats()
    if normalized_name in plugin_formats.by_name:
        return plugin_formats.by_name[normalized_name]
    from difflib import get_close_matches

    names = [*(format_name for format_name, _, _ in TABLE), *plugin_formats.by_name]
    close_names = get_close_matches(normalized_name, names, 3) or names
    raise plugin_formats.unknown(
        f"unknown format '{name}'; did you mean {' or '.join(close_names)}?", "unknown-format"
    )


def detect_format(input_file: InputFile) -> tuple[Format, str]:
    """The first format that fits a file's beginning, with the reason.

    Raises:
        InputError: JSON that no format knows; an archive or another unsupported file; a file
            that cannot be opened.
    """
    if is_folder(input_file):
        return _detect_folder(input_file)
    first_bytes = _read_beginning(input_file)
    if problem := unsupported.unsupported_problem(first_bytes):
        raise InputError(problem, source=input_file.label, code="unknown-format")
    name = input_file.path.name if input_file.path else ""
    beginnings = _beginning_kinds(first_bytes)
    for format_ in _candidate_formats(beginnings):
        if reason := format_.sniff(first_bytes, name):
            return format_, reason
    return _fallback_format(input_file, first_bytes, beginnings)


def _fallback_format(
    input_file: InputFile, first_bytes: bytes, beginnings: Sequence[str]
) -> tuple[Format, str]:
    """The format of a file that fits none: a table without usual column names, or TREC.

    Raises:
        InputError: JSON that is no table.
    """
    if beginnings[0] == "json":
        from rankgate.data.formats.tables.jsonl import has_plain_rows

        if has_plain_rows(first_bytes):
            return find_format("jsonl"), "the first line is an object with plain values"
        raise unsupported.unknown_json_error(input_file, first_bytes)
    first_line = first_bytes.split(b"\n", 1)[0]
    if "binary" not in beginnings and "header" in beginnings and re.search(rb"[,;]", first_line):
        return find_format(
            "csv"
        ), "commas or semicolons are in the first line, and nothing else fits"
    return find_format("trec"), "nothing else fits"


def _candidate_formats(beginnings: Sequence[str]) -> Iterator[Format]:
    """The formats of files with such a beginning, loaded one after another."""
    for kind in beginnings:
        yield from (_load_format(module) for _, module, kinds in TABLE if kind in kinds.split())
    yield from _unlisted_formats()
    yield from load_plugin_formats().by_name.values()


def _detect_folder(input_file: InputFile) -> tuple[Format, str]:
    """The format of a folder, or of the part files in it."""
    from rankgate.data.formats import beir, part_tables

    if input_file.path and (reason := beir.detect_folder(input_file.path)):
        return beir.FORMAT, reason
    parts = list_part_files(input_file)
    first_format, reason = detect_format(parts[0])
    if first_format.folders:
        file_count = "1 file" if len(parts) == 1 else f"{len(parts)} files"
        return first_format, f"a folder of {file_count}; {reason}"
    for part_file in parts[1:]:
        other_format = detect_format(part_file)[0]
        if other_format.name != first_format.name:
            problem = (
                f"{other_format.name}, and {first_format.name} in {parts[0].label}: files of one "
                "folder are one "
                "table and have one format; name one file."
            )
            raise InputError(problem, source=part_file.label, code="mixed-formats")
    file_count = "1 file" if len(parts) == 1 else f"{len(parts)} files"
    return part_tables.format_of_parts(
        first_format, input_file
    ), f"a folder of {file_count}; {reason}"


def _read_beginning(input_file: InputFile) -> bytes:
    """The first bytes; more of them if the first line names very many columns."""
    first_bytes = input_file.head()
    has_long_line = (
        b"\n" not in first_bytes
        and len(first_bytes) == _HEAD
        and "header" in _beginning_kinds(first_bytes)
    )
    return input_file.head(_LONG) if has_long_line else first_bytes


def _beginning_kinds(first_bytes: bytes) -> tuple[str, ...]:
    """The kinds of a file's beginning, the most particular first.

    ``binary``: bytes that text seldom has; ``json``: a brace or a bracket; ``labels``: a
    ``qid:`` or ``query:`` is in the first lines, or ``1:`` begins the second word; ``numbers``: the
    first line holds only a number, or a query, 0 and a score; ``comma``: a comma is in the
    first line; ``header``: a comma, semicolon, bar or tab is; ``colon``: a colon ends the first
    word, or two are between words; ``topics``: a sign begins it, or a
    tab is in the first line; ``text``: anything else.
    """
    text = first_bytes.removeprefix(BOM).lstrip()
    if b"\x00" in first_bytes[:_SEARCHED_BYTES] or text.startswith((b"PAR1", b"ARROW1")):
        return ("binary",)
    if _JSON.match(text):
        return ("json",)
    first_line = text.split(b"\n", 1)[0]
    fits_kind = {
        "binary": bool(re.search(_CONTROL, first_bytes[:_SEARCHED_BYTES])),
        "json": text.startswith(b"["),
        "labels": bool(_LABELS.search(text[:_SEARCHED_BYTES])),
        "numbers": bool(_NUMBERS.match(text) or _RANKLIB.match(text)),
        "comma": b"," in first_line,
        "header": bool(_SEPARATORS.search(first_line)),
        "colon": bool(_COLON.match(first_line)),
        "topics": not text[:1].isalnum() or b"\t" in first_line,
        "text": True,
    }
    return tuple(kind for kind, is_fitting in fits_kind.items() if is_fitting)


def open_input(path: str | Path | InputFile, from_: str | None) -> tuple[InputFile, Format | None]:
    """The input file of a path, and the format if ``from_`` or ``NAME:PATH`` names one."""
    if isinstance(path, InputFile):
        return _with_format(path, from_)
    name, plain_path = split_prefix(path)
    requested_name = from_ or name
    return _with_format(open_source(plain_path), requested_name)


def _with_format(input_file: InputFile, name: str | None) -> tuple[InputFile, Format | None]:
    """The file and the named format; for a folder of part files, a format that reads it."""
    if name is None:
        return input_file, None
    format_ = find_format(name)
    if format_.folders or not is_folder(input_file):
        return input_file, format_
    from rankgate.data.formats import part_tables

    return input_file, part_tables.format_of_parts(format_, input_file)


def split_prefix(path: str | Path) -> tuple[str | None, str | Path]:
    """The format name and the path of ``NAME:PATH``; None and the path for any other path."""
    prefix, colon, path_part = str(path).partition(":")
    if not (colon and path_part) or Path(path).exists():
        return None, path
    if any(prefix == format_name for format_name, _, _ in TABLE) or _is_plugin_format(
        prefix, path_part
    ):
        return prefix, path_part
    return None, path


def _is_plugin_format(name: str, path: str) -> bool:
    """True if a word is the name of a plug-in's format; checked only if a file follows it."""
    return Path(path).is_file() and name in load_plugin_formats().by_name


def in_format(name: str, inputs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Paths of a command as ``NAME:PATH``, for files that the format can hold.

    Args:
        name: the name of the format.
        inputs: by what files hold (judgments, runs, ratings, queries, documents, tables), the paths
            by argument, one or several; a collection's file or folder keeps its own formats.

    Raises:
        UsageError: no such format, or it holds nothing of what the command reads.
    """
    format_ = find_format(name)
    prefixed_paths: dict[str, Any] = {}
    for content, paths in inputs.items():
        if _can_hold(format_, content):
            prefixed_paths |= {
                argument: _prefix(format_.name, path) for argument, path in paths.items()
            }
    if not prefixed_paths:
        needed_contents = " or ".join(content for content, paths in inputs.items() if paths)
        holds = ", ".join(
            "judgments" if part_name == "qrels" else part_name for part_name in format_.holds
        )
        problem = (
            f"files of {format_.name} hold {holds or 'nothing of it'}, and no {needed_contents}."
        )
        raise UsageError(problem, code="format-cannot-hold")
    return prefixed_paths


def _can_hold(format_: Format, content: str) -> bool:
    """True if files of a format can be read as judgments, runs, tables and so on."""
    if content in TABLES:
        return format_.table is not None
    return {"judgments": "qrels"}.get(content, content) in format_.holds


def open_table(path: str | Path | InputFile) -> tuple[InputFile, Format | None]:
    """The input file of a table with its own column names, and the format that reads it.

    The format is None if none is named and the file is text: the reader then detects the
    separator, or whether lines are objects.

    Raises:
        InputError: a file that is no table with named columns.
    """
    input_file, format_ = open_input(path, None)
    if format_ is None and is_folder(input_file):
        return input_file, None
    if format_ is None:
        first_bytes = input_file.head(_SEARCHED_BYTES)
        if not ("binary" in _beginning_kinds(first_bytes) or first_bytes.lstrip()[:1] == b"["):
            return input_file, None
        format_ = detect_format(input_file)[0]
    if format_.table is None:
        tables = ", ".join(table_format.name for table_format in _table_formats())
        problem = f"{format_.name}, where a table with named columns is needed: {tables}."
        raise InputError(problem, source=input_file.label, code="wrong-type")
    return input_file, format_


def _table_formats() -> Iterator[Format]:
    """The formats of tables."""
    return (format_ for _, module, _ in TABLE if (format_ := _load_format(module)).table)


def _prefix(name: str, value: Any) -> Any:
    """A path with its format, or several; tables in memory and collections are unchanged."""
    if isinstance(value, tuple | list):
        return type(value)(_prefix(name, path) for path in value)
    if not isinstance(value, str) or split_prefix(value)[0] is not None or value.endswith(".toml"):
        return value
    exists = value == "-" or split_table(value)[0].exists()  # else a name in a store
    if not exists or Path(value, "collection.toml").is_file():
        return value
    return f"{name}:{value}"


def without_format(path: str) -> str:
    """The path of ``NAME:PATH`` and of ``FILE:TABLE``; any other path unchanged."""
    return str(split_table(split_prefix(path)[1])[0])
