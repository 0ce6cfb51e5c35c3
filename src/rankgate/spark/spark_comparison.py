"""Compare runs on Spark: paired differences from sums of partitions, by Student's t."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.present.codec import frame
from rankgate.core.present.number_formats import count_noun
from rankgate.data.query_tags import CLUSTER, COPY_CLUSTER, read_tags, with_clusters
from rankgate.data.score_parts import Need
from rankgate.decisions.comparison.comparison import Comparison, Comparisons, Identity
from rankgate.decisions.comparison.comparison_columns import SCHEMAS
from rankgate.decisions.comparison.comparison_power import detectable_differences
from rankgate.decisions.comparison.paired_values import PairedFigures, refuse_unequal
from rankgate.decisions.comparison.pairs import metric_rows, slice_rows
from rankgate.measurement.evaluation.query_slices import refuse_without_tags
from rankgate.measurement.evaluation.scored_system import DEPTH
from rankgate.measurement.scoring.scoring_facts import with_run_name
from rankgate.spark.run_totals import ALL, PairSums, slice_values, sum_pair_totals, sum_totals
from rankgate.spark.spark_evaluation import refuse_run
from rankgate.spark.spark_inputs import COLLECTION_FIELDS, LIST_FIELDS, SUMS, prepare, refuse_others
from rankgate.spark.task_results import run_task

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.decisions.comparison.inference import Test
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention
    from rankgate.spark.run_totals import PairTotals, RunTotals, Slice
    from rankgate.spark.spark_inputs import SparkMeasurement


_ROUNDING = 1e-9  # equal differences of unequal values differ by less, as in comparison.paired


_TESTED = ("level", "correction", "band", "power", "unequal")
"""The fields of a test that Student's t from sums takes."""

_USED = COLLECTION_FIELDS | LIST_FIELDS
"""The fields of a collection: selection of documents concerns drawn grades only."""


def make_comparisons(
    collection: Collection,
    runs: Sequence[tuple[str | None, Any]],
    metrics: str | Metric | Sequence[str | Metric],
    convention: str | Convention,
    *,
    test: Test,
    slices: Sequence[str],
    depth: int,
) -> Comparisons:
    """Compare the first run with the others by Student's t; arguments as of ``rankgate.compare``.

    The result has no tables of single queries, and does not report how many queries a corrected
    test needs; its JSON is one small file, which the local ``gate`` and ``report`` take.

    Raises:
        InputError: data that cannot be read.
        UsageError: a part, or a field of the collection or the test, that Spark does not have;
            slices without tags; queries that only one of two runs has, unless the test defines
            them.
        MissingExtraError: PySpark is not installed.
    """
    test = test.only("compare on Spark", *_TESTED)
    refuse_others(collection, "compare on Spark", _USED | {"selection"})
    if depth != DEPTH:
        raise SUMS.error(f"depth {depth}", Need("lists"))
    refuse_without_tags(collection.tags, slices)
    columns: list[str] = []
    if collection.tags is not None:
        columns = with_clusters(read_tags(collection.tags, pl.Series("query_id", [], pl.String))).columns
    for name in (CLUSTER, COPY_CLUSTER):
        if name in columns:  # only one machine can resample them
            raise SUMS.error(f"clusters of queries ({name} of tags)", Need("values"))
    work = prepare(collection, runs, metrics, convention, numbered=False)
    if work.subtopics:
        collection.refuse("compare by subtopics on Spark", "items.category")
    scoring = replace(
        work.scoring(values=False),
        pairs=True,
        band=test.tie_band,
        drop=test.unequal == "drop",
        tags=collection.tags,
        slices=tuple(slices),
    )
    _, texts_by_run = run_task(work.read_queries(), scoring, work.tables, keep=False)
    totals = [sum_totals(t for t in texts if not t.startswith('{"pairs"')) for texts in texts_by_run]
    for run, run_totals in zip(work.runs, totals, strict=True):
        refuse_run(work, run.label, run_totals)
    pairs = [sum_pair_totals(t for t in texts if t.startswith('{"pairs"')) for texts in texts_by_run[1:]]
    if test.unequal == "refuse":
        for name, pair in zip(work.names[1:], pairs, strict=True):
            refuse_unequal(dict(zip((work.names[0], name), pair.lacking, strict=True)))
    return _comparisons(work, totals, pairs, test, slices)


def _comparisons(
    work: SparkMeasurement,
    totals: Sequence[RunTotals],
    pairs: Sequence[PairTotals],
    test: Test,
    slices: Sequence[str],
) -> Comparisons:
    from rankgate.measurement.stats.multiple_comparisons import correct

    labels = [label for label, _ in work.metrics]
    tests = len(labels) * len(pairs)
    used = test.correction if tests > 1 else "none"
    figures_by_pair = [_figures(work, pair_totals, ALL, test) for pair_totals in pairs]
    assert test.correction != "maxt"
    p_values = correct(np.concatenate([figures.p_raw for figures in figures_by_pair]), test.correction)
    comparisons = []
    for i, (figures, p) in enumerate(zip(figures_by_pair, np.split(p_values, len(pairs)), strict=True), 1):
        reported = replace(figures, mde=detectable_differences(figures, test, used, tests))
        if used != "none":  # the number of queries for a corrected test would need values
            reported = replace(reported, needed=np.full(len(labels), np.nan))
        slice_tables = [slice_rows("", (), (), (), test)]
        for tag in slices:
            values = [*slice_values(pairs[i - 1], tag)]
            slice_figures = [_figures(work, pairs[i - 1], (tag, value), test) for value in values]
            slice_tables.append(slice_rows(tag, values, labels, slice_figures, test))
        judged = [
            {"system": name, "k": k, "share": judged_share.value}
            for name, run_totals in (("baseline", totals[0]), ("candidate", totals[i]))
            for k, judged_share in sorted(run_totals.judged_at.items())
        ]
        inputs = [
            text
            for name, run_totals in zip((work.names[0], work.names[i]), (totals[0], totals[i]), strict=True)
            for text in with_run_name(name, run_totals.cautions.of_run)
        ]
        empty: dict[str, Any] = {name: frame([], schema) for name, schema in SCHEMAS.items()}
        comparisons.append(
            Comparison(
                **{
                    **empty,
                    "metrics": metric_rows(labels, reported, p, test, used),
                    "slices": pl.concat(slice_tables),
                    "judged": frame(judged, SCHEMAS["judged"]),
                },
                baseline=Identity(work.names[0], None, ""),
                candidate=Identity(work.names[i], None, ""),
                qrels=work.qrels.name,
                qrels_sha256="",
                convention=work.plan.conventions[0].to_dict(),
                warnings=(*inputs, *dict.fromkeys(text for texts in figures.warnings for text in texts)),
                level=test.level,
                correction=f"{used} over {count_noun(tests, 'test')}",
                power=test.power,
                lower=tuple(label for label, metric in work.metrics if not metric.higher_is_better),
                groups={"baseline": totals[0].groups, "candidate": totals[i].groups},
            )
        )
    return Comparisons(tuple(comparisons))


def _figures(work: SparkMeasurement, totals: PairTotals, slice_: Slice, test: Test) -> PairedFigures:
    """The figures of all metrics on one slice."""
    signs = np.array([1.0 if metric.higher_is_better else -1.0 for _, metric in work.metrics])
    sums = [totals.sums.get((slice_, label), PairSums()) for label, _ in work.metrics]
    rows = [_row(pair_sums, test) for pair_sums in sums]
    columns = {name: np.array([row[name] for row in rows], np.float64) for name in rows[0]}
    n = columns.pop("n").astype(np.int64)
    above_band = np.array([pair_sums.wins for pair_sums in sums], np.int64)
    below_band = np.array([pair_sums.losses for pair_sums in sums], np.int64)
    wins, losses = (np.where(signs > 0, above_band, below_band), np.where(signs > 0, below_band, above_band))
    nan = np.full(len(rows), np.nan)
    return PairedFigures(
        n=n,
        gain=signs * columns["delta"],
        p_max=nan,
        mc_error=np.zeros(len(rows)),
        wins=wins,
        losses=losses,
        ties=n - wins - losses,
        warnings=tuple(() if row["n"] else ("no query has a value on both sides.",) for row in rows),
        **columns,
    )


def _row(sums: PairSums, test: Test) -> dict[str, float]:
    """One metric's figures by Student's t; equal differences have the p-value of the sign test."""
    from rankgate.measurement.stats.query_power import detectable_difference, queries_for_power
    from rankgate.measurement.stats.special_functions import stdtr, stdtrit

    nan = float("nan")
    n = int(sums.delta.first.count)
    names = ("baseline", "candidate", "delta", "low", "high", "p_raw", "gz", "sd", "mde", "needed")
    row = {"n": float(n), **dict.fromkeys(names, nan)}
    if not n:
        return row
    mean = sums.delta.first.value
    row |= {"baseline": sums.baseline.value, "candidate": sums.candidate.value, "delta": mean}
    if n < 2:
        return row
    if sums.greatest - sums.least <= _ROUNDING:
        p = min(1.0, 2.0 ** (1 - n)) if mean else 1.0
        return {**row, "sd": 0.0, "p_raw": p}
    sd = sums.delta.variance**0.5
    error, alpha = sd / n**0.5, 1 - test.level
    half_width = float(stdtrit(n - 1, (1 + test.level) / 2)) * error
    few = 4 * (n - 1) - 1
    return {
        **row,
        "low": mean - half_width,
        "high": mean + half_width,
        "sd": sd,
        "p_raw": float(2 * stdtr(n - 1, -abs(mean / error))),
        "gz": mean / sd * (1 - 3 / few) if n > 2 else nan,
        "mde": float(detectable_difference(sd, n, alpha, test.power)),
        "needed": queries_for_power(mean, sd, alpha, test.power) if mean else nan,
    }
