"""What ``doctor`` looks at in the project: its file, what that names, its baselines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rankgate.core.errors import RankgateError
from rankgate.decisions.gating.policy import Policy, found, read
from rankgate.interface.cli.configuration.settings import Settings, settings
from rankgate.interface.cli.doctor.doctor_report import DoctorFinding
from rankgate.measurement.metrics.names import parse_all
from rankgate.measurement.scoring.chosen import chosen_convention

_AREA = "project"
_BASELINES = Path("rankgate/baselines")


def project(folder: Path) -> tuple[Policy | None, list[DoctorFinding]]:
    """The policy of a folder, and everything about its files."""
    place = found(folder)
    if place is None:
        words = "there is no rankgate.toml"
        return None, [DoctorFinding(_AREA, "policy", "missing", words, "rankgate init")]
    policy, findings = _policy(place)
    findings += _settings(folder)
    findings += _baselines(folder)
    return policy, findings


def _policy(place: Path) -> tuple[Policy | None, list[DoctorFinding]]:
    try:
        policy = read(place)
    except RankgateError as error:
        mend = "fix the line; rankgate policy lists the keys"
        return None, [DoctorFinding(_AREA, "policy", "wrong", str(error), mend)]
    words = f"{place}: {len(policy.rules)} rules"
    return policy, [DoctorFinding(_AREA, "policy", "works", words)]


def _settings(folder: Path) -> Iterator[DoctorFinding]:
    try:
        known = settings(folder)
    except RankgateError as error:
        yield DoctorFinding(_AREA, "settings", "wrong", str(error), "fix the line")
        return
    yield from _defaults(known)
    for name, path in known.files.items():
        there = "://" in path or Path(path).exists()
        yield DoctorFinding(
            _AREA,
            f"@{name}",
            "works" if there else "wrong",
            path if there else f"{known.place(name)}: {path} is missing",
            "" if there else "make the file, or correct its name",
        )


def _defaults(known: Settings) -> Iterator[DoctorFinding]:
    """The names of metrics and of the convention, which later commands would refuse."""
    for key in ("metrics", "convention"):
        given = known.defaults.get(key)
        if given is None:
            continue
        try:
            if key == "metrics":
                for name in given:
                    parse_all(name)
            else:
                chosen_convention(given)
        except RankgateError as error:
            words = f"{known.place(key)}: {error}"
            yield DoctorFinding(_AREA, key, "wrong", words, "correct the name")
        else:
            text = ", ".join(given) if isinstance(given, tuple) else str(given)
            yield DoctorFinding(_AREA, key, "works", text)


def _baselines(folder: Path) -> Iterator[DoctorFinding]:
    saved = sorted((folder / _BASELINES).glob("*.json"))
    if saved:
        names = ", ".join(each.stem for each in saved)
        yield DoctorFinding(_AREA, "baselines", "works", names)
