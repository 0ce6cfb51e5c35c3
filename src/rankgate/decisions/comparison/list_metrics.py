"""Metrics of lists in a comparison: values of users, and numbers about all lists together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.frames import frame
from rankgate.data.comparison import SCORES
from rankgate.decisions.comparison.compared import tags_of
from rankgate.decisions.comparison.comparison import METRICS
from rankgate.decisions.comparison.values import signs_of
from rankgate.decisions.comparison.whole import Whole
from rankgate.measurement.evaluation.lists.catalogue import catalogue_notice, unjudged_users_notice
from rankgate.measurement.evaluation.lists.resampled import redrawn
from rankgate.measurement.evaluation.lists.top import TopLists
from rankgate.measurement.evaluation.lists.unusual import odd_lists
from rankgate.measurement.scoring.catalogue import places
from rankgate.measurement.scoring.lists import measured_lists

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rankgate.data.comparison import ScoredRun
    from rankgate.decisions.comparison.comparison import Comparison
    from rankgate.measurement.evaluation.scored_system import Scorer
    from rankgate.measurement.metrics.lists.declare import ListMetric
    from rankgate.measurement.metrics.lists.listed import Listed

_NO_VALUE = "no value for this list"

Wholes = dict[tuple[str, str | None], Whole]
"""Numbers about all lists together, by metric and slice."""


@dataclass(frozen=True)
class ComparedLists:
    """The lists of several systems, as metrics of lists see them.

    Attributes:
        metrics: of lists, by label.
        users: ``(T,)``, whose lists they are.
        lists: of each system.
        warnings: what to know before trusting a figure.
        asked: as of the scorer.
        tags: ``query_id`` and the tags of users, judged or not.
    """

    metrics: Mapping[str, ListMetric]
    users: pl.Series
    lists: tuple[Listed, ...]
    warnings: tuple[str, ...]
    asked: bool = True
    tags: pl.DataFrame = field(default_factory=pl.DataFrame)

    @classmethod
    def of(cls, scorer: Scorer, runs: Sequence[ScoredRun]) -> ComparedLists:
        """The lists of runs that this scorer scored, or of a saved baseline.

        Raises:
            InputError: a table that cannot be read.
            UsageError: a metric that needs what is not there, or looks deeper than lists were
                kept; a saved baseline without the lists of users that nobody judged.
        """
        builder, index = scorer.builder, scorer.index
        if builder is None or not builder.metrics:
            return cls({}, pl.Series([], dtype=pl.String), (), ())
        depth = _deep(builder.metrics, runs)
        tops = [_top(run, depth, index.query_ids) for run in runs]
        catalogue = builder.joint_catalogue(index, tops)
        unjudged = len(catalogue.queries) - len(index.query_ids)
        _refuse_unsaved(unjudged, runs)
        lists = tuple(
            builder.listed(catalogue, index, run, top) for run, top in zip(runs, tops, strict=True)
        )
        for listed in lists:
            builder.refuse_lacking(listed)
        items = [f"{unjudged_users_notice(unjudged)}."] if unjudged else []
        if builder.uses_catalogue:
            facts = builder.facts(catalogue, index, tops)
            items += [f"{text}." for text in catalogue_notice(facts)]
        items += [
            f"{run.name}: {words}"
            for run, own in zip(runs[:2], lists, strict=False)
            for words in odd_lists(catalogue, own)
        ]
        tags = tags_of(*runs)
        return cls(builder.metrics, catalogue.queries, lists, tuple(items), scorer.asked, tags)

    def scored(self, at: int, run: ScoredRun) -> ScoredRun:
        """A run with the values of its lists in addition to those of its rankings."""
        single = {label: each for label, each in self.metrics.items() if each.merge == "mean"}
        known = run.scores.group_by("query_id").agg(gone=(pl.col("why") == "missing").any())
        judged = pl.Series(run.queries["query_id"])
        users = pl.DataFrame({"query_id": self.users, "row": range(len(self.users))})
        users = users.join(known, on="query_id", how="left", maintain_order="left").filter(
            pl.col("gone").is_not_null() | ~pl.col("query_id").is_in(judged.implode())
        )
        gone = pl.col("gone").fill_null(value=False)
        own_metrics = run.metrics if self.asked or not single else ()
        parts = [run.scores]
        measured = measured_lists(single, self.lists[at]) if single else None
        for label, values in measured.values.items() if measured else ():
            own = pl.Series(values[users["row"].to_numpy()])
            part = users.select(
                "query_id",
                pl.lit(label).alias("metric"),
                pl.when(~gone).then(own.fill_nan(None)).alias("value"),
                "gone",
            ).with_columns(
                pl.when(gone)
                .then(pl.lit("missing"))
                .when(pl.col("value").is_null())
                .then(pl.lit(_NO_VALUE))
                .alias("why")
            )
            parts.append(part.select(*SCORES))
        lower = [label for label, each in self.metrics.items() if not each.higher_is_better]
        return replace(
            run,
            scores=pl.concat(parts if own_metrics else parts[1:]),
            metrics=(*own_metrics, *single),
            lower=(*run.lower, *lower),
        )

    def noise(self, again: int) -> dict[str, float]:
        """How far further runs of the baseline's system, the last ones, differ from it."""
        if not (again and self.lists):
            return {}
        some = (self.lists[0], *self.lists[2:])
        measured = [measured_lists(self.metrics, each).numbers for each in some]
        numbers = {label: [each[label] for each in measured] for label in self.metrics}
        return {label: max(values) - min(values) for label, values in numbers.items()}

    def wholes(
        self,
        result: Comparison,
        resamples: int,
        *,
        candidate: int = 1,
        slices: Iterable[str | None] = (),
    ) -> Wholes:
        """The numbers about all lists together, of all users and of slices.

        Args:
            result: the comparison of the first system with a candidate.
            resamples: of the users.
            candidate: which of the systems it is.
            slices: as ``tag=value``.
        """
        together = {label: each for label, each in self.metrics.items() if each.merge != "mean"}
        if not together:
            return {}
        found = {}
        for slice_ in dict.fromkeys([None, *slices]):
            rows = self._rows(result, slice_)
            pair = [self.lists[at].rows(rows) for at in (0, candidate)]
            drawn, _ = redrawn(pair, together, resamples, result.seed)
            one, two = (measured_lists(together, each).numbers for each in pair)
            for label in together:
                whole = Whole(len(pair[0].items), one[label], two[label], drawn[label])
                found[label, slice_] = whole
        return found

    def _rows(self, result: Comparison, slice_: str | None) -> NDArray[np.int64]:
        """The places of the users that count: those both ran, if others are to be dropped."""
        gone = result.excluded.filter(pl.col("metric").is_null())["query_id"]
        users = self.users.filter(~self.users.is_in(gone.implode()))
        if slice_ is not None:
            tag, _, value = slice_.partition("=")
            own = self.tags.filter(pl.col(tag).fill_null("") == value)["query_id"].unique()
            users = users.filter(users.is_in(own.implode()))
        return places(users, self.users)


def with_wholes(result: Comparison, wholes: Wholes, warnings: Sequence[str]) -> Comparison:
    """A comparison with a row for each number about all lists together, and what to know."""
    rows = []
    for (label, slice_), whole in wholes.items():
        if slice_ is None:
            delta = whole.candidate - whole.baseline
            low, high = (whole.redrawn[1] - whole.redrawn[0]).ends(delta, result.level)
            rows.append(
                {
                    "metric": label,
                    "n": whole.users,
                    "baseline": whole.baseline,
                    "candidate": whole.candidate,
                    "delta": delta,
                    "gain": delta * signs_of([label], result.lower)[0],
                    "low": low,
                    "high": high,
                    "level": result.level,
                    "test": "none",
                    "correction": "none",
                }
            )
    more = frame(rows, METRICS)
    return replace(
        result, metrics=pl.concat([result.metrics, more]), warnings=(*result.warnings, *warnings)
    )


def _top(run: ScoredRun, depth: int, judged: pl.Series) -> TopLists:
    """The first items of every list of a run."""
    rows = run.lists.filter(pl.col("rank") <= depth).sort("query_id", "rank")
    pairs = rows.select("query_id", "doc_id")
    if run.served is None:
        return TopLists.of_rows(judged, pairs)
    served = run.served.select("query_id", doc_id=pl.col("doc_ids").list.head(depth))
    more = served.explode("doc_id").drop_nulls()
    users = pl.concat([judged, served["query_id"]])
    return TopLists.of_rows(users, pl.concat([pairs, more]))


def _deep(metrics: Mapping[str, ListMetric], runs: Sequence[ScoredRun]) -> int:
    """How far metrics look.

    Raises:
        UsageError: not all lists go as far.
    """
    for label, metric in metrics.items():
        if metric.cutoff is None:
            raise UsageError(
                f"{label} without a cutoff needs whole lists, but only their first documents are "
                f"compared; use {label}@10.",
                code="missing-cutoff",
            )
    wanted = max(metric.cutoff or 1 for metric in metrics.values())
    depth = min(run.depth for run in runs)
    if depth < wanted:
        label = next(name for name, each in metrics.items() if each.cutoff == wanted)
        raise UsageError(
            f"{label} looks at the first {wanted}, and the baseline was saved with the first "
            f"{depth}; save it again with --depth {wanted}.",
            code="baseline-lacks",
        )
    return wanted


def _refuse_unsaved(unjudged: int, runs: Sequence[ScoredRun]) -> None:
    """Check that the lists of users without judgments are known of every system.

    Raises:
        UsageError: a baseline was saved without them.
    """
    known = [run.served is not None for run in runs]
    if unjudged and not all(known):
        name = runs[known.index(False)].name
        raise UsageError(
            f"{name} was saved without the lists of users that have no judgments, and metrics of "
            f"lists count {unjudged:,} of them; save it again, or add --judged-users-only.",
            code="baseline-lacks",
        )
