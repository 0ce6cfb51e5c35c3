"""Save, show and list baselines; measure their noise; log looks at them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result, run_notices
from rankgate.core.target import Version, replacing
from rankgate.data.collection import Collection
from rankgate.decisions.gating.policy import default, found, read
from rankgate.decisions.gating.saved import looks
from rankgate.decisions.gating.saved.baseline import Baseline, dumped, is_baseline, loaded
from rankgate.decisions.gating.unfinished import refuse_unfinished, refuse_unfinished_files
from rankgate.measurement.evaluation.evaluate import rankings_among
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.metrics.names import DEFAULT_METRICS, parse, parse_all
from rankgate.measurement.scoring.chosen import chosen_convention, refuse_mixed

if TYPE_CHECKING:
    from rankgate.data.comparison import ScoredRun
    from rankgate.data.inputs import QrelsLike, RunLike
    from rankgate.measurement.scoring import Convention

FOLDER = Path("rankgate/baselines")
"""Where baselines are kept, below the folder that a command runs in."""


@dataclass(frozen=True)
class Saved:
    """A baseline and the file that it is in.

    Attributes:
        path: the file.
        baseline: what is in it.
        run_cautions: by other run that was scored with it, the cautions of that run.
        noise_runs: further runs of the same system, which show its noise.
    """

    path: Path
    baseline: Baseline
    run_cautions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    noise_runs: tuple[RunLike, ...] = ()

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The cautions of its run, and of other runs that were scored with it."""
        system = self.baseline.system
        cautions = {system.name: system.cautions, **self.run_cautions}
        return tuple(
            notice for name, texts in cautions.items() for notice in run_notices(name, texts)
        )

    @property
    def looks(self) -> tuple[Mapping[str, Any], ...]:
        """Every look at it that was logged.

        Raises:
            InputError: a log that was damaged, with its line.
        """
        return looks.logged(looks.log_of(self.path))

    @property
    def summary(self) -> BaselineSummary:
        """What a reader wants to know of it, without its queries."""
        system = self.baseline.system
        means = dict(system.scores.group_by("metric").agg(pl.col("value").mean()).iter_rows())
        return BaselineSummary(
            name=self.baseline.name,
            file=str(self.path),
            run={"name": system.name, "sha256": system.sha256},
            qrels={"name": system.qrels, "sha256": system.qrels_sha256},
            convention={name: system.convention[name] for name in ("name", "hash")},
            queries=len(system.queries),
            depth=system.depth,
            means={metric: means.get(metric) for metric in system.metrics},
            noise=dict(self.baseline.noise),
            looks=tuple({name: look[name] for name in looks.NAMES} for look in self.looks),
        )


@dataclass(frozen=True, kw_only=True)
class BaselineSummary:
    """A saved baseline without its queries.

    Attributes:
        name, file: of the baseline.
        run, qrels: ``name`` and ``sha256`` of what it was made from.
        convention: ``name`` and ``hash``.
        queries: how many.
        depth: how far lists are kept.
        means: by metric; None where it has no value.
        noise: by metric, the largest difference that the system showed against itself.
        looks: when it was compared, with which run, by which judgments and policy, the verdict.
    """

    schema_version: int = 1
    name: str
    file: str
    run: Mapping[str, str]
    qrels: Mapping[str, str]
    convention: Mapping[str, str]
    queries: int
    depth: int
    means: Mapping[str, float | None]
    noise: Mapping[str, float]
    looks: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class SavedBaselines(Result):
    """Saved baselines: what they hold, their noise, and every look at them.

    Attributes:
        baselines: by name.
        notices: what the reader should know of the judgments and the runs.
    """

    kind: ClassVar[str] = "baselines"
    document_from: ClassVar[str] = "rankgate.decisions.gating.documents.baseline:document"

    baselines: tuple[BaselineSummary, ...]
    notices: tuple[Notice, ...] = ()

    @classmethod
    def of(cls, *saved: Saved) -> Self:
        """The summaries of saved baselines."""
        notices = tuple(notice for each in saved for notice in each.notices)
        return cls(tuple(each.summary for each in saved), notices)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.baselines)

    def _table(self) -> pl.DataFrame:
        """A row for each metric: ``baseline``, ``metric``, ``mean``, ``noise``."""
        rows = [
            (each.name, metric, mean, each.noise.get(metric))
            for each in self.baselines
            for metric, mean in each.means.items()
        ]
        return pl.DataFrame(rows, _MEANS, orient="row")


_MEANS: dict[str, Any] = {
    "baseline": pl.String,
    "metric": pl.String,
    "mean": pl.Float64,
    "noise": pl.Float64,
}


def save(
    name: str,
    collection: Collection | QrelsLike,
    run: str,
    metrics: Sequence[str] = (),
    how: str | Convention = "trec",
    *,
    depth: int | None = None,
    folder: Path = FOLDER,
    force: bool = False,
) -> Saved:
    """Score a run and save it as a baseline.

    The metrics that the policy needs, which is the one that a gate finds here, are kept in any
    case, with those that are named or else the usual ones; likewise the depth.

    Raises:
        InputError: data that cannot be read.
        UsageError: a name that is not a file's name; a baseline of that name, unless forced.
    """
    path = path_of(name, folder)
    before = Version.of(path)
    if path.exists() and not force:
        raise UsageError(
            f"{path} is there already; add --force to replace it, and commit that.",
            code="already-exists",
        )
    refuse_unfinished_files(run)
    collection = Collection.of(collection)
    system = collection.run(run)
    refuse_unfinished(system)
    place = found(Path())
    policy = read(place) if place else default()
    rankings = rankings_among(policy.metrics, chosen_convention(how))
    lists = [name for name in policy.metrics if name not in rankings]
    named = {str(metric) for each in metrics for _, metric in parse_all(each)}
    needed = [each for each in rankings if str(parse(each)) not in named]
    wanted = (*metrics, *needed) if metrics else tuple(dict.fromkeys((*needed, *DEFAULT_METRICS)))
    scorer = Scorer.of(
        collection,
        [*wanted, *lists],
        how,
        depth=depth or policy.depth,
        slices=policy.slices,
        every_kind=bool(lists),
    )
    return write(Baseline(name, scorer.scored(system)), path, before)


def noise(
    name: str, collection: Collection | QrelsLike, runs: Sequence[str], folder: Path = FOLDER
) -> Saved:
    """Measure how far runs of the same system differ, and record it in a baseline.

    The floor of a metric is the largest difference of means between any two of the runs, the
    baseline's own among them.

    Raises:
        InputError, UsageError: as ``save``; runs that were judged otherwise.
    """
    saved = show(name, folder)
    before = Version.of(saved.path)
    base = saved.baseline.system
    scorer = Scorer.of(collection, list(base.metrics), base.convention["name"], depth=base.depth)
    systems = [base, *(scorer.scored(run) for run in runs)]
    if any(system.qrels_sha256 != base.qrels_sha256 for system in systems):
        raise UsageError(
            f"{name} was scored by other judgments; save it again first.", code="not-comparable"
        )
    refuse_mixed(
        {f"the baseline {name}": base.convention, systems[-1].name: systems[-1].convention}
    )
    floor = {metric: spread(metric, systems) for metric in base.metrics}
    result = Baseline(saved.baseline.name, base, floor)
    cautions = {system.name: system.cautions for system in systems[1:]}
    return replace(write(result, saved.path, before), run_cautions=cautions)


def show(name: str, folder: Path = FOLDER) -> Saved:
    """A baseline by name, or by the path of its file.

    Raises:
        UsageError: no such name.
        InputError: its file is damaged.
    """
    place = Path(name)
    path = place if place.is_file() else path_of(name, folder)
    if not path.is_file():
        known = ", ".join(each.stem for each in sorted(folder.glob("*.json"))) or "none"
        raise UsageError(
            f"no baseline is called {name!r} in {folder}; there are {known}.",
            code="unknown-baseline",
        )
    return Saved(path, loaded(path))


def listed(folder: Path = FOLDER) -> list[Saved]:
    """Every baseline of a folder, by name.

    Raises:
        InputError: one of the files is damaged.
    """
    return [Saved(path, loaded(path)) for path in sorted(folder.glob("*.json"))]


def pinned(place: str | Path, folder: Path = FOLDER) -> Saved | None:
    """The saved baseline that a word means: a file of one, or a name; None if it is a run.

    Raises:
        InputError: a baseline that is damaged.
        UsageError: neither a file nor the name of a baseline.
    """
    path, place = Path(place), str(place)
    if path.is_file():
        with path.open("rb") as stream:
            return Saved(path, loaded(path)) if is_baseline(stream.read(200)) else None
    named = folder / f"{place}.json"
    if os.sep not in place and named.is_file():
        return Saved(named, loaded(named))
    if place == "-" or path.exists():
        return None
    known = ", ".join(each.stem for each in sorted(folder.glob("*.json"))) or "none"
    raise UsageError(
        f"{place}: neither a run nor a saved baseline; check the path. Baselines in {folder}: "
        f"{known}.",
        code="unknown-baseline",
    )


def write(baseline: Baseline, path: Path, before: Version | None = None) -> Saved:
    """Write a baseline in one step.

    Raises:
        UsageError: it cannot be written, or another process wrote another version than `before`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, before) as stream:
        stream.write(dumped(baseline).encode())
    return Saved(path, baseline)


def record(saved: Saved, candidate: ScoredRun, policy: str, verdict: str) -> None:
    """Log a look: when, at what, and how it ended.

    Raises:
        OSError: the log cannot be written.
    """
    look = {
        "at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "candidate": candidate.name,
        "sha256": candidate.sha256,
        "qrels_sha256": candidate.qrels_sha256,
        "policy": policy,
        "verdict": verdict,
        looks.LISTS: looks.fingerprints(candidate),
    }
    looks.add(looks.log_of(saved.path), look)


def path_of(name: str, folder: Path = FOLDER) -> Path:
    """The file of a baseline.

    Raises:
        UsageError: the name is not a valid file name.
    """
    plain = name.replace("-", "").replace("_", "").replace(".", "")
    if not plain.isalnum() or name.startswith("."):
        raise UsageError(
            f"{name!r} is not a name of a baseline; take letters, digits, '-' and '_'.",
            code="invalid-name",
        )
    return folder / f"{name}.json"


def spread(metric: str, systems: Sequence[ScoredRun]) -> float:
    """The largest difference of a metric's means between any two systems."""
    means = []
    for system in systems:
        own = system.scores.filter(system.scores["metric"] == metric)["value"].mean()
        means.append(own if isinstance(own, float) else 0.0)
    return max((abs(one - two) for one, two in combinations(means, 2)), default=0.0)
