"""Held-out queries of a sweep: they choose nothing, and judge the chosen point once.

Training queries choose the point and the predictor; then the baseline, the chosen point and the predicted
points are measured on the held-out queries. An account of held-out queries charges one test for the point and
one for the predictor, and withholds the figures, so that the queries can judge further candidates.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice
from rankgate.decisions.gating.charged_tests import missing_account
from rankgate.decisions.gating.saved.holdout_account import (
    HoldoutBudget,
    find_account,
    query_keys,
    unknown_budget,
)
from rankgate.decisions.sweeps.choice import MeanInterval  # noqa: TC001 - the codec reads it
from rankgate.decisions.sweeps.point_measurer import align_values, mean_value
from rankgate.decisions.sweeps.query_predictor import Prediction, fit_prediction, query_features
from rankgate.decisions.sweeps.swept_budget import charge_gain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.core.arrays import Floats
    from rankgate.decisions.sweeps.dials import Point
    from rankgate.decisions.sweeps.point_measurer import MeasuredPoint, PointMeasurer, ValueTable
    from rankgate.decisions.sweeps.query_split import Split
    from rankgate.decisions.sweeps.sweep_plan import Plan


@dataclass(frozen=True)
class HeldOutGain:
    """A gain on held-out queries.

    Attributes:
        gain: the mean gain with its interval; None where an account withholds it.
        is_shown: True if the gain is shown to be above 0: its interval is, or the test of the account passes;
            None if nothing can be decided.
        budget: what the account says of the queries.
    """

    gain: MeanInterval | None
    is_shown: bool | None
    budget: HoldoutBudget


@dataclass(frozen=True)
class HeldOut:
    """What the held-out queries say.

    Attributes:
        training: the number of queries that chose.
        queries: the number of held-out queries.
        chosen: the gain of the chosen point over the baseline; None if the baseline is chosen.
        prediction: the predictor of a dial; None if none was asked for.
        predicted: the gain of predicted values over the chosen point.
    """

    training: int
    queries: int
    chosen: HeldOutGain | None
    prediction: Prediction | None = None
    predicted: HeldOutGain | None = None


@dataclass(frozen=True)
class HeldOutJudge:
    """Judges points on held-out queries.

    Attributes:
        measuring: measures points.
        split: the queries.
    """

    measuring: PointMeasurer
    split: Split

    @property
    def plan(self) -> Plan:
        """The sweep."""
        return self.measuring.plan

    def judge(self, measured: Sequence[MeasuredPoint], chosen_place: int, table: ValueTable) -> HeldOut:
        """Measure the chosen point and the predictor.

        Args:
            measured: the points, the baseline first.
            chosen_place: the index of the chosen point.
            table: the values of the points with figures on the training queries.
        """
        sizes = len(self.split.training), len(self.split.held_out)
        prediction = self._fit(measured, chosen_place, table) if self.plan.settings.predict else None
        if prediction is None and not chosen_place:
            return HeldOut(*sizes, None)
        baseline, best_point = self.measuring.all(
            [measured[0].point, measured[chosen_place].point], self.split.held_out
        )
        gain = self._gain(baseline, best_point, "") if chosen_place else None
        if prediction is None:
            return HeldOut(*sizes, gain)
        predicted = self._predicted(prediction, best_point)
        return HeldOut(
            *sizes, gain, prediction, self._gain(best_point, predicted, repr(prediction.coefficients))
        )

    def _fit(
        self, measured: Sequence[MeasuredPoint], chosen_place: int, table: ValueTable
    ) -> Prediction | None:
        """Fit the predictor to the points that differ from the chosen one in its dial alone."""
        dial, (label, metric) = self.plan.settings.predict or "", self.plan.scorer.metrics[0]
        scored = [index for index, point in enumerate(measured) if point.scores is not None]
        columns = [
            column
            for column, index in enumerate(scored)
            if all(
                name == dial or value == measured[chosen_place].point[name]
                for name, value in measured[index].point.items()
            )
            and measured[index].point[dial] is not None
        ]
        if len(columns) < 2 or table.clustered:
            return None
        sign = 1.0 if metric.higher_is_better else -1.0
        names, features = self._features(table.query_ids, measured[chosen_place].point, self.split.training)
        values = [measured[scored[column]].point[dial] for column in columns]
        return fit_prediction(dial, values, names, features, sign * table.values[label][:, columns])

    def _features(
        self, query_ids: Sequence[str], point: Point, asked_ids: Sequence[str]
    ) -> tuple[tuple[str, ...], Floats]:
        target = self.plan.target.with_queries(asked_ids)
        lists = target.lists(self.plan.settings_at(point), self.measuring.folder)
        return query_features(query_ids, self.plan.texts, lists)

    def _predicted(self, prediction: Prediction, best_point: MeasuredPoint) -> MeasuredPoint:
        """The held-out queries, each at its predicted value; the chosen value is not asked for again."""
        held_out = self.split.held_out
        _, features = self._features(held_out, best_point.point, held_out)
        places = prediction.places(features)
        tables = []
        for value_place in np.unique(places):
            point: dict[str, Any] = {**best_point.point, prediction.dial: prediction.values[value_place]}
            query_ids = [held_out[row] for row in np.flatnonzero(places == value_place)]
            asked_ids = (
                query_ids if self.plan.target.kind == "engine" else held_out
            )  # lists are there already
            measured = best_point if point == best_point.point else self.measuring.all([point], asked_ids)[0]
            if measured.scores is None:
                return measured
            tables.append(measured.scores.filter(pl.col("query_id").is_in(query_ids)))
        return replace(best_point, scores=pl.concat(tables))

    def _gain(self, baseline: MeasuredPoint, candidate: MeasuredPoint, predictor: str) -> HeldOutGain:
        """The gain of a candidate, by the account of the folder if there is one."""
        plan, (label, metric) = self.plan, self.plan.scorer.metrics[0]
        if baseline.scores is None or candidate.scores is None:
            problem = baseline.problem or candidate.problem
            return HeldOutGain(None, None, unknown_budget(f"nothing was measured: {problem}"))
        lower = () if metric.higher_is_better else (label,)
        table = align_values([baseline, candidate], [label], lower, plan.clusters)
        values = table.values[label]
        gains = (values[:, 1] - values[:, 0]) * (1.0 if metric.higher_is_better else -1.0)
        interval = mean_value(gains, plan.settings.level)
        figures = HeldOutGain(interval, interval.low is not None and interval.low > 0, missing_account())
        account = find_account(Path())
        if account is None:
            return figures
        keys = query_keys(list(table.query_ids), plan.scorer.qrels.table, plan.text_table)
        if table.clustered or not plan.settings.account:
            account.show(keys)
            reason = "queries are clustered" if table.clustered else "account = false turns the account off"
            budget = unknown_budget(f"{reason}; as figures are shown, these queries are worn")
            return replace(figures, budget=budget)
        runs = (plan.target.data_hash, baseline.key, candidate.key, predictor)
        parts = (plan.scorer.qrels.sha256, label, *runs, *sorted(table.query_ids))
        budget, passes = charge_gain(account, parts, keys, label, gains)
        return HeldOutGain(None, passes, budget)


def show_training(plan: Plan, held_out: HeldOut) -> tuple[HoldoutBudget, Notice]:
    """Note in the account of the folder that training figures are shown; what it says of held-out queries.

    Raises:
        InputError: the account cannot be read or written.
    """
    account = find_account(Path())
    if account is not None and plan.split is not None:
        account.show(query_keys(list(plan.split.training), plan.scorer.qrels.table, plan.text_table))
    tested = held_out.predicted or held_out.chosen
    if tested is None:
        budget = unknown_budget("no point is better on the training queries, so held-out ones had no test")
        return budget, Notice("budget", budget.sentence)
    withheld = "figures of the held-out queries are withheld; " if tested.gain is None else ""
    return tested.budget, Notice("budget", f"{withheld}{tested.budget.sentence}")
