"""Findings of ``doctor`` about the project: its file, what that names, its baselines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rankgate.core.errors import RankgateError
from rankgate.decisions.gating.policy import Policy, find_policy, read
from rankgate.interface.cli.configuration.settings import Settings, settings
from rankgate.interface.cli.doctor.doctor_report import DoctorFinding
from rankgate.measurement.metrics.names import parse_all
from rankgate.measurement.scoring.chosen import chosen_convention

_AREA = "project"
_BASELINES = Path("rankgate/baselines")


def check_project(folder: Path) -> tuple[Policy | None, list[DoctorFinding]]:
    """The policy of a folder, and everything about its files."""
    policy_path = find_policy(folder)
    if policy_path is None:
        message = "there is no rankgate.toml"
        return None, [DoctorFinding(_AREA, "policy", "missing", message, "rankgate init")]
    policy, findings = _check_policy(policy_path)
    findings += _check_settings(folder)
    findings += _check_baselines(folder)
    return policy, findings


def _check_policy(policy_path: Path) -> tuple[Policy | None, list[DoctorFinding]]:
    try:
        policy = read(policy_path)
    except RankgateError as error:
        remedy = "fix the line; rankgate policy lists the keys"
        return None, [DoctorFinding(_AREA, "policy", "wrong", str(error), remedy)]
    message = f"{policy_path}: {len(policy.rules)} rules"
    return policy, [DoctorFinding(_AREA, "policy", "works", message)]


def _check_settings(folder: Path) -> Iterator[DoctorFinding]:
    try:
        project_settings = settings(folder)
    except RankgateError as error:
        yield DoctorFinding(_AREA, "settings", "wrong", str(error), "fix the line")
        return
    yield from _check_defaults(project_settings)
    for name, path in project_settings.files.items():
        exists = "://" in path or Path(path).exists()
        yield DoctorFinding(
            _AREA,
            f"@{name}",
            "works" if exists else "wrong",
            path if exists else f"{project_settings.place(name)}: {path} is missing",
            "" if exists else "make the file, or correct its name",
        )


def _check_defaults(project_settings: Settings) -> Iterator[DoctorFinding]:
    """The names of metrics and of the convention, which later commands would refuse."""
    for key in ("metrics", "convention"):
        default = project_settings.defaults.get(key)
        if default is None:
            continue
        try:
            if key == "metrics":
                for name in default:
                    parse_all(name)
            else:
                chosen_convention(default)
        except RankgateError as error:
            message = f"{project_settings.place(key)}: {error}"
            yield DoctorFinding(_AREA, key, "wrong", message, "correct the name")
        else:
            text = ", ".join(default) if isinstance(default, tuple) else str(default)
            yield DoctorFinding(_AREA, key, "works", text)


def _check_baselines(folder: Path) -> Iterator[DoctorFinding]:
    saved = sorted((folder / _BASELINES).glob("*.json"))
    if saved:
        names = ", ".join(path.stem for path in saved)
        yield DoctorFinding(_AREA, "baselines", "works", names)
