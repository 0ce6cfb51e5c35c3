"""The verb ``doctor`` and its findings about the machine, the project and the team.

The machine: Python, extras, terminal, programs, plug-ins. The project: its file, the names in this
file, its baselines. The team: evaluation practices for a team of this size, and the practices that
the project lacks.

Small teams start simple and automate early; mid-sized companies invest in judgments, several
metrics and experiments; enterprises combine offline metrics, experiments and feedback, gate in
CI, and look at diversity and fairness too. See docs/team-sizes.md.
"""

from __future__ import annotations

import platform
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import ClassVar, Literal

from rankgate.core.errors import RankgateError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.layout import View
from rankgate.decisions.gating.policy import Policy, find_policy, read
from rankgate.interface.cli.project_file import Settings, settings
from rankgate.measurement.metrics.metric_name_parser import parse_all
from rankgate.measurement.scoring.presets import chosen_convention

Status = Literal["works", "missing", "wrong", "advice"]

_STATUS_LABELS = {"works": "✔ works", "missing": "– missing", "wrong": "✘ wrong", "advice": "! advice"}


@dataclass(frozen=True)
class DoctorFinding:
    """One finding about the installation, the project or the team.

    Attributes:
        area: installation, extras, programs, project, or team.
        name: its name.
        status: works, missing (some commands would fail), wrong (it exists and fails), or advice.
        words: the finding.
        fix: the remedy; empty if none is needed.
    """

    area: str
    name: str
    status: Status
    words: str
    fix: str = ""


@dataclass(frozen=True)
class DoctorReport(Result):
    """The installation and the project.

    Attributes:
        findings: the findings, area by area.
    """

    kind = "doctor_report"
    label = "Installation and project"
    layout = (
        View(
            "findings",
            "{area}",
            ("status", "name", ("words", "; to fix it: ", "fix")),
            headers={"name": "what", "words": "found"},
            formats={"status": _STATUS_LABELS.__getitem__},
            table_key="area",
            prose=True,
        ),
    )
    notice_texts = (NoticeText("doctor", "{row.words}", source="wrong", subject="{row.name}"),)
    csv_table = "findings"
    csv_columns: ClassVar = {
        "area": "area",
        "name": "name",
        "status": "status",
        "found": "words",
        "to fix it": "fix",
    }

    findings: tuple[DoctorFinding, ...]

    @property
    def headline(self) -> str:
        """The numbers of findings that are not as they should be."""
        counts = Counter(finding.status for finding in self.findings)
        title = f"{counts['wrong'] or 'Nothing'} wrong, {counts['missing'] or 'nothing'} missing"
        return f"{title}, {counts['advice']} to improve" if counts["advice"] else title

    @property
    def wrong(self) -> tuple[DoctorFinding, ...]:
        """The findings about parts that exist and fail."""
        return tuple(finding for finding in self.findings if finding.status == "wrong")


_PURPOSES = {
    "pandas": "pandas frames as results",
    "plots": "charts, and charts in reports",
    "engines": "PostgreSQL as an engine or a store, Tantivy, sweeps that search with Optuna",
    "serve": "rankgate store, serve, record and history",
    "online": "logs of users, KPIs and experiments",
    "spark": "rankgate eval --backend spark",
    "mcp": "rankgate mcp",
}
_EXTRAS_WITHOUT_FEATURES = frozenset({"dev", "docs", "all"})
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_EXTRA = re.compile(r"extra == [\"']([^\"']+)[\"']")
_PROGRAMS = {
    "Chromium": (("chromium", "chromium-browser", "google-chrome", "chrome"), "reports as PDF"),
    "Java": (("java",), "Apache Spark"),
}


def check_machine() -> Iterator[DoctorFinding]:
    """The findings about the machine."""
    yield from _check_installation()
    yield from _check_extras()
    yield from _check_programs()
    yield from _check_plugins()


def _check_installation() -> Iterator[DoctorFinding]:
    area = "installation"
    yield DoctorFinding(area, "Python", "works", platform.python_version())
    for package in ("rankgate", "numpy", "polars", "scipy", "click"):
        yield DoctorFinding(area, package, "works", version(package))
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    is_utf8 = encoding == "utf8"
    yield DoctorFinding(
        area,
        "terminal",
        "works" if is_utf8 else "advice",
        f"{sys.stdout.encoding or 'no encoding'}, {shutil.get_terminal_size().columns} columns",
        "" if is_utf8 else "set PYTHONUTF8=1, so that characters such as ✔ are shown",
    )


def _check_extras() -> Iterator[DoctorFinding]:
    needed: dict[str, list[str]] = {}
    for line in requires("rankgate") or ():
        if match := _EXTRA.search(line):
            needed.setdefault(match[1], []).append(str(_NAME.match(line)[0]))  # type: ignore[index]
    for extra, packages in needed.items():
        if extra in _EXTRAS_WITHOUT_FEATURES:
            continue
        missing_packages = [package for package in packages if not _is_installed(package)]
        purpose = _PURPOSES.get(extra, extra)
        yield DoctorFinding(
            "extras",
            extra,
            "missing" if missing_packages else "works",
            f"{purpose}: without {', '.join(missing_packages)}" if missing_packages else purpose,
            f'pip install "rankgate[{extra}]"' if missing_packages else "",
        )


def _is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def _check_programs() -> Iterator[DoctorFinding]:
    for name, (executables, purpose) in _PROGRAMS.items():
        executable_path = next((path for word in executables if (path := shutil.which(word))), "")
        yield DoctorFinding(
            "programs",
            name,
            "works" if executable_path else "missing",
            f"{purpose}: {executable_path}" if executable_path else purpose,
            "" if executable_path else f"install {name}, or do without {purpose}",
        )


def _check_plugins() -> Iterator[DoctorFinding]:
    from rankgate.interface.cli.installed_plugins import plugins

    for plugin in plugins().plugins:
        name = f"{plugin.plugin}: {plugin.adds}"
        if plugin.status == "works":
            yield DoctorFinding("plug-ins", name, "works", ", ".join(plugin.names))
        else:
            yield DoctorFinding("plug-ins", name, "wrong", plugin.problem, "update or remove it")


_AREA = "project"
_BASELINES = Path("rankgate/baselines")


def check_project(folder: Path) -> tuple[Policy | None, list[DoctorFinding]]:
    """The policy of a folder, and the findings about its files."""
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
            path if exists else f"{project_settings.location(name)}: {path} is missing",
            "" if exists else "make the file, or correct its name",
        )


def _check_defaults(project_settings: Settings) -> Iterator[DoctorFinding]:
    """Findings on unknown metrics and conventions in the defaults, which commands would refuse."""
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
            message = f"{project_settings.location(key)}: {error}"
            yield DoctorFinding(_AREA, key, "wrong", message, "correct the name")
        else:
            text = ", ".join(default) if isinstance(default, tuple) else str(default)
            yield DoctorFinding(_AREA, key, "works", text)


def _check_baselines(folder: Path) -> Iterator[DoctorFinding]:
    saved = sorted((folder / _BASELINES).glob("*.json"))
    if saved:
        names = ", ".join(path.stem for path in saved)
        yield DoctorFinding(_AREA, "baselines", "works", names)


TEAMS = {
    "startup": "a small team with few resources",
    "mid-sized": "a company that can pay for judgments and experiments",
    "enterprise": "an organisation with people for evaluation alone",
}
"""The sizes of teams; each includes the lists of smaller sizes."""

_CI_FILES = (".github/workflows/*.y*ml", ".gitlab-ci.yml", ".pre-commit-config.yaml", "Jenkinsfile")
_BEYOND_ACCURACY_PREFIXES = ("coverage", "gini", "ild", "novelty", "alpha", "awrf", "expo", "entropy", "aplt")
_MIN_METRICS = 2


@dataclass(frozen=True)
class Practice:
    """An evaluation practice, with the smallest team that can afford it.

    Attributes:
        name: its name.
        least: the smallest team that should have it.
        seen: a function of the folder and its policy: the evidence of the practice; empty if there
            is none.
        fix: the first step of the remedy.
    """

    name: str
    least: str
    seen: Callable[[Path, Policy | None], str]
    fix: str


def check_practices(team: str, folder: Path, policy: Policy | None) -> Iterator[DoctorFinding]:
    """Findings on the practices that a team can afford, and that the project has or lacks.

    Args:
        team: one of `TEAMS`.
        folder: the folder of the project.
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
            sign or "no file in the folder suggests it",
            "" if sign else practice.fix,
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
    from rankgate.measurement.metrics.metric_name_parser import of_plugins

    return ", ".join(of_plugins().by_name)


def _offline_and_online(folder: Path, policy: Policy | None) -> str:
    kinds = set(_rules(policy).values())
    has_both = any(kind.startswith("kpi") for kind in kinds) and any(
        not kind.startswith("kpi") for kind in kinds
    )
    return "offline rules and KPIs in one policy" if has_both and _online_evidence(folder, policy) else ""


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
    Practice("evaluation on every change", "startup", _ci_file, "docs/guides/ci-gate.md: a job in CI"),
    Practice(
        "feedback of users", "startup", _online_evidence, "keep clicks, and look at them: rankgate online kpi"
    ),
    Practice(
        "a process for judgments",
        "mid-sized",
        _judging_evidence,
        "docs/guides/judging.md: a pool, a guideline, two raters, agreement",
    ),
    Practice("several metrics", "mid-sized", _several_metrics, "rankgate advise names those that see more"),
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


def doctor(folder: Path, team: str | None = None) -> DoctorReport:
    """Look at the installation and at the project of a folder.

    Args:
        folder: the folder of the project.
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
