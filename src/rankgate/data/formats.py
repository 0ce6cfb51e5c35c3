"""The table of formats: what a file is, found by looking into it.

A format's file is imported when a file could be of that format, so that a command loads only
what it needs; `FORMATS` is all of them.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rankgate.data import foreign, memory
from rankgate.data.contents import Contents
from rankgate.data.qrels import Qrels
from rankgate.data.run import Run
from rankgate.data.source import Source, source
from rankgate.errors import InputError, UsageError

if TYPE_CHECKING:
    from rankgate.data.format import Format

    FORMATS: tuple[Format, ...]

Part = Literal["qrels", "run"]
"""What a file is to be read as, where it could be either."""

TABLE = (
    # name of the format, its file in this folder, how such files begin (see `_beginnings`)
    ("parquet", "parquet", "binary"),
    ("arrow", "arrow", "binary"),
    ("ranx-lz4", "ranx_lz4", "binary"),
    ("quepid-book", "quepid_book", "json"),
    ("quepid-case", "quepid_case", "json"),
    ("quepid-snapshot", "quepid_snapshot", "json"),
    ("quepid-ratings", "quepid_ratings", "json"),
    ("rank-eval", "rank_eval", "json"),
    ("rank-eval-response", "rank_eval_response", "json"),
    ("rre", "rre", "json"),
    ("rre-array", "rre_array", "json"),
    ("opensearch-judgments", "opensearch_judgments", "json"),
    ("opensearch-experiment", "opensearch_experiment", "json"),
    ("opensearch-configuration", "opensearch_configuration", "json"),
    ("opensearch-metrics", "opensearch_metrics", "json"),
    ("opensearch-query-set", "opensearch_query_set", "json labels"),
    ("rankquest", "rankquest", "json"),
    ("searchtweak", "searchtweak", "json"),
    ("label-studio", "label_studio", "json"),
    ("umbrela", "umbrela", "json"),
    ("umbrela-requests", "umbrela_requests", "json"),
    ("beir", "beir", "json header"),
    ("ranx", "ranx", "json"),
    ("jsonl", "jsonl", "json"),
    ("quepid-book-csv", "quepid_book_csv", "comma"),
    ("quepid-detail", "quepid_detail", "comma"),
    ("quepid-snapshot-csv", "quepid_snapshot_csv", "comma"),
    ("quepid-general", "quepid_general", "comma"),
    ("information-need", "information_need", "comma"),
    ("quaerite", "quaerite", "comma"),
    ("searchtweak-csv", "searchtweak_csv", "comma"),
    ("quepid-csv", "quepid_csv", "comma"),
    ("govuk", "govuk", "comma"),
    ("svmlight", "svmlight", "labels"),
    ("quepid-ltr", "quepid_ltr", "labels"),
    ("tsv", "tsv", "header"),
    ("csv", "delimited", "header"),
    ("topics", "topics", "text"),
    ("ntcir", "ntcir", "text"),
    ("prels", "prels", "text"),
    ("trec-subtopics", "trec_subtopics", "text"),
    ("trec", "trec", "text"),
)
"""Every format, the most particular first; the file has the format as ``FORMAT``."""

_BOM = b"\xef\xbb\xbf"
_CONTROL = rb"[\x00-\x08\x0e-\x1f]"
_SEPARATORS = re.compile(rb"[,;|\t]")
_LABELS = re.compile(rb"\b(?:qid|query):|^\S+[ \t]+\d+:")
_JSON = re.compile(rb"\{|\[\s*[\[{\"\]\n]")  # what no id begins with; [7] could be one
_HEAD, _LONG = 1 << 16, 1 << 23  # bytes of a beginning
_LOOKED_AT = 1 << 12


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the one name that is made when it is asked for
    if name == "FORMATS":
        return tuple(_loaded(module) for _, module, _ in TABLE)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


@cache
def _loaded(module: str) -> Format:
    found: Format = import_module(f"rankgate.data.{module}").FORMAT
    return found


def named(name: str) -> Format:
    """The format of a name; upper and lower case, ``_`` and ``-`` are one.

    Raises:
        UsageError: no format has it.
    """
    asked = name.strip().lower().replace("_", "-")
    for known, module, _ in TABLE:
        if known == asked:
            return _loaded(module)
    from difflib import get_close_matches  # noqa: PLC0415 - the way of an error only

    names = [known for known, _, _ in TABLE]
    near = get_close_matches(asked, names, 3) or names
    raise UsageError(
        f"unknown format '{name}'; did you mean {' or '.join(near)}?", code="unknown-format"
    )


def detected(place: Source) -> tuple[Format, str]:
    """The first format that a file's beginning fits, with the reason.

    Raises:
        InputError: JSON that no format knows; an archive and other things that none is; a file
            that cannot be opened.
    """
    if place.path and place.content is None and place.path.is_dir():
        return _folder(place)
    head = _head(place)
    if problem := foreign.told(head):
        raise InputError(problem, source=place.label, code="unknown-format")
    name = place.path.name if place.path else ""
    begins = _beginnings(head)
    for kind in begins:
        for _, module, kinds in TABLE:
            if kind in kinds.split():
                found = _loaded(module)
                if reason := found.sniff(head, name):
                    return found, reason
    if begins[0] == "json":
        raise foreign.unknown_json(place, head)
    if "header" in begins and re.search(rb"[,;]", head.split(b"\n", 1)[0]):
        return named("csv"), "commas or semicolons are in the first line, and nothing else fits"
    return named("trec"), "nothing else fits"


def _folder(place: Source) -> tuple[Format, str]:
    """The one format that is a folder."""
    from rankgate.data import beir  # noqa: PLC0415 - of folders only

    reason = beir.holds(place.path) if place.path else None
    if reason is None:
        raise InputError(
            "a folder, where a file is needed.", source=place.label, code="is-a-folder"
        )
    return beir.FORMAT, reason


def _head(place: Source) -> bytes:
    """The first bytes; more of them where the first line names very many columns."""
    head = place.head()
    long = b"\n" not in head and len(head) == _HEAD and "header" in _beginnings(head)
    return place.head(_LONG) if long else head


def _beginnings(head: bytes) -> tuple[str, ...]:
    """How a file begins, the most particular first.

    ``binary``: with bytes that no text has; ``json``: with a brace or a bracket; ``labels``: a
    ``qid:`` or ``query:`` is in the first lines, or ``1:`` begins the second word; ``comma``: a
    comma is in the first line; ``header``: a comma, semicolon, bar or tab is; ``text``: anything
    else.
    """
    text = head.removeprefix(_BOM).lstrip()
    if re.search(_CONTROL, head[:_LOOKED_AT]) or text.startswith((b"PAR1", b"ARROW1")):
        return ("binary",)
    if _JSON.match(text):
        return ("json",)
    first = text.split(b"\n", 1)[0]
    found = {
        "json": text.startswith(b"["),
        "labels": bool(_LABELS.search(text[:_LOOKED_AT])),
        "comma": b"," in first,
        "header": bool(_SEPARATORS.search(first)),
        "text": True,
    }
    return tuple(kind for kind, there in found.items() if there)


def contents_of(
    path: str | Path | Source, from_: str | None = None, as_: Part | None = None
) -> Contents:
    """Everything that a file holds; ``-`` is standard input.

    Args:
        path: the file; ``NAME:PATH`` names its format.
        from_: the name of its format; found by looking into it if not given.
        as_: read it as judgments, or as a run, where its format has both.

    Raises:
        InputError: what is wrong, with file and line.
        UsageError: no such format.
    """
    place, found = opened(path, from_)
    found = found or detected(place)[0]
    if as_ == "qrels":
        return Contents(qrels=_qrels(place, found))
    if as_ == "run":
        return Contents(runs=(_run(place, found),))
    contents = found.read(place)
    if len(contents.runs) != 1:
        return contents
    return replace(contents, runs=(_beside(contents.runs[0], place),))


def read_qrels(
    table: Any,  # noqa: ANN401 - a path, a frame, a dict of dicts, or judgments
    name: str | None = None,
    from_: str | None = None,
    *,
    subtopics: bool = False,
) -> Qrels:
    """Judgments from a path (``-`` is standard input), a frame, a dict of dicts, or as they are.

    Args:
        table: where they are; a path may be ``NAME:PATH`` to name its format.
        name: what to call them where they have no name of their own.
        from_: the name of the file's format; found by looking into it if not given.
        subtopics: whether judgments by subtopic are taken; otherwise they are an error.

    Raises:
        InputError: what is wrong, with file and line; judgments by subtopic.
        DuplicateError: a document judged twice for one query.
        UsageError: no such format.
    """
    if isinstance(table, Qrels):
        return table if subtopics else _of_documents(table)
    if isinstance(table, str | Path):
        place, found = opened(table, from_)
        qrels = _qrels(place, found or detected(place)[0])
        return qrels if subtopics else _of_documents(qrels)
    return memory.qrels_of(table, name or "qrels")


def read_run(table: Any, name: str | None = None, from_: str | None = None) -> Run:  # noqa: ANN401
    """A run from a path (``-`` is standard input), a frame, a dict of dicts, or as it is.

    Rows are read and checked when they are first needed. Arguments as of ``read_qrels``.

    Raises:
        InputError: what is wrong, with file and line.
        UsageError: no such format.
    """
    if isinstance(table, Run):
        return table
    if isinstance(table, str | Path):
        place, found = opened(table, from_)
        return _run(place, found or detected(place)[0])
    return memory.run_of(table, name or "run")


def _of_documents(qrels: Qrels) -> Qrels:
    """Judgments with one grade a document, as metrics take them."""
    if qrels.by_subtopic:
        problem = (
            "judgments by subtopic, where one grade a document is needed; write each document's "
            "highest grade into a file of its own with rankgate convert --to trec."
        )
        raise InputError(problem, source=qrels.place.label, code="wrong-type")
    return qrels


def _qrels(place: Source, found: Format) -> Qrels:
    if found.read_qrels:
        return found.read_qrels(place)
    return found.read(place).judgments(place.label)


def _run(place: Source, found: Format) -> Run:
    if found.read_run:
        return _beside(found.read_run(place), place)
    run = found.read(place).ranking(place.label)
    return _beside(run if run.name else replace(run, name=place.stem), place)


def _beside(run: Run, place: Source) -> Run:
    """The run with what ``RUN.meta.jsonl`` beside it says of its queries."""
    if place.path is None or not place.path.with_name(f"{place.path.name}.meta.jsonl").is_file():
        return run
    from rankgate.data.run_meta import with_meta  # noqa: PLC0415 - few runs have a companion

    return with_meta(run, place)


def opened(path: str | Path | Source, from_: str | None) -> tuple[Source, Format | None]:
    """The source of a path, and the format if ``from_`` or ``NAME:PATH`` names one."""
    if isinstance(path, Source):
        return path, named(from_) if from_ else None
    name, rest = prefixed(path)
    asked = from_ or name
    return source(rest), named(asked) if asked else None


def prefixed(path: str | Path) -> tuple[str | None, str | Path]:
    """The name of a format and the path of ``NAME:PATH``; no name and the path of any other."""
    before, colon, rest = str(path).partition(":")
    if colon and rest and any(before == known for known, _, _ in TABLE) and not Path(path).exists():
        return before, rest
    return None, path
