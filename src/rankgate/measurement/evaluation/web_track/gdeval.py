"""Evaluate a run as gdeval does: nDCG and ERR with exponential gains, as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from rankgate.core.declare import Range
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.evaluation.web_track.reading import (
    AFTER_LAST_HYPHEN,
    read_judgments,
    read_ranking,
    relevant_topics,
    tag,
    topic_ids,
)
from rankgate.measurement.evaluation.web_track.risk import Values, compare_topics, difference_name

if TYPE_CHECKING:
    from pathlib import Path

_GRADES = (-1_000_000, 4)


def gdeval(
    qrels: str | Path,
    run: str | Path,
    *,
    cutoff: Annotated[int, Range(1)] = 20,
    complete: bool = False,
    baseline: str | Path | None = None,
    risk: str = "0",
) -> Iterator[str]:
    """The lines that gdeval prints.

    Args:
        qrels: judgments with grades up to 4.
        run: the run; documents are ordered by score, equal ones by document, descending.
        cutoff: how many documents of each topic count.
        complete: divide by all topics with a relevant document, not by those that the run has.
        baseline: a run; values are differences from it.
        risk: how much more a loss against the baseline weighs than a gain, as it is written.

    Raises:
        InputError: a line that gdeval does not read.
        DuplicateError: a document twice for one topic.
    """
    judged = read_judgments(qrels, topics=AFTER_LAST_HYPHEN, subtopics=False, grades=_GRADES)
    metrics = [f"ndcg@{cutoff}", f"err@{cutoff}"]

    def values(path: str | Path) -> Values:
        ranked = read_ranking(path, topics=AFTER_LAST_HYPHEN, by="score")
        result = evaluate(judged, ranked, metrics, "gdeval").runs[0]
        query_values = [result.per_query(metric) for metric in metrics]
        return {
            topic: tuple(float(by_topic[topic] or 0) for by_topic in query_values)
            for topic in topic_ids(ranked)
            if query_values[0].get(topic) is not None
        }

    rows, name = values(run), tag(run, last=True)
    relevant = relevant_topics(judged)
    count = len(relevant) if complete else len(rows)
    if baseline:
        missing = [topic for topic in relevant if topic not in rows] if complete else []
        rows = compare_topics(rows, values(baseline), float(risk), [*rows, *missing])
        name = difference_name(name, tag(baseline, last=True), risk, separator=",")
    yield ",".join(("runid", "topic", *metrics))
    for topic, row in rows.items():
        yield ",".join((name, topic, *(f"{value:.5f}" for value in row)))
    means = (sum(column) / max(count, 1) for column in zip(*rows.values(), strict=True))
    yield ",".join((name, "amean", *(f"{value:.5f}" for value in means)))
