"""A baseline and candidates that were scored: tests, corrections and figures of each pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.frames import frame
from rankgate.core.progress import step
from rankgate.data.clusters import clusters_of
from rankgate.data.comparison import ScoredRun
from rankgate.data.logs.candidates import warned
from rankgate.decisions.comparison import compared as parts
from rankgate.decisions.comparison.cautions import cautions, clustered
from rankgate.decisions.comparison.comparison import METRICS, PLANS, Comparison, Identity
from rankgate.decisions.comparison.inference import MOST, Test
from rankgate.decisions.comparison.paired import figures
from rankgate.decisions.comparison.practical import equivalences, relatives
from rankgate.decisions.comparison.sample_checks import refuse_unfit
from rankgate.decisions.comparison.sample_sizes import detectables, joined, queries_needed
from rankgate.decisions.comparison.slices import max_t, sliced
from rankgate.decisions.comparison.values import PairedValues, values_of
from rankgate.measurement.evaluation.lists.catalogue import zero_grades_notice
from rankgate.measurement.scoring.chosen import refuse_mixed
from rankgate.measurement.scoring.input_cautions import prefixed

if TYPE_CHECKING:
    import polars as pl

    from rankgate.decisions.comparison.design import Design
    from rankgate.decisions.comparison.paired import Figures


@dataclass(frozen=True)
class Rules:
    """How systems are compared.

    Attributes:
        test: how differences are tested and corrected, over metrics and candidates together.
        slices: the tags whose values each get figures of their own.
        sizes: whether the numbers of queries that a difference takes are simulated, for two
            systems or where the test asks what a difference takes (`wanted`): for many systems
            they take longer than all else; without, they are those of one uncorrected test.
    """

    test: Test = field(default_factory=Test)
    slices: tuple[str, ...] = ()
    sizes: bool = True


def compared(
    baseline: ScoredRun,
    candidates: ScoredRun | Sequence[ScoredRun],
    rules: Rules | None = None,
    designs: Sequence[Design] = (),
) -> tuple[Comparison, ...]:
    """What lies between a baseline and each candidate; p-values are corrected over all of them.

    Args:
        baseline: a scored system.
        candidates: others, scored by the same judgments.
        rules: how they are compared.
        designs: what the queries of each pair represent; none if every query counts alike.

    Raises:
        UsageError: systems of different judgments, conventions, metrics or depths; queries that
            only one system ran, unless the rules say what they are.
    """
    chosen = rules or Rules()
    systems = [candidates] if isinstance(candidates, ScoredRun) else list(candidates)
    if designs:
        refuse_unweighted(chosen.test)
    pairs = []
    for i, system in enumerate(systems):
        step(f"comparing {system.name}")
        pairs.append(_Pair.of(baseline, system, chosen, designs[i] if designs else None))
    p_value = _corrected(pairs, chosen)
    pairs, plans = _planned(pairs, chosen)
    if chosen.test.interval == "simultaneous":
        pairs = _widened(pairs, chosen.test)
    equal = equivalences([pair.weighed for pair in pairs], chosen.test)
    return tuple(
        replace(_comparison(pair, own, chosen, (len(pairs), plan)), equivalence=each)
        for pair, own, plan, each in zip(pairs, p_value, plans, equal, strict=True)
    )


def _widened(pairs: list[_Pair], test: Test) -> list[_Pair]:
    """The pairs with intervals that hold for all metrics and candidates together."""
    from rankgate.measurement.stats.resampling.bootstrap_t import simultaneous_reach

    samples = min(test.resamples, MOST)
    delta = joined([pair.weighed for pair in pairs])
    reach = simultaneous_reach(delta, test.level, samples=samples, seed=test.seed)
    wide = []
    for pair in pairs:
        error = pair.figures.sd / np.sqrt(pair.figures.n)
        flat = np.isnan(pair.figures.low)  # all differences are equal, or there is one
        low, high = (
            np.where(flat, np.nan, pair.figures.delta + side * reach * error) for side in (-1, 1)
        )
        wide.append(replace(pair, figures=replace(pair.figures, low=low, high=high)))
    return wide


@dataclass(frozen=True)
class _Pair:
    """A baseline and a candidate with their values by query, (T, M), and the figures.

    Attributes:
        baseline, candidate: the systems.
        values: as measured.
        weighed: the same of clusters, or as the design of the sample has them.
        figures: of these.
        design: what the queries represent; None if every query counts alike.
    """

    baseline: ScoredRun
    candidate: ScoredRun
    values: PairedValues
    weighed: PairedValues
    figures: Figures
    design: Design | None = None

    @classmethod
    def of(
        cls,
        baseline: ScoredRun,
        candidate: ScoredRun,
        rules: Rules,
        design: Design | None = None,
    ) -> _Pair:
        refuse(baseline, candidate)
        values = values_of(baseline, candidate, rules.test.unequal)
        if design is None:
            units = values.in_units(clusters_of((baseline.tagged, candidate.tagged)))
            return cls(baseline, candidate, values, units, figures(units, rules.test))
        refuse_unfit(values, design)
        found = design.figures(values, rules.test)
        return cls(baseline, candidate, values, design.adjusted(values), found, design)


def refuse(baseline: ScoredRun, candidate: ScoredRun) -> None:
    """Stop where two systems cannot be compared.

    Raises:
        UsageError: what differs: judgments, convention (with its axes), metrics.
    """
    if baseline.qrels_sha256 != candidate.qrels_sha256:
        raise UsageError(
            f"{baseline.name} and {candidate.name} were scored by other judgments "
            f"({baseline.qrels_sha256[:12]} and {candidate.qrels_sha256[:12]}); score both anew.",
            code="not-comparable",
        )
    refuse_mixed(
        {
            baseline.name: baseline.convention,
            f"the candidate {candidate.name}": candidate.convention,
        }
    )
    if set(baseline.metrics) != set(candidate.metrics):
        raise UsageError(
            f"{baseline.name} has {', '.join(baseline.metrics)}, {candidate.name} has "
            f"{', '.join(candidate.metrics)}; score both by the same metrics.",
            code="not-comparable",
        )


def _corrected(pairs: list[_Pair], rules: Rules) -> list[np.ndarray[Any, Any]]:
    """p-values of all metrics and candidates, corrected as one family."""
    raw = np.concatenate([pair.figures.p_raw for pair in pairs])
    if rules.test.correction == "maxt":
        if len(pairs) == 1:
            return [pairs[0].figures.p_max]
        return max_t([pair.weighed for pair in pairs], rules.test)
    from rankgate.measurement.stats.corrections import correct

    result = correct(raw, rules.test.correction)
    return np.split(result, len(pairs))


def _planned(pairs: list[_Pair], rules: Rules) -> tuple[list[_Pair], list[pl.DataFrame]]:
    """The pairs with what they can show after the correction, and how many queries are wanted."""
    test, tests = rules.test, sum(len(pair.values.metrics) for pair in pairs)
    corrected = rules.test.correction if tests > 1 else "none"
    some = [(pair.weighed, pair.figures) for pair in pairs]
    needed = [pair.figures.needed for pair in pairs]
    if rules.sizes:
        asked = len(pairs) == 1 or test.wanted
        sizes = queries_needed(some, test, corrected) if asked else [n * np.nan for n in needed]
        needed = [
            alone if _modelled(pair) else size
            for pair, alone, size in zip(pairs, needed, sizes, strict=True)
        ]
    shown = [
        replace(
            pair.figures,
            mde=_inferred(pair, detectables(pair.figures, test, corrected, tests)),
            needed=_inferred(pair, queries),
        )
        for pair, queries in zip(pairs, needed, strict=True)
    ]
    if test.wanted:
        wanted = queries_needed(some, test, corrected, test.wanted)
    else:
        wanted = [np.zeros(0)] * len(pairs)
    plans = [
        _plans(pair.values.metrics, test, queries.tolist())
        for pair, queries in zip(pairs, wanted, strict=True)
    ]
    return [replace(pair, figures=each) for pair, each in zip(pairs, shown, strict=True)], plans


def _inferred(pair: _Pair, figures: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The figures, NaN where weights are too unequal to infer anything."""
    degrees = pair.weighed.degrees
    return figures if degrees is None else np.where(np.isnan(degrees), np.nan, figures)


def _modelled(pair: _Pair) -> bool:
    """Whether a model judged more queries than people, who are then all that can be added."""
    return pair.design is not None and pair.design.predicted is not None


def _comparison(
    pair: _Pair, p_value: np.ndarray[Any, Any], rules: Rules, family: tuple[int, pl.DataFrame]
) -> Comparison:
    base, other, values, test = pair.baseline, pair.candidate, pair.values, rules.test
    tests = family[0] * len(values.metrics)
    corrected = rules.test.correction if tests > 1 else "none"
    table = metric_rows(values.metrics, pair.figures, p_value, test, corrected)
    slices, interactions = sliced(base, values, rules.slices, test, metric_rows, pair.design)
    depth, judged = min(base.depth, other.depth), parts.judged_of(base, other)
    return Comparison(
        baseline=Identity(base.name, base.tag, base.sha256),
        candidate=Identity(other.name, other.tag, other.sha256),
        qrels=base.qrels,
        qrels_sha256=base.qrels_sha256,
        convention=base.convention,
        metrics=table,
        queries=parts.queries_of(base, other, values),
        lists=parts.lists_of(base, other),
        latency=parts.latency_of(base, other),
        states=parts.states_of(base, other),
        excluded=values.excluded,
        slices=slices,
        interactions=interactions,
        judged=judged,
        warnings=(
            *warned(base.qrels),
            *_zero_grades(other),
            *(text for run in (base, other) for text in prefixed(run.name, run.cautions)),
            *parts.unanswered_of(base, other),
            *parts.concurrency_of(base, other),
            *parts.uneven(judged, depth),
            *clustered(base, other, values.query_ids),
            *(() if pair.design is None else pair.design.conditions(values)),
            *cautions(pair.figures, pair.weighed, test),
        ),
        level=test.level,
        interval=test.interval,
        test=test.method,
        correction=f"{corrected} over {tests} test{'s' * (tests > 1)}",
        power=test.power,
        depth=depth,
        seed=test.seed,
        lower=other.lower,
        resamples=test.drawn,
        plans=family[1],
        relative=relatives(values if pair.design else pair.weighed, test),
        zeros=test.zeros if test.method == "wilcoxon" else "",
        signed_ranks=test.signed_ranks if test.method == "wilcoxon" else "",
        **_represented(pair, test),
    )


def _represented(pair: _Pair, test: Test) -> dict[str, Any]:
    if pair.design is None:
        return {}
    return {
        "sample": pair.design.sample.source,
        "predicted_saw": "" if pair.design.saw is None else pair.design.saw.label,
        "represented": pair.design.table(pair.values, test),
        "predictions": pair.design.predictions(pair.values, test.level),
    }


def refuse_unweighted(test: Test) -> None:
    """Stop where a test or an interval cannot weigh queries.

    Raises:
        UsageError: anything but Student's t.
    """
    wrong = {
        f"--test {test.method}": test.method != "t",
        f"--interval {test.interval}": test.interval != "t",
        "--relative": test.relative,
    }
    if some := [name for name, there in wrong.items() if there]:
        raise UsageError(
            f"{', '.join(some)}: with a sample of queries, tests and intervals are those of "
            "Student's t; leave it out.",
            code="conflicting-options",
        )


def _zero_grades(run: ScoredRun) -> Iterator[str]:
    if run.zeros_relevant:
        yield f"{zero_grades_notice(run.zeros_relevant, run.convention['name'])}."


def _plans(names: Sequence[str], test: Test, queries: Sequence[float]) -> pl.DataFrame:
    rows = [
        {"metric": name, "wanted": test.wanted, "queries": each}
        for name, each in zip(names, queries, strict=False)
    ]
    return frame(rows, PLANS)


def _tests(result: Figures, method: str) -> list[str]:
    """The test behind each p: where all differences are equal, t gives that of the sign test."""
    equal = (result.sd == 0) & (result.delta != 0) & (result.n > 1)
    return ["sign" if method == "t" and each else method for each in equal]


def metric_rows(
    names: Sequence[str],
    result: Figures,
    p_value: np.ndarray[Any, Any],
    test: Test,
    correction: str,
) -> pl.DataFrame:
    """Figures as rows of `METRICS`; a p-value for each."""
    return frame(
        {
            "metric": names, "n": result.n, "baseline": result.baseline,
            "candidate": result.candidate, "delta": result.delta,
            "gain": result.gain, "low": result.low, "high": result.high,
            "level": test.level, "test": _tests(result, test.method), "p_raw": result.p_raw,
            "p_value": p_value,
            "correction": correction, "mc_error": result.mc_error, "effect": result.gz,
            "wins": result.wins, "ties": result.ties, "losses": result.losses, "sd": result.sd,
            "mde": result.mde, "needed": result.needed,
        },
        METRICS,
    )  # fmt: skip
