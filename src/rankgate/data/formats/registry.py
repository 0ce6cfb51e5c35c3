"""The table of formats: detect the format of a file by its contents.

The module of a format is imported only if a file could have that format, so that a command loads
few modules; `FORMATS` has all formats.

Unsupported files (archives, Git LFS pointers, UTF-16) are recognised and named in the error.
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
from rankgate.core.present.number_formats import count_noun
from rankgate.data.streams.input_parts import is_folder, list_part_files
from rankgate.data.streams.source import InputFile, open_source, split_table
from rankgate.data.text.text_values import BOM
from rankgate.data.text.western_text import decode_western

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.data.formats.format import Format

    FORMATS: tuple[Format, ...]


_MAGIC_BYTES = (
    (b"\xd0\xcf\x11\xe0", "a workbook of an old Excel; save it as .xlsx, or the sheet as CSV."),
    (b"BZh91AY&SY", "packed twice with bzip2; unpack it once (bunzip2)."),
    (b"\xfd7zXZ\x00", "packed twice with xz; unpack it once (unxz)."),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive; unpack it first."),
    (b"\x1f\x8b", "packed twice with gzip; unpack it once (gunzip)."),
    (b"\x28\xb5\x2f\xfd", "packed twice with zstd; unpack it once (unzstd)."),
    (b"version https://git-lfs", "a pointer of Git LFS; fetch the file itself (git lfs pull)."),
    (b"\xff\xfe\x00\x00", "UTF-32 text; convert it (iconv -f utf-32 -t utf-8)."),
)
"""The beginnings of such files, and advice for each."""

_ZIP = b"PK"
_TAR, _AT = b"ustar", 257
_PAGE = re.compile(rb"\s*(?:<!doctype html|<html[\s>])", re.IGNORECASE)
_UTF16_BYTES = 64  # bytes to detect text with two bytes per character
_FEW, _TAB = 3, 9  # fewer bytes than needed to decide; the lowest byte in text
_HALVES = {0: "be", 1: "le"}


def unsupported_problem(first_bytes: bytes) -> str | None:
    """The kind of an unsupported file, and advice; None if the file may be readable."""
    if first_bytes.startswith(_ZIP):
        from rankgate.data.formats.tables.excel_sql_tables import WORKBOOK, ZIP

        if first_bytes.startswith(ZIP) and WORKBOOK not in first_bytes:
            return "a zip archive; unpack it first (unzip)."
    for begins, problem in _MAGIC_BYTES:
        if first_bytes.startswith(begins):
            return problem
    if first_bytes[_AT : _AT + len(_TAR)] == _TAR:
        return "a tar archive; unpack it first (tar -xf)."
    if _PAGE.match(first_bytes.removeprefix(BOM)):
        return "a web page, as servers send where a file is missing; download it again."
    for parity, order in _HALVES.items():
        zeros, letters = (first_bytes[parity:_UTF16_BYTES:2], first_bytes[1 - parity : _UTF16_BYTES : 2])
        if len(first_bytes) > _FEW and not any(zeros) and letters.isascii() and min(letters) >= _TAB:
            return f"UTF-16 text; convert it (iconv -f utf-16{order} -t utf-8)."
    return None


def unknown_json_error(source: InputFile, first_bytes: bytes) -> InputError:
    """The error for JSON that fits no format: it is invalid, or has another shape.

    Args:
        source: the file.
        first_bytes: its first bytes.
    """
    from rankgate.data.formats.table import find_schema
    from rankgate.data.text import json_text

    first_line = first_bytes.removeprefix(BOM).split(b"\n", 1)[0].strip()
    value = None
    try:
        value = json_text.parse_json(first_line, source.label)
    except InputError:
        try:
            value = json_text.read_document(source)
        except InputError as fault:
            return fault
    rows = value if isinstance(value, list) and value and isinstance(value[0], dict) else []
    if rows and find_schema(list(rows[0])):
        problem = "rows in one array; write one object per line, as jq -c '.[]' does."
    elif isinstance(value, dict) and find_schema(list(value)):
        problem = "an object over several lines, or in another one; write one plain object per line."
    else:
        problem = "JSON that matches no known format; name the format, or see rankgate formats."
    return InputError(problem, source=source.label, code="unknown-format")


TABLE = (
    # name of the format, its module in this folder, and the beginning of such files, as in
    # `_beginning_kinds`
    ("parquet", "tables.parquet_arrow:PARQUET", "binary"),
    ("arrow", "tables.parquet_arrow", "binary"),
    ("ranx-lz4", "ranx_files:RANX_LZ4_FORMAT", "binary"),
    ("sqlite", "tables.excel_sql_tables:SQLITE", "binary"),
    ("duckdb", "tables.excel_sql_tables:DUCKDB", "binary"),
    ("excel", "tables.excel_sql_tables:EXCEL_FORMAT", "binary"),
    ("quepid-book", "quepid.quepid_books:BOOK_FORMAT", "json"),
    ("quepid-case", "quepid.quepid_cases:CASE_FORMAT", "json"),
    ("quepid-snapshot", "quepid.quepid_snapshots:SNAPSHOT_FORMAT", "json"),
    ("quepid-ratings", "quepid.quepid_cases:RATINGS_FORMAT", "json"),
    ("rank-eval", "products.rank_eval:RANK_EVAL_FORMAT", "json"),
    ("rank-eval-response", "products.rank_eval:RANK_EVAL_RESPONSE_FORMAT", "json"),
    ("rre", "products.rre:GAINS", "json"),
    ("rre-array", "products.rre:ARRAYS", "json"),
    ("opensearch-judgments", "products.opensearch_judgments:JUDGMENT_LIST_FORMAT", "json"),
    ("opensearch-experiment", "products.opensearch_judgments:EXPERIMENT_FORMAT", "json"),
    ("opensearch-configuration", "products.opensearch_judgments:CONFIGURATION_FORMAT", "json"),
    ("opensearch-metrics", "products.opensearch_queries:QUERY_METRICS_FORMAT", "json"),
    ("opensearch-query-set", "products.opensearch_queries:QUERY_SET_FORMAT", "json labels"),
    ("rankquest", "products.judgment_tools:RANKQUEST_FORMAT", "json"),
    ("searchtweak", "products.judgment_tools:SEARCHTWEAK_FORMAT", "json"),
    ("label-studio", "products.label_studio", "json"),
    ("argilla", "products.argilla", "json"),
    ("umbrela", "products.umbrela:UMBRELA_FORMAT", "json"),
    ("umbrela-requests", "products.umbrela:UMBRELA_REQUESTS_FORMAT", "json"),
    ("ragas", "rag_contexts:RAGAS_FORMAT", "json"),
    ("ragas-normalized", "rag_contexts:NORMALIZED", "json"),
    ("nuggets", "rag_answers:NUGGETS_FORMAT", "json"),
    ("trec-rag", "rag_answers:TREC_RAG_FORMAT", "json"),
    ("tool-calls", "tool_calls", "json"),
    ("trajectories", "rag_contexts:TRAJECTORIES_FORMAT", "json"),
    ("traces", "trace_files", "json"),
    ("locomo", "memory_questions:LOCOMO_FORMAT", "json"),
    ("mteb", "benchmark_files:MTEB_FORMAT", "json"),
    ("elasticsearch", "search_answers:ELASTICSEARCH", "json"),
    ("solr", "search_answers:SOLR", "json"),
    ("algolia", "search_answers:ALGOLIA", "json"),
    ("vespa", "search_answers:VESPA", "json"),
    ("qdrant", "search_answers:QDRANT", "json"),
    ("weaviate", "search_answers:WEAVIATE", "json"),
    ("meilisearch", "search_answers:MEILISEARCH", "json"),
    ("typesense", "search_answers:TYPESENSE", "json"),
    ("beir", "beir", "json header"),
    ("ranx", "ranx_files:RANX_JSON_FORMAT", "json"),
    ("json-lists", "tables.nested_json", "json"),
    ("jsonl", "tables.jsonl", "json"),
    ("json-table", "tables.excel_sql_tables:JSON_TABLE_FORMAT", "json"),
    ("quepid-book-csv", "quepid.quepid_books:BOOK_CSV_FORMAT", "comma"),
    ("quepid-detail", "quepid.quepid_exports:DETAIL_FORMAT", "comma"),
    ("quepid-snapshot-csv", "quepid.quepid_snapshots:SNAPSHOT_CSV_FORMAT", "comma"),
    ("quepid-general", "quepid.quepid_exports:GENERAL_FORMAT", "comma"),
    ("information-need", "quepid.quepid_cases:INFORMATION_NEED_FORMAT", "comma"),
    ("quaerite", "products.product_sheets:QUAERITE_FORMAT", "comma"),
    ("searchtweak-csv", "products.judgment_tools:SEARCHTWEAK_CSV_FORMAT", "comma"),
    ("quepid-csv", "quepid.quepid_cases:RATINGS_CSV_FORMAT", "comma"),
    ("govuk", "products.product_sheets:GOVUK_FORMAT", "comma"),
    ("completions", "suggestion_tables:COMPLETIONS", "header"),
    ("corrections", "suggestion_tables:CORRECTIONS", "header"),
    ("facets", "suggestion_tables:FACETS", "header"),
    ("svmlight", "learning_to_rank:SVMLIGHT_FORMAT", "labels"),
    ("quepid-ltr", "learning_to_rank:QUEPID_LTR_FORMAT", "labels"),
    ("model-scores", "model_scores", "numbers"),
    ("recbole", "tables.interaction_formats:RECBOLE", "header"),
    ("movielens-100k", "tables.interaction_formats:U_DATA", "header"),
    ("tsv", "tables.csv_tables:TSV", "header"),
    ("csv", "tables.csv_tables", "header"),
    ("movielens-1m", "tables.interaction_formats:RATINGS_DAT", "colon"),
    ("lists", "tables.interaction_formats:LISTS", "colon"),
    ("topics", "trec.topics", "topics"),
    ("ntcir", "trec.trec_judgments:NTCIR_FORMAT", "text"),
    ("prels", "trec.trec_judgments:PRELS_FORMAT", "text"),
    ("trec-subtopics", "trec.trec_judgments:SUBTOPICS_FORMAT", "text"),
    ("trec", "trec.trec_files", "text"),
    ("ir_datasets", "benchmark_files:IR_DATASETS_FORMAT", "named"),
)
"""Formats, the most particular first; ``FORMAT`` is one's name in a module that has no other.

A file that is not listed works too, but is found later and slower: list what you keep.
"""

_CONTROL = rb"[\x00-\x08\x0e-\x1f]"
_SEPARATORS = re.compile(rb"[,;|\t]")
_TITLED = re.compile(rb"(?:[^,;|\t\n]*\n){1,10}[^,;|\t\n]*[,;|\t]")  # names of columns below titles
_LABELS = re.compile(rb"\b(?:qid|query):|^\S+[ \t]+\d+:")
_NUMBERS = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[ \t]*(?:\r?\n|$)")
_RANKLIB = re.compile(rb"\S+\t0\t[-+.\dEe]+[ \t]*\r?\n")
_COLON = re.compile(rb"[^\s:]+:(?:[: \t]|\S+[ \t])")
_JSON = re.compile(rb"\{|\[\s*[\[{\"\]\n]")  # no id begins like this; [7] could be an id
_HEAD, _LONG = 1 << 16, 1 << 23  # numbers of bytes to read from the beginning of a file
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
    """Formats of files in this folder that `TABLE` does not list; they are tried last.

    The search loads every file of the folder, so it is done only if no listed format has the name
    or fits the file.
    """
    from rankgate.data.formats.format import Format

    listed_names = {name for name, _, _ in TABLE}
    declared_formats = find_declared("rankgate.data.formats", Format)
    return tuple(format_ for format_ in declared_formats if format_.name not in listed_names)


def load_plugin_formats() -> PluginObjects[Format]:
    """The formats that plug-ins add; they are tried if no other format fits."""
    from rankgate.data.formats.format import Format

    known_formats = {name: None for name, _, _ in TABLE} | {
        format_.name: format_ for format_ in _unlisted_formats()
    }
    return find_plugin_objects("rankgate.formats", Format, known_formats)


def find_format(name: str) -> Format:
    """The format with a name; case and the difference of ``_`` and ``-`` are ignored.

    Raises:
        UsageError: no format has this name.
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
    """The first format that fits the beginning of a file, and the reason.

    Raises:
        InputError: no format reads the JSON, the file is an archive or another unsupported file, or
            it cannot be opened.
    """
    if input_file.form is not None:
        return input_file.form, "its columns were named"
    if is_folder(input_file):
        return _detect_folder(input_file)
    first_bytes = _read_beginning(input_file)
    if problem := unsupported_problem(first_bytes):
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
    """The format of a file that fits no rule: a table without usual column names, or TREC.

    Raises:
        InputError: the file is JSON but not a table.
    """
    if beginnings[0] == "json":
        first_bytes = first_bytes if b"\n" in first_bytes else input_file.head(_LONG)  # has a vector
        from rankgate.data.formats.tables.jsonl import has_objects, has_plain_rows, sniff
        from rankgate.data.formats.tables.nested_json import has_table

        if has_plain_rows(first_bytes):
            return find_format("jsonl"), "the first line is an object with plain values"
        if reason := sniff(first_bytes, ""):
            return find_format("jsonl"), reason
        if has_objects(first_bytes):
            return find_format("jsonl"), "the first lines are objects"
        if has_table(input_file):
            return find_format("json-lists"), "a part of the document could be rankings or rows with queries"
        raise unknown_json_error(input_file, first_bytes)
    first_line = first_bytes.split(b"\n", 1)[0]
    if "binary" not in beginnings and "header" in beginnings and re.search(rb"[,;]", first_line):
        return find_format("csv"), "commas or semicolons are in the first line, and nothing else fits"
    return find_format("trec"), "nothing else fits"


def _candidate_formats(beginnings: Sequence[str]) -> Iterator[Format]:
    """The formats of files with such a beginning, loaded one by one."""
    for kind in beginnings:
        yield from (_load_format(module) for _, module, kinds in TABLE if kind in kinds.split())
    yield from _unlisted_formats()
    yield from load_plugin_formats().by_name.values()


def _detect_folder(input_file: InputFile) -> tuple[Format, str]:
    """The format of a folder, or of the part files inside it."""
    from rankgate.data.formats import beir, part_tables

    if input_file.path and (reason := beir.detect_folder(input_file.path)):
        return beir.FORMAT, reason
    parts = list_part_files(input_file)
    first_format, reason = detect_format(parts[0])
    if first_format.folders:
        file_count = count_noun(len(parts), "file")
        return first_format, f"a folder of {file_count}; {reason}"
    for part_file in parts[1:]:
        other_format = detect_format(part_file)[0]
        if other_format.name != first_format.name:
            problem = (
                f"{other_format.name}, and {first_format.name} in {parts[0].label}: files of one folder are "
                "one table and have one format; name one file."
            )
            raise InputError(problem, source=part_file.label, code="mixed-formats")
    file_count = count_noun(len(parts), "file")
    return part_tables.format_of_parts(first_format, input_file), f"a folder of {file_count}; {reason}"


def _read_beginning(input_file: InputFile) -> bytes:
    """The first bytes; more bytes if the first line has very many column names."""
    first_bytes = input_file.head()
    has_long_line = (
        b"\n" not in first_bytes and len(first_bytes) == _HEAD and "header" in _beginning_kinds(first_bytes)
    )
    return input_file.head(_LONG) if has_long_line else first_bytes


def _beginning_kinds(first_bytes: bytes) -> tuple[str, ...]:
    """The kinds of a file's beginning, the most specific first.

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
        "header": bool(_SEPARATORS.search(first_line) or _TITLED.match(text)),
        "colon": bool(_COLON.match(first_line)),
        "topics": not text[:1].isalnum() or b"\t" in first_line,
        "text": True,
    }
    return tuple(kind for kind, is_fitting in fits_kind.items() if is_fitting)


def open_input(path: str | Path | InputFile, from_: str | None) -> tuple[InputFile, Format | None]:
    """The input file of a path, and the format if ``from_`` or ``NAME:PATH`` gives it."""
    if isinstance(path, InputFile):
        return _with_format(path, from_)
    name, plain_path = split_prefix(path)
    requested_name = from_ or name
    return _with_format(decode_western(open_source(plain_path)), requested_name)


def _with_format(input_file: InputFile, name: str | None) -> tuple[InputFile, Format | None]:
    """The file and the given format; for a folder of part files, a format that reads the folder."""
    if input_file.form is not None and name is not None:
        return input_file, input_file.form
    if name is None:
        return input_file, None
    format_ = find_format(name)
    if format_.folders or not is_folder(input_file):
        return input_file, format_
    from rankgate.data.formats import part_tables

    return input_file, part_tables.format_of_parts(format_, input_file)


def split_prefix(path: str | Path) -> tuple[str | None, str | Path]:
    """The format name and the path of ``NAME:PATH``; for other paths None and the path."""
    prefix, colon, path_part = str(path).partition(":")
    if not (colon and path_part) or Path(path).exists():
        return None, path
    if any(prefix == format_name for format_name, _, _ in TABLE) or _is_plugin_format(prefix, path_part):
        return prefix, path_part
    return None, path


def _is_plugin_format(name: str, path: str) -> bool:
    """True if a word is a plug-in's format name; plug-ins load only if the rest is a file."""
    return Path(path).is_file() and name in load_plugin_formats().by_name


def in_format(name: str, inputs: Mapping[str, JsonObject]) -> dict[str, Any]:
    """Paths of a command as ``NAME:PATH``, for the files that the format can hold.

    Args:
        name: the name of the format.
        inputs: the paths by content (judgments, runs, ratings, queries, documents, tables) and by
            argument, one or several; a collection's file or folder keeps its own formats.

    Raises:
        UsageError: the format is unknown, or holds none of the command's inputs.
    """
    format_ = find_format(name)
    prefixed_paths: dict[str, Json] = {}
    for content, paths in inputs.items():
        if _can_hold(format_, content):
            prefixed_paths |= {argument: _prefix(format_.name, path) for argument, path in paths.items()}
    if not prefixed_paths:
        needed_contents = " or ".join(content for content, paths in inputs.items() if paths)
        holds = ", ".join("judgments" if part_name == "qrels" else part_name for part_name in format_.holds)
        problem = f"files of {format_.name} hold {holds or 'nothing of it'}, and no {needed_contents}."
        raise UsageError(problem, code="format-cannot-hold")
    return prefixed_paths


def _can_hold(format_: Format, content: str) -> bool:
    """True if files of a format can be read as judgments, runs, tables or another kind."""
    if content in TABLES:
        return format_.table is not None
    return {"judgments": "qrels"}.get(content, content) in format_.holds


def open_table(path: str | Path | InputFile) -> tuple[InputFile, Format | None]:
    """The input file of a table with column names, and the format that reads it.

    The format is None if the file is text and no format is named: the reader then detects the
    separator, or that lines are objects.

    Raises:
        InputError: the file is not a table with named columns.
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
        formats = (_load_format(module) for _, module, _ in TABLE)
        tables = ", ".join(table_format.name for table_format in formats if table_format.table)
        problem = f"{format_.name}, where a table with named columns is needed: {tables}."
        raise InputError(problem, source=input_file.label, code="wrong-type")
    return input_file, format_


def _prefix(name: str, value: Json) -> Any:
    """A path, or several, with the format; tables in memory and collections are unchanged."""
    if isinstance(value, tuple | list):
        return type(value)(_prefix(name, path) for path in value)
    if not isinstance(value, str) or split_prefix(value)[0] is not None or value.endswith(".toml"):
        return value
    exists = value == "-" or split_table(value)[0].exists()  # else a name in a store
    if not exists or Path(value, "collection.toml").is_file():
        return value
    return f"{name}:{value}"


def without_format(path: str) -> str:
    """The path of ``NAME:PATH`` and of ``FILE:TABLE``; other paths unchanged."""
    return str(split_table(split_prefix(path)[1])[0])
