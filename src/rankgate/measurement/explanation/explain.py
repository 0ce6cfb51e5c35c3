"""Explain one value by the contribution of each document."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.declare import Cutoff
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import run_notices
from rankgate.core.present.number_formats import finite_or_none
from rankgate.data import Qrels, Run
from rankgate.data.collection import TASK_FIELDS, Collection
from rankgate.data.run import RUN_SCHEMA
from rankgate.data.run_scores import REASONS
from rankgate.measurement.evaluation.metric_selection import find_ranking_metrics
from rankgate.measurement.explanation.explanation_results import ExplainedRow, Explanation, Other
from rankgate.measurement.explanation.query_contributions import (
    Contributions,
    QueryRanking,
    contributions,
    ideal_rows,
    rank_query,
)
from rankgate.measurement.scoring import CONVENTIONS, Convention
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.presets import chosen_convention
from rankgate.measurement.scoring.run_sources import score

if TYPE_CHECKING:
    from rankgate.data import RunScores
    from rankgate.data.input_types import QrelsLike, RunLike
    from rankgate.measurement.metrics.metric_declaration import Metric

DEPTH = 20
"""The number of documents that are shown of each list."""

_TREC_EVAL = ("trec", "trec9")  # every explanation is compared with these conventions
_TOLERANCE = 1e-12  # values with a smaller difference are equal


@dataclass(frozen=True)
class _Case:
    """The data of one value: query, metric, convention, and the rows of the query."""

    query_id: str
    label: str
    metric: Metric
    how: Convention
    frame: pl.DataFrame
    judged: pl.DataFrame
    depth: int | None

    @property
    def convention_choices(self) -> Convention:
        """The convention's settings for the metric."""
        return self.how.for_metric(self.metric)

    @property
    def defaults(self) -> Mapping[str, Any]:
        return self.how.defaults(self.metric)


def explain(
    collection: Collection | QrelsLike,
    run: RunLike | Mapping[str, RunLike],
    query: str,
    metric: str | Metric,
    convention: str | Convention = "trec",
    *,
    depth: Cutoff | None = None,
) -> Explanation:
    """Show how the value of one metric for one query was computed, document by document.

    Args:
        collection: judgments, or a `Collection`, as ``evaluate`` takes them.
        run: one run, as ``evaluate`` takes it, or ``{name: run}``.
        query: the id of the query.
        metric: one metric or its name.
        convention: the rules that the number follows: a name, a TOML file, or a convention.
        depth: show at most this many documents of each list, the most important first; all without
            it.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: a query without judgments, several metrics, an unknown name.

    >>> qrels, run = {"q": {"a": 1}}, {"q": {"b": 1.0, "a": 1.0}}
    >>> explain(qrels, run, "q", "RR").value
    0.5
    >>> from rankgate import convention
    >>> explain(qrels, run, "q", "RR", convention("trec", {"ties": "doc_id_asc"})).value
    1.0
    """
    rules = chosen_convention(convention)
    metrics = find_ranking_metrics(metric, rules)
    if len(metrics) > 1:
        raise UsageError(
            f"{metric} names {len(metrics)} metrics; name one, such as {metrics[0][0]}.",
            code="several-metrics",
        )
    label, used_metric = metrics[0]
    collection = Collection.of(collection)
    collection.refuse("explain", *TASK_FIELDS)
    judgments = collection.qrels()
    index = JudgmentIndex.from_judgments(judgments)
    rankings = index.ranked(collection.run(run))
    if collection.drop_seen:
        from rankgate.measurement.evaluation.lists.list_builder import ListBuilder

        rankings = ListBuilder.from_collection({}, rules, collection).ranked(rankings)
    _refuse_unknown(query, index, judgments)
    scores = score(index, rankings, metrics, rules)
    is_query, nothing = pl.col("query_id") == query, pl.DataFrame(schema=RUN_SCHEMA)
    frame = pl.concat([nothing, *(piece.filter(is_query) for piece in rankings.pieces())])
    if rules.for_metric(used_metric).order == "file" and not rankings.ordered:
        frame = frame.sort("score", descending=True, maintain_order=True)
    case = _Case(
        query_id=query,
        label=label,
        metric=used_metric,
        how=rules,
        frame=frame,
        judged=judgments.table.select("query_id", "doc_id", "grade").filter(is_query),
        depth=depth,
    )
    return _explain_case(case, judgments, scores)


def _explain_case(case: _Case, judgments: Qrels, scores: RunScores) -> Explanation:
    query_ranking = rank_query(
        case.query_id, case.frame, case.judged, case.convention_choices, judged_only=case.metric.judged_only
    )
    shown_ranks = _ranks_to_show(query_ranking, _cutoff(case), case.depth)
    marks = contributions(case.metric, (query_ranking.block, query_ranking.full), shown_ranks, case.defaults)
    ideal, best = ideal_rows(case.metric, query_ranking, marks.ideal, case.defaults)
    ideal_shown = ideal[: case.depth]
    value, reason = _value(scores, case)
    return Explanation(
        qrels=judgments.name,
        run=scores.run,
        query_id=case.query_id,
        metric=case.label,
        formula=case.metric.formula,
        convention=case.how.to_dict(),
        ties=case.convention_choices.ties,
        parameters=_parameters(case),
        usual=_default_parameters(case),
        value=value,
        why=reason,
        rows=_rows(query_ranking, shown_ranks, marks),
        left_out=len(query_ranking.doc_ids) - (shown_ranks[-1] if shown_ranks else 0),
        retrieved=len(query_ranking.doc_ids),
        excluded=query_ranking.excluded,
        ideal=tuple(ideal_shown),
        ideal_left_out=len(ideal) - len(ideal_shown),
        relevant=len(ideal),
        best=best,
        start=marks.start,
        weighed=marks.weighed,
        summed=marks.summed,
        norm=marks.norm,
        mean=finite_or_none(scores.means[case.label]),
        queries=scores.counts.queries,
        others=_trec_eval_values(case, value),
        notices=run_notices(scores.run, scores.counts.cautions),
    )


def _refuse_unknown(query: str, index: JudgmentIndex, judgments: Qrels) -> None:
    """Check that the query has judgments."""
    judged = index.query_ids.to_list()
    if query in judged:
        return
    near = get_close_matches(query, judged, n=3) or judged[:3]
    names = ", ".join(f"'{query_id}'" for query_id in near)
    source = judgments.place.label
    raise UsageError(
        f"query '{query}' has no judgments in {source}; name one such as {names}.", code="unknown-query"
    )


def _value(scores: RunScores, case: _Case) -> tuple[float | None, str]:
    """The value under the convention, and the reason for a substituted or undefined value."""
    row = scores.query_ids.index_of(case.query_id)
    if row is None:
        return None, "missing"
    return finite_or_none(float(scores.values[case.label][row])), REASONS[scores.why[case.label][row]]


def _default_parameters(case: _Case) -> dict[str, Any]:
    return {name: parameter.default for name, parameter in case.metric.parameters.items()}


def _parameters(case: _Case) -> dict[str, Any]:
    """The arguments of the kernel, including defaults."""
    return _default_parameters(case) | case.metric.bound(case.defaults)


def _cutoff(case: _Case) -> float:
    cutoff = _parameters(case).get("cutoff")
    return math.inf if cutoff is None else cutoff


def _ranks_to_show(ranked: QueryRanking, cutoff: float, depth: int | None) -> list[int]:
    """The most important ranks in rising order.

    The order of importance is: relevant documents within the cutoff, other judged documents within
    it, unjudged documents within it, judged documents after it. Unjudged documents after the cutoff
    are never shown.
    """
    matter = []
    for rank, document in enumerate(ranked.doc_ids, 1):
        grade = ranked.grades.get(document)
        if rank <= cutoff:
            matter.append((2 if grade is None else 0 if grade > 0 else 1, rank))
        elif grade is not None:
            matter.append((3, rank))
    return sorted(rank for _, rank in sorted(matter)[:depth])


def _rows(ranked: QueryRanking, shown_ranks: list[int], marks: Contributions) -> tuple[ExplainedRow, ...]:
    rows, last_rank = [], 0
    for rank in shown_ranks:
        document, mark = ranked.doc_ids[rank - 1], marks.marks[rank]
        rows.append(
            ExplainedRow(
                rank=rank,
                doc_id=document,
                grade=ranked.grades.get(document),
                gain=mark.gain,
                weight=mark.weight,
                contribution=mark.contribution,
                running=mark.running,
                tied=ranked.tied[rank - 1],
                skipped=rank - last_rank - 1,
            )
        )
        last_rank = rank
    return tuple(rows)


def _trec_eval_values(case: _Case, value: float | None) -> tuple[Other, ...]:
    """The values of trec_eval for this metric and for its own metric, if they differ."""
    if case.frame.is_empty():
        return ()
    tools = [CONVENTIONS[name] for name in _TREC_EVAL]
    pairs = [(convention, case.metric) for convention in tools if convention.hash != case.how.hash]
    plain = _as_trec_eval(case.metric)
    if plain != case.metric:
        pairs.append((tools[0], plain))
    other_values = []
    for convention, metric in pairs:
        other_value = _value_of_one(case, metric, convention)
        if not _equal_values(other_value, value):
            other_values.append(Other(convention.name, convention.title, str(metric), other_value))
    return tuple(other_values)


def _as_trec_eval(metric: Metric) -> Metric:
    """The metric without parameters that trec_eval lacks; unchanged if there are none."""
    if not metric.trec:
        return metric
    choices = [n for n, parameter in metric.parameters.items() if parameter.kind in ("choice", "gain")]
    return replace(metric, given=tuple(pair for pair in metric.given if pair[0] not in choices))


def _value_of_one(case: _Case, metric: Metric, how: Convention) -> float | None:
    judged = Qrels(case.judged, unjudged=(case.query_id,))
    run = Run(case.query_id, lambda: iter((case.frame,)))
    values = score(judged, run, [("", metric)], how).values[""]
    return finite_or_none(float(values[0])) if len(values) else None


def _equal_values(left: float | None, right: float | None) -> bool:
    if left is None or right is None:
        return left is right
    return math.isclose(left, right, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
