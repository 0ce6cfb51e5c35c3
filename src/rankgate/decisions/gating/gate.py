"""The gate: a policy, a baseline and a candidate to a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.data import read_run
from rankgate.data.column_map import mapped
from rankgate.data.formats.tags import IDS
from rankgate.decisions.comparison.compared import latency_of, of_slice, states_of
from rankgate.decisions.comparison.designed import design_inputs, of_both
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.list_metrics import ComparedLists, with_wholes
from rankgate.decisions.comparison.pairs import Rules, compared
from rankgate.decisions.gating.admissions import admissions
from rankgate.decisions.gating.against_saved import chosen, drift_of, noise_of, stale_verdict
from rankgate.decisions.gating.decide import decide
from rankgate.decisions.gating.designed import refuse_undesigned
from rankgate.decisions.gating.evidence import Counted, Inputs
from rankgate.decisions.gating.flips import values_under_drawn_grades
from rankgate.decisions.gating.given import gate_scores
from rankgate.decisions.gating.impossible import refuse_impossible
from rankgate.decisions.gating.policy import default, found, read
from rankgate.decisions.gating.redrawing import REDRAWS
from rankgate.decisions.gating.rules import RULES
from rankgate.decisions.gating.saved import baselines
from rankgate.decisions.gating.saved.looks import place
from rankgate.decisions.gating.unfinished import refuse_unfinished, refuse_unfinished_files
from rankgate.measurement.evaluation.context import EVERY, Context
from rankgate.measurement.evaluation.evaluate import rankings_among
from rankgate.measurement.evaluation.model_saw import UNKNOWN
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.evaluation.training import Train
from rankgate.measurement.metrics.names import DEFAULT_METRICS
from rankgate.measurement.scoring.alignment.ranked import ranked_of
from rankgate.measurement.scoring.chosen import chosen_convention
from rankgate.measurement.scoring.input_cautions import refuse_no_shared_document
from rankgate.measurement.scoring.run_names import refuse_baseline_again, systems_apart
from rankgate.recommenders.scorecard_slices import ACTIVITY, active

if TYPE_CHECKING:
    from rankgate.data import Run
    from rankgate.data.comparison import ScoredRun
    from rankgate.data.inputs import (
        ColumnsLike,
        QrelsLike,
        RunLike,
        ScoresLike,
        TableLike,
        TagsLike,
    )
    from rankgate.data.logs.interactions import LogLike
    from rankgate.data.logs.user_items import Meetings
    from rankgate.decisions.comparison.inference import Interval
    from rankgate.decisions.gating.policy import Policy
    from rankgate.decisions.gating.saved.baselines import Saved
    from rankgate.decisions.gating.verdict import Verdict
    from rankgate.measurement.evaluation.sample import Sample
    from rankgate.measurement.metrics.declare import Metric


def gate(
    qrels: QrelsLike | None = None,
    baseline: RunLike | None = None,
    candidate: RunLike | None = None,
    policy: str | Path | Policy | None = None,
    *,
    tags: TagsLike | None = None,
    noise: Sequence[Any] = (),
    train: LogLike | None = None,
    items: TableLike | None = None,
    features: Sequence[str] = (),
    category: str | None = None,
    group: str | None = None,
    obvious: RunLike | None = None,
    earlier: RunLike | None = None,
    drop_seen: bool = False,
    judged_users_only: bool = False,
    catalogue: int | Iterable[object] | None = None,
    length: str | None = None,
    document: str | None = None,
    sequences: TagsLike | None = None,
    record: bool = True,
    redraws: Annotated[int, Range(0)] = REDRAWS,
    extra: Sequence[Metric] = (),
    folder: str | Path = ".",
    today: str | None = None,
    scores: Sequence[ScoresLike] | ScoresLike = (),
    direction: Mapping[str, str] | None = None,
    columns: ColumnsLike | None = None,
    sample: Sample | TableLike | None = None,
    predicted: QrelsLike | None = None,
    predicted_saw: QrelsLike = UNKNOWN,
    names: Sequence[str] = (),
    context: Context | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Verdict:
    """Decide whether a candidate may replace a baseline.

    Args:
        qrels: judgments: a path, a frame (Polars, pandas, Arrow), ``{query: {doc: grade}}``; none
            where ``scores`` are given.
        baseline: a run: a path, a frame, ``{query: {doc: score}}``; or the name of a saved
            baseline, or its file.
        candidate: a run.
        policy: the rules, in TOML. Without it: ``rankgate.toml``, or
            ``[tool.rankgate]`` of ``pyproject.toml``; else nDCG@10 may lose no more than 0.02.
        tags: CSV, JSONL or a frame with ``query_id`` and columns of tags, for rules on slices; or
            as `compare` takes them.
        noise: further runs of the baseline's system, from which the noise floor is measured.
        train: the log that systems learned from; it and what follows are for metrics of lists,
            and what is not given is the policy's.
        items: a table of items.
        features: its columns of numbers.
        category: its column of categories, several between bars.
        group: its column of groups.
        obvious: the run of a simple system to compare with, such as the most popular items.
        earlier: what users were shown at an earlier time.
        drop_seen: whether items of training leave users' rankings.
        judged_users_only: whether metrics of lists look at users with judgments only, and not at
            every user that a system serves.
        catalogue: how many items there are, numbered from 0, or their ids.
        length: the column of items with the lengths of passages, for budgets of tokens.
        document: the column of items with the document that each passage is a part of.
        sequences: which rankings belong together, as `evaluate` takes them; what is compared is
            tasks then.
        record: record this evaluation in the log next to the saved baseline.
        redraws: the number of resampled sets of queries on which the rules are evaluated again, to
            show how often the verdict would be another one; 0 leaves it out.
        extra: user-defined metrics that the policy names.
        folder: where the project is, its policy, and its saved baselines below it.
        today: the day, for exceptions that expire; as 2026-01-31.
        scores: values of each query that another tool computed, instead of judgments and runs, as
            of ``compare``; the baseline and the candidate are then names of systems.
        direction: which values are better, higher or lower, of a metric in ``scores`` that
            rankgate does not know, by its name.
        columns: the columns of CSV and TSV files and frames that have no usual name, as in
            query=search_term,doc=sku,grade=final_rating; or a mapping from our columns to theirs.
        sample: how the judged queries were drawn: random (each had the same chance), or a table
            with query_id and query_inclusion (its chance), query_stratum or weight (how much it
            counts), such as a pool's; rules are then about the queries drawn from.
        predicted: a model's judgments of all queries; those of people, of a sample of the
            queries, correct its bias.
        predicted_saw: people's judgments that this model saw, as examples or in training: a file,
            none, or unknown; their queries are left out, as the model is not corrected by them.
        names: of the baseline and the candidate, instead of their own.
        context: the inputs from `train` to `sequences` in one value, instead of them.
        on_progress: called with the current step.

    Raises:
        InputError: data or a policy that cannot be read, with file and line.
        UsageError: unknown names, query sets that differ, a margin below the noise floor.

    >>> qrels = {f"q{i}": {"a": 1} for i in range(20)}
    >>> run = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    >>> gate(qrels, run, run).verdict
    'pass'
    """
    shown = None if earlier is None else {EVERY: earlier}
    context = context or Context(
        train,
        items,
        tuple(features),
        category,
        group,
        obvious,
        shown,
        drop_seen=drop_seen,
        judged_users_only=judged_users_only,
        catalogue=catalogue,
        length=length,
        document=document,
        sequences=sequences,
    )
    say = on_progress or (lambda _: None)
    rules, kept = _policy(policy, Path(folder)), Path(folder) / baselines.FOLDER
    drawn, model = design_inputs(sample, predicted, predicted_saw, columns)
    today = today or datetime.now(UTC).strftime("%Y-%m-%d")
    if not isinstance(scores, list | tuple) or scores:
        _refuse_inputs(context, noise, predicted)
        return gate_scores(
            scores, (baseline, candidate), rules, interval=_interval(rules), direction=direction,
            tags=_tags(tags, rules), extra=extra, today=today, redraws=redraws, names=names,
            sample=drawn,
        )  # fmt: skip
    if qrels is None or baseline is None or candidate is None or direction:
        raise UsageError(
            "judgments, a baseline and a candidate are needed, or scores; a direction is for "
            "scores.",
            code="missing-input",
        )
    refuse_baseline_again(baseline, [candidate])
    qrels, candidate = mapped(qrels, columns, "qrels"), mapped(candidate, columns, "run")
    refuse_unfinished_files(baseline, candidate, *noise)
    saved = baselines.pinned(str(baseline), kept) if isinstance(baseline, str | Path) else None
    if saved is None:
        baseline = mapped(baseline, columns, "run")
    rankings = rankings_among(rules.metrics, chosen_convention(rules["convention"]), extra)
    metrics = rankings or (saved.baseline.system.metrics if saved else DEFAULT_METRICS)
    say("scoring the candidate")
    given = context.filled(rules.lists, rules.folder)
    if saved is not None and given.drop_seen:
        raise UsageError(
            "a saved baseline cannot leave out seen items any more; give its run, or save it again "
            "from lists without them.",
            code="conflicting-options",
        )
    of_lists = [name for name in rules.metrics if name not in rankings]
    if drawn is not None:
        refuse_undesigned(rules, of_lists, saved if predicted is not None else None)
    scorer = Scorer.of(
        qrels,
        [*metrics, *of_lists],
        rules["convention"],
        extra=extra,
        depth=rules.depth,
        tags=_tags(tags, rules),
        slices=rules.slices,
        context=given,
    )
    every = (*scorer.metrics, *(scorer.builder.metrics.items() if scorer.builder else ()))
    refuse_impossible(rules.rules, every)
    run = read_run(candidate)
    old = () if saved else (read_run(baseline),)
    refuse_unfinished(*old, run, partly=rules["unequal"] != "refuse")
    other = scorer.scored(run)
    if saved is not None and saved.baseline.system.qrels_sha256 != scorer.qrels.sha256:
        return stale_verdict(saved, other, rules)
    say("scoring the baseline")
    base = chosen(saved, metrics, rules) if saved else scorer.scored(*old)
    base, other = systems_apart(
        _related([base, other]), [None if saved else baseline, candidate], names
    )
    test = Test(
        interval=_interval(rules),
        level=1 - rules["alpha"],
        power=rules["power"],
        seed=rules["seed"],
    )
    again = [scorer.scored(run) for run in noise]
    base, other = _with_activity([base, other], rules, given)
    lists = ComparedLists.of(scorer, [base, other, *again])
    (base, other), designs = of_both(
        scorer, model, drawn, [base, other], [*old, run], rules["unequal"]
    )
    (result,) = compared(
        lists.scored(0, base),
        lists.scored(1, other),
        Rules(test, unequal=rules["unequal"], slices=(), sizes=False),
        designs,
    )
    wholes = lists.wholes(
        result, rules.lists["resamples"], slices=(rule.slice for rule in rules.rules)
    )
    looks = place(saved.looks, other) if saved else None
    inputs = Inputs(
        noise=noise_of(saved, [base, *again], rankings) | lists.noise(len(again)),
        holes={} if drawn else values_under_drawn_grades(scorer, base, other, rules),
        ranges=_ranges(every),
        drift=drift_of(base, other) if saved else None,
        admissions=admissions(rules),
        wholes=wholes,
        unjudged_lists=_unjudged_lists(rules, scorer, run),
        slices=_slices(rules, base, other),
        design=designs[0] if designs else None,
    )
    result = with_wholes(result, wholes, lists.warnings)
    redraws = 0 if drawn else redraws
    verdict = decide(result, rules, inputs, looks=looks, today=today, redraws=redraws)
    return _logged(verdict, saved, other, record=record) if saved else verdict


def _related(systems: list[ScoredRun]) -> list[ScoredRun]:
    """The same systems, if each has judged documents: values of 0 for other ids decide nothing.

    Raises:
        InputError: a run has none.
    """
    for system in systems:
        refuse_no_shared_document(system.name, system.cautions)
    return systems


def _refuse_inputs(context: Context, noise: Sequence[Any], predicted: object) -> None:
    """Check that nothing asks for what scores alone cannot say.

    Raises:
        UsageError: inputs of metrics of lists, runs to measure noise, judgments of a model.
    """
    if context != Context() or noise or predicted is not None:
        raise UsageError(
            "metrics of lists, noise and predicted judgments take judgments and runs, not scores; "
            "leave them out.",
            code="conflicting-options",
        )


def _logged(verdict: Verdict, saved: Saved, candidate: ScoredRun, *, record: bool) -> Verdict:
    """The verdict, its look on disk; or with a note that it is not."""
    why = "as it was asked"
    if record:
        try:
            baselines.record(saved, candidate, verdict.policy, verdict.verdict)
        except OSError as error:
            why = f"{error.strerror}: {error.filename}"
        else:
            return verdict
    return replace(verdict, notes=(*verdict.notes, f"this look was not logged ({why})"))


def _policy(policy: str | Path | Policy | None, folder: Path) -> Policy:
    if isinstance(policy, str | Path):
        return read(policy).offline()
    if policy is not None:
        return policy.offline()
    place = found(folder)
    return read(place).offline() if place else default()


def _tags(tags: TagsLike | None, rules: Policy) -> TagsLike | None:
    if tags is not None or not rules["tags"]:
        return tags
    named: str = rules["tags"]
    return named if named.startswith(IDS) else rules.folder / named


def _with_activity(systems: Sequence[ScoredRun], rules: Policy, given: Context) -> list[ScoredRun]:
    """Tags that say who is new, light and heavy, where a rule asks for it and training is there."""
    if ACTIVITY not in rules.slices or given.train is None:
        return list(systems)
    train = Train(given.train).met
    return [system if ACTIVITY in system.tags else _active(system, train) for system in systems]


def _active(system: ScoredRun, train: Meetings) -> ScoredRun:
    """A scored system whose users are tagged as new, light or heavy."""
    served = system.served
    return replace(
        system,
        queries=system.queries.with_columns(active(system.queries["query_id"], train)),
        served=None if served is None else served.with_columns(active(served["query_id"], train)),
    )


def _interval(rules: Policy) -> Interval:
    """Of the table; rules make their own."""
    interval: Interval = "t" if rules["interval"] == "guaranteed" else rules["interval"]
    return interval


def _unjudged_lists(rules: Policy, scorer: Scorer, run: Run) -> pl.DataFrame | None:
    """The run's lists for queries that rules name and nobody judged."""
    named = {str(rule["query"]) for rule in rules.rules if rule.get("query")}
    left = sorted(named - set(scorer.index.query_ids))
    return ranked_of(run, pl.Series(left), rules.depth, scorer.how) if left else None


def _slices(rules: Policy, base: ScoredRun, other: ScoredRun) -> dict[str, Counted]:
    """States and latencies of the slices that rules count them of."""
    named = {rule.slice for rule in rules.rules if "counts" in RULES[rule.kind].needs}
    values = {}
    for slice_ in sorted(named - {None}, key=str):
        systems = of_slice(base, other, str(slice_))
        values[str(slice_)] = Counted(states_of(*systems), latency_of(*systems))
    return values


def _ranges(metrics: Iterable[tuple[str, Metric]]) -> dict[str, tuple[float, float]]:
    """The lowest and the highest value of each metric that has both."""
    return {
        label: (each.low, each.high)
        for label, each in metrics
        if each.high is not None and isfinite(each.low)
    }
