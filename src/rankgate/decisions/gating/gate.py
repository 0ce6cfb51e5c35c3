"""The gate: a policy, a baseline and a candidate to a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.core.progress import progress, step
from rankgate.data.collection import Collection
from rankgate.data.formats.tags import IDS
from rankgate.decisions.comparison.compared import latency_of, of_slice, states_of
from rankgate.decisions.comparison.designed import design_inputs, of_both
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.list_metrics import ComparedLists, with_wholes
from rankgate.decisions.comparison.pairs import Rules, compared
from rankgate.decisions.comparison.scores.systems import ReportedScores, read_scores
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
from rankgate.decisions.gating.saved.baselines import Saved
from rankgate.decisions.gating.saved.looks import place
from rankgate.decisions.gating.unfinished import refuse_unfinished, refuse_unfinished_files
from rankgate.measurement.evaluation.evaluate import rankings_among
from rankgate.measurement.evaluation.evaluation import Evaluation
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
    from rankgate.data.inputs import QrelsLike, RunLike, TagsLike
    from rankgate.data.logs.user_items import Meetings
    from rankgate.decisions.comparison.inference import Interval
    from rankgate.decisions.gating.policy import Policy
    from rankgate.decisions.gating.verdict import Verdict
    from rankgate.measurement.metrics.declare import Metric


def gate(
    collection: Collection | QrelsLike | Evaluation | ReportedScores,
    baseline: RunLike | Saved | None = None,
    candidate: RunLike | None = None,
    policy: str | Path | Policy | None = None,
    *,
    log: bool = True,
    redraws: Annotated[int, Range(0)] = REDRAWS,
    folder: str | Path = ".",
    today: str | None = None,
) -> Verdict:
    """Decide whether a candidate may replace a baseline.

    Args:
        collection: judgments, or a `Collection` of them with what is known of queries, items and
            users; or what `evaluate` gives, or `read_scores`, the values of another tool. What it
            does not state is that of the policy.
        baseline: a run: a path, a frame, ``{query: {doc: score}}``, ``{name: run}``; or the name of
            a saved baseline, or its file; of an evaluation or reported scores the name of a
            system.
        candidate: a run; of an evaluation or reported scores the name of a system.
        policy: the rules, in TOML. Without it: ``rankgate.toml``, or
            ``[tool.rankgate]`` of ``pyproject.toml``; else nDCG@10 may lose no more than 0.02.
        log: add this evaluation to the log next to the saved baseline.
        redraws: the number of resampled sets of queries on which the rules are evaluated again, to
            show how often the verdict would be another one; 0 leaves it out.
        folder: where the project is, its policy, and its saved baselines below it.
        today: the day, for exceptions that expire; as 2026-01-31.

    Raises:
        InputError: data or a policy that cannot be read, with file and line.
        UsageError: unknown names, query sets that differ, a margin below the noise floor.

    >>> qrels = {f"q{i}": {"a": 1} for i in range(20)}
    >>> run = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    >>> gate(qrels, run, run).verdict
    'pass'
    """
    rules, baselines_folder = _policy(policy, Path(folder)), Path(folder) / baselines.FOLDER
    today = today or datetime.now(UTC).strftime("%Y-%m-%d")
    if isinstance(collection, Evaluation):
        collection, baseline, candidate = _of_evaluation(collection, baseline, candidate)
    if isinstance(collection, ReportedScores):
        tagged = replace(
            collection, tags=_tags(rules) if collection.tags is None else collection.tags
        )
        return gate_scores(
            tagged, (baseline, candidate), rules, interval=_interval(rules), today=today,
            redraws=redraws,
        )  # fmt: skip
    if baseline is None or candidate is None:
        raise UsageError(
            "judgments, a baseline and a candidate are needed, or scores.", code="missing-input"
        )
    collection = _completed(Collection.of(collection), rules)
    sample, model = design_inputs(collection)
    refuse_baseline_again(baseline, [candidate])
    refuse_unfinished_files(baseline, candidate)
    if isinstance(baseline, str | Path):
        baseline = baselines.pinned(baseline, baselines_folder) or baseline
    saved = baseline if isinstance(baseline, Saved) else None
    rankings = rankings_among(rules.metrics, chosen_convention(rules["convention"]))
    metrics = rankings or (saved.baseline.system.metrics if saved else DEFAULT_METRICS)
    step("scoring the candidate")
    if saved is not None and collection.drop_seen:
        raise UsageError(
            "a saved baseline cannot leave out seen items any more; give its run, or save it again "
            "from lists without them.",
            code="conflicting-options",
        )
    of_lists = [name for name in rules.metrics if name not in rankings]
    if sample is not None:
        refuse_undesigned(rules, of_lists, saved if model is not None else None)
    scorer = Scorer.of(
        collection,
        [*metrics, *of_lists],
        rules["convention"],
        depth=rules.depth,
        slices=rules.slices,
        every_kind=True,
    )
    every = (*scorer.metrics, *(scorer.builder.metrics.items() if scorer.builder else ()))
    refuse_impossible(rules.rules, every)
    run = rules.with_earlier(collection.run(candidate))
    old = () if isinstance(baseline, Saved) else (rules.with_earlier(collection.run(baseline)),)
    noise = [*(run for opened in old for run in opened.noise), *(saved.noise_runs if saved else ())]
    refuse_unfinished_files(*noise)
    refuse_unfinished(*old, run, partly=rules["unequal"] != "refuse")
    other = scorer.scored(run)
    if saved is not None and saved.baseline.system.qrels_sha256 != scorer.qrels.sha256:
        return stale_verdict(saved, other, rules)
    step("scoring the baseline")
    base = chosen(saved, metrics, rules) if saved else scorer.scored(*old)
    base, other = systems_apart(_related([base, other]), [None if saved else baseline, candidate])
    test = Test(
        interval=_interval(rules),
        level=1 - rules["alpha"],
        power=rules["power"],
        seed=rules["seed"],
        unequal=rules["unequal"],
    )
    again = [scorer.scored(rules.with_earlier(collection.run(noisy))) for noisy in noise]
    base, other = _with_activity([base, other], rules, collection)
    lists = ComparedLists.of(scorer, [base, other, *again])
    (base, other), designs = of_both(
        scorer, model, sample, [base, other], [*old, run], test.unequal
    )
    with progress(None):
        (result,) = compared(
            lists.scored(0, base),
            lists.scored(1, other),
            Rules(test, slices=(), sizes=False),
            designs,
        )
    wholes = lists.wholes(
        result, rules.lists["resamples"], slices=(rule.slice for rule in rules.rules)
    )
    looks = place(saved.looks, other) if saved else None
    inputs = Inputs(
        noise=noise_of(saved, [base, *again], rankings) | lists.noise(len(again)),
        holes={} if sample else values_under_drawn_grades(scorer, base, other, rules),
        ranges=_ranges(every),
        drift=drift_of(base, other) if saved else None,
        admissions=admissions(rules),
        wholes=wholes,
        unjudged_lists=_unjudged_lists(rules, scorer, run),
        slices=_slices(rules, base, other),
        design=designs[0] if designs else None,
    )
    result = with_wholes(result, wholes, lists.warnings)
    redraws = 0 if sample else redraws
    verdict = decide(result, rules, inputs, looks=looks, today=today, redraws=redraws)
    return _logged(verdict, saved, other, log=log) if saved else verdict


def _of_evaluation(
    evaluation: Evaluation, baseline: object, candidate: object
) -> tuple[Collection | ReportedScores, Any, Any]:
    """What two systems of an evaluation were measured from; their values where it is not known.

    Raises:
        UsageError: not two systems.
    """
    measured = evaluation.measured_from
    if measured is None:
        return read_scores(evaluation), baseline, candidate
    base, others = measured.named(baseline, [] if candidate is None else [candidate])
    if len(others) != 1:
        raise UsageError(
            "a gate takes a baseline and a candidate; the evaluation has "
            f"{', '.join(measured.runs)}: name two of them.",
            code="missing-input",
        )
    return measured.collection, base, others


def with_noise(
    collection: Collection, baseline: RunLike, noise: Sequence[RunLike], folder: str | Path = "."
) -> Run | Saved:
    """A baseline, which may be saved, with further runs of its system that show its noise.

    Raises:
        InputError: a run or a saved baseline that cannot be read.
        UsageError: neither a file nor the name of a saved baseline.
    """
    if isinstance(baseline, str | Path):
        refuse_unfinished_files(baseline)
        saved = baselines.pinned(baseline, Path(folder) / baselines.FOLDER)
        if saved is not None:
            return replace(saved, noise_runs=tuple(noise))
    return replace(collection.run(baseline), noise=tuple(noise))


def _related(systems: list[ScoredRun]) -> list[ScoredRun]:
    """The same systems, if each has judged documents: values of 0 for other ids decide nothing.

    Raises:
        InputError: a run has none.
    """
    for system in systems:
        refuse_no_shared_document(system.name, system.cautions)
    return systems


def _logged(verdict: Verdict, saved: Saved, candidate: ScoredRun, *, log: bool) -> Verdict:
    """The verdict, its look on disk; or with a note that it is not."""
    why = "as it was asked"
    if log:
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


def _completed(collection: Collection, rules: Policy) -> Collection:
    """A collection with what the policy states of what it does not."""
    result = rules.completed(collection)
    return result if result.tags is not None else replace(result, tags=_tags(rules))


def _tags(rules: Policy) -> TagsLike | None:
    """The tags that a policy names."""
    path: str = rules["tags"]
    return path if not path or path.startswith(IDS) else rules.folder / path


def _with_activity(
    systems: Sequence[ScoredRun], rules: Policy, collection: Collection
) -> list[ScoredRun]:
    """Tags that say who is new, light and heavy, where a rule asks for it and training is there."""
    if ACTIVITY not in rules.slices or collection.training is None:
        return list(systems)
    train = Train(collection.training).met
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
    queries = {str(rule["query"]) for rule in rules.rules if rule.get("query")}
    left = sorted(queries - set(scorer.index.query_ids))
    return ranked_of(run, pl.Series(left), rules.depth, scorer.how) if left else None


def _slices(rules: Policy, base: ScoredRun, other: ScoredRun) -> dict[str, Counted]:
    """States and latencies of the slices that rules count them of."""
    slices = {rule.slice for rule in rules.rules if "counts" in RULES[rule.kind].needs}
    values = {}
    for slice_ in sorted(slices - {None}, key=str):
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
