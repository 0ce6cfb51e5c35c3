"""Find problems in files of judgments and runs.

The result of ``validate`` (files and findings) and the list of all checks of
``rankgate validate`` come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.document_model import Entries, Entry, make_printable
from rankgate.core.present.layout import Sentence, View, sentences
from rankgate.core.present.number_formats import count_noun
from rankgate.core.progress import step
from rankgate.data.column_map import map_columns, source_label
from rankgate.data.files.checks import CHECKS, SEVERITIES, Needs, Severity
from rankgate.data.files.checks.check_declarations import GoldenSet, RawQueries, ScoredRun
from rankgate.data.files.checks.open_file import open_subject, parse_input_kind
from rankgate.data.qrels import parse_scale

if TYPE_CHECKING:
    from rankgate.data.files.checks import Check, Found
    from rankgate.data.files.checks.check_declarations import Subject
    from rankgate.data.input_types import ColumnsLike, FileLike
    from rankgate.data.qrels import Scale
    from rankgate.data.streams.source import InputKind
    from rankgate.data.table_rows import RowLocation
    from rankgate.data.unchecked_rows import Outline, RawQrels


PROBLEMS = Columns(
    "One row per problem.",
    Column("check", pl.String, "the name of the check"),
    Column("severity", pl.String, "error, which makes the file invalid, warning or note"),
    Column("file", pl.String, "the file that it is in"),
    Column("line", pl.Int64, "its first line; null where the data have no lines"),
    Column("what", pl.String, "the problem"),
    Column("count", pl.Int64, "the number of affected rows, queries or ids"),
    Column("example", pl.String, "an example of it"),
    Column("fix", pl.String, "how to repair it"),
)


@dataclass(frozen=True)
class Problem:
    """One problem of a file.

    Attributes:
        check: the name of the check; `checks` has them all.
        severity: ``error``, ``warning`` or ``note``.
        file: the file.
        line: the first line; None if there is no line.
        what: the message with the figures.
        count: the number of affected rows, queries or ids.
        example: one of them.
        fix: the remedy.
    """

    check: str
    severity: Severity
    file: str
    line: int | None
    what: str
    count: int
    example: str
    fix: str

    @property
    def location(self) -> str:
        """The file, and the line if there is one."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True)
class CheckedFile:
    """A file that was checked.

    Attributes:
        file: its name.
        format: the format that it was read as; ``?`` if unknown.
        reason: why.
        judgments: the number of rows of judgments.
        ranked: the number of rows of runs.
    """

    file: str
    format: str
    reason: str
    judgments: int
    ranked: int

    @property
    def has_format(self) -> bool:
        """True if it was read from a file in a format."""
        return self.format not in {"?", "memory"}


_FILE_FACTS = (
    Sentence("read as {format}", "has_format"),
    Sentence("{judgments:n judgment}", "judgments"),
    Sentence("{ranked:n ranked document}", "ranked"),
)


def _list_problems(result: Validation) -> Iterator[Entries]:
    """The problems of each file."""
    files = [checked_file.file for checked_file in result.files]
    for label in dict.fromkeys([*files, *(problem.file for problem in result.problems)]):
        checked_file = next((file for file in result.files if file.file == label), None)
        entries = [_entry(problem) for problem in result.problems if problem.file == label]
        facts = sentences(_FILE_FACTS, checked_file) if checked_file else []
        heading = ": ".join(filter(None, (make_printable(label), ", ".join(facts))))
        yield Entries(tuple(entries or [Entry("", ("no problems found",))]), heading)


def _entry(problem: Problem) -> Entry:
    first = "".join(sentences((Sentence("line {line:d}: ", "line"), "{what} [{check}]"), problem))
    further = (Sentence("example: {example}", "example"), Sentence("fix: {fix}", "fix"))
    return Entry(problem.severity, (first, *sentences(further, problem)))


@dataclass(frozen=True)
class Validation(Result):
    """The problems found in some files.

    Attributes:
        files: those that were looked at, the judgments that they were compared with last.
        problems: the problems, file by file, errors first.
    """

    kind = "validation"
    SCHEMAS: ClassVar = {"problems": PROBLEMS}
    DERIVED: ClassVar[tuple[str, ...]] = ("valid", "counts")
    label = "Errors and warnings in files"
    layout = (_list_problems,)
    csv_table = "problems"
    csv_columns: ClassVar = {
        "severity": "severity",
        "check": "check",
        "where": "location",
        "what": "what",
        "example": "example",
        "fix": "fix",
    }

    files: tuple[CheckedFile, ...]
    problems: tuple[Problem, ...]

    def __len__(self) -> int:
        """The number of problems."""
        return len(self.problems)

    def __bool__(self) -> bool:
        """True always, even if there are no problems."""
        return True

    @property
    def valid(self) -> bool:
        """True if there is no error."""
        return not self.counts["error"]

    @property
    def counts(self) -> dict[Severity, int]:
        """The number of problems of each severity."""
        severities = [problem.severity for problem in self.problems]
        return {severity: severities.count(severity) for severity in SEVERITIES}

    @property
    def headline(self) -> str:
        """The numbers of errors, warnings and notes."""
        counts = [count_noun(count, severity) for severity, count in self.counts.items() if count]
        return ", ".join(counts) or "no errors, warnings or notes"


@dataclass(frozen=True)
class CheckDetails:
    """A check as help and documentation show it.

    Attributes:
        name: as findings name it.
        severity: ``error``, ``warning`` or ``note``.
        needs: the data that it reads.
        title: the problem that it finds.
    """

    name: str
    severity: Severity
    needs: Needs
    title: str


@dataclass(frozen=True)
class Checklist(Result):
    """Every check that there is.

    Attributes:
        checks: the details of each, in the order in which they are done.
    """

    kind = "checklist"
    main_table = "checks"
    layout = (
        View(
            "checks",
            cells=("name", "severity", "title"),
            headers={"name": "check", "title": "finds"},
            prose=True,
        ),
    )
    csv_table = "checks"
    csv_columns: ClassVar = {"check": "name", "severity": "severity", "looks at": "needs", "finds": "title"}
    headline_text = "rankgate validate looks for {checks:n problem}"

    checks: tuple[CheckDetails, ...]

    def __len__(self) -> int:
        """The number of checks."""
        return len(self.checks)


def make_checklist() -> Checklist:
    """Every check that there is."""
    details = (CheckDetails(check.name, check.severity, check.needs, check.title) for check in CHECKS)
    return Checklist(tuple(details))


def validate(
    files: FileLike | Sequence[FileLike],
    against: FileLike | None = None,
    *,
    from_: str | None = None,
    columns: ColumnsLike | None = None,
    grades: Mapping[str, float] | None = None,
    as_: str | None = None,
    scale: str | None = None,
    golden: bool = False,
    today: str | None = None,
) -> Validation:
    """Check files of judgments, runs and ratings: errors and warnings with lines.

    Args:
        files: a path (``-`` is standard input, ``NAME:PATH`` names the format), judgments, a run,
            a frame; or a list of these.
        against: judgments to check runs or query files against: do queries and documents match?
        from_: the format of the files; found by looking into them if not given.
        columns: the columns of files that have no usual name, as in
            query=search_term,doc=sku,grade=final_rating; grades of several raters side by side are
            grade=ann+bob or grade=rater_*.
        grades: the grade of each label, where judgments hold labels, as in Exact=3,Partial=1.
        as_: ``qrels`` or ``run``, where a file could be either.
        scale: the grades that are possible: ``0..3``, ``0,1,10,100``, or a name.
        golden: check the judgments as a golden set too, by the other files: texts of queries,
            documents, ratings, runs.
        today: the day, for the age of judgments; as 2026-01-31.

    Raises:
        UsageError: no file, or an unknown format, part or scale; no judgments for a golden set.
            Problems of a file are in the result.

    >>> found = validate({"7": {"a": 1.0, "b": 1.0}}, {"7": {"a": 100, "b": 0}}, as_="run")
    >>> [(each.severity, each.check) for each in found.problems], found.valid
    ([('warning', 'all-tied'), ('note', 'ties'), ('warning', 'huge-grade')], True)
    """
    inputs: list[Any] = list(files) if isinstance(files, list | tuple) else [files]
    inputs = map_columns(inputs, columns, grades=grades)
    if not inputs:
        raise UsageError("no file to check; give at least one.", code="missing-input")
    input_kind = parse_input_kind(as_)
    graded_by = parse_scale(scale) if scale else None
    judgment_files = [] if against is None else [_read_judgments(against, graded_by)]
    judged = judgment_files[0].judged if judgment_files else None
    reading = (from_, input_kind, graded_by)
    seen_files = [_check_file(file, reading, judged, keep=golden) for file in inputs]
    files_ = (*seen_files, *judgment_files)
    runs = [run for file in seen_files for run in file.runs]
    run_problems = _run_checks_for("runs", runs, "the runs", None) if len(runs) > 1 else []
    problems = [problem for file in seen_files for problem in file.problems]
    golden_problems = _check_golden_set(files_, today) if golden else []
    return Validation(
        tuple(file.looked for file in files_),
        (
            *problems,
            *run_problems,
            *(problem for file in judgment_files for problem in file.problems),
            *golden_problems,
        ),
    )


@dataclass(frozen=True)
class _SeenFile:
    """Check one file, and keep the facts that other files are compared with."""

    looked: CheckedFile
    problems: tuple[Problem, ...]
    judged: RawQrels | None
    runs: tuple[Outline, ...]
    subject: Subject | None  # all its rows, where a golden set needs them


def _check_golden_set(files: Sequence[_SeenFile], today: str | None) -> list[Problem]:
    """The findings about the judgments with the texts, ratings and runs of all files.

    Raises:
        UsageError: no file has judgments.
    """
    sources = [(file.judged, file.looked.file) for file in files if file.judged is not None]
    if not sources:
        raise UsageError(
            "a golden set has judgments, and no file has any; name them first: rankgate validate --golden "
            "qrels.txt queries.tsv.",
            code="no-judgments",
        )
    judged, label = sources[0]
    now = datetime.fromisoformat(today).replace(tzinfo=UTC) if today else datetime.now(UTC)
    golden = GoldenSet.from_subjects(judged, [file.subject for file in files if file.subject], now)
    return _run_checks_for("golden", golden, label, judged.place)


def _read_judgments(file: FileLike, scale: Scale | None) -> _SeenFile:
    """Return the judgments to compare with; raise an error if there are none."""
    seen_file = _check_file(file, (None, "qrels" if isinstance(file, dict) else None, scale), None)
    if seen_file.judged is not None or any(problem.check == "unreadable" for problem in seen_file.problems):
        return seen_file
    error = InputError("it has no judgments to compare the others with; give judgments.", code="no-judgments")
    problems = _run_checks_for("failure", error, seen_file.looked.file, None)
    return replace(seen_file, problems=(*problems, *seen_file.problems))


def _check_file(
    file: FileLike,
    reading: tuple[str | None, InputKind | None, Scale | None],
    against: RawQrels | None,
    *,
    keep: bool = False,
) -> _SeenFile:
    """Read one file and run the checks."""
    step(source_label(file))
    checked_file, failure = open_subject(file, *reading)
    problems = list(_run_checks(checked_file, against))
    if failure and not any(problem.severity == "error" for problem in problems):
        problems += _run_checks_for("failure", failure, checked_file.label, None)
    judgments = len(checked_file.judged.table) if checked_file.judged else 0
    ranked = sum(len(run.table) for run in checked_file.ranked)
    return _SeenFile(
        CheckedFile(checked_file.label, checked_file.format, checked_file.reason, judgments, ranked),
        tuple(sorted(problems, key=lambda problem: SEVERITIES.index(problem.severity))),
        checked_file.judged,
        tuple(run.outline for run in checked_file.ranked),
        checked_file if keep else None,
    )


def _run_checks(checked_file: Subject, against: RawQrels | None) -> Iterator[Problem]:
    """The findings of all checks for one file."""
    label, judged, contents = checked_file.label, checked_file.judged, checked_file.contents
    yield from _run_checks_for("bytes", checked_file.bytes, label, None)
    if contents:
        yield from _run_checks_for("contents", contents, label, None)
    if judged:
        yield from _run_checks_for("qrels", judged, label, judged.place)
    if contents and contents.ratings:
        yield from _run_checks_for("ratings", contents.ratings, label, contents.ratings.place)
    qrels = against or judged
    for run in checked_file.ranked:
        yield from _run_checks_for("run", run, label, run.place)
        if qrels and len(run.table) and len(qrels.graded):
            yield from _run_checks_for("both", ScoredRun(qrels, run), label, run.place)
    if contents and contents.queries is not None and "text" in contents.queries.columns:
        yield from _run_checks_for("texts", contents.queries, label, None)
    if contents and contents.queries is not None and against and not checked_file.ranked:
        query_file = RawQueries(against, contents.queries["query_id"])
        yield from _run_checks_for("queries", query_file, label, None)


def _run_checks_for(
    needs: Needs, subject_part: object, label: str, location: RowLocation | None
) -> list[Problem]:
    """The findings of all checks for this part of a file."""
    problems = []
    for check in CHECKS:
        if check.needs == needs:
            problems += [
                _make_problem(check, finding, label, location) for finding in check.find(subject_part)
            ]
    return problems


def _make_problem(check: Check, finding: Found, label: str, location: RowLocation | None) -> Problem:
    """The problem for a finding, with its line; without lines the example includes the row."""
    line, example = finding.line, finding.example
    if location and finding.row is not None:
        line = location.line(finding.row)
        if line is None:
            example = f"{example} (row {finding.row + 1:,})".lstrip()
    severity = finding.severity or check.severity
    file_label = location.file(finding.row) if location and finding.row is not None else label
    return Problem(check.name, severity, file_label, line, finding.what, finding.count, example, finding.fix)
