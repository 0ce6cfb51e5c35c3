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
    judgments,
    ranking,
    relevant_topics,
    tag,
    topic_ids,
)
from rankgate.measurement.evaluation.web_track.risk import Values, compared, named

if TYPE_CHECKING:
    from pathlib import Path

    from rankgate.data import Qrels
    from rankgate.data.scores import Scores

_MOST = 100_000  # the greatest number that ndeval reads, about
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
    judged = judgments(qrels, topics=PLAIN, subtopics=True, grades=(0, _MOST))
    metrics = [each.format(alpha=alpha, beta=beta) for each in _COLUMNS.values()]
    by = "score" if traditional else "rank"

    def values(path: str | Path) -> Values:
        ranked = ranking(path, topics=AFTER_FIRST_HYPHEN, by=by, depth=depth)
        topics = topic_ids(ranked)
        return _values(judged, evaluate(judged, ranked, metrics).runs[0], metrics, topics)

    own, other = values(run), values(baseline) if baseline else None
    known = topic_ids(judged)
    count = len(known) if complete else len(set(known) & own.keys())
    name = tag(run, last=False)
    if baseline and other:
        topics = sorted({*own, *(other if complete else ())}, key=int)
        rows = compared(own, other, float(risk), topics)
        name = named(name, tag(baseline, last=False), risk, separator=";")
        count = max(count, len(rows))
    else:
        rows = own
    yield ",".join(("runid", "topic", *_COLUMNS))
    for topic, row in rows.items():
        yield ",".join((name, topic, *map(_written, row)))
    means = (sum(column) / count for column in zip(*rows.values(), strict=True))
    yield ",".join((name, "amean", *map(_written, means)))


def _values(judged: Qrels, result: Scores, metrics: list[str], topics: list[str]) -> Values:
    """The values of each topic of a run; 0 without judgments."""
    found = [result.per_query(each) for each in metrics]
    at, barren = list(_COLUMNS).index("nNRBP"), {*topic_ids(judged)} - {*relevant_topics(judged)}
    rows: dict[str, tuple[float, ...]] = {}
    for topic in topics:
        row = [float(each.get(topic) or 0) for each in found]
        if topic in barren:
            row[at] = math.nan  # it divides 0 by 0
        rows[topic] = tuple(row)
    return rows


def _written(value: float) -> str:
    return "-nan" if math.isnan(value) else f"{value:.6f}"
