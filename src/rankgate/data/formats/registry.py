"""The table of formats: what a file is, found by looking into it.

A format's file is imported when a file could be of that format, so that a command loads only
what it needs; `FORMATS` is all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import Added, added, declared_in
from rankgate.core.errors import InputError
from rankgate.data.formats import unsupported
from rankgate.data.streams.part_files import is_folder, part_files
from rankgate.data.streams.source import InputFile, source
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.formats.format import Format

    FORMATS: tuple[Format, ...]

TABLE = (
    # name of the format, where it is in this folder, how such files begin (see `_beginnings`)
    ("parquet", "tables.arrow:PARQUET", "binary"),
    ("arrow", "tables.arrow", "binary"),
    ("ranx-lz4", "ranx.lz4", "binary"),
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
    ("beir", "beir", "json header"),
    ("ranx", "ranx.json", "json"),
    ("jsonl", "tables.jsonl", "json"),
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
    ("tsv", "tables.csv:TSV", "header"),
    ("csv", "tables.csv", "header"),
    ("topics", "trec.topics", "topics"),
    ("ntcir", "trec.ntcir", "text"),
    ("prels", "trec.prels", "text"),
    ("trec-subtopics", "trec.subtopics", "text"),
    ("trec", "trec.trec", "text"),
)
"""Formats, the most particular first; ``FORMAT`` is one's name in a module that has no other.

A file that is not listed works too, but is found later and slower: list what you keep.
"""

_CONTROL = rb"[\x00-\x08\x0e-\x1f]"
_SEPARATORS = re.compile(rb"[,;|\t]")
_LABELS = re.compile(rb"\b(?:qid|query):|^\S+[ \t]+\d+:")
_NUMBERS = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[ \t]*(?:\r?\n|$)")
_RANKLIB = re.compile(rb"\S+\t0\t[-+.\dEe]+[ \t]*\r?\n")
_JSON = re.compile(rb"\{|\[\s*[\[{\"\]\n]")  # what no id begins with; [7] could be one
_HEAD, _LONG = 1 << 16, 1 << 23  # bytes of a beginning
_LOOKED_AT = 1 << 12


def __getattr__(name: str) -> Any:
    if name == "FORMATS":
        return (*(_loaded(module) for _, module, _ in TABLE), *_unlisted())
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


@cache
def _loaded(module: str) -> Format:
    path, _, name = module.partition(":")
    found: Format = getattr(import_module(f"rankgate.data.formats.{path}"), name or "FORMAT")
    return found


@cache
def _unlisted() -> tuple[Format, ...]:
    """Formats of files in this folder that `TABLE` does not list yet, the last to be tried.

    Finding them loads every file of the folder, so they are looked for only where no listed
    format has the name or fits.
    """
    from rankgate.data.formats.format import Format

    listed = {known for known, _, _ in TABLE}
    found = declared_in("rankgate.data.formats", Format)
    return tuple(each for each in found if each.name not in listed)


def of_plugins() -> Added[Format]:
    """The formats that plug-ins add; they are tried where no other format fits."""
    from rankgate.data.formats.format import Format

    taken = {known: None for known, _, _ in TABLE} | {each.name: each for each in _unlisted()}
    return added("rankgate.formats", Format, taken)


def named(name: str) -> Format:
    """The format of a name; upper and lower case, ``_`` and ``-`` are one.

    Raises:
        UsageError: no format has it.
    """
    asked = name.strip().lower().replace("_", "-")
    for known, module, _ in TABLE:
        if known == asked:
            return _loaded(module)
    for each in _unlisted():
        if each.name == asked:
            return each
    more = of_plugins()
    if asked in more.by_name:
        return more.by_name[asked]
    from difflib import get_close_matches

    names = [*(known for known, _, _ in TABLE), *more.by_name]
    near = get_close_matches(asked, names, 3) or names
    raise more.unknown(
        f"unknown format '{name}'; did you mean {' or '.join(near)}?", "unknown-format"
    )


def detected(place: InputFile) -> tuple[Format, str]:
    """The first format that a file's beginning fits, with the reason.

    Raises:
        InputError: JSON that no format knows; an archive and other things that none is; a file
            that cannot be opened.
    """
    if is_folder(place):
        return _folder(place)
    head = _head(place)
    if problem := unsupported.problem(head):
        raise InputError(problem, source=place.label, code="unknown-format")
    name = place.path.name if place.path else ""
    begins = _beginnings(head)
    for found in _possible(begins):
        if reason := found.sniff(head, name):
            return found, reason
    if begins[0] == "json":
        raise unsupported.unknown_json(place, head)
    if (
        "binary" not in begins
        and "header" in begins
        and re.search(rb"[,;]", head.split(b"\n", 1)[0])
    ):
        return named("csv"), "commas or semicolons are in the first line, and nothing else fits"
    return named("trec"), "nothing else fits"


def _possible(begins: Sequence[str]) -> Iterator[Format]:
    """The formats of files that begin so, loaded one after another."""
    for kind in begins:
        yield from (_loaded(module) for _, module, kinds in TABLE if kind in kinds.split())
    yield from _unlisted()
    yield from of_plugins().by_name.values()


def _folder(place: InputFile) -> tuple[Format, str]:
    """The format that is a folder, or that of the part files in it."""
    from rankgate.data.formats import beir, part_tables

    if place.path and (reason := beir.holds(place.path)):
        return beir.FORMAT, reason
    parts = part_files(place)
    first, reason = detected(parts[0])
    for part in parts[1:]:
        other = detected(part)[0]
        if other.name != first.name:
            problem = (
                f"{other.name}, and {first.name} in {parts[0].label}: files of one folder are one "
                "table and have one format; name one file."
            )
            raise InputError(problem, source=part.label, code="mixed-formats")
    words = "1 file" if len(parts) == 1 else f"{len(parts)} files"
    return part_tables.in_parts(first, place), f"a folder of {words}; {reason}"


def _head(place: InputFile) -> bytes:
    """The first bytes; more of them where the first line names very many columns."""
    head = place.head()
    long = b"\n" not in head and len(head) == _HEAD and "header" in _beginnings(head)
    return place.head(_LONG) if long else head


def _beginnings(head: bytes) -> tuple[str, ...]:
    """How a file begins, the most particular first.

    ``binary``: with bytes that text seldom has; ``json``: with a brace or a bracket; ``labels``: a
    ``qid:`` or ``query:`` is in the first lines, or ``1:`` begins the second word; ``numbers``: a
    number is all that the first line holds, or a query, 0 and a score; ``comma``: a comma is in the
    first line; ``header``: a comma, semicolon, bar or tab is; ``topics``: a sign begins it, or a
    tab is in the first line; ``text``: anything else.
    """
    text = head.removeprefix(BOM).lstrip()
    if b"\x00" in head[:_LOOKED_AT] or text.startswith((b"PAR1", b"ARROW1")):
        return ("binary",)
    if _JSON.match(text):
        return ("json",)
    first = text.split(b"\n", 1)[0]
    found = {
        "binary": bool(re.search(_CONTROL, head[:_LOOKED_AT])),
        "json": text.startswith(b"["),
        "labels": bool(_LABELS.search(text[:_LOOKED_AT])),
        "numbers": bool(_NUMBERS.match(text) or _RANKLIB.match(text)),
        "comma": b"," in first,
        "header": bool(_SEPARATORS.search(first)),
        "topics": not text[:1].isalnum() or b"\t" in first,
        "text": True,
    }
    return tuple(kind for kind, there in found.items() if there)


def opened(path: str | Path | InputFile, from_: str | None) -> tuple[InputFile, Format | None]:
    """The source of a path, and the format if ``from_`` or ``NAME:PATH`` names one."""
    if isinstance(path, InputFile):
        return _named_for(path, from_)
    name, rest = prefixed(path)
    asked = from_ or name
    return _named_for(source(rest), asked)


def _named_for(place: InputFile, name: str | None) -> tuple[InputFile, Format | None]:
    """A place and the format of a name, of part files where the place is a folder of such."""
    if name is None:
        return place, None
    form = named(name)
    if form.name == "beir" or not is_folder(place):
        return place, form
    from rankgate.data.formats import part_tables

    return place, part_tables.in_parts(form, place)


def prefixed(path: str | Path) -> tuple[str | None, str | Path]:
    """The name of a format and the path of ``NAME:PATH``; no name and the path of any other."""
    before, colon, rest = str(path).partition(":")
    if not (colon and rest) or Path(path).exists():
        return None, path
    if any(before == known for known, _, _ in TABLE) or _of_a_plugin(before, rest):
        return before, rest
    return None, path


def _of_a_plugin(name: str, path: str) -> bool:
    """Whether a word is the name of a plug-in's format; asked only where a file is behind it."""
    return Path(path).is_file() and name in of_plugins().by_name


def without_format(path: str) -> str:
    """The path of ``NAME:PATH``; any other path as it is."""
    return str(prefixed(path)[1])
