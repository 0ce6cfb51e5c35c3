"""Compare systems on the same queries: differences, intervals and tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.data.column_map import mapped
from rankgate.data.comparison import ScoredRun
from rankgate.decisions.comparison import compared as parts
from rankgate.decisions.comparison.comparison import Comparisons
from rankgate.decisions.comparison.designed import design_inputs, of_both, of_people
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.many import many
from rankgate.decisions.comparison.pairs import Rules, compared
from rankgate.decisions.comparison.scores.systems import (
    given_scores,
    metrics_of,
    refuse_with_scores,
)
from rankgate.measurement.evaluation.context import Context
from rankgate.measurement.evaluation.model_saw import UNKNOWN
from rankgate.measurement.evaluation.scored_system import DEPTH, Scorer
from rankgate.measurement.metrics.names import DEFAULT_METRICS
from rankgate.measurement.scoring.run_names import refuse_baseline_again, systems_apart

if TYPE_CHECKING:
    from rankgate.data.inputs import (
        ColumnsLike,
        QrelsLike,
        RunLike,
        RunsLike,
        ScoresLike,
        TableLike,
        TagsLike,
    )
    from rankgate.data.logs.interactions import LogLike
    from rankgate.decisions.comparison.design import Design
    from rankgate.decisions.comparison.inference import (
        Correction,
        Interval,
        Method,
        SignedRanks,
        Zeros,
    )
    from rankgate.decisions.comparison.scores.grouped import QueryGroups
    from rankgate.measurement.evaluation.sample import Sample
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention
    from rankgate.measurement.scoring.overrides import Overrides

WHOLE_RESAMPLES = 1000
"""Resamples of users for numbers about all lists together, as of `scorecard`."""


def compare(
    qrels: QrelsLike | None = None,
    baseline: RunLike | None = None,
    candidates: RunsLike = (),
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "trec",
    *,
    test: Method | Test = Test.method,
    interval: Interval = Test.interval,
    level: float = Test.level,
    correction: Correction = Test.correction,
    resamples: int = Test.resamples,
    seed: int = Test.seed,
    band: float = Test.band,
    wanted: float | None = Test.wanted,
    power: float = Test.power,
    zeros: Zeros = Test.zeros,
    signed_ranks: SignedRanks = Test.signed_ranks,
    margin: float | None = Test.margin,
    relative: bool = Test.relative,
    unequal: str = "refuse",
    slices: Sequence[str] = (),
    tags: TagsLike | None = None,
    depth: int = DEPTH,
    overrides: Overrides | Sequence[str] = (),
    extra: Sequence[Metric] = (),
    train: LogLike | None = None,
    items: TableLike | None = None,
    features: Sequence[str] = (),
    category: str | None = None,
    group: str | None = None,
    obvious: RunLike | None = None,
    earlier: Mapping[str, Any] | None = None,
    drop_seen: bool = False,
    judged_users_only: bool = False,
    catalogue: int | Iterable[object] | None = None,
    length: str | None = None,
    document: str | None = None,
    sequences: TagsLike | None = None,
    scores: Sequence[ScoresLike] | ScoresLike = (),
    direction: Mapping[str, str] | None = None,
    columns: ColumnsLike | None = None,
    sample: Sample | TableLike | None = None,
    predicted: QrelsLike | None = None,
    predicted_saw: QrelsLike = UNKNOWN,
    names: Sequence[str] = (),
    context: Context | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Comparisons:
    """Compare one candidate or several with a baseline, query by query.

    Args:
        qrels: judgments: a path, a frame (Polars, pandas, Arrow), ``{query: {doc: grade}}``; none
            where ``scores`` are given.
        baseline: a run: a path, a frame, ``{query: {doc: score}}``.
        candidates: a run, a list of runs, or ``{name: run}``.
        metrics: names such as ``"nDCG@10"``, or metrics such as ``nDCG(gain="exp") @ 10``; those
            of lists too, in addition to some of rankings.
        convention: whose rules the numbers follow.
        test: t, randomization, wilcoxon, sign or bootstrap; or a `Test`, which has the options
            from `interval` to `relative` in itself.
        interval: t, bca, percentile, basic or studentised; or simultaneous, for all metrics and
            candidates together.
        level: the confidence level of the intervals.
        correction: holm, bonferroni, hochberg, bh, by, maxt or none, over metrics and candidates.
        resamples: of tests and intervals that draw.
        seed: of the drawing.
        band: a difference of at most this size is a tie.
        wanted: a difference that should be found; ``plans`` says how many queries it takes.
        power: the chance to find it, and what is called detectable.
        zeros: of Wilcoxon's test: wilcox leaves queries without a difference out before ranking,
            pratt ranks them too and leaves out their ranks.
        signed_ranks: p of Wilcoxon's test: by the normal approximation, with a continuity
            correction (corrected) or without (uncorrected), or exact.
        margin: a difference that does not matter, which adds ``equivalence``: two one-sided tests,
            and how probably the candidate is worse, equivalent or better.
        relative: whether to add ``relative``: differences as shares of the baseline's mean with
            Fieller's interval; the margin is such a share too.
        unequal: what queries are that only one system ran: refuse, zero or drop.
        slices: show results for each value of these tags, too.
        tags: a table with query_id and columns of tags (head or tail, intent); a file of features,
            whose tag feature_7 is the quarter of the queries by the mean of feature 7; or
            ids:PATTERN, a regular expression whose named groups are tags of the ids that fit.
        depth: the depth to which lists are compared.
        overrides: axes of the convention that are chosen otherwise.
        extra: metrics that can be named in addition to the built-in ones.
        train: the log that systems learned from; it and what follows are for metrics of lists.
        items: a table of items.
        features: its columns of numbers.
        category: its column of categories, several between bars.
        group: its column of groups.
        obvious: the run of a simple system to compare with, such as the most popular items.
        earlier: for each system its run of an earlier time, by name.
        drop_seen: whether items of training leave users' rankings.
        judged_users_only: whether metrics of lists look at users with judgments only, and not at
            every user that a system serves.
        catalogue: how many items there are, numbered from 0, or their ids.
        length: the column of items with the lengths of passages, for budgets of tokens.
        document: the column of items with the document that each passage is a part of.
        sequences: which rankings belong together, as `evaluate` takes them; what is compared is
            tasks then.
        scores: values of each query that another tool computed, instead of judgments and runs:
            files of trec_eval -q, ir_measures, pytrec_eval, ranx, rankgate eval (on Spark too), or
            tables with a column for each system; the baseline and the candidates are then names of
            systems, by default all of them in order.
        direction: which values are better, higher or lower, of a metric in ``scores`` that
            rankgate does not know, by its name.
        columns: the columns of CSV and TSV files and frames that have no usual name, as in
            query=search_term,doc=sku,grade=final_rating; or a mapping from our columns to theirs.
        sample: how the judged queries were drawn: random (each had the same chance), or a table
            with query_id and query_inclusion (its chance), query_stratum or weight (how much it
            counts), such as a pool's; figures are then those of the queries drawn from.
        predicted: a model's judgments of all queries; those of people, of a sample of the
            queries, correct its bias.
        predicted_saw: people's judgments that this model saw, as examples or in training: a file,
            none, or unknown; their queries are left out, as the model is not corrected by them.
        names: of the baseline and the candidates, in this order, instead of their own.
        context: the inputs from `train` to `sequences` in one value, instead of them.
        on_progress: called with the current step.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: unknown names, query sets that differ.

    >>> qrels = {f"q{i}": {"a": 1} for i in range(20)}
    >>> old = {query: {"b": 2.0, "a": 1.0} for query in qrels}
    >>> new = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    >>> result = compare(qrels, old, new, ["RR"])
    >>> result.metrics.select("n", "baseline", "candidate", "delta").row(0)
    (20, 0.5, 1.0, 0.5)
    """
    chosen = Test.of(
        test,
        interval=interval,
        level=level,
        correction=correction,
        resamples=resamples,
        seed=seed,
        band=band,
        wanted=wanted,
        power=power,
        zeros=zeros,
        signed_ranks=signed_ranks,
        margin=margin,
        relative=relative,
    )
    drawn, model = design_inputs(sample, predicted, predicted_saw, columns)
    rules = Rules(chosen, unequal, tuple(slices))
    inputs = context or Context(
        train,
        items,
        tuple(features),
        category,
        group,
        obvious,
        earlier,
        drop_seen=drop_seen,
        judged_users_only=judged_users_only,
        catalogue=catalogue,
        length=length,
        document=document,
        sequences=sequences,
    )
    say = on_progress or (lambda _: None)
    if not isinstance(scores, list | tuple) or scores:
        refuse_with_scores(convention, overrides, depth, inputs, predicted)
        found = given_scores(scores, metrics_of(metrics), directions=direction, unequal=unequal,
                             extra=extra, tags=tags, slices=slices)  # fmt: skip
        chosen_names = [] if baseline is None else [str(baseline), *_listed(candidates)]
        systems = systems_apart(found.named(chosen_names), [], names)
        if found.groups is not None:
            return _of_groups(systems, rules, found.groups, drawn)
        return _compared(systems, rules, of_people(drawn, systems), say)
    if direction:
        raise UsageError("direction is for scores; give them too.", code="conflicting-options")
    if qrels is None or baseline is None:
        raise UsageError(
            "judgments, a baseline and a candidate are needed, or scores.", code="missing-input"
        )
    qrels, baseline, candidates = (
        mapped(qrels, columns, "qrels"), mapped(baseline, columns, "run"),
        mapped(candidates, columns, "run"),
    )  # fmt: skip
    scorer = Scorer.of(
        qrels,
        metrics,
        convention,
        overrides=overrides,
        extra=extra,
        depth=depth,
        tags=tags,
        slices=slices,
        context=inputs,
    )
    others = list(parts.named(candidates))
    refuse_baseline_again(baseline, [run for _, run in others])
    say("scoring the baseline")
    base = baseline if isinstance(baseline, ScoredRun) else scorer.scored(baseline)
    systems, places = [base], [baseline]
    for name, run in others:
        say(f"scoring {name or 'a candidate'}")
        systems.append(run if isinstance(run, ScoredRun) else scorer.scored(run, name))
        places.append(run)
    systems = systems_apart(systems, places, names)
    if len(systems) > 1 and scorer.builder is not None and scorer.builder.metrics:
        if drawn is not None:
            raise UsageError(
                "a sample of queries is for metrics of rankings; leave out those of lists.",
                code="conflicting-options",
            )
        return _with_lists(scorer, systems, rules)
    if predicted is not None:
        say("scoring by the predicted judgments")
    own, designs = of_both(scorer, model, drawn, systems, places, unequal)
    return _compared(own, rules, designs, say)


def _compared(
    systems: Sequence[ScoredRun],
    rules: Rules,
    designs: Sequence[Design] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Comparisons:
    """The first system against each of the others.

    Raises:
        UsageError: there are no others.
    """
    if len(systems) < 2:
        raise UsageError(
            "no candidate; give one run or more besides the baseline.", code="missing-input"
        )
    found = compared(systems[0], systems[1:], rules, designs, say)
    say("comparing all systems")
    several = len(systems) > 2 and not designs
    return Comparisons(found, many(systems, rules.test) if several else None)


def _of_groups(
    systems: Sequence[ScoredRun], rules: Rules, groups: QueryGroups, drawn: Sample | None
) -> Comparisons:
    """The same of saved evaluations that have sums of groups of queries.

    Raises:
        UsageError: slices, or a sample, which need values of single queries.
    """
    if rules.slices or drawn is not None:
        raise UsageError(
            "slices and samples need values of single queries, and these evaluations have sums of "
            "groups of them; compare the runs where the data is, with rankgate.spark.compare.",
            code="conflicting-options",
        )
    found = _compared(systems, replace(rules, sizes=False))
    return Comparisons(tuple(map(groups.in_queries, found.comparisons)))


def _listed(candidates: Any) -> list[str]:  # noqa: ANN401 - names of systems
    return [candidates] if isinstance(candidates, str) else [*candidates]


def _with_lists(scorer: Scorer, runs: Sequence[ScoredRun], rules: Rules) -> Comparisons:
    """The same by metrics of lists too."""
    from rankgate.decisions.comparison.list_metrics import (  # few ask for them
        ComparedLists,
        with_wholes,
    )

    lists = ComparedLists.of(scorer, runs)
    runs = [lists.scored(at, run) for at, run in enumerate(runs)]
    found = tuple(
        with_wholes(each, lists.wholes(each, WHOLE_RESAMPLES, candidate=at), lists.warnings)
        for at, each in enumerate(compared(runs[0], runs[1:], rules), 1)
    )
    return Comparisons(found, many(runs, rules.test) if len(runs) > 2 else None)
