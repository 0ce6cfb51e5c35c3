"""Save, show and list baselines; measure their noise; log looks at them.

Systems that did not get every query are refused.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from rankgate.core.declare import Count
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.output_files import FileVersion, new_folder, replace_file
from rankgate.core.present.base_result import Notice, Result, run_notices
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC
from rankgate.core.present.layout import NOTICES, Sentence, View, fill
from rankgate.core.present.number_formats import UNDEFINED, count_noun
from rankgate.data.collection import Collection
from rankgate.data.formats import registry
from rankgate.data.table_rows import in_row_order
from rankgate.decisions.gating.policy import find_policy, load_default_policy, read
from rankgate.decisions.gating.saved import baseline_file
from rankgate.decisions.gating.saved.baseline_file import Baseline, dump_baseline, is_baseline, load_baseline
from rankgate.measurement.evaluation.metric_selection import ranking_metric_names
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS, parse, parse_all
from rankgate.measurement.scoring.presets import chosen_convention, refuse_mixed

if TYPE_CHECKING:
    from rankgate.data import Run
    from rankgate.data.input_types import QrelsLike, RunLike
    from rankgate.data.run_scores import ScoredRun
    from rankgate.measurement.scoring import Convention


_CODE = "unfinished-snapshot"


def refuse_unfinished_files(*inputs: Any) -> None:
    """Refuse the file of a run with an unfinished snapshot, before it is read.

    Raises:
        InputError: with the file and the reason.
    """
    from rankgate.data.formats.run_companions import refuse_unfinished_file

    for path in inputs:
        if isinstance(path, str | Path):
            refuse_unfinished_file(path)


def refuse_unfinished(*runs: Run, partly: bool = False) -> None:
    """Refuse runs with unanswered queries, by their states of queries.

    Args:
        runs: the runs of both systems.
        partly: True if some queries may be missing, because the policy has a rule for them.

    Raises:
        UsageError: a system that answered no query, or did not get every query.
    """
    for run in runs:
        if run.queries is None or "state" not in run.queries.columns:
            continue
        queries_by_state = dict(run.queries.group_by("state").len().iter_rows())
        if not queries_by_state.get("ok", 0) + queries_by_state.get("zero", 0):
            raise UsageError(
                f"{run.name}: none of its {count_noun(len(run.queries), 'query')} was answered; take the "
                "snapshot again.",
                code=_CODE,
            )
        if (count := queries_by_state.get("not_run", 0)) and not partly:
            raise UsageError(
                f"{run.name}: {count:,} of {count_noun(len(run.queries), 'query')} "
                f"{'was' if count == 1 else 'were'} not asked (state not_run); finish the snapshot, or set "
                'unequal = "zero" or "drop" under [gate] of the policy.',
                code=_CODE,
            )


FOLDER = Path("rankgate/baselines")
"""The folder of baselines, below the folder that a command runs in."""


@dataclass(frozen=True)
class SavedBaseline:
    """A baseline and the file that it is in.

    Attributes:
        path: the file.
        baseline: the content of the file.
        run_cautions: the warnings about each other run that was scored with it.
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
        return tuple(notice for name, texts in cautions.items() for notice in run_notices(name, texts))

    @property
    def name_and_time(self) -> tuple[str, str]:
        """Its name as commands take it, and when it was saved."""
        name = self.path.stem if self.path.parent.name == FOLDER.name else str(self.path)
        return name, self.baseline.saved_at

    @property
    def looks(self) -> tuple[Mapping[str, Any], ...]:
        """Every look at it that was logged.

        Raises:
            InputError: a log that was damaged, with its line.
        """
        return baseline_file.read_looks(baseline_file.look_log_path(self.path))

    @property
    def summary(self) -> BaselineSummary:
        """The baseline's facts for readers, without its queries."""
        system = self.baseline.system
        means = dict(system.scores.group_by("metric").agg(in_row_order(pl.col("value")).mean()).iter_rows())
        return BaselineSummary(
            name=self.baseline.name,
            file=str(self.path),
            run={"name": system.name, "sha256": system.sha256},
            qrels={"name": system.qrels, "sha256": system.qrels_sha256},
            convention={name: str(system.convention[name]) for name in ("name", "hash")},
            queries=len(system.queries),
            depth=system.depth,
            means={metric: means.get(metric) for metric in system.metrics},
            noise=dict(self.baseline.noise),
            looks=tuple({name: look[name] for name in baseline_file.LOOK_KEYS} for look in self.looks),
        )


@dataclass(frozen=True, kw_only=True)
class BaselineSummary:
    """A saved baseline without its queries.

    Attributes:
        name, file: the name and file of the baseline.
        run, qrels: ``name`` and ``sha256`` of its inputs.
        convention: ``name`` and ``hash``.
        queries: the number of queries.
        depth: the number of ranks of lists.
        means: the means by metric; None for a metric without a value.
        noise: the largest difference that the system showed against itself, by metric.
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


_MEANS = Columns(
    "One row per saved baseline and metric.",
    Column("baseline", pl.String, "the name of the baseline"),
    METRIC,
    Column("mean", pl.Float64, "the mean of its run"),
    Column(
        "noise",
        pl.Float64,
        "the difference that the same system shows against itself; null where it is not known",
    ),
)
_BASELINES = Columns(
    "One row per saved baseline.",
    Column("name", pl.String, "its name"),
    Column("run", pl.String, "the name of its run"),
    Column("queries", pl.Int64, "the number of its queries"),
    Column("convention", pl.String, "the name of its convention"),
    Column("judgments", pl.String, "the hash of its judgments", "hash"),
    Column("looks", pl.Int64, "how often it was compared"),
)
_LOOKS = Columns(
    "One row per look at a baseline.",
    Column("at", pl.String, "when it was compared", empty=UNDEFINED),
    Column("candidate", pl.String, "the run that it was compared with", empty=UNDEFINED),
    Column("verdict", pl.String, "the verdict", empty=UNDEFINED),
)


@dataclass(frozen=True)
class SavedBaselines(Result):
    """Saved baselines: their contents, their noise, and every look at them.

    Attributes:
        baselines: the baselines by name.
        notices: cautions about the judgments and the runs.
    """

    kind = "baselines"
    main_table = "means_by_baseline"
    layout = (
        Sentence("in {single.file}", "single"),
        View("overview", columns=_BASELINES),
        View("means", cells=("metric", "mean", "noise"), columns=_MEANS),
        View("looks", "looks, the latest first", columns=_LOOKS, first=10),
        NOTICES,
    )

    baselines: tuple[BaselineSummary, ...]
    notices: tuple[Notice, ...] = ()

    @classmethod
    def from_baselines(cls, *saved: SavedBaseline) -> Self:
        """The summaries of saved baselines."""
        notices = tuple(notice for saved_baseline in saved for notice in saved_baseline.notices)
        return cls(tuple(saved_baseline.summary for saved_baseline in saved), notices)

    def __len__(self) -> int:
        """The number of baselines."""
        return len(self.baselines)

    @property
    def single(self) -> BaselineSummary | None:
        """The baseline, if there is a single one: it is shown in full."""
        return self.baselines[0] if len(self) == 1 else None

    @property
    def headline(self) -> str:
        """The baseline with its inputs, or the number of baselines."""
        if self.single is None:
            return count_noun(len(self), "saved baseline") if len(self) else "no baseline is saved here"
        template = (
            "{name}: run {run[name]}, {queries:n query}, convention {convention[name]}, judgments "
            "{qrels[sha256]:hash}"
        )
        return fill(template, self.single)

    @property
    def overview(self) -> pl.DataFrame:
        """A row for each of several baselines."""
        rows = [
            (
                baseline.name,
                baseline.run["name"],
                baseline.queries,
                baseline.convention["name"],
                baseline.qrels["sha256"],
                len(baseline.looks),
            )
            for baseline in self.baselines
            if self.single is None
        ]
        return pl.DataFrame(rows, _BASELINES, orient="row")

    @property
    def means(self) -> pl.DataFrame:
        """The means and the noise of a single baseline."""
        return self.to_polars() if self.single else _MEANS.empty()

    @property
    def looks(self) -> pl.DataFrame:
        """The looks at a single baseline, the latest first."""
        looks = self.single.looks if self.single else ()
        rows = [tuple(look.get(name) for name in _LOOKS) for look in reversed(looks)]
        return pl.DataFrame(rows, _LOOKS, orient="row")

    @property
    def means_by_baseline(self) -> pl.DataFrame:
        """A row for each metric: ``baseline``, ``metric``, ``mean``, ``noise``."""
        rows = [
            (baseline.name, metric, mean, baseline.noise.get(metric))
            for baseline in self.baselines
            for metric, mean in baseline.means.items()
        ]
        return pl.DataFrame(rows, _MEANS, orient="row")


def save(
    name: str,
    collection: Collection | QrelsLike,
    run: str,
    metrics: Sequence[str] = (),
    how: str | Convention = "trec",
    *,
    depth: Count | None = None,
    folder: Path = FOLDER,
    force: bool = False,
) -> SavedBaseline:
    """Score a run and save it as a baseline.

    The saved metrics are the named ones, by default the usual ones, and always those of the policy
    that a gate finds here.

    Args:
        name: the name of the baseline.
        collection: judgments, or a `Collection`.
        run: the file of the run.
        metrics: metrics to save.
        how: a convention or its name.
        depth: the number of documents saved for each query; by default as many as the policy needs.
        folder: the folder of baselines.
        force: replace an existing baseline.

    Raises:
        InputError: data that cannot be read.
        UsageError: a name that is not a file's name; a baseline of that name, unless forced.
    """
    path = path_of(name, folder)
    previous_version = FileVersion.read_version(path)
    if path.exists() and not force:
        raise UsageError(
            f"{path} already exists; add --force to replace it, and commit the new file.",
            code="already-exists",
        )
    refuse_unfinished_files(run)
    collection = Collection.of(collection)
    system = collection.run(run)
    refuse_unfinished(system)
    policy_path = find_policy(Path())
    policy = read(policy_path) if policy_path else load_default_policy()
    rankings = ranking_metric_names(policy.metrics, chosen_convention(how))
    lists = [name for name in policy.metrics if name not in rankings]
    requested_metrics = {str(metric) for name in metrics for _, metric in parse_all(name)}
    needed = [name for name in rankings if str(parse(name)) not in requested_metrics]
    kept_metrics = (*metrics, *needed) if metrics else tuple(dict.fromkeys((*needed, *DEFAULT_METRICS)))
    scorer = Scorer.from_metrics(
        collection,
        [*kept_metrics, *lists],
        how,
        depth=depth or policy.depth,
        slices=policy.slices,
        every_kind=bool(lists),
    )
    saved_at = format_time(datetime.now(UTC))
    return write_baseline(Baseline(name, scorer.scored(system), saved_at=saved_at), path, previous_version)


def refresh(name: str, collection: Collection | QrelsLike, run: str, folder: Path = FOLDER) -> SavedBaseline:
    """Replace a baseline by a newer run, with the same metrics, convention and depth.

    Raises:
        InputError, UsageError: as ``save``; no such baseline.
    """
    saved = find_baseline(name, folder)
    base = saved.baseline.system
    convention = str(base.convention["name"])
    metrics, label = base.metrics, saved.path.stem
    return save(
        label, collection, run, metrics, convention, depth=base.depth, folder=saved.path.parent, force=True
    )


def measure_noise(
    name: str, collection: Collection | QrelsLike, runs: Sequence[str], folder: Path = FOLDER
) -> SavedBaseline:
    """Measure the differences of runs of the same system, and record them in a baseline.

    The noise floor of a metric is the largest difference of means between any two runs, including
    the baseline's own.

    Raises:
        InputError, UsageError: as ``save``; runs with other judgments.
    """
    saved = find_baseline(name, folder)
    previous_version = FileVersion.read_version(saved.path)
    base = saved.baseline.system
    scorer = Scorer.from_metrics(
        collection, list(base.metrics), str(base.convention["name"]), depth=base.depth
    )
    systems = [base, *(scorer.scored(run) for run in runs)]
    if any(system.qrels_sha256 != base.qrels_sha256 for system in systems):
        raise UsageError(f"{name} was scored by other judgments; save it again first.", code="not-comparable")
    refuse_mixed({f"the baseline {name}": base.convention, systems[-1].name: systems[-1].convention})
    floor = {metric: largest_difference(metric, systems) for metric in base.metrics}
    result = replace(saved.baseline, noise=floor)
    cautions = {system.name: system.cautions for system in systems[1:]}
    return replace(write_baseline(result, saved.path, previous_version), run_cautions=cautions)


def find_baseline(name: str, folder: Path = FOLDER) -> SavedBaseline:
    """A baseline by name, or by the path of its file.

    Raises:
        UsageError: no such name.
        InputError: the file is damaged.
    """
    given_path = Path(name)
    path = given_path if given_path.is_file() else path_of(name, folder)
    if not path.is_file():
        names = (
            ", ".join(path_of_baseline.stem for path_of_baseline in sorted(folder.glob("*.json"))) or "none"
        )
        raise UsageError(f"unknown baseline {name!r} in {folder}; known: {names}.", code="unknown-baseline")
    return SavedBaseline(path, load_baseline(path))


def list_baselines(folder: Path = FOLDER) -> list[SavedBaseline]:
    """Every baseline of a folder, by name.

    Raises:
        InputError: one of the files is damaged.
    """
    return [SavedBaseline(path, load_baseline(path)) for path in sorted(folder.glob("*.json"))]


def find_saved(name_or_path: str | Path, folder: Path = FOLDER) -> SavedBaseline | None:
    """The saved baseline of a file or a name; None if the argument is a run.

    Raises:
        InputError: a baseline that is damaged.
        UsageError: neither a file nor the name of a baseline.
    """
    path, name_or_path = Path(name_or_path), str(name_or_path)
    if path.is_file():
        with path.open("rb") as stream:
            return SavedBaseline(path, load_baseline(path)) if is_baseline(stream.read(200)) else None
    path_by_name = folder / f"{name_or_path}.json"
    if os.sep not in name_or_path and path_by_name.is_file():
        return SavedBaseline(path_by_name, load_baseline(path_by_name))
    if name_or_path == "-" or Path(registry.without_format(name_or_path)).exists():
        return None
    names = ", ".join(path_of_baseline.stem for path_of_baseline in sorted(folder.glob("*.json"))) or "none"
    raise UsageError(
        f"{name_or_path}: neither a run nor a saved baseline; check the path. Baselines in {folder}: "
        f"{names}.",
        code="unknown-baseline",
    )


def write_baseline(baseline: Baseline, path: Path, before: FileVersion | None = None) -> SavedBaseline:
    """Write a baseline in one step.

    Raises:
        UsageError: the file cannot be written, or another process changed it since `before`.
    """
    with new_folder(path.parent, shared=True), replace_file(path, before) as stream:
        stream.write(dump_baseline(baseline).encode())
    return SavedBaseline(path, baseline)


def log_look(saved: SavedBaseline, candidate: ScoredRun, policy: str, verdict: str) -> None:
    """Log a look with its time, its run and its verdict.

    Raises:
        OSError: the log cannot be written.
    """
    look = {
        "at": format_time(datetime.now(UTC)),
        "candidate": candidate.name,
        "sha256": candidate.sha256,
        "qrels_sha256": candidate.qrels_sha256,
        "policy": policy,
        "verdict": verdict,
        baseline_file.LOOK_LISTS: baseline_file.fingerprints(candidate),
    }
    baseline_file.append_look(baseline_file.look_log_path(saved.path), look)


def format_time(time: datetime) -> str:
    """A time of UTC as files have it.

    >>> format_time(datetime(2026, 1, 31, tzinfo=UTC))
    '2026-01-31T00:00:00Z'
    """
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def path_of(name: str, folder: Path = FOLDER) -> Path:
    """The file of a baseline.

    Raises:
        UsageError: the name is not a valid file name.
    """
    name_without_signs = name.replace("-", "").replace("_", "").replace(".", "")
    if not name_without_signs.isalnum() or name.startswith("."):
        raise UsageError(
            f"{name!r} is not a name of a baseline; take letters, digits, '-' and '_'.", code="invalid-name"
        )
    return folder / f"{name}.json"


def largest_difference(metric: str, systems: Sequence[ScoredRun]) -> float:
    """The largest difference of a metric's means between any two systems."""
    means = []
    for system in systems:
        mean = system.scores.filter(system.scores["metric"] == metric)["value"].mean()
        means.append(mean if isinstance(mean, float) else 0.0)
    return max((abs(first - second) for first, second in combinations(means, 2)), default=0.0)
