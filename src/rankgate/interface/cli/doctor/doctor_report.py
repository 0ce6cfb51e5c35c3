"""The findings of ``doctor``."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from rankgate.core.frozen import dataclass
from rankgate.core.present.document import Document as Made
from rankgate.core.present.document import PlainRows, Section, Table
from rankgate.core.present.grid import Grid, make_printable
from rankgate.core.present.result import Notice, Result

if TYPE_CHECKING:
    from rankgate.core.present.document import Document

Status = Literal["works", "missing", "wrong", "advice"]

_STATUS_LABELS = {
    "works": "✔ works",
    "missing": "– missing",
    "wrong": "✘ wrong",
    "advice": "! advice",
}
_TEXT_COLUMNS = frozenset(range(3))


@dataclass(frozen=True)
class DoctorFinding:
    """One thing that was looked at.

    Attributes:
        area: installation, extras, programs, project, or team.
        name: what it is.
        status: whether it works, is missing (some commands would fail), is wrong (what is there
            fails), or is advice.
        words: what was found.
        mend: how to fix it; empty where nothing is to do.
    """

    area: str
    name: str
    status: Status
    words: str
    mend: str = ""


@dataclass(frozen=True)
class DoctorReport(Result):
    """The installation and the project.

    Attributes:
        findings: what was looked at, area by area.
    """

    kind: ClassVar[str] = "doctor_report"
    label: ClassVar[str] = "Installation and project"
    document_from: ClassVar[str] = "rankgate.interface.cli.doctor.doctor_report:document"

    findings: tuple[DoctorFinding, ...]

    @property
    def wrong(self) -> tuple[DoctorFinding, ...]:
        """The findings about what is there and fails."""
        return tuple(finding for finding in self.findings if finding.status == "wrong")

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Warnings about what is there and fails."""
        return tuple(Notice("doctor", finding.words, finding.name) for finding in self.wrong)


def document(result: DoctorReport) -> Document:
    """A table for each area."""
    areas = list(dict.fromkeys(finding.area for finding in result.findings))
    sections = []
    for area in areas:
        rows = tuple(
            (
                _STATUS_LABELS[finding.status],
                make_printable(finding.name),
                make_printable(_finding_text(finding)),
            )
            for finding in result.findings
            if finding.area == area
        )
        grid = Grid(("", "what", "found"), rows, _TEXT_COLUMNS)
        sections.append(Section(area, area.capitalize(), (Table("", grid, prose=True),)))
    wrong, missing = len(result.wrong), sum(e.status == "missing" for e in result.findings)
    advice = sum(finding.status == "advice" for finding in result.findings)
    title = f"{wrong or 'Nothing'} wrong, {missing or 'nothing'} missing"
    title += f", {advice} to improve" if advice else ""
    rows_of_all = [(e.area, e.name, e.status, e.words, e.mend) for e in result.findings]
    columns = ("area", "name", "status", "found", "to fix it")
    return Made(title, sections=tuple(sections), rows=PlainRows(columns, rows_of_all))


def _finding_text(finding: DoctorFinding) -> str:
    """The finding with its fix."""
    return f"{finding.words}; to fix it: {finding.mend}" if finding.mend else finding.words
