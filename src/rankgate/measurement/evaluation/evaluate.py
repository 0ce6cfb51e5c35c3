"""Score runs against judgments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.progress import step
from rankgate.data.collection import Collection
from rankgate.measurement.evaluation.evaluation import Evaluation, MeasuredFrom
from rankgate.measurement.evaluation.rankings import by_ids, measured_run, named_rankings
from rankgate.measurement.evaluation.sequences.asked import in_tasks, refuse_with_tasks
from rankgate.measurement.evaluation.slices import slice_means
from rankgate.measurement.evaluation.states import with_states
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.names import DEFAULT_METRICS, is_built_in, parse, parse_all
from rankgate.measurement.metrics.views import LISTS, RANKING, SUBTOPICS
from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
from rankgate.measurement.scoring.chosen import chosen_convention
from rankgate.measurement.scoring.plan import Plan
from rankgate.measurement.scoring.sources import RunSource

if TYPE_CHECKING:
    from rankgate.data import Qrels
    from rankgate.data.inputs import QrelsLike, RunsLike, TableLike
    from rankgate.data.logs.items import Described
    from rankgate.data.sample import Sample
    from rankgate.measurement.evaluation.lists.builder import ListBuilder
    from rankgate.measurement.scoring import Convention


def evaluate(
    collection: Collection | QrelsLike,
    runs: RunsLike,
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "trec",
    *,
    bounds: bool = False,
    slices: Sequence[str] = (),
) -> Evaluation:
    """Score one run or several against judgments, by rankings and by what lists are like.

    Args:
        collection: judgments, or a `Collection` of them with what is known of queries, items and
            users; a path, a frame (Polars, pandas, Arrow), ``{query: {doc: grade}}``, a matrix of
            grades with a row a query, or the TOML file of a collection.
        runs: a run: a path, a frame, ``{query: {doc: score}}``, a matrix of scores, or
            ``{query: [doc, …]}`` the best first; a list of runs; ``{name: run}``.
        metrics: names such as ``"nDCG@10"`` or ``"Coverage@10"``, or metrics such as
            ``nDCG(gain="exp") @ 10``.
        convention: whose rules the numbers follow: a name, a TOML file, or what
            ``rankgate.convention`` gives.
        bounds: also the least and greatest value that any grades of the unjudged documents give
            (``low``, ``high``), and the values if they were all irrelevant, and all best.
        slices: show results for each value of these tags, too.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: an unknown metric, convention, axis or choice; a metric of lists that needs
            what the collection lacks.

    >>> result = evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, ["RR", "P@1"])
    >>> result.means.row(0)
    ('run1', 0.5, 0.0)
    >>> result = evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, ["RR"], bounds=True)
    >>> result.bounds.row(0)
    ('run1', 'RR', 0.5, 0.5, 1.0)
    """
    collection, rules = Collection.of(collection), chosen_convention(convention)
    every = known_metrics(metrics, rules, subtopic_metrics(metrics))
    together = [(label, each) for label, each in every if is_of_lists(each)]
    chosen = [(label, each) for label, each in every if not is_of_lists(each)]
    subtopics = any(each.view == SUBTOPICS for _, each in chosen)
    readable = named_rankings(collection.run_source(runs))
    if not readable:
        raise UsageError("no run to score; give at least one.", code="missing-input")
    judgments = JudgmentIndex.read(collection.judgments_source, subtopics=subtopics)
    if subtopics:
        judgments = with_subtopics(judgments, collection)
    plan = Plan.of(every, [rules])
    lists = _lists(together, rules, collection)
    leaving = lists.leaving if lists else None
    scored, readable = [], [judgments.ranked(run) for run in readable]
    for run in readable:
        step(run.name)
        if in_tasks(chosen, collection, run):
            refuse_with_tasks(together, bounds=bounds)
            from rankgate.measurement.evaluation.sequences.scored import score_tasks

            scored.append(score_tasks(judgments, by_ids(run), chosen, rules, collection).scores)
            continue
        total, source = measured_run(judgments, run, plan, leaving)
        known = getattr(run, "queries", None)
        scores = with_states(total.score(0, source), known, judgments.query_ids)
        if bounds:
            plain = [(label, each) for label, each in chosen if each.view == RANKING]
            from rankgate.measurement.scoring.bounds import bounded

            ranked = RunSource(by_ids(run, leaving), judgments)
            scores = bounded(ranked, plain, rules, scores)
        scored.append(scores)
    if lists and together:
        scored = lists.with_lists(plan, judgments, readable, scored)
    labels = tuple(label for label, _ in every)
    lower = tuple(label for label, each in every if not each.higher_is_better)
    design = None if collection.sample is None else _sample(collection.sample)
    means = slice_means(scored, collection.tags, slices, design)
    result = Evaluation(
        collection.name or judgments.name, rules.to_dict(), labels, tuple(scored), lower, means,
        measured_from=MeasuredFrom(
            collection, {run.name: run for run in readable}, _listed(metrics), rules
        ),
    )  # fmt: skip
    if design is None:
        return result
    if bounds:
        raise UsageError(
            "bounds are of the judged queries, not of those that they were drawn from; leave them "
            "or the sample out.",
            code="conflicting-options",
        )
    from rankgate.measurement.evaluation.weighted import weighted  # few ask for it

    runs_of_all, table = weighted(scored, every, design)
    return replace(result, runs=runs_of_all, weighted=table)


def _sample(given: Sample | TableLike) -> Sample:
    from rankgate.data.sample import Sample  # few evaluations have one

    return Sample.of(given)


def _lists(
    together: Sequence[tuple[str, Metric]],
    how: Convention,
    collection: Collection,
) -> ListBuilder | None:
    """What metrics of lists are computed with; None where nothing asks for it."""
    if not together and not collection.drop_seen:
        return None
    from rankgate.measurement.evaluation.lists.builder import ListBuilder

    return ListBuilder.of(dict(together), how, collection)


def with_subtopics(judgments: JudgmentIndex, collection: Collection | None = None) -> JudgmentIndex:
    """The same judgments with the subtopics of each: as judged, or the categories of items."""
    from rankgate.measurement.scoring.alignment.subtopics import with_subtopics as laid_out

    topics = judgments.by_subtopic
    items = None if collection is None else collection.items
    if not topics.by_subtopic and items is not None and items.table is not None:
        topics = _by_category(judgments, items.table, items.category) or topics
    return laid_out(judgments, topics)


def _by_category(
    judgments: JudgmentIndex, items: TableLike | Described, column: str | None
) -> Qrels | None:
    """Judgments by the categories of items; None where no column says them."""
    if not column:
        return None
    from rankgate.data.logs.items import read_described
    from rankgate.measurement.scoring.alignment.subtopics import by_category

    described = read_described(items)
    return by_category(judgments.qrels, described.ids, described.words(column))


def is_of_lists(metric: Metric) -> bool:
    """Whether a metric is about lists as a whole."""
    return metric.view == LISTS


def known_metrics(
    metrics: str | Metric | Sequence[str | Metric],
    how: Convention | None = None,
    extra: Sequence[Metric] = (),
) -> list[tuple[str, Metric]]:
    """As `chosen_metrics`, those of lists too.

    Raises:
        UsageError: as `chosen_metrics`.
    """
    try:
        return chosen_metrics(metrics, how, extra)
    except UsageError:
        from rankgate.measurement.metrics.lists import LIST_METRICS
        from rankgate.measurement.metrics.sequences.catalogue import SEQUENCE_METRICS

        return chosen_metrics(metrics, how, (*extra, *LIST_METRICS, *SEQUENCE_METRICS))


def subtopic_metrics(metrics: str | Metric | Sequence[str | Metric]) -> Sequence[Metric]:
    """Metrics of subtopics, where the names can be theirs."""
    if all(isinstance(name, str) and is_built_in(name) for name in _listed(metrics)):
        return ()
    from rankgate.measurement.metrics.subtopics import FACET_METRICS

    return FACET_METRICS


def rankings_among(names: Sequence[str], how: Convention) -> list[str]:
    """The names that are not of metrics of lists.

    Raises:
        UsageError: an unknown metric.
    """
    return [
        name for name in names if not all(is_of_lists(each) for _, each in known_metrics(name, how))
    ]


def chosen_metrics(
    metrics: str | Metric | Sequence[str | Metric],
    how: Convention | None = None,
    extra: Sequence[Metric] = (),
) -> list[tuple[str, Metric]]:
    """Each metric with its label, as written; the same one twice counts once.

    A name that the convention's tool has for a metric is that metric; `extra` metrics are known
    by name in addition to the built-in ones.

    Raises:
        UsageError: a name that nothing has, a parameter that does not fit, no metric.
    """
    found: dict[str, Metric] = {}
    for each in _listed(metrics):
        if isinstance(each, Metric):
            found[str(each)] = each
        elif how is not None and (ours := how.spelled(each)):
            found[each] = parse(ours, extra)
        else:
            found.update(parse_all(each, extra))
    if not found:
        raise UsageError("no metric; give one such as nDCG@10.", code="missing-input")
    for metric in found.values():
        if metric.missing:
            raise UsageError(metric.incomplete(), code="incomplete-metric")
    if how is not None:
        for metric in found.values():
            how.defaults(metric)  # so that parameters that contradict are refused before reading
        found = {each: m.under(how.parameters.get(m.name, {})) for each, m in found.items()}
    return list(found.items())


def _listed(metrics: Any) -> list[str | Metric]:  # noqa: ANN401 - anything, to be checked
    """Metrics and names of metrics, or one of them, as a list.

    Raises:
        UsageError: anything else.
    """
    single = isinstance(metrics, str | bytes | Metric) or not isinstance(metrics, Iterable)
    listed: list[Any] = [metrics] if single else list(metrics)
    for metric in listed:
        if not isinstance(metric, str | Metric):
            kind = type(metric).__name__
            problem = f"metrics are texts such as 'nDCG@10', or metrics; this is of type {kind}."
            raise UsageError(problem, code="unknown-metric")
    return listed
