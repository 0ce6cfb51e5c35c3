"""Evaluate a run as ndeval does: novelty and diversity, topic by topic, as CSV."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from rankgate.core.declare import Range
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.evaluation.web_track.reading import (
    AFTER_FIRST_HYPHEN,
    PLAIN,
    read_judgments,
    read_ranking,
    relevant_topics,
    tag,
    topic_ids,
)
from rankgate.measurement.evaluation.web_track.risk import Values, compare_topics, difference_name

if TYPE_CHECKING:
    from pathlib import Path

    from rankgate.data import Qrels
    from rankgate.data.scores import RunScores

_HIGHEST_GRADE = 100_000  # the greatest number that ndeval reads, about
_CUTOFFS = (5, 10, 20)
_COLUMNS = {
    **{f"ERR-IA@{k}": f"ERR_IA(alpha={{alpha}})@{k}" for k in _CUTOFFS},
    **{f"nERR-IA@{k}": f"nERR_IA(alpha={{alpha}})@{k}" for k in _CUTOFFS},
    **{f"alpha-DCG@{k}": f"alpha_DCG(alpha={{alpha}})@{k}" for k in _CUTOFFS},
    **{f"alpha-nDCG@{k}": f"alpha_nDCG(alpha={{alpha}})@{k}" for k in _CUTOFFS},
    "NRBP": "NRBP(alpha={alpha},p={beta})",
    "nNRBP": "nNRBP(alpha={alpha},p={beta})",
    "MAP-IA": "AP_IA",
    **{f"P-IA@{k}": f"P_IA@{k}" for k in _CUTOFFS},
    **{f"strec@{k}": f"StRecall@{k}" for k in _CUTOFFS},
}


def ndeval(
    qrels: str | Path,
    run: str | Path,
    *,
    alpha: Annotated[float, Range(0, 1)] = 0.5,
    beta: Annotated[float, Range(0, 1)] = 0.5,
    traditional: bool = False,
    depth: int | None = None,
    complete: bool = False,
    baseline: str | Path | None = None,
    risk: str = "0",
) -> Iterator[str]:
    """The lines that ndeval prints.

    Args:
        qrels: judgments by subtopic.
        run: the run.
        alpha: how much less another document on a subtopic is worth.
        beta: the chance to look at the next document, for NRBP.
        traditional: order by score and document, not by rank.
        depth: how many documents of each topic count.
        complete: divide by all judged topics, not by those that the run has.
        baseline: a run; values are differences from it.
        risk: how much more a loss against the baseline weighs than a gain, as it is written.

    Raises:
        InputError: a line that ndeval does not read.
        DuplicateError: a document or rank twice for one topic.
    """
    judged = read_judgments(qrels, topics=PLAIN, subtopics=True, grades=(0, _HIGHEST_GRADE))
    metrics = [template.format(alpha=alpha, beta=beta) for template in _COLUMNS.values()]
    sort_field = "score" if traditional else "rank"

    def values(path: str | Path) -> Values:
        ranked = read_ranking(path, topics=AFTER_FIRST_HYPHEN, by=sort_field, depth=depth)
        topics = topic_ids(ranked)
        return _values(judged, evaluate(judged, ranked, metrics).runs[0], metrics, topics)

    run_values, baseline_values = values(run), values(baseline) if baseline else None
    judged_topics = topic_ids(judged)
    count = len(judged_topics) if complete else len(set(judged_topics) & run_values.keys())
    name = tag(run, last=False)
    if baseline and baseline_values:
        topics = sorted({*run_values, *(baseline_values if complete else ())}, key=int)
        rows = compare_topics(run_values, baseline_values, float(risk), topics)
        name = difference_name(name, tag(baseline, last=False), risk, separator=";")
        count = max(count, len(rows))
    else:
        rows = run_values
    yield ",".join(("runid", "topic", *_COLUMNS))
    for topic, row in rows.items():
        yield ",".join((name, topic, *map(_number_text, row)))
    means = (sum(column) / count for column in zip(*rows.values(), strict=True))
    yield ",".join((name, "amean", *map(_number_text, means)))


def _values(judged: Qrels, result: RunScores, metrics: list[str], topics: list[str]) -> Values:
    """The values of each topic of a run; 0 without judgments."""
    query_values = [result.per_query(metric) for metric in metrics]
    column, topics_without_relevant = (
        list(_COLUMNS).index("nNRBP"),
        {*topic_ids(judged)} - {*relevant_topics(judged)},
    )
    rows: dict[str, tuple[float, ...]] = {}
    for topic in topics:
        row = [float(by_topic.get(topic) or 0) for by_topic in query_values]
        if topic in topics_without_relevant:
            row[column] = math.nan  # it divides 0 by 0
        rows[topic] = tuple(row)
    return rows


def _number_text(value: float) -> str:
    return "-nan" if math.isnan(value) else f"{value:.6f}"
