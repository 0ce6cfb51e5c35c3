"""What evaluation should have, by the size of its team, and what of it a project lacks.

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
_OF_LISTS = ("coverage", "gini", "ild", "novelty", "alpha", "awrf", "expo", "entropy", "aplt")
_FEW = 2


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


def shortfalls(team: str, folder: Path, policy: Policy | None) -> Iterator[DoctorFinding]:
    """What a project has of what its team can afford, and what it lacks.

    Args:
        team: one of `TEAMS`.
        folder: of the project.
        policy: its policy; None without one.
    """
    sizes = list(TEAMS)
    for each in PRACTICES:
        if sizes.index(each.least) > sizes.index(team):
            continue
        sign = each.seen(folder, policy)
        yield DoctorFinding(
            f"for {team}",
            each.name,
            "works" if sign else "advice",
            sign or "nothing in the folder speaks for it",
            "" if sign else each.mend,
        )


def _rules(policy: Policy | None) -> Mapping[str, str]:
    return {rule.id: rule.kind for rule in policy.rules} if policy else {}


def _gated(folder: Path, policy: Policy | None) -> str:  # noqa: ARG001 - one signature for all
    return f"{len(policy.rules)} rules" if policy else ""


def _in_ci(folder: Path, policy: Policy | None) -> str:  # noqa: ARG001 - as above
    for pattern in _CI_FILES:
        for path in sorted(folder.glob(pattern)):
            if "rankgate" in path.read_text(encoding="utf-8", errors="replace"):
                return str(path.relative_to(folder))
    return ""


def _logs(folder: Path, policy: Policy | None) -> str:
    kpis = [name for name, kind in _rules(policy).items() if kind.startswith("kpi")]
    if kpis:
        return f"rules on KPIs: {', '.join(kpis)}"
    return _file(folder, "*event*", "*click*", "*feedback*", "*survey*")


def _judgments(folder: Path, policy: Policy | None) -> str:  # noqa: ARG001 - as above
    return _file(folder, "*ratings*", "*sheets*", "*guideline*", "pool.*", "*.db")


def _several(folder: Path, policy: Policy | None) -> str:  # noqa: ARG001 - as above
    metrics = policy.metrics if policy else ()
    return ", ".join(metrics) if len(metrics) >= _FEW else ""


def _experiments(folder: Path, policy: Policy | None) -> str:  # noqa: ARG001 - as above
    return "the policy has an experiment" if policy and policy.experiment else ""


def _own_metrics(folder: Path, policy: Policy | None) -> str:  # noqa: ARG001 - as above
    from rankgate.measurement.metrics.names import of_plugins

    return ", ".join(of_plugins().by_name)


def _together(folder: Path, policy: Policy | None) -> str:
    kinds = set(_rules(policy).values())
    both = any(kind.startswith("kpi") for kind in kinds) and any(
        not kind.startswith("kpi") for kind in kinds
    )
    return "offline rules and KPIs in one policy" if both and _logs(folder, policy) else ""


def _ramp(folder: Path, policy: Policy | None) -> str:  # noqa: ARG001 - as above
    return f"{len(policy.ramp)} steps" if policy and policy.ramp else ""


def _beyond(folder: Path, policy: Policy | None) -> str:  # noqa: ARG001 - as above
    metrics = policy.metrics if policy else ()
    return ", ".join(m for m in metrics if m.lower().startswith(_OF_LISTS))


def _file(folder: Path, *patterns: str) -> str:
    found = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    return str(found[0].relative_to(folder)) if found else ""


PRACTICES = (
    Practice("a gate with few metrics", "startup", _gated, "rankgate init"),
    Practice(
        "evaluation on every change", "startup", _in_ci, "docs/guides/ci-gate.md: a job in CI"
    ),
    Practice(
        "feedback of users", "startup", _logs, "keep clicks, and look at them: rankgate online kpi"
    ),
    Practice(
        "a process for judgments",
        "mid-sized",
        _judgments,
        "docs/guides/judging.md: a pool, a guideline, two raters, agreement",
    ),
    Practice("several metrics", "mid-sized", _several, "rankgate advise names those that see more"),
    Practice(
        "A/B tests next to offline metrics",
        "mid-sized",
        _experiments,
        "docs/experiments.md: [experiment] in the policy",
    ),
    Practice("metrics of your own domain", "mid-sized", _own_metrics, "docs/extend/metric.md"),
    Practice(
        "offline metrics, experiments and feedback together",
        "enterprise",
        _together,
        "put rules on metrics and rules on KPIs into one policy",
    ),
    Practice("launches in steps", "enterprise", _ramp, "docs/experiments.md: [[ramp]]"),
    Practice(
        "diversity and fairness",
        "enterprise",
        _beyond,
        "docs/recommenders.md: Coverage, Gini, AWRF in [gate] metrics",
    ),
)
"""What evaluation should have, the smallest team first."""
