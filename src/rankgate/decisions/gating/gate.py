"""The gate: a comparison, or what makes one, and a policy to a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.present.number_formats import count_noun
from rankgate.core.progress import progress
from rankgate.data.adapters import is_ranking
from rankgate.data.collection import Collection
from rankgate.data.score_parts import EVERYTHING, Need, Supply
from rankgate.data.spark_tables import any_on_spark
from rankgate.decisions.comparison.compared_systems import ComparedPair, ComparedSystems
from rankgate.decisions.comparison.comparison import Comparison, Comparisons
from rankgate.decisions.comparison.comparison_checks import missing_input_error
from rankgate.decisions.comparison.paired_values import unequal_warnings
from rankgate.decisions.comparison.pairs import ComparisonRules
from rankgate.decisions.comparison.reported_systems import read_scores, reported_tables
from rankgate.decisions.gating.charged_tests import charge_test, promoting, withhold
from rankgate.decisions.gating.decide import decide
from rankgate.decisions.gating.flip_checks import REDRAWS
from rankgate.decisions.gating.gate_against_saved import (
    make_verdict_on_stale_baseline,
    saved_supply,
    saved_system,
)
from rankgate.decisions.gating.policy import Policy, find_policy, load_default_policy, metric_policy, read
from rankgate.decisions.gating.rule_inputs import make_inputs
from rankgate.decisions.gating.saved import saved_baselines
from rankgate.decisions.gating.saved.baseline_file import number_look
from rankgate.decisions.gating.saved.holdout_account import find_account
from rankgate.decisions.gating.saved.saved_baselines import (
    SavedBaseline,
    refuse_unfinished,
    refuse_unfinished_files,
)
from rankgate.engines.snapshots.query_sender import queries_of
from rankgate.measurement.evaluation.evaluate import FromRuns, evaluate
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.evaluation.scores import Scores, choose_systems
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS
from rankgate.measurement.scoring.alignment.top_documents import refuse_baseline_again
from rankgate.measurement.scoring.presets import chosen_convention, refuse_mixed
from rankgate.measurement.scoring.scoring_facts import refuse_no_shared_document

if TYPE_CHECKING:
    from rankgate.data import Run
    from rankgate.data.input_types import QrelsLike, RunLike
    from rankgate.data.run_scores import ScoredRun
    from rankgate.data.score_parts import Part
    from rankgate.decisions.comparison.query_groups import QueryGroups
    from rankgate.decisions.gating.verdict import Verdict
    from rankgate.measurement.metrics.metric_declaration import Metric


def gate(
    collection: Collection | QrelsLike | Scores | Comparison | Comparisons,
    baseline: RunLike | SavedBaseline | Policy | None = None,
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
            users; or `Scores`, which `evaluate` and `read_scores` give; or a comparison that
            `compare` gave, which is neither scored nor compared again. By default that
            of the policy. If judgments or a run are on Spark, both runs are scored there, and the
            verdict is by sums of groups of queries.
        baseline: a run: a path, a frame, ``{query: {doc: score}}``, ``{name: run}``; or the name of
            a saved baseline, or its file; of scores the name of a system. ``{name: run}`` may have
            the candidate as its second run; the policy may then follow it, as after a comparison.
        candidate: a run; of scores, or of a comparison of several, the name of a system.
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
        UsageError: unknown names, query sets that differ, a margin below the noise floor; a
            comparison that lacks a metric or the depth of the policy, or follows other rules.

    >>> qrels = {f"q{i}": {"a": 1} for i in range(20)}
    >>> run = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    >>> gate(qrels, run, run).verdict
    'pass'
    >>> from rankgate import compare
    >>> gate(compare(qrels, run, run, ["nDCG@10", "RR"]), ["nDCG@10"]).verdict
    'pass'
    """
    source, baseline, candidate, policy = _named_values(collection, baseline, candidate, policy)
    policy = find_policy(Path(folder)) if policy is None else policy
    rules, saved = _rules(policy, of_values=isinstance(source, Scores | Comparison)), None
    is_default = policy is None or (isinstance(policy, Sequence) and not isinstance(policy, str))
    if is_default and find_account(Path(folder)):
        rules = promoting(rules)
    if isinstance(source, Comparison):
        pair = ComparedPair.from_comparison(source)
        _refuse_other_terms(pair, rules, states_convention=isinstance(policy, str | Path | Policy))
    else:
        systems, saved = _systems(source, baseline, candidate, rules, Path(folder))
        if saved and systems.scorer is None:  # it was scored by other judgments
            return make_verdict_on_stale_baseline(saved, systems.systems[1], rules)
        _refuse_unfit_systems(systems, rules)
        with progress(None):
            (pair,) = systems.pairs(ComparisonRules(rules.test, sizes=False))
    inputs = make_inputs(pair, rules, saved)
    texts, text_notes = _query_texts(pair)
    charged = charge_test(pair, rules, inputs, texts, Path(folder))
    account, charge = charged or (None, None)
    verdict = decide(
        pair.with_totals(inputs.wholes),
        rules,
        inputs,
        looks=number_look(saved.looks, pair.systems[1]) if saved else None,
        level=charge.level if charge else None,
        today=today or datetime.now(UTC).strftime("%Y-%m-%d"),
        redraws=0 if pair.design or account else redraws,
    )
    verdict = replace(verdict, texts=texts, notes=(*verdict.notes, *text_notes))
    if charge is not None and (account is not None or rules["looks"] == "account"):
        verdict = withhold(verdict, account, charge)
    else:
        if pair.made.scorer is None:
            verdict = verdict.noted(_NO_RUNS_NOTE if pair.made.supply.has("lists") else _VALUES_ONLY_NOTE)
        verdict = _in_query_figures(
            verdict if charge is None else verdict.budgeted(charge.budget), pair.made.groups
        )
    return _log_look(verdict, saved, pair.systems[1], log=log) if saved else verdict


def _named_values(source: Any, baseline: Any, candidate: Any, policy: Any) -> tuple[Any, Any, Any, Any]:  # noqa: ANN401 - of `gate`
    """The values of a call by name: a policy may follow a comparison, or both runs in one dictionary.

    Raises:
        UsageError: a dictionary with three runs or more; not one baseline and one candidate of a
            comparison.
    """
    if isinstance(source, Comparison | Comparisons):
        if policy is None:
            baseline, policy = None, baseline
        comparisons = source.comparisons if isinstance(source, Comparisons) else (source,)
        names = [comparison.candidate.name for comparison in comparisons]
        base = comparisons[0].baseline.name
        chosen_names = [name for name in names if candidate in (None, name) and baseline in (None, base)]
        _refuse_unless_two([base, *chosen_names], "comparison", [base, *names])
        comparison = comparisons[names.index(chosen_names[0])]
        is_of_sums = comparison.groups and comparison.maker is None  # of Spark
        return read_scores(comparison) if is_of_sums else comparison, None, None, policy
    if not isinstance(baseline, Mapping) or is_ranking(baseline) or len(baseline) == 1:
        return source, baseline, candidate, policy
    _refuse_unless_two([*baseline], "dictionary")
    first, second = ({name: run} for name, run in baseline.items())
    return source, first, second, policy or candidate


def _rules(policy: str | Path | Policy | Sequence[str | Metric] | None, *, of_values: bool) -> Policy:
    if isinstance(policy, str | Path):
        return read(policy).offline()
    if isinstance(policy, Sequence):
        return metric_policy(policy, of_values=of_values)
    return load_default_policy() if policy is None else policy.offline()


def _refuse_other_terms(pair: ComparedPair, rules: Policy, *, states_convention: bool) -> None:
    """Check that a comparison has what a policy demands: metrics, depth, convention and queries.

    Args:
        pair: what the comparison was made from.
        rules: the policy.
        states_convention: False if the policy is a list of metrics or the default one.

    Raises:
        UsageError: it does not.
    """
    comparison, supply = pair.measured, pair.made.supply
    values: Part = "values" if pair.made.groups is None else "group_sums"
    supply.require("the policy", [Need(values)])
    names = comparison.metrics.filter(pl.col("test") != "none")["metric"]
    has_lists = supply.has("lists")
    compared = Supply(
        supply.parts,
        f"the comparison has {', '.join(comparison.names)}"
        + f" and the first {count_noun(comparison.depth, 'document')} of each list" * has_lists,
        "compare again by the metrics and the depth of the policy",
        comparison.depth if has_lists else None,
        (*names, *pair.made.lists.totals),
    )
    depths = [Need("lists", depth=rules.depth)] if has_lists else []
    compared.require("the policy", [*(Need(values, metric=name) for name in rules.ruled_metrics), *depths])
    if states_convention and comparison.convention["hash"]:  # given values follow no convention
        stated = chosen_convention(rules["convention"]).to_dict()
        refuse_mixed({"the policy": stated, "the comparison": comparison.convention})
    if rules.test.interval not in ("t", comparison.interval):
        problem = (
            f'interval = "{rules.test.interval}": the comparison has intervals by {comparison.interval}; '
            "compare again by this interval."
        )
        raise UsageError(problem, code="conflicting-options")
    if comparison.sample and pair.design is None:
        raise supply.error(f"a sample of queries ({comparison.sample})", Need("judgments"))
    if pair.systems and pair.unequal != rules["unequal"]:
        baseline, candidate = pair.systems
        for text in unequal_warnings(baseline, candidate, pair.unequal):
            problem = f'{text.rstrip(".")}; set unequal = "{pair.unequal}" under [gate] of the policy.'
            raise UsageError(problem, code="conflicting-options")
    _refuse_unfit_systems(pair.made, rules)


def _systems(
    source: Any,  # noqa: ANN401 - of `gate`
    baseline: Any,  # noqa: ANN401 - of `gate`
    candidate: Any,  # noqa: ANN401 - of `gate`
    rules: Policy,
    folder: Path,
) -> tuple[ComparedSystems, SavedBaseline | None]:
    """The baseline and the candidate by the metrics of rules; and the saved baseline, if it is one.

    Runs are scored in one pass. The values of scores are read, and those of Spark are made there.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: not two systems; a part that rules need and scores lack.
    """
    candidates = [] if candidate is None else [candidate]
    if isinstance(source, Scores) and isinstance(source.maker, FromRuns):
        maker = source.maker
        names = choose_systems(maker.runs, baseline, candidates)
        _refuse_unless_two(names, "evaluation", maker.runs)
        source, (baseline, candidate) = maker.collection, ({name: maker.runs[name]} for name in names)
    if not isinstance(source, Scores):
        if baseline is None or candidate is None:
            raise missing_input_error("gate")
        source = rules.completed(Collection.of(source))
        if any_on_spark(source.judgments, baseline, candidate):
            runs = [baseline, candidate]
            by_name = all(isinstance(run, Mapping) for run in runs)
            source = evaluate(
                source,
                {**baseline, **candidate} if by_name else runs,
                rules.ranking_metrics or DEFAULT_METRICS,
                rules["convention"],
            )
            baseline, candidates = None, []
    if isinstance(source, Scores):
        return _systems_of_values(source, baseline, candidates, rules), None
    return _systems_of_runs(source, baseline, candidate, rules, folder)


def _systems_of_values(
    scores: Scores, baseline: object, candidates: Sequence[object], rules: Policy
) -> ComparedSystems:
    """The systems of values that another tool, or Spark, computed.

    Raises:
        InputError: tables that cannot be read, with file and line.
        UsageError: a metric of a rule that the tables do not have; not two systems.
    """
    tables = reported_tables(scores)
    tables = replace(tables, tags=rules.tags if tables.tags is None else tables.tags)
    if not rules.ruled_metrics:
        problem = "no rule of the policy looks at a metric; give judgments and runs."
        raise UsageError(problem, code="unsupported-rule")
    systems = tables.compared(baseline, candidates, rules.ruled_metrics, rules["unequal"])
    _refuse_unless_two([system.name for system in systems.systems], "scores")
    return systems


def _systems_of_runs(
    collection: Collection,
    baseline: Any,  # noqa: ANN401 - of `gate`
    candidate: Any,  # noqa: ANN401 - of `gate`
    rules: Policy,
    folder: Path,
) -> tuple[ComparedSystems, SavedBaseline | None]:
    """Both runs, or a saved baseline and the candidate, scored by the metrics of rules.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: a run that did not get every query; a saved baseline that lacks a part.
    """
    refuse_baseline_again(baseline, [candidate])
    refuse_unfinished_files(baseline, candidate)
    saved = baseline if isinstance(baseline, SavedBaseline) else None
    if isinstance(baseline, str | Path):
        saved = saved_baselines.find_saved(baseline, folder / saved_baselines.FOLDER)
    usual_metrics = saved.baseline.system.metrics if saved else DEFAULT_METRICS
    scorer = Scorer.from_metrics(
        collection,
        [*(() if rules.ranking_metrics else usual_metrics), *rules.metrics],
        rules["convention"],
        depth=rules.depth,
        slices=rules.slices,
        every_kind=True,
    )
    sources = [candidate] if saved else [baseline, candidate]
    runs = [rules.with_earlier(collection.run(run)) for run in sources]
    noise = saved.noise_runs if saved else runs[0].noise
    refuse_unfinished_files(*noise)
    refuse_unfinished(*runs, partly=rules["unequal"] != "refuse")
    if saved and saved.baseline.system.qrels_sha256 != scorer.qrels.sha256:
        return ComparedSystems((saved.baseline.system, scorer.scored(runs[0]))), saved
    scored = [saved_system(saved, [label for label, _ in scorer.metrics], rules, collection)] if saved else []
    systems = ComparedSystems.of_runs(
        scorer,
        [(None, system) for system in (*scored, *runs)],
        rules["unequal"],
        slices=rules.slices,
        noise=[rules.with_earlier(collection.run(run)) for run in noise],
        sources=[None, candidate] if saved else sources,
        supply=saved_supply(saved) if saved else EVERYTHING,
    )
    return systems, saved


def _refuse_unfit_systems(systems: ComparedSystems, rules: Policy) -> None:
    """Check that a decision on systems can be right.

    Raises:
        InputError: a run has no judged document: values of 0 from unrelated ids prove nothing.
        UsageError: several seeds of a system; an interval that cannot weigh queries, or that needs
            values of single queries.
    """
    for system in systems.systems:
        refuse_no_shared_document(system.name, system.cautions)
    if rules["interval"] == "guaranteed":
        systems.supply.require('interval = "guaranteed"', [Need("values")])
    if systems.designs and rules["interval"] != "t":
        raise UsageError(
            f'interval = "{rules["interval"]}": with a sample of queries, intervals are those of Student\'s '
            't; set interval = "t" under [gate] of the policy.',
            code="conflicting-options",
        )


_NO_RUNS_NOTE = (
    "decided by a comparison that was read from JSON: what unjudged documents could change is not known"
)
_VALUES_ONLY_NOTE = (
    "decided by given values: what unjudged documents could change is not known, and neither are lists, "
    "judged shares, states and latencies"
)


def _in_query_figures(verdict: Verdict, groups: QueryGroups | None) -> Verdict:
    """A verdict on values of groups, with figures converted to queries."""
    if groups is None:
        return verdict
    assert verdict.comparison is not None
    results = tuple(replace(result, outcome=replace(result.outcome, queries=())) for result in verdict.rules)
    comparison = groups.in_queries(verdict.comparison)
    return replace(verdict, rules=results, comparison=comparison).noted(groups.note)


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


_TAGS = ("text", "query_text", "query")
_FILES = ("queries.tsv", "queries.csv", "queries.jsonl", "queries.parquet", "queries.txt")


def _query_texts(pair: ComparedPair) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """The texts of queries, where they are known, and a note where a file of queries cannot be read.

    They are a tag called text, query_text or query; else those of ``queries.tsv`` (csv, jsonl, parquet,
    txt) beside the judgments, or in their folder; only a path has files beside it.
    """
    if pair.made.scorer is None:
        return {}, ()
    system, judgments = pair.systems[0], pair.made.scorer.collection.judgments
    tag = next((name for name in _TAGS if name in system.tags), None)
    if tag is not None:
        rows = system.queries.select("query_id", pl.col(tag).cast(pl.String)).drop_nulls()
        return dict(rows.iter_rows()), ()
    if not isinstance(judgments, str | Path):
        return {}, ()
    folder = Path(judgments) if Path(judgments).is_dir() else Path(judgments).parent
    path = next((folder / name for name in _FILES if (folder / name).is_file()), None)
    if path is None:
        return {}, ()
    try:
        return {query.query_id: query.text for query in queries_of(path)}, ()
    except RankgateError as error:
        return {}, (f"the texts of queries are left out: {error}",)


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
