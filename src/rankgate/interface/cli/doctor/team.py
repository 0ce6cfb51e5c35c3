"""Practices that evaluation should have by the size of its team, and those that projects lack.

Small teams start simple and automate early; mid-sized companies invest in judgments, several
metrics and experiments; enterprises combine offline metrics, experiments and feedback, gate in CI,
and look at diversity and fairness too. See docs/team-sizes.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass
from rankgate.interface.cli.doctor.doctor_report import DoctorFinding

if TYPE_CHECKING:
    from rankgate.decisions.gating.policy import Policy

TEAMS = {
    "startup": "a small team with few resources",
    "mid-sized": "a company that can pay for judgments and experiments",
    "enterprise": "an organisation with people for evaluation alone",
}
"""The sizes of teams, each with what the smaller ones have."""

_CI_FILES = (".github/workflows/*.y*ml", ".gitlab-ci.yml", ".pre-commit-config.yaml", "Jenkinsfile")
_BEYOND_ACCURACY_PREFIXES = (
    "coverage",
    "gini",
    "ild",
    "novelty",
    "alpha",
    "awrf",
    "expo",
    "entropy",
    "aplt",
)
_MIN_METRICS = 2


@dataclass(frozen=True)
class Practice:
    """One thing that a team of some size can afford.

    Attributes:
        name: what it is.
        least: the smallest team that should have it.
        seen: from the folder and its policy what speaks for it; empty if nothing does.
        mend: how to begin.
    """

    name: str
    least: str
    seen: Callable[[Path, Policy | None], str]
    mend: str


def check_practices(team: str, folder: Path, policy: Policy | None) -> Iterator[DoctorFinding]:
    """Findings on the practices that a team can afford: those that a project has or lacks.

    Args:
        team: one of `TEAMS`.
        folder: of the project.
        policy: its policy; None without one.
    """
    sizes = list(TEAMS)
    for practice in PRACTICES:
        if sizes.index(practice.least) > sizes.index(team):
            continue
        sign = practice.seen(folder, policy)
        yield DoctorFinding(
            f"for {team}",
            practice.name,
            "works" if sign else "advice",
            sign or "nothing in the folder speaks for it",
            "" if sign else practice.mend,
        )


def _rules(policy: Policy | None) -> Mapping[str, str]:
    return {rule.id: rule.kind for rule in policy.rules} if policy else {}


def _gate_rules(folder: Path, policy: Policy | None) -> str:  # noqa: ARG001 - one signature for all
    return f"{len(policy.rules)} rules" if policy else ""


def _ci_file(folder: Path, policy: Policy | None) -> str:  # noqa: ARG001 - as above
    for pattern in _CI_FILES:
        for path in sorted(folder.glob(pattern)):
            if "rankgate" in path.read_text(encoding="utf-8", errors="replace"):
                return str(path.relative_to(folder))
    return ""


def _online_evidence(folder: Path, policy: Policy | None) -> str:
    kpis = [name for name, kind in _rules(policy).items() if kind.startswith("kpi")]
    if kpis:
        return f"rules on KPIs: {', '.join(kpis)}"
    return _first_file(folder, "*event*", "*click*", "*feedback*", "*survey*")


def _judging_evidence(folder: Path, policy: Policy | None) -> str:  # noqa: ARG001 - as above
    return _first_file(folder, "*ratings*", "*sheets*", "*guideline*", "pool.*", "*.db")


def _several_metrics(folder: Path, policy: Policy | None) -> str:  # noqa: ARG001 - as above
    metrics = policy.metrics if policy else ()
    return ", ".join(metrics) if len(metrics) >= _MIN_METRICS else ""


def _experiment_evidence(folder: Path, policy: Policy | None) -> str:  # noqa: ARG001 - as above
    return "the policy has an experiment" if policy and policy.experiment else ""


def _own_metrics(folder: Path, policy: Policy | None) -> str:  # noqa: ARG001 - as above
    from rankgate.measurement.metrics.names import of_plugins

    return ", ".join(of_plugins().by_name)


def _offline_and_online(folder: Path, policy: Policy | None) -> str:
    kinds = set(_rules(policy).values())
    has_both = any(kind.startswith("kpi") for kind in kinds) and any(
        not kind.startswith("kpi") for kind in kinds
    )
    return (
        "offline rules and KPIs in one policy"
        if has_both and _online_evidence(folder, policy)
        else ""
    )


def _ramp_steps(folder: Path, policy: Policy | None) -> str:  # noqa: ARG001 - as above
    return f"{len(policy.ramp)} steps" if policy and policy.ramp else ""


def _beyond_accuracy_metrics(folder: Path, policy: Policy | None) -> str:  # noqa: ARG001 - as above
    metrics = policy.metrics if policy else ()
    return ", ".join(m for m in metrics if m.lower().startswith(_BEYOND_ACCURACY_PREFIXES))


def _first_file(folder: Path, *patterns: str) -> str:
    paths = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    return str(paths[0].relative_to(folder)) if paths else ""


PRACTICES = (
    Practice("a gate with few metrics", "startup", _gate_rules, "rankgate init"),
    Practice(
        "evaluation on every change", "startup", _ci_file, "docs/guides/ci-gate.md: a job in CI"
    ),
    Practice(
        "feedback of users",
        "startup",
        _online_evidence,
        "keep clicks, and look at them: rankgate online kpi",
    ),
    Practice(
        "a process for judgments",
        "mid-sized",
        _judging_evidence,
        "docs/guides/judging.md: a pool, a guideline, two raters, agreement",
    ),
    Practice(
        "several metrics",
        "mid-sized",
        _several_metrics,
        "rankgate advise names those that see more",
    ),
    Practice(
        "A/B tests next to offline metrics",
        "mid-sized",
        _experiment_evidence,
        "docs/experiments.md: [experiment] in the policy",
    ),
    Practice("metrics of your own domain", "mid-sized", _own_metrics, "docs/extend/metric.md"),
    Practice(
        "offline metrics, experiments and feedback together",
        "enterprise",
        _offline_and_online,
        "put rules on metrics and rules on KPIs into one policy",
    ),
    Practice("launches in steps", "enterprise", _ramp_steps, "docs/experiments.md: [[ramp]]"),
    Practice(
        "diversity and fairness",
        "enterprise",
        _beyond_accuracy_metrics,
        "docs/recommenders.md: Coverage, Gini, AWRF in [gate] metrics",
    ),
)
"""The practices that evaluation should have, the smallest team first."""
