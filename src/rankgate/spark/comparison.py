"""Compare runs on Spark: paired differences from sums of partitions, by Student's t."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.present.codec import frame
from rankgate.decisions.comparison.comparison import (
    METRICS,
    SCHEMAS,
    Comparison,
    Comparisons,
    Identity,
)
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.paired import Figures
from rankgate.decisions.comparison.pairs import metric_rows
from rankgate.decisions.comparison.sample_sizes import detectables
from rankgate.decisions.comparison.values import refuse_unequal
from rankgate.measurement.metrics.names import DEFAULT_METRICS
from rankgate.measurement.scoring.input_cautions import prefixed
from rankgate.spark.evaluation import refuse_by_convention, refuse_without_tags
from rankgate.spark.executed import measured
from rankgate.spark.paired import ALL, PairSums, slices_of, summed_pairs
from rankgate.spark.prepared import prepare
from rankgate.spark.totals import summed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rankgate.data.inputs import ColumnsLike, TagsLike
    from rankgate.decisions.comparison.inference import Correction, Unequal
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention
    from rankgate.measurement.scoring.overrides import Overrides
    from rankgate.spark.paired import PairTotals, Slice
    from rankgate.spark.prepared import Prepared
    from rankgate.spark.totals import Totals

_ROUNDING = 1e-9  # equal differences of unequal values differ by less, as in comparison.paired


def compare(
    qrels: Any,  # noqa: ANN401 - as of evaluate
    baseline: Any,  # noqa: ANN401 - as of evaluate
    candidates: Any,  # noqa: ANN401 - as of evaluate
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "trec",
    *,
    overrides: Overrides | Sequence[str] = (),
    extra: Sequence[Metric] = (),
    columns: ColumnsLike | None = None,
    names: Sequence[str] = (),
    from_: str | None = None,
    partitions: int | None = None,
    tags: TagsLike | None = None,
    slices: Sequence[str] = (),
    unequal: Unequal = "refuse",
    level: float = Test.level,
    correction: Correction = Test.correction,
    band: float = Test.band,
    power: float = Test.power,
    spark: SparkSession | None = None,
) -> Comparisons:
    """Compare candidates with a baseline, as ``rankgate.compare`` does with ``test="t"``.

    The result has no tables of single queries, and does not say how many queries a corrected test
    needs; its JSON is one small file, which the local ``gate`` and ``report`` take.

    Args:
        qrels: as of ``rankgate.spark.evaluate``.
        baseline: a run.
        candidates: a run or several.
        metrics: as of ``rankgate.evaluate``.
        convention: as there.
        overrides: as there.
        extra: as there.
        columns: as there.
        names: of the runs, the baseline first.
        from_: as of ``rankgate.spark.evaluate``.
        partitions: as there.
        tags: a table of tags, which is sent to every executor; or ``ids:PATTERN``.
        slices: show differences for each value of these tags, too.
        unequal: as of ``rankgate.compare``.
        level: of the intervals.
        correction: holm, bonferroni, hochberg, bh, by or none, over metrics and candidates.
        band: differences up to this size count as ties.
        power: for the detectable difference.
        spark: the session.

    Raises:
        InputError: data that cannot be read.
        UsageError: an unknown metric, convention or choice; slices without tags; queries that only
            one of two runs has, unless ``unequal`` says what they are.
        MissingExtraError: PySpark is not installed.
    """
    test = Test(level=level, correction=correction, band=band, power=power, unequal=unequal)
    refuse_without_tags(tags, slices)
    others = candidates if isinstance(candidates, list | tuple) else [candidates]
    runs = [baseline, *others]
    if isinstance(candidates, dict) and not names:
        runs, names = [baseline, *candidates.values()], ["baseline", *map(str, candidates)]
    work = prepare(
        qrels, runs, metrics, convention, overrides, extra, columns, names, from_, partitions, spark
    )
    scoring = replace(
        work.scoring(values=False), pairs=True, band=band, drop=unequal == "drop", tags=tags,
        slices=tuple(slices),
    )  # fmt: skip
    _, sent = measured(work.whole(), scoring, work.tables, keep=False)
    totals = [summed(t for t in each if not t.startswith('{"pairs"')) for each in sent]
    for run, each in zip(work.runs, totals, strict=True):
        refuse_by_convention(work.qrels.label, run.label, each, work.plan.conventions[0])
    pairs = [summed_pairs(t for t in each if t.startswith('{"pairs"')) for each in sent[1:]]
    if unequal == "refuse":
        for name, pair in zip(work.names[1:], pairs, strict=True):
            refuse_unequal(dict(zip((work.names[0], name), pair.lacking, strict=True)))
    return _comparisons(work, totals, pairs, test, slices)


def _comparisons(
    work: Prepared,
    totals: Sequence[Totals],
    pairs: Sequence[PairTotals],
    test: Test,
    slices: Sequence[str],
) -> Comparisons:
    from rankgate.measurement.stats.corrections import correct

    labels = [label for label, _ in work.metrics]
    tests = len(labels) * len(pairs)
    used = test.correction if tests > 1 else "none"
    every = [_figures(work, each, ALL, test) for each in pairs]
    assert test.correction != "maxt"
    p_values = correct(np.concatenate([each.p_raw for each in every]), test.correction)
    found = []
    for i, (own, p) in enumerate(zip(every, np.split(p_values, len(pairs)), strict=True), 1):
        shown = replace(own, mde=detectables(own, test, used, tests))
        if used != "none":  # how many queries a corrected test needs is found by drawing values
            shown = replace(shown, needed=np.full(len(labels), np.nan))
        sliced = _sliced(work, pairs[i - 1], test, slices)
        judged = [
            {"system": name, "k": k, "share": part.value}
            for name, each in (("baseline", totals[0]), ("candidate", totals[i]))
            for k, part in sorted(each.judged_at.items())
        ]
        inputs = [
            text
            for name, each in zip(
                (work.names[0], work.names[i]), (totals[0], totals[i]), strict=True
            )
            for text in prefixed(name, each.cautions.of_run)
        ]
        empty: dict[str, Any] = {name: frame([], schema) for name, schema in SCHEMAS.items()}
        found.append(
            Comparison(
                **{
                    **empty,
                    "metrics": metric_rows(labels, shown, p, test, used),
                    "slices": sliced,
                    "judged": frame(judged, SCHEMAS["judged"]),
                },
                baseline=Identity(work.names[0], None, ""),
                candidate=Identity(work.names[i], None, ""),
                qrels=work.qrels.name,
                qrels_sha256="",
                convention=work.plan.conventions[0].to_dict(),
                warnings=(
                    *inputs,
                    *dict.fromkeys(text for texts in own.warnings for text in texts),
                ),
                level=test.level,
                correction=f"{used} over {tests} test{'s' * (tests > 1)}",
                power=test.power,
                lower=tuple(label for label, each in work.metrics if not each.higher_is_better),
                groups={"baseline": totals[0].groups, "candidate": totals[i].groups},
            )
        )
    return Comparisons(tuple(found))


def _figures(work: Prepared, totals: PairTotals, where: Slice, test: Test) -> Figures:
    """The figures of all metrics on one slice."""
    signs = np.array([1.0 if each.higher_is_better else -1.0 for _, each in work.metrics])
    sums = [totals.sums.get((where, label), PairSums()) for label, _ in work.metrics]
    rows = [_row(each, test) for each in sums]
    columns = {name: np.array([row[name] for row in rows], np.float64) for name in rows[0]}
    n = columns.pop("n").astype(np.int64)
    above = np.array([each.wins for each in sums], np.int64)
    below = np.array([each.losses for each in sums], np.int64)
    wins, losses = np.where(signs > 0, above, below), np.where(signs > 0, below, above)
    nan = np.full(len(rows), np.nan)
    return Figures(
        n=n,
        gain=signs * columns["delta"],
        p_max=nan,
        mc_error=np.zeros(len(rows)),
        wins=wins,
        losses=losses,
        ties=n - wins - losses,
        warnings=tuple(
            () if row["n"] else ("no query has a value on both sides.",) for row in rows
        ),
        **columns,
    )


def _row(sums: PairSums, test: Test) -> dict[str, float]:
    """One metric's figures by Student's t; equal differences have that of signs."""
    from scipy.special import stdtr, stdtrit

    from rankgate.measurement.stats.planning.power import detectable, needed

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
    reach = float(stdtrit(n - 1, (1 + test.level) / 2)) * error
    few = 4 * (n - 1) - 1
    return {
        **row,
        "low": mean - reach,
        "high": mean + reach,
        "sd": sd,
        "p_raw": float(2 * stdtr(n - 1, -abs(mean / error))),
        "gz": mean / sd * (1 - 3 / few) if n > 2 else nan,
        "mde": float(detectable(sd, n, alpha, test.power)),
        "needed": needed(mean, sd, alpha, test.power) if mean else nan,
    }


def _sliced(work: Prepared, totals: PairTotals, test: Test, slices: Sequence[str]) -> pl.DataFrame:
    """Figures of each value of each tag, corrected by BH over a tag's values."""
    from rankgate.measurement.stats.corrections import correct

    labels = [label for label, _ in work.metrics]
    parts = [pl.DataFrame(schema={"tag": pl.String, "value": pl.String, **METRICS})]
    for tag in slices:
        values = [*slices_of(totals, tag)]
        items = [_figures(work, totals, (tag, value), test) for value in values]
        p_values = correct(np.stack([each.p_raw for each in items]), "bh")
        for value, each, p in zip(values, items, p_values, strict=True):
            table = metric_rows(labels, each, p, test, "bh")
            parts.append(table.select(pl.lit(tag).alias("tag"), pl.lit(value).alias("value"), "*"))
    return pl.concat(parts)
