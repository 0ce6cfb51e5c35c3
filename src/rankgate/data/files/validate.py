"""Find problems in files of judgments and runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.progress import step
from rankgate.data.column_map import label_of, mapped
from rankgate.data.files.checks import CHECKS, SEVERITIES
from rankgate.data.files.checks.opening import part_of, subject
from rankgate.data.files.checks.subject import Both, RawQueries
from rankgate.data.files.validation import Looked, Problem, Validation
from rankgate.data.scales import scale_of

if TYPE_CHECKING:
    from rankgate.data.files.checks import Check, Found, Needs
    from rankgate.data.files.checks.subject import Outline, RawQrels, Subject
    from rankgate.data.inputs import ColumnsLike, FileLike
    from rankgate.data.place import Place
    from rankgate.data.qrels import Scale
    from rankgate.data.rows import Part


def validate(
    files: FileLike | Sequence[FileLike],
    against: FileLike | None = None,
    *,
    from_: str | None = None,
    columns: ColumnsLike | None = None,
    as_: str | None = None,
    scale: str | None = None,
) -> Validation:
    """Look for everything that is wrong with some files.

    Args:
        files: a path (``-`` is standard input, ``NAME:PATH`` names the format), judgments, a run,
            a frame; or a list of these.
        against: judgments to check runs or query files against: do queries and documents match?
        from_: the format of the files; found by looking into them if not given.
        columns: the columns of CSV and TSV files that have no usual name, as in
            query=search_term,doc=sku,grade=final_rating; grades of several raters side by side are
            grade=ann+bob or grade=rater_*.
        as_: ``qrels`` or ``run``, where a file could be either.
        scale: the grades that are possible: ``0..3``, ``0,1,10,100``, or a name.

    Raises:
        UsageError: no file, no such format, part or scale; what is wrong with a file is a problem
            in the result.

    >>> found = validate({"7": {"a": 1.0, "b": 1.0}}, {"7": {"a": 100, "b": 0}}, as_="run")
    >>> [(each.severity, each.check) for each in found.problems], found.valid
    ([('warning', 'all-tied'), ('note', 'ties'), ('warning', 'huge-grade')], True)
    """
    several: list[Any] = list(files) if isinstance(files, list | tuple) else [files]
    several = mapped(several, columns)
    if not several:
        raise UsageError("no file to look at; give at least one.", code="missing-input")
    part = part_of(as_)
    grades = scale_of(scale) if scale else None
    base = [] if against is None else [_held_against(against, grades)]
    judged = base[0].judged if base else None
    seen = [_seen(each, (from_, part, grades), judged) for each in several]
    files_ = (*seen, *base)
    runs = [run for each in seen for run in each.runs]
    across = _tried("runs", runs, "the runs", None) if len(runs) > 1 else []
    problems = [problem for each in seen for problem in each.problems]
    return Validation(
        tuple(each.looked for each in files_),
        (*problems, *across, *(problem for each in base for problem in each.problems)),
    )


@dataclass(frozen=True)
class _SeenFile:
    """Check one file, and keep what other files are compared with."""

    looked: Looked
    problems: tuple[Problem, ...]
    judged: RawQrels | None
    runs: tuple[Outline, ...]


def _held_against(given: FileLike, scale: Scale | None) -> _SeenFile:
    """Return the judgments to compare with; raise an error without any."""
    seen = _seen(given, (None, "qrels" if isinstance(given, dict) else None, scale), None)
    if seen.judged is not None or any(each.check == "unreadable" for each in seen.problems):
        return seen
    lack = InputError(
        "no judgments in it to hold the others against; give judgments.", code="no-judgments"
    )
    result = _tried("failure", lack, seen.looked.file, None)
    return replace(seen, problems=(*result, *seen.problems))


def _seen(
    given: FileLike,
    how: tuple[str | None, Part | None, Scale | None],
    against: RawQrels | None,
) -> _SeenFile:
    """Look at one file."""
    step(label_of(given))
    found, failure = subject(given, *how)
    problems = list(_checked(found, against))
    if failure and not any(each.severity == "error" for each in problems):
        problems += _tried("failure", failure, found.label, None)
    judgments = len(found.judged.table) if found.judged else 0
    ranked = sum(len(run.table) for run in found.ranked)
    return _SeenFile(
        Looked(found.label, found.format, found.reason, judgments, ranked),
        tuple(sorted(problems, key=lambda each: SEVERITIES.index(each.severity))),
        found.judged,
        tuple(run.outline for run in found.ranked),
    )


def _checked(found: Subject, against: RawQrels | None) -> Iterator[Problem]:
    """What all checks find in one file."""
    label, judged, contents = found.label, found.judged, found.contents
    yield from _tried("bytes", found.bytes, label, None)
    if contents:
        yield from _tried("contents", contents, label, None)
    if judged:
        yield from _tried("qrels", judged, label, judged.place)
    if contents and contents.ratings:
        yield from _tried("ratings", contents.ratings, label, contents.ratings.place)
    qrels = against or judged
    for run in found.ranked:
        yield from _tried("run", run, label, run.place)
        if qrels and len(run.table) and len(qrels.graded):
            yield from _tried("both", Both(qrels, run), label, run.place)
    if contents and contents.queries is not None and "text" in contents.queries.columns:
        yield from _tried("texts", contents.queries, label, None)
    if contents and contents.queries is not None and against and not found.ranked:
        asked = RawQueries(against, contents.queries["query_id"])
        yield from _tried("queries", asked, label, None)


def _tried(needs: Needs, given: object, label: str, place: Place | None) -> list[Problem]:
    """What the checks that need this find in it."""
    found = []
    for check in CHECKS:
        if check.needs == needs:
            found += [_problem(check, each, label, place) for each in check.find(given)]
    return found


def _problem(check: Check, found: Found, label: str, place: Place | None) -> Problem:
    """What was found, with its line; where a file has no lines the example has the row."""
    line, example = found.line, found.example
    if place and found.row is not None:
        line = place.line(found.row)
        if line is None:
            example = f"{example} (row {found.row + 1:,})".lstrip()
    severity = found.severity or check.severity
    file = place.file(found.row) if place and found.row is not None else label
    return Problem(check.name, severity, file, line, found.what, found.count, example, found.mend)
