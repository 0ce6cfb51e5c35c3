"""Results that were written as JSON, read again: files, or folders of them."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.comparison.from_json import comparisons_of
from rankgate.errors import InputError, UsageError
from rankgate.reports.shown_texts import texts_of_documents, texts_of_queries

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from rankgate.comparison.compare import Comparisons

VERSION = 1
"""The form of results that is read."""

KINDS: Mapping[str, frozenset[str]] = {
    "verdict": frozenset({"verdict", "rules", "looks"}),
    "comparison": frozenset({"comparisons"}),
    "admission": frozenset({"demands", "judge", "people"}),
    "evaluation": frozenset({"convention", "runs", "schema_version"}),
    "scorecard": frozenset({"figures", "differences"}),
    "stages": frozenset({"ceilings", "moves"}),
    "tradeoff": frozenset({"front", "higher_is_better"}),
    "blindspots": frozenset({"profile", "unseen"}),
    "holes": frozenset({"judge_next"}),
    "planned": frozenset({"curves", "measured"}),
    "ranks": frozenset({"systems", "judged", "grades"}),
    "agreement": frozenset({"coefficients", "alarms"}),
    "resolution": frozenset({"judgments", "unresolved"}),
    "reusability": frozenset({"means", "runs", "depth"}),
    "pool": frozenset({"documents", "made_by"}),
    "explanation": frozenset({"query_id", "rows", "ideal"}),
    "reconciliation": frozenset({"groups", "refusals"}),
    "bridge": frozenset({"begin", "end", "steps"}),
    "finding": frozenset({"reported", "fits"}),
    "advice": frozenset({"choices", "cautions"}),
    "split": frozenset({"folds"}),
    "validation": frozenset({"problems", "valid"}),
    "description": frozenset({"files", "overlaps"}),
    "baseline": frozenset({"run", "noise", "queries"}),
}
"""Kinds of results in the order of reports, by what only their JSON has."""

_BEGINS = re.compile(rb'\s*\{\s*"schema_version"\s*:')
_HEAD = 200


@dataclass(frozen=True)
class Result:
    """One result.

    Attributes:
        path: of its file.
        kind: one of `KINDS`, or nothing.
        told: what it says.
        sha256: of its file.
        comparisons: the tables of a comparison; None of other kinds.
    """

    path: Path
    kind: str
    told: Mapping[str, Any]
    sha256: str
    comparisons: Comparisons | None = None

    @property
    def name(self) -> str:
        """Of its file, without the ending."""
        return self.path.stem


@dataclass(frozen=True)
class Results:
    """What a report is made of.

    Attributes:
        place: the file or folder, as it was named.
        results: in the order of reports.
        passed_over: files of folders that are no results.
        queries: texts of queries, by id.
        documents: ``query_id`` (null: for every query), ``doc_id``, ``text``: of those shown.
        again: the words that make the report again.
    """

    place: str
    results: tuple[Result, ...]
    passed_over: tuple[str, ...]
    queries: Mapping[str, str]
    documents: pl.DataFrame
    again: str


def are_results(paths: Sequence[str]) -> bool:
    """Whether all of these are results or folders."""
    return all(Path(path).is_dir() or _is_result(Path(path)) for path in paths)


def results(
    paths: Sequence[str],
    *,
    queries: str | None = None,
    documents: str | None = None,
    again: str = "",
) -> Results:
    """Read results.

    Args:
        paths: files, or folders whose JSON files are looked at.
        queries: a file with texts of queries.
        documents: a file with fields of documents.
        again: the words that make the report again.

    Raises:
        InputError: a file that cannot be read, or was damaged.
        UsageError: there is no result.
    """
    files, passed = _files(paths)
    if not files:
        raise UsageError(
            f"{paths[0]}: no result in it; write some with --format json -o.",
            code="no-such-content",
        )
    found = sorted(map(_read, files), key=lambda one: (_order(one.kind), one.name))
    lists = [
        each.lists.select("query_id", "doc_id")
        for one in found
        if one.comparisons
        for each in one.comparisons.comparisons
    ]
    return Results(
        paths[0] if len(paths) == 1 else "",
        tuple(found),
        tuple(passed),
        texts_of_queries(queries),
        texts_of_documents(documents, lists),
        again,
    )


def _files(paths: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Results among the paths and in the folders, and the files of folders that are none."""
    files: list[Path] = []
    passed: list[str] = []
    for path in map(Path, paths):
        if not path.is_dir():
            files.append(path)
            continue
        for each in sorted(path.iterdir()):
            if each.suffix == ".json" and _is_result(each):
                files.append(each)
            elif each.is_file() and not each.name.startswith("."):
                passed.append(each.name)
    return files, passed


def _is_result(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return _BEGINS.match(file.read(_HEAD)) is not None
    except OSError:
        return False


def held(raw: bytes, name: str = "") -> Results:
    """What one result is reported from, whose JSON is at hand.

    Args:
        raw: its JSON.
        name: what it is called; without it, as its kind.
    """
    told = _result(raw, Path(f"{name}.json"))
    told = told if name else replace(told, path=Path(f"{told.kind or 'result'}.json"))
    return Results("", (told,), (), texts_of_queries(None), texts_of_documents(None, []), "")


def _read(path: Path) -> Result:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}.", source=str(path), code="cannot-read"
        ) from None
    return _result(raw, path)


def _result(raw: bytes, path: Path) -> Result:
    label = str(path)
    try:
        told = json.loads(raw)
    except (ValueError, RecursionError):
        raise InputError(
            "no whole JSON; write the result anew.", source=label, code="invalid-json"
        ) from None
    if told.get("schema_version") != VERSION:
        problem = f"a result of version {told.get('schema_version')!r}, where {VERSION} is read."
        raise InputError(problem, source=label, code="wrong-document")
    kind = kind_of(told)
    comparisons = comparisons_of(told, label) if kind == "comparison" else None
    return Result(path, kind, told, hashlib.sha256(raw).hexdigest(), comparisons)


def kind_of(told: Mapping[str, Any]) -> str:
    """The kind of a result, by what it has; nothing where none fits."""
    return next((kind for kind, keys in _BY_SIZE if keys <= told.keys()), "")


_BY_SIZE = sorted(KINDS.items(), key=lambda each: each[0] == "evaluation")  # the least particular


def _order(kind: str) -> int:
    return list(KINDS).index(kind) if kind else len(KINDS)
