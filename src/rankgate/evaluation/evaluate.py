"""Score runs against judgments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Number
from typing import TYPE_CHECKING, Any

from rankgate.data import read_run
from rankgate.data.columns import renamed
from rankgate.data.memory.libraries import is_pair
from rankgate.errors import UsageError
from rankgate.evaluation.evaluation import Evaluation
from rankgate.evaluation.rankings import by_ids, rankings_of, score_run
from rankgate.metrics.declare import Metric
from rankgate.metrics.facets import FACET_METRICS
from rankgate.metrics.names import DEFAULT_METRICS, parse, parse_all
from rankgate.metrics.views import LISTS, RANKING, SUBTOPICS
from rankgate.scoring.alignment.judgments import JudgmentIndex
from rankgate.scoring.bounds import bounded
from rankgate.scoring.chosen import chosen_convention
from rankgate.scoring.run_names import apart
from rankgate.scoring.sources import RunSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rankgate.data import Qrels, Run
    from rankgate.data.inputs import QrelsLike, RunsLike, TableLike
    from rankgate.evaluation.context import Context
    from rankgate.evaluation.list_builder import ListBuilder
    from rankgate.evaluation.rankings import Rankings
    from rankgate.scoring import Convention
    from rankgate.scoring.overrides import Overrides


def evaluate(
    qrels: QrelsLike,
    runs: RunsLike,
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    how: str | Convention = "trec",
    *,
    overrides: Overrides | Sequence[str] = (),
    bounds: bool = False,
    extra: Sequence[Metric] = (),
    context: Context | None = None,
    catalogue: int | Iterable[object] | None = None,
    columns: Mapping[str, str] | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Evaluation:
    """Score one run or several.

    Args:
        qrels: judgments: a path (``-`` is standard input), a frame, an array, a ``Matrix``,
            ``Lists``, ``{query: {doc: grade}}``, ``{query: {doc, …}}``.
        runs: a run: a path, a frame, an array, a ``Matrix``, ``Lists``,
            ``{query: {doc: score}}``, ``{query: [doc, …]}``; or a list of runs, or
            ``{name: run}``.
        metrics: names or metrics, those of lists too.
        how: a convention, its name, or a TOML file that says one.
        overrides: axes that are chosen otherwise: ``{"ties": "doc_id_asc", "nDCG.gain": "exp"}``,
            or as words, ``["nDCG.gain=exp"]``.
        bounds: also the least and greatest value that any grades of the unjudged documents give
            (``low``, ``high``), and the values if they were all irrelevant, and all best.
        extra: additional metrics that can be named.
        context: what metrics of lists need: training, items, an obvious system, earlier lists;
            and whether items of training leave the lists.
        catalogue: how many items there are, numbered from 0, or their ids; those that are known
            otherwise are of the catalogue too.
        columns: our column -> that of frames, where it has no usual name.
        on_progress: called with the name of each run before it is scored.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: an unknown metric or convention, or no run at all; a metric of lists that
            needs what was not given.
    """
    rules = chosen_convention(how, overrides)
    every = known_metrics(metrics, rules, (*extra, *FACET_METRICS))
    together = [(label, each) for label, each in every if is_of_lists(each)]
    chosen = [(label, each) for label, each in every if not is_of_lists(each)]
    subtopics = any(each.view == SUBTOPICS for _, each in chosen)
    readable = named_rankings(renamed(runs, columns))
    if not readable:
        raise UsageError("no run to score; give at least one.", code="missing-input")
    judgments = JudgmentIndex.read(renamed(qrels, columns), subtopics=subtopics)
    if subtopics:
        judgments = with_subtopics(judgments, context)
    lists = _lists(together, rules, context, catalogue, columns)
    train = lists.leaving if lists else None
    scored = []
    for run in readable:
        if on_progress:
            on_progress(run.name)
        scores = score_run(judgments, run, chosen, rules, train)
        if bounds:
            plain = [(label, each) for label, each in chosen if each.view == RANKING]
            source = RunSource(by_ids(run, train), judgments)
            scores = bounded(source, plain, rules, scores)
        scored.append(scores)
    if lists and together:
        scored = lists.with_lists(judgments, readable, scored)
    labels = tuple(label for label, _ in every)
    lower = tuple(label for label, each in every if not each.higher_is_better)
    return Evaluation(judgments.name, rules.to_dict(), labels, tuple(scored), lower)


def _lists(
    together: Sequence[tuple[str, Metric]],
    how: Convention,
    context: Context | None,
    catalogue: int | Iterable[object] | None,
    columns: Mapping[str, str] | None,
) -> ListBuilder | None:
    """What metrics of lists are computed with; None where nothing asks for it."""
    if not together and not (context and context.drop_seen):
        return None
    from rankgate.evaluation.context import Context
    from rankgate.evaluation.list_builder import ListBuilder

    return ListBuilder.of(dict(together), how, context or Context(), catalogue, columns)


def with_subtopics(judgments: JudgmentIndex, context: Context | None = None) -> JudgmentIndex:
    """The same judgments with the subtopics of each: as judged, or the categories of items."""
    from rankgate.scoring.alignment.subtopics import with_subtopics as laid_out

    topics = judgments.by_subtopic
    if not topics.by_subtopic and context is not None and context.items is not None:
        topics = _by_category(judgments, context.items, context.category) or topics
    return laid_out(judgments, topics)


def _by_category(judgments: JudgmentIndex, items: TableLike, column: str | None) -> Qrels | None:
    """Judgments by the categories of items; None where no column says them."""
    if not column:
        return None
    from rankgate.data.logs.items import read_described
    from rankgate.scoring.alignment.subtopics import by_category

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
        from rankgate.metrics.lists import LIST_METRICS

        return chosen_metrics(metrics, how, (*extra, *LIST_METRICS))


def rankings_among(
    names: Sequence[str], how: Convention, extra: Sequence[Metric] = ()
) -> list[str]:
    """The names that are not of metrics of lists.

    Raises:
        UsageError: an unknown metric.
    """
    return [
        name
        for name in names
        if not all(is_of_lists(each) for _, each in known_metrics(name, how, extra))
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
    listed = [metrics] if isinstance(metrics, str | Metric) else list(metrics)
    found: dict[str, Metric] = {}
    for each in listed:
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


def named_runs(runs: RunsLike) -> list[Run]:
    """One run, several, or ``{name: run}``, each under its own name."""
    return [read_run(run) for run in named_rankings(runs)]


def named_rankings(runs: RunsLike) -> list[Rankings]:
    """As `named_runs`, but what is a matrix stays so."""
    if isinstance(runs, Mapping) and not _is_ranking(runs):
        by_name: Mapping[str, Any] = runs
        return [replace(rankings_of(run, name), name=name) for name, run in by_name.items()]
    several: list[Any] = (
        list(runs) if isinstance(runs, list | tuple) and not is_pair(runs) else [runs]
    )
    named = [rankings_of(run, f"run{i}") for i, run in enumerate(several, 1)]
    names = apart([run.name for run in named], several)
    return [replace(run, name=name) for run, name in zip(named, names, strict=True)]


def _is_ranking(table: Mapping[Any, Any]) -> bool:
    """Whether a mapping is ``{query: {doc: score}}`` and not ``{name: run}``."""
    first = next(iter(table.values()), None)
    if not isinstance(first, Mapping):
        return first is None or _is_plain(first)
    return not isinstance(next(iter(first.values()), 0.0), Mapping | list | tuple | set)


def _is_plain(items: object) -> bool:
    """Whether something is a list of ids, and no list of runs or rows of an array."""
    first = next(iter(items), None) if isinstance(items, list | tuple | set | frozenset) else ()
    return first is None or isinstance(first, str | Number)
