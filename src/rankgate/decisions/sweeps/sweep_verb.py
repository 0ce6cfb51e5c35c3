"""The verb ``sweep``: measure settings point by point, and choose one of them.

`Proposals` has the points that Optuna's tree-structured Parzen estimator proposes.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import require
from rankgate.core.frozen import dataclass
from rankgate.core.output_files import replace_file
from rankgate.core.present.base_result import Notice, run_notices
from rankgate.core.present.write_results import render_result
from rankgate.data.query_latencies import SHARES_TO_LARGEST, latency_bounds
from rankgate.decisions.sweeps.choice import Choice, MeanInterval, choose
from rankgate.decisions.sweeps.dials import importances, point_text
from rankgate.decisions.sweeps.fusion_confirmation import Confirmation, confirm_fusion
from rankgate.decisions.sweeps.held_out import HeldOut, HeldOutJudge, show_training
from rankgate.decisions.sweeps.point_latencies import LatencyQuantiles, front_of
from rankgate.decisions.sweeps.point_measurer import (
    MeasuredPoint,
    PointMeasurer,
    ValueTable,
    align_values,
    mean_value,
)
from rankgate.decisions.sweeps.race import run_race
from rankgate.decisions.sweeps.request_count import cost_sentence, count_requests
from rankgate.decisions.sweeps.sweep import Sweep, SweepPoint
from rankgate.decisions.sweeps.sweep_plan import read_plan
from rankgate.decisions.sweeps.swept_budget import charge_sweep
from rankgate.engines.requests.secrets import plain_text_secrets
from rankgate.engines.snapshots.snapshot import PLAIN_SECRETS

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.data.query_latencies import Bounds
    from rankgate.decisions.sweeps.dials import Dial, Point, Settings
    from rankgate.decisions.sweeps.point_latencies import Timing
    from rankgate.decisions.sweeps.sweep_plan import Plan, SweepLike


class Proposals:
    """Proposes points; the same seed and values give the same points.

    Args:
        dials: the settings to change.
        seed: the seed of the sampler.
        maximise: True if higher values are better.
        several: True to propose points before the values of earlier points are known.

    Raises:
        MissingExtraError: Optuna is not installed.
    """

    def __init__(self, dials: Sequence[Dial], seed: int, *, maximise: bool, several: bool) -> None:
        require("search = 'optuna' needs Optuna", "optuna")
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._optuna: Any = optuna
        self._space = {dial.name: _distribution(optuna, dial) for dial in dials}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=several)
        self._study = optuna.create_study(sampler=sampler, direction="maximize" if maximise else "minimize")
        self._open: list[Any] = []

    def know(self, point: Point, value: float) -> None:
        """Add a point that was measured earlier, such as the baseline."""
        self._study.add_trial(
            self._optuna.trial.create_trial(params=dict(point), distributions=self._space, value=value)
        )

    def ask(self, count: int) -> list[Mapping[str, Any]]:
        """The next points."""
        self._open = [self._study.ask(self._space) for _ in range(count)]
        return [dict(trial.params) for trial in self._open]

    def tell(self, values: Sequence[float | None]) -> None:
        """Give the values of the latest points; None for a point that failed."""
        failed = self._optuna.trial.TrialState.FAIL
        for trial, value in zip(self._open, values, strict=True):
            if value is None:
                self._study.tell(trial, state=failed)
            else:
                self._study.tell(trial, value)


def _distribution(optuna: Any, dial: Dial) -> Any:
    kinds = optuna.distributions
    if dial.low is None or dial.high is None:
        return kinds.CategoricalDistribution(dial.values)
    if dial.integer:
        return kinds.IntDistribution(int(dial.low), int(dial.high), log=dial.log)
    return kinds.FloatDistribution(dial.low, dial.high, log=dial.log)


RESULT = "sweep.json"
"""The file of the result in the folder of a sweep."""

"""Quantiles of the latencies of a point."""


def sweep(
    plan: SweepLike,
    *,
    folder: str | Path | None = None,
    workers: Annotated[int, Range(1, 64)] | None = None,
    trials: Annotated[int, Range(1, 100_000)] | None = None,
) -> Sweep:
    """Measure settings point by point, and choose one of them.

    Every point of the grid, or every point that Optuna proposes, is set up, its run is taken and
    scored, and the set-up is undone. Runs are kept in a folder by a hash of all that they depend
    on: what was measured is not measured again, and a sweep that was interrupted goes on when it
    is called again. The first point is the baseline: the values now.

    Then an engine's points are timed: each query is sent at all points, one right after the other,
    in an order that is drawn for each query, so that other load on the machines affects all points
    equally.

    The point with the highest mean is chosen; its gain over the baseline is estimated on queries
    that it was not chosen by (`rankgate.decisions.sweeps.choice.choose`).

    Args:
        plan: a TOML file, or its tables as a dictionary, where ``engine``, ``queries`` and
            ``qrels`` may be a function, dictionaries or frames.
        folder: the folder of the runs; by default next to the file, and none for a dictionary.
        workers: the number of points that are measured at the same time; by default that of the
            file.
        trials: the number of points that Optuna proposes; by default that of the file.

    Raises:
        InputError: a file that cannot be read, with its line.
        UsageError: a set-up that cannot be undone; a folder that another sweep uses.
        MissingExtraError: a library that is not installed.
    """
    sweep_plan = read_plan(plan)
    settings = replace(
        sweep_plan.settings,
        workers=workers or sweep_plan.settings.workers,
        trials=trials or sweep_plan.settings.trials,
    )
    sweep_plan = replace(sweep_plan, settings=settings)
    if folder is None and isinstance(plan, str | Path):
        folder = Path(plan).with_suffix("")
        folder = folder.with_name(f"{folder.name}.points")
    if folder is None:
        with TemporaryDirectory() as temporary_folder:
            return replace(_run_sweep(sweep_plan, Path(temporary_folder)), folder=None)
    result = _run_sweep(sweep_plan, Path(folder))
    with replace_file(str(Path(folder) / RESULT)) as stream:
        stream.write(render_result(result, "json").encode())
    return result


def plan_steps(plan: SweepLike, trials: int | None = None) -> tuple[int, str]:
    """The number of steps of a sweep, to show progress, and the sentence of its cost in requests."""
    sweep_plan = read_plan(plan)
    settings = replace(sweep_plan.settings, trials=trials or sweep_plan.settings.trials)
    sweep_plan = replace(sweep_plan, settings=settings)
    timing = 1  # timing sends the queries to all points again
    points = 1 + settings.trials if settings.search == "optuna" else len(sweep_plan.points)
    return points + timing, cost_sentence(sweep_plan)


def _run_sweep(plan: Plan, folder: Path) -> Sweep:
    first = plan.points
    settings, training = plan.settings, None if plan.split is None else plan.split.training
    total = 1 + settings.trials if settings.search == "optuna" else len(first)
    with PointMeasurer(plan, folder, total) as measuring:
        if settings.search == "race":
            measured = run_race(measuring, training or ())
        else:
            measured = measuring.all(first, training)
        if settings.search == "optuna":
            measured += _measure_proposals(plan, measuring, measured[0], training)
        analysis = _analyse(plan, measured)
        timing = measuring.time([measured[index] for index in analysis.scored_indices], training)
        held_out, confirmation = None, None
        if (choice := analysis.choice) is not None:
            if plan.split is not None and plan.split.held_out:
                judge = HeldOutJudge(measuring, plan.split)
                held_out = judge.judge(measured, choice.place, analysis.table)
            confirmation = confirm_fusion(measuring, measured[choice.place], training)
    return _result(plan, measured, analysis, timing, folder, held_out, confirmation)


def _measure_proposals(
    plan: Plan, measuring: PointMeasurer, baseline: MeasuredPoint, training: Sequence[str] | None
) -> list[MeasuredPoint]:
    """Measure the points that Optuna proposes, without duplicates, in order of proposal."""
    settings, metric = plan.settings, plan.scorer.metrics[0]
    workers = 1 if plan.setup.steps else settings.workers
    proposals = Proposals(plan.dials, settings.seed, maximise=metric[1].higher_is_better, several=workers > 1)
    if all(plan.fallback[dial.name] in dial for dial in plan.dials) and baseline.scores is not None:
        proposals.know(plan.fallback, _mean(baseline, metric[0]))
    measured_by_key: dict[str, MeasuredPoint] = {baseline.key: baseline}
    proposed_count = 0
    while proposed_count < settings.trials and not measuring.down:
        proposed = proposals.ask(min(workers, settings.trials - proposed_count))
        points = [plan.conditional(values) for values in proposed]
        proposed_count += len(points)
        batch = measuring.all(points, training)
        measured_by_key |= {
            measured_point.key: measured_point
            for measured_point in batch
            if measured_point.key not in measured_by_key
        }
        proposals.tell(
            [
                None if measured_point.scores is None else _mean(measured_point, metric[0])
                for measured_point in batch
            ]
        )
    return list(measured_by_key.values())[1:]


def _mean(measured: MeasuredPoint, metric: str) -> float:
    assert measured.scores is not None
    return float(measured.scores.filter(pl.col("metric") == metric)["value"].mean() or 0.0)  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Analysis:
    """The choice among the points with figures.

    Attributes:
        scored_indices: the places of the points with figures.
        table: their values on the same queries.
        choice: the chosen point; None if there is none.
    """

    scored_indices: list[int]
    table: ValueTable
    choice: Choice | None

    def signed(self, label: str, lower: Sequence[str]) -> Floats:
        """The values of a metric, with the sign that makes higher better."""
        return (-1.0 if label in lower else 1.0) * self.table.values[label]


def _analyse(plan: Plan, measured: Sequence[MeasuredPoint]) -> _Analysis:
    scored_indices = [index for index, point in enumerate(measured) if point.scores is not None]
    labels = [label for label, _ in plan.scorer.metrics]
    scored_points = [measured[index] for index in scored_indices]
    analysis = _Analysis(
        scored_indices, align_values(scored_points, labels, _lower(plan), plan.clusters), None
    )
    if analysis.table.problem:
        return analysis
    values = analysis.signed(labels[0], _lower(plan))
    return replace(analysis, choice=_choice(plan.settings, values, scored_indices))


def _lower(plan: Plan) -> tuple[str, ...]:
    return tuple(label for label, metric in plan.scorer.metrics if not metric.higher_is_better)


def _result(
    plan: Plan,
    measured: Sequence[MeasuredPoint],
    analysis: _Analysis,
    timing: Timing,
    folder: Path,
    held_out: HeldOut | None,
    confirmation: Confirmation | None,
) -> Sweep:
    scored_indices, table, choice = analysis.scored_indices, analysis.table, analysis.choice
    labels, lower = [label for label, _ in plan.scorer.metrics], _lower(plan)
    settings, metric = plan.settings, labels[0]
    values: dict[int, dict[str, MeanInterval]] = {index: {} for index in range(len(measured))}
    for label, metric_values in table.values.items():
        for column, index in enumerate(scored_indices):
            value = mean_value(metric_values[:, column], settings.level)
            values[index][label] = replace(value, low=None, high=None) if table.problem else value
    signed_values = analysis.signed(metric, lower)
    means = np.array([values[index][metric].mean for index in scored_indices])
    points = [_point(measured_point, values[index]) for index, measured_point in enumerate(measured)]
    front = []
    if timing.queries:
        share = float(settings.latency[1:]) / 100
        speed = LatencyQuantiles.from_timing(timing, share, level=settings.level, seed=settings.seed)
        signed_means = -means if metric in lower else means
        front = [scored_indices[index] for index in front_of(signed_means, speed, settings.level)]
        for column, index in enumerate(scored_indices):
            points[index] = _with_latency(points[index], timing, speed, column)
    if held_out is None:
        is_charged = settings.search == "grid" and not table.clustered and choice is not None
        gains = signed_values - signed_values[:, :1] if is_charged else None
        best_point = scored_indices.index(choice.place) if choice else 0
        scored_points = [measured[index] for index in scored_indices]
        account, budget_notice = charge_sweep(plan, scored_points, gains, list(table.query_ids), best_point)
    else:
        account, budget_notice = show_training(plan, held_out)
    return Sweep(
        name=plan.name,
        target=plan.target.name,
        target_kind=plan.target.kind,
        search=settings.search,
        qrels=plan.scorer.qrels.name,
        convention=plan.scorer.how.to_dict(),
        metrics=tuple(labels),
        lower=lower,
        queries=len(table.values[metric]),
        left_out=table.left_out,
        substituted=table.substituted,
        space=plan.dials,
        points=tuple(points),
        quantile=settings.latency,
        front=tuple(front),
        choice=choice,
        importance=importances(plan.dials, [measured[index].point for index in scored_indices], means)
        if len(scored_indices) > 1
        else (),
        level=settings.level,
        seed=settings.seed,
        repeats=settings.repeats,
        folder=str(folder),
        not_timed=timing.problem,
        account=account,
        held_out=held_out,
        confirmation=confirmation,
        requests=count_requests(plan),
        input_notices=(
            budget_notice,
            *_input_notices(measured),
            *_cluster_notices(table, metric),
            *PLAIN_SECRETS.notices(
                SimpleNamespace(
                    plain_secrets=[
                        *dict(plain_text_secrets(plan.setup.engine, *plan.setup.steps, *plan.setup.undo))
                    ]
                )
            ),
        ),
    )


def _input_notices(measured: Sequence[MeasuredPoint]) -> tuple[Notice, ...]:
    """The cautions of the points: the first caution of each code, with the name of its point."""
    notices: dict[str, Notice] = {}
    for point in measured:
        for notice in run_notices(point_text(point.point), point.cautions):
            notices.setdefault(notice.code, notice)
    return tuple(notices.values())


def _cluster_notices(table: ValueTable, metric: str) -> tuple[Notice, ...]:
    """A notice that clusters are the units; None if each query is its own cluster."""
    if not table.clustered:
        return ()
    text = (
        f"{table.clustered} queries are {len(table.values[metric])} clusters: intervals and the choice count "
        "clusters"
    )
    problem = f"; {table.problem}: there is no interval and no chosen point"
    return (Notice("clusters", f"{text}{problem if table.problem else ''}"),)


def _choice(settings: Settings, values: Floats, scored_indices: Sequence[int]) -> Choice | None:
    """The choice among the points with values; None without the baseline and another point."""
    if not scored_indices or scored_indices[0] != 0 or len(scored_indices) < 2:
        return None
    choice = choose(
        values - values[:, :1],
        0,
        folds=settings.folds,
        repeats=settings.repeats,
        level=settings.level,
        seed=settings.seed,
    )
    return None if choice is None else replace(choice, place=scored_indices[choice.place])


def _point(measured: MeasuredPoint, values: dict[str, MeanInterval]) -> SweepPoint:
    return SweepPoint(
        dict(measured.point),
        measured.key,
        measured.state,
        measured.problem,
        values,
        *_both_ends(measured.latency),
        run=None if measured.file is None else measured.file.name,
        unjudged=measured.unjudged,
    )


def _with_latency(point: SweepPoint, timing: Timing, speed: LatencyQuantiles, column: int) -> SweepPoint:
    """The point with its latencies from querying points in turn."""
    low, high = speed.low[column], speed.high[column]
    ends = {"low": timing.low[:, column], "high": timing.high[:, column]}
    latency, latency_at_most = _both_ends(latency_bounds(pl.DataFrame(ends), SHARES_TO_LARGEST))
    return replace(
        point,
        latency=latency,
        latency_at_most=latency_at_most,
        latency_low=float(low) if np.isfinite(low) else None,
        latency_high=float(high) if np.isfinite(high) else None,
    )


def _both_ends(bounds: Mapping[str, Bounds]) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """The smallest and the largest possible quantiles."""
    quantiles = {name: ends for name, ends in bounds.items() if name != "mean"}
    return {name: low for name, (low, _) in quantiles.items()}, {
        name: high for name, (_, high) in quantiles.items()
    }
