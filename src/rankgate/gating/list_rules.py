"""What metrics of lists say of systems that a gate holds against each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.comparison.comparison import METRICS
from rankgate.comparison.values import signs_of
from rankgate.data import read_run
from rankgate.data.comparison import SCORES
from rankgate.errors import UsageError
from rankgate.evaluation.context import EVERY
from rankgate.evaluation.evaluate import chosen_metrics
from rankgate.evaluation.list_inputs import lists_of, missing, world_of
from rankgate.gating.whole import Whole
from rankgate.metrics.lists import LIST_METRICS
from rankgate.metrics.lists.declare import ListMetric
from rankgate.recommenders.resampled_lists import redrawn
from rankgate.recommenders.scorecard_warnings import of_lists
from rankgate.scoring.catalogue import places

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from rankgate.comparison.comparison import Comparison
    from rankgate.data.comparison import ScoredRun
    from rankgate.data.inputs import RunLike
    from rankgate.evaluation.context import Context
    from rankgate.evaluation.list_inputs import Tables
    from rankgate.evaluation.scored_system import Scorer
    from rankgate.gating.policy import Policy
    from rankgate.metrics.declare import Metric
    from rankgate.metrics.lists.listed import Listed
    from rankgate.scoring import Convention

_PAIR = ["query_id", "doc_id"]
_NO_VALUE = "no value for this list"


def apart(
    names: Sequence[str], how: Convention, extra: Sequence[Metric] = ()
) -> tuple[list[str], dict[str, ListMetric]]:
    """Metrics of rankings by name, and those of lists by label.

    Raises:
        UsageError: an unknown metric.
    """
    rankings: list[str] = []
    lists: dict[str, ListMetric] = {}
    for name in names:
        found = dict(chosen_metrics([name], how, (*extra, *LIST_METRICS)))
        own = {label: each for label, each in found.items() if isinstance(each, ListMetric)}
        lists |= own
        if len(own) < len(found):
            rankings.append(name)
    return rankings, lists


@dataclass(frozen=True)
class Beyond:
    """The lists of several sides, as metrics of lists see them.

    Attributes:
        metrics: of lists, by label.
        users: ``(T,)``, whose lists they are.
        lists: of each side.
        warnings: what to know before trusting a figure.
    """

    metrics: Mapping[str, ListMetric]
    users: pl.Series
    lists: tuple[Listed, ...]
    warnings: tuple[str, ...]

    @classmethod
    def of(
        cls,
        metrics: Mapping[str, ListMetric],
        scorer: Scorer,
        sides: Sequence[ScoredRun],
        context: Context,
        tables: Tables | None,
    ) -> Beyond:
        """From sides, whose lists are deep enough.

        Raises:
            InputError: a table that cannot be read.
            UsageError: a metric that needs what is not there, or looks deeper than lists were
                kept.
        """
        if not metrics or tables is None:
            return cls(metrics, pl.Series([], dtype=pl.String), (), ())
        depth = _deep(metrics, sides)
        tops = [
            side.lists.filter(pl.col("rank") <= depth).sort("query_id", "rank").select(_PAIR)
            for side in sides
        ]

        def top(run: RunLike) -> pl.DataFrame:
            return lists_of(read_run(run), scorer.index, scorer.how, depth)

        world = world_of(scorer.qrels, tables, context, tops, top)
        earlier = None if context.earlier is None else top(context.earlier[EVERY])
        lists = tuple(world.listed(each, earlier) for each in tops)
        for label, metric in metrics.items():
            if lacks := missing(metric, lists[0]):
                raise UsageError(
                    f"{label} needs {lacks}; name it under [lists] of the policy or as an option.",
                    code="missing-input",
                )
        items = [
            f"{side.name}: {words}"
            for side, own in zip(sides[:2], lists, strict=False)
            for words in of_lists(world, own)
        ]
        return cls(metrics, world.queries, lists, tuple(items))

    def scored(self, at: int, side: ScoredRun) -> ScoredRun:
        """A side with the values of its lists beside those of its rankings."""
        known = side.scores.group_by("query_id", maintain_order=True).agg(
            (pl.col("why") == "missing").any().alias("gone")
        )
        rows = places(known["query_id"], self.users)
        parts = [side.scores]
        for label, metric in self.metrics.items():
            if metric.merge != "mean":
                continue
            own = pl.Series(metric.values(self.lists[at])[rows]).fill_nan(None)
            value = pl.when(~known["gone"]).then(own)
            part = known.select("query_id", pl.lit(label).alias("metric"), value.alias("value"))
            part = part.with_columns(
                pl.when(known["gone"])
                .then(pl.lit("missing"))
                .when(pl.col("value").is_null())
                .then(pl.lit(_NO_VALUE))
                .alias("why")
            )
            parts.append(part.select(*SCORES))
        labels = [label for label, each in self.metrics.items() if each.merge == "mean"]
        lower = [label for label, each in self.metrics.items() if not each.higher_is_better]
        return replace(
            side,
            scores=pl.concat(parts),
            metrics=(*side.metrics, *labels),
            lower=(*side.lower, *lower),
        )

    def noise(self, again: int) -> dict[str, float]:
        """How far further runs of the baseline's system, the last sides, differ from it."""
        some = (self.lists[0], *self.lists[2:]) if again and self.lists else ()
        return {
            label: max(values) - min(values)
            for label, metric in self.metrics.items()
            if (values := [metric.value(each) for each in some])
        }

    def wholes(
        self, result: Comparison, rules: Policy, resamples: int
    ) -> dict[tuple[str, str | None], Whole]:
        """The numbers about all lists together, of all users and of every slice that rules name."""
        together = {label: each for label, each in self.metrics.items() if each.merge != "mean"}
        if not together:
            return {}
        found = {}
        for slice_ in dict.fromkeys([None, *(rule.slice for rule in rules.rules)]):
            rows = self._rows(result, slice_)
            pair = [each.rows(rows) for each in self.lists[:2]]
            drawn, _ = redrawn(pair, together, resamples, rules["seed"])
            for label, metric in together.items():
                one, two = (metric.value(each) for each in pair)
                found[label, slice_] = Whole(len(pair[0].items), one, two, drawn[label])
        return found

    def _rows(self, result: Comparison, slice_: str | None) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The places of the users that count: those both sides ran, if others are to be dropped."""
        gone = result.excluded.filter(pl.col("metric").is_null())["query_id"]
        users = self.users.filter(~self.users.is_in(gone.implode()))
        if slice_ is not None:
            tag, _, value = slice_.partition("=")
            own = result.queries.filter(pl.col(tag).fill_null("") == value)["query_id"].unique()
            users = users.filter(users.is_in(own.implode()))
        return places(users, self.users)


def with_wholes(
    result: Comparison, wholes: Mapping[tuple[str, str | None], Whole], warnings: Sequence[str]
) -> Comparison:
    """A comparison with a row for each number about all lists together, and what to know."""
    rows = []
    for (label, slice_), whole in wholes.items():
        if slice_ is None:
            delta = whole.candidate - whole.baseline
            low, high = (whole.redrawn[1] - whole.redrawn[0]).ends(delta, result.level)
            rows.append({
                "metric": label, "n": whole.users, "baseline": whole.baseline,
                "candidate": whole.candidate, "delta": delta,
                "gain": delta * signs_of([label], result.lower)[0], "low": low, "high": high,
                "level": result.level, "test": "none", "correction": "none",
            })  # fmt: skip
    more = pl.DataFrame(rows, schema=METRICS).with_columns(pl.col(pl.Float64).fill_nan(None))
    return replace(
        result, metrics=pl.concat([result.metrics, more]), warnings=(*result.warnings, *warnings)
    )


def deepest(metrics: Mapping[str, ListMetric]) -> int:
    """How far lists must be looked at."""
    return max([1, *(each.cutoff or 1 for each in metrics.values())])


def _deep(metrics: Mapping[str, ListMetric], sides: Sequence[ScoredRun]) -> int:
    """How far the lists of all sides go.

    Raises:
        UsageError: not as far as a metric looks.
    """
    depth = min(side.depth for side in sides)
    wanted = deepest(metrics)
    if depth < wanted:
        label = next(name for name, each in metrics.items() if each.cutoff == wanted)
        raise UsageError(
            f"{label} looks at the first {wanted}, and the baseline was saved with the first "
            f"{depth}; save it anew with --depth {wanted}.",
            code="baseline-lacks",
        )
    return depth
