"""The verb ``doctor``."""

from __future__ import annotations

from pathlib import Path

from rankgate.interface.cli.doctor.doctor_report import DoctorReport
from rankgate.interface.cli.doctor.machine import check_machine
from rankgate.interface.cli.doctor.project import check_project
from rankgate.interface.cli.doctor.team import check_practices


def doctor(folder: Path, team: str | None = None) -> DoctorReport:
    """Look at the installation and at the project of a folder.

    Args:
        folder: of the project.
        team: startup, mid-sized or enterprise, to compare evaluation with what such a team can
            afford; not compared if not given.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [finding.words for finding in doctor(Path(folder)).findings if finding.name == "policy"]
    ['there is no rankgate.toml']
    """
    policy, findings = check_project(folder)
    advice = tuple(check_practices(team, folder, policy)) if team else ()
    return DoctorReport((*check_machine(), *findings, *advice))
