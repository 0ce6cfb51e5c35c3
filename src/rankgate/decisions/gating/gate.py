"""The gate: makes a verdict from a policy, a baseline and a candidate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.core.progress import progress, step
from rankgate.data.adapters import is_ranking
from rankgate.data.collection import Collection
from rankgate.data.id_match import IdRules
from rankgate.data.query_tags import IDS
from rankgate.data.score_parts import EVERYTHING, Need
from rankgate.data.spark_tables import any_on_spark
from rankgate.decisions.comparison.compare import ComparedSystems
from rankgate.decisions.comparison.comparison_checks import missing_input_error
from rankgate.decisions.comparison.comparison_tables import latency_table, select_slice, state_tables
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.list_metrics import with_list_totals
from rankgate.decisions.comparison.pairs import ComparisonRules
from rankgate.decisions.comparison.reported_systems import reported_tables
from rankgate.decisions.gating.decide import decide, read_admissions, refuse_impossible
from rankgate.decisions.gating.flip_checks import REDRAWS, draw_values
from rankgate.decisions.gating.gate_against_saved import (
    compute_drift,
    compute_noise,
    make_verdict_on_stale_baseline,
    saved_run,
    saved_supply,
    saved_system,
)
from rankgate.decisions.gating.policy import find_policy, load_default_policy, metric_policy, read
from rankgate.decisions.gating.policy_settings import ANSWERED
from rankgate.decisions.gating.query_texts import with_query_texts
from rankgate.decisions.gating.rule import Inputs, StateCounts
from rankgate.decisions.gating.rules import RULES
from rankgate.decisions.gating.saved import saved_baselines
from rankgate.decisions.gating.saved.baseline_file import number_look
from rankgate.decisions.gating.saved.saved_baselines import (
    SavedBaseline,
    refuse_unfinished,
    refuse_unfinished_files,
)
from rankgate.measurement.evaluation.evaluate import FromRuns, evaluate
from rankgate.measurement.evaluation.metric_selection import ranking_metric_names
from rankgate.measurement.evaluation.rankings import TrainingData
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.evaluation.scores import Scores
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS
from rankgate.measurement.scoring.alignment.top_documents import (
    rank_run,
    refuse_baseline_again,
    rename_duplicates,
)
from rankgate.measurement.scoring.presets import chosen_convention
from rankgate.measurement.scoring.scoring_facts import refuse_no_shared_document
from rankgate.recommenders.scorecard_slices import ACTIVITY, user_activity

if TYPE_CHECKING:
    from rankgate.data import Run
    from rankgate.data.input_types import QrelsLike, RunLike, TagsLike
    from rankgate.data.logs.large_logs import UserItems
    from rankgate.data.run_scores import ScoredRun
    from rankgate.decisions.comparison.comparison import Comparison
    from rankgate.decisions.comparison.query_groups import QueryGroups
    from rankgate.decisions.comparison.reported_systems import ReportedTables
    from rankgate.decisions.gating.policy import Policy
    from rankgate.decisions.gating.verdict import Verdict
    from rankgate.measurement.metrics.metric_declaration import Metric


def gate(
    collection: Collection | QrelsLike | Scores,
    baseline: RunLike | SavedBaseline | None = None,
    candidate: RunLike | None = None,
    policy: str | Path | Policy | Sequence[str | Metric] | None = None,
    *,
    log: bool = True,
    redraws: Annotated[int, Range(0)] = REDRAWS,
    folder: str | Path = ".",
    today: str | None = None,
) -> Verdict:
    """Decide by a policy whether a candidate may replace a baseline: verdict, rules, reasons.

    Args:
        collection: judgments, or a `Collection` of them with what is known of queries, items and
            users; or `Scores`, which `evaluate` and `read_scores` give. By default that
            of the policy. If judgments or a run are on Spark, both runs are scored there, and the
            verdict is by sums of groups of queries.
        baseline: a run: a path, a frame, ``{query: {doc: score}}``, ``{name: run}``; or the name of
            a saved baseline, or its file; of scores the name of a system. ``{name: run}`` may have
            the candidate as its second run; the policy may then follow it.
        candidate: a run; of scores the name of a system.
        policy: the rules, in TOML; or a list of metrics: the first may lose no more than 0.02, the
            others only warn. Without it: in the command with a project the policy of the project;
            ``rankgate.toml``, or ``[tool.rankgate]`` of ``pyproject.toml``; else nDCG@10 may lose
            no more than 0.02.
        log: add this evaluation to the log next to the saved baseline.
        redraws: the number of resampled sets of queries on which the rules are evaluated again, to
            show how often the verdict would be another one; 0 leaves it out.
        folder: the folder of the project, with its policy and its saved baselines.
        today: the day, for exceptions that expire; as 2026-01-31.

    Raises:
        InputError: data or a policy that cannot be read, with file and line.
        UsageError: unknown names, query sets that differ, a margin below the noise floor.

    >>> qrels = {f"q{i}": {"a": 1} for i in range(20)}
    >>> run = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    >>> gate(qrels, run, run).verdict
    'pass'
    """
    baseline, candidate, policy = _named_systems(baseline, candidate, policy)
    rules, baselines_folder = (
        _policy(policy, Path(folder), of_values=isinstance(collection, Scores)),
        Path(folder) / saved_baselines.FOLDER,
    )
    today = today or datetime.now(UTC).strftime("%Y-%m-%d")
    if isinstance(collection, Scores):
        if not isinstance(collection.maker, FromRuns):
            tables = reported_tables(collection)
            return _gate_tables(tables, (baseline, candidate), rules, today=today, redraws=redraws)
        collection, baseline, candidate = _runs_of_maker(collection.maker, baseline, candidate)
    if baseline is None or candidate is None:
        raise missing_input_error("gate")
    collection = _complete_collection(Collection.of(collection), rules)
    if any_on_spark(collection.judgments, baseline, candidate):
        return gate(
            _scores_on_spark(collection, baseline, candidate, rules),
            policy=rules,
            redraws=redraws,
            folder=folder,
            today=today,
        )
    refuse_baseline_again(baseline, [candidate])
    refuse_unfinished_files(baseline, candidate)
    if isinstance(baseline, str | Path):
        baseline = saved_baselines.find_saved(baseline, baselines_folder) or baseline
    saved = baseline if isinstance(baseline, SavedBaseline) else None
    rankings = ranking_metric_names(rules.metrics, chosen_convention(rules["convention"]))
    metrics = rankings or (saved.baseline.system.metrics if saved else DEFAULT_METRICS)
    step("scoring the candidate")
    of_lists = [name for name in rules.metrics if name not in rankings]
    scorer = Scorer.from_metrics(
        collection,
        [*metrics, *of_lists],
        rules["convention"],
        depth=rules.depth,
        slices=rules.slices,
        every_kind=True,
    )
    all_metrics = (*scorer.metrics, *(scorer.builder.metrics.items() if scorer.builder else ()))
    refuse_impossible(rules.rules, all_metrics)
    run = rules.with_earlier(collection.run(candidate))
    baseline_run = None
    if not isinstance(baseline, SavedBaseline):
        baseline_run = rules.with_earlier(collection.run(baseline))
    noise = [*(saved.noise_runs if saved else ()), *(baseline_run.noise if baseline_run else ())]
    refuse_unfinished_files(*noise)
    refuse_unfinished(*([baseline_run] if baseline_run else []), run, partly=rules["unequal"] != "refuse")
    scored_candidate = scorer.scored(run)
    if saved is not None and saved.baseline.system.qrels_sha256 != scorer.qrels.sha256:
        return make_verdict_on_stale_baseline(saved, scored_candidate, rules)
    step("scoring the baseline")
    if baseline_run is not None:
        base = scorer.scored(baseline_run)
    elif saved is not None:
        base = saved_system(saved, metrics, rules, collection)
    base, scored_candidate = rename_duplicates(
        _refuse_unrelated([base, scored_candidate]), [None if saved else baseline, candidate]
    )
    repeats = [scorer.scored(rules.with_earlier(collection.run(noise_run))) for noise_run in noise]
    base, scored_candidate = _tag_activity([base, scored_candidate], rules, collection)
    systems = ComparedSystems.of_runs(
        scorer,
        [base, scored_candidate],
        [saved_run(saved) if saved and collection.predicted else baseline_run, run],
        rules["unequal"],
        repeats,
        saved_supply(saved) if saved else EVERYTHING,
    )
    base, scored_candidate = systems.systems
    result = _compare(systems, rules)
    wholes = systems.lists.wholes(
        result, rules.lists["resamples"], slices=(rule.slice for rule in rules.rules)
    )
    look_number = number_look(saved.looks, scored_candidate) if saved else None
    sampled = bool(systems.designs)
    inputs = Inputs(
        noise=compute_noise(saved, [base, *repeats], rankings) | systems.lists.noise(len(repeats)),
        holes={} if sampled else draw_values(scorer, base, scored_candidate, rules),
        ranges=_metric_ranges(all_metrics),
        drift=compute_drift(base, scored_candidate) if saved else None,
        admissions=read_admissions(rules),
        wholes=wholes,
        selection=collection.selection or "unknown",
        unjudged_lists=_unjudged_lists(rules, scorer, run),
        slices=_count_slices(rules, base, scored_candidate),
        design=systems.designs[0] if sampled else None,
        judged=_count_judged(scorer, base),
        unanswered=_find_unanswered(base, scored_candidate),
    )
    result = with_list_totals(result, wholes, systems.lists.warnings_of() if systems.lists.metrics else ())
    verdict = with_query_texts(
        decide(result, rules, inputs, looks=look_number, today=today, redraws=0 if sampled else redraws),
        base,
        collection.judgments,
    )
    return _log_look(verdict, saved, scored_candidate, log=log) if saved else verdict


def _named_systems(baseline: Any, candidate: Any, policy: Any) -> tuple[Any, Any, Any]:  # noqa: ANN401 - of `gate`
    """Baseline, candidate and policy, where both runs are in one dictionary.

    Raises:
        UsageError: the dictionary has three runs or more.
    """
    if not isinstance(baseline, Mapping) or is_ranking(baseline) or len(baseline) == 1:
        return baseline, candidate, policy
    _refuse_unless_two([*baseline], "dictionary")
    first, second = ({name: run} for name, run in baseline.items())
    return first, second, policy or candidate


def _scores_on_spark(
    collection: Collection,
    baseline: Any,  # noqa: ANN401 - of `gate`
    candidate: Any,  # noqa: ANN401 - of `gate`
    rules: Policy,
) -> Scores:
    """The scores of both runs by the metrics of rules, as sums of groups of queries.

    Raises:
        UsageError: several runs as the baseline or the candidate.
    """
    metrics = ranking_metric_names(rules.metrics, chosen_convention(rules["convention"]))
    if isinstance(baseline, Mapping) and isinstance(candidate, Mapping):
        runs: Any = {**baseline, **candidate}
        _refuse_unless_two([*runs], "dictionary")
    else:
        runs = [baseline, candidate]
    return evaluate(collection, runs, metrics or DEFAULT_METRICS, rules["convention"])


def _gate_tables(
    tables: ReportedTables, names: tuple[object, ...], rules: Policy, *, today: str, redraws: int
) -> Verdict:
    """Decide on values that another tool computed; rules that need lists stay inconclusive.

    Raises:
        InputError: tables that cannot be read, with file and line.
        UsageError: a metric of a rule that the tables do not have; not two systems.
    """
    tables = replace(tables, tags=_policy_tags(rules) if tables.tags is None else tables.tags)
    ruled_metrics = tuple(dict.fromkeys(str(rule["metric"]) for rule in rules.rules if rule.get("metric")))
    if not ruled_metrics:
        problem = "no rule of the policy looks at a metric; give judgments and runs."
        raise UsageError(problem, code="unsupported-rule")
    stated_names = [name for name in names if name is not None]
    systems = ComparedSystems.of_tables(tables, stated_names, ruled_metrics, rules["unequal"], ())
    _refuse_unless_two([system.name for system in systems.systems], "scores")
    if rules["interval"] == "guaranteed":
        systems.supply.require('interval = "guaranteed"', [Need("values")])
    result = _compare(systems, rules)
    design = systems.designs[0] if systems.designs else None
    inputs = Inputs(ranges=systems.ranges, supply=systems.supply, groups=systems.groups, design=design)
    verdict = decide(result, rules, inputs, today=today, redraws=0 if design else redraws)
    verdict = verdict.noted(_VALUES_ONLY_NOTE)
    return verdict if systems.groups is None else _in_query_figures(verdict, systems.groups)


_VALUES_ONLY_NOTE = (
    "decided by given values: what unjudged documents could change is not known, and neither are lists, "
    "judged shares, states and latencies"
)


def _in_query_figures(verdict: Verdict, groups: QueryGroups) -> Verdict:
    """A verdict on values of groups, with figures converted to queries."""
    assert verdict.comparison is not None
    results = tuple(replace(result, outcome=replace(result.outcome, queries=())) for result in verdict.rules)
    comparison = groups.in_queries(verdict.comparison)
    return replace(verdict, rules=results, comparison=comparison).noted(groups.note)


def _compare(systems: ComparedSystems, rules: Policy) -> Comparison:
    """The comparison that rules read.

    Raises:
        UsageError: an interval that cannot weigh queries.
    """
    if systems.designs and rules["interval"] != "t":
        raise UsageError(
            f'interval = "{rules["interval"]}": with a sample of queries, intervals are those of Student\'s '
            't; set interval = "t" under [gate] of the policy.',
            code="conflicting-options",
        )
    # rules compute their own guaranteed bounds
    test = Test(
        interval="t" if rules["interval"] == "guaranteed" else rules["interval"],
        level=1 - rules["alpha"],
        power=rules["power"],
        seed=rules["seed"],
        unequal=rules["unequal"],
    )
    with progress(None):
        (result,) = systems.comparisons(ComparisonRules(test, sizes=False))
    return result


def _runs_of_maker(maker: FromRuns, baseline: object, candidate: object) -> tuple[Collection, Any, Any]:
    """The collection and the two runs from which scores were made.

    Raises:
        UsageError: not two systems.
    """
    base, candidates = maker.name_systems(baseline, [] if candidate is None else [candidate])
    _refuse_unless_two([*base, *candidates], "evaluation", maker.runs)
    return maker.collection, base, candidates


def _refuse_unless_two(names: Sequence[str], source: str, system_names: Iterable[str] = ()) -> None:
    """Refuse anything but a baseline and one candidate.

    Raises:
        UsageError: there are fewer systems, or more.
    """
    if len(names) != 2:
        raise UsageError(
            f"a gate takes a baseline and a candidate; the {source} has "
            f"{', '.join(system_names or names)}: name two of them.",
            code="missing-input",
        )


def with_noise(
    collection: Collection, baseline: RunLike, noise: Sequence[RunLike], folder: str | Path = "."
) -> Run | SavedBaseline:
    """A baseline, saved or not, with further runs of its system for the noise.

    Raises:
        InputError: a run or a saved baseline that cannot be read.
        UsageError: neither a file nor the name of a saved baseline.
    """
    if isinstance(baseline, str | Path):
        refuse_unfinished_files(baseline)
        saved = saved_baselines.find_saved(baseline, Path(folder) / saved_baselines.FOLDER)
        if saved is not None:
            return replace(saved, noise_runs=tuple(noise))
    return replace(collection.run(baseline), noise=tuple(noise))


def _refuse_unrelated(systems: list[ScoredRun]) -> list[ScoredRun]:
    """Refuse a system without judged documents: values of 0 from unrelated ids prove nothing.

    Raises:
        InputError: a run has no judged document.
    """
    for system in systems:
        refuse_no_shared_document(system.name, system.cautions)
    return systems


def _count_judged(scorer: Scorer, system: ScoredRun) -> int:
    """The number of judged queries, or of tasks, whether or not a run has them."""
    index = scorer.index
    if not system.queries["query_id"].is_in(index.query_ids.implode()).all():
        return system.queries.height
    is_left_out = scorer.how.unrated == "left_out" and index.is_rated.any()
    return int(index.is_rated.sum()) if is_left_out else len(index.query_ids)


def _find_unanswered(*systems: ScoredRun) -> tuple[str, ...]:
    """The queries that no system answered."""
    queries = pl.concat(system.queries.select("query_id", "state") for system in systems)
    is_answered = pl.col("state").is_in(ANSWERED).any().over("query_id")
    return tuple(queries.filter(~is_answered)["query_id"].unique(maintain_order=True))


def _log_look(verdict: Verdict, saved: SavedBaseline, candidate: ScoredRun, *, log: bool) -> Verdict:
    """Log the look, and return the verdict with its baseline; with a note if the look was not logged."""
    verdict = replace(verdict, saved=saved.name_and_time)
    reason = "as it was asked"
    if log:
        try:
            saved_baselines.log_look(saved, candidate, verdict.policy, verdict.verdict)
        except OSError as error:
            reason = f"{error.strerror}: {error.filename}"
        else:
            return verdict
    return replace(verdict, notes=(*verdict.notes, f"this look was not logged ({reason})"))


def _policy(
    policy: str | Path | Policy | Sequence[str | Metric] | None, folder: Path, *, of_values: bool
) -> Policy:
    if isinstance(policy, str | Path):
        return read(policy).offline()
    if isinstance(policy, Sequence):
        return metric_policy(policy, of_values=of_values)
    if policy is not None:
        return policy.offline()
    path = find_policy(folder)
    return read(path).offline() if path else load_default_policy()


def _complete_collection(collection: Collection, rules: Policy) -> Collection:
    """A collection, completed by the values that the policy states."""
    result = rules.completed(collection)
    return result if result.tags is not None else replace(result, tags=_policy_tags(rules))


def _policy_tags(rules: Policy) -> TagsLike | None:
    """The tags that a policy names."""
    path: str = rules["tags"]
    return path if not path or path.startswith(IDS) else rules.folder / path


def _tag_activity(systems: Sequence[ScoredRun], rules: Policy, collection: Collection) -> list[ScoredRun]:
    """Systems with tags of activity, if a rule needs them and training data exists."""
    if ACTIVITY not in rules.slices or collection.training is None:
        return list(systems)
    train = TrainingData(collection.training, IdRules.read(collection.ids)).items_of_users
    return [system if ACTIVITY in system.tags else _tag_users(system, train) for system in systems]


def _tag_users(system: ScoredRun, train: UserItems) -> ScoredRun:
    """A scored system whose users are tagged as new, light or heavy."""
    served = system.served
    return replace(
        system,
        queries=system.queries.with_columns(user_activity(system.queries["query_id"], train)),
        served=None if served is None else served.with_columns(user_activity(served["query_id"], train)),
    )


def _unjudged_lists(rules: Policy, scorer: Scorer, run: Run) -> pl.DataFrame | None:
    """The run's lists for queries that rules name and that have no judgments."""
    queries = {str(rule["query"]) for rule in rules.rules if rule.get("query")}
    unjudged_queries = sorted(queries - set(scorer.index.query_ids))
    return rank_run(run, pl.Series(unjudged_queries), rules.depth, scorer.how) if unjudged_queries else None


def _count_slices(rules: Policy, base: ScoredRun, candidate: ScoredRun) -> dict[str, StateCounts]:
    """The states and latencies of slices, for rules that count them."""
    slices = {rule.slice for rule in rules.rules if "queries" in RULES[rule.kind].needs}
    values = {}
    for slice_ in sorted(slices - {None}, key=str):
        in_slice = select_slice(base, candidate, str(slice_))
        (states,) = state_tables(in_slice[0], in_slice[1:])
        values[str(slice_)] = StateCounts(states, latency_table(*in_slice))
    return values


def _metric_ranges(metrics: Iterable[tuple[str, Metric]]) -> dict[str, tuple[float, float]]:
    """The lowest and the highest value of each metric that has both."""
    return {
        label: (metric.low, metric.high)
        for label, metric in metrics
        if metric.high is not None and isfinite(metric.low)
    }
