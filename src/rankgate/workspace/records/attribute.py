"""System or judge? What a changed value between two recorded evaluations came from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.present.frames import frame
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.workspace.records.attribution import PARTS, Attribution
from rankgate.workspace.records.places.place import place_at
from rankgate.workspace.records.rescored import OF_RUN, Inputs, differing, inputs_of, mixed

if TYPE_CHECKING:
    from rankgate.store.records.series import Point
    from rankgate.workspace.records.places.place import Place

CAUSES = ("system", "ids", "corpus", "judge", "judgments", "queries", "convention")
_FIRST = "nDCG@10"


def attribute(
    old: str,
    new: str,
    from_: str | Path | None = None,
    *,
    store: str | None = None,
    project: str | None = None,
    metric: str | None = None,
    system: str | None = None,
) -> Attribution:
    """Say what the difference between two recorded evaluations came from.

    Each of the inputs that differ (run, convention, set of queries, grades of pairs that both
    judgments have, pairs that only one has) is exchanged while the others are the old or the new
    ones, in all combinations, and its part is its mean effect over all orders (Shapley 1953):
    the parts add up to the difference. Grades of common pairs are the judge's where the labels
    ``judge`` differ, else the judgments'. Where runs share no documents, the ids changed; where
    the labels ``corpus`` differ and the revision does not, the corpus did; where both differ, one
    run shows the sum of both only. What is not kept or cannot be told is unknown.

    Args:
        old: a record: its number, the first letters of its hash, or its date.
        new: the later record.
        from_: a folder of records.
        store: instead of a folder a store, or the URL of a server.
        project: the project in the store.
        metric: which; by default nDCG@10, or the first one of both.
        system: which, if the records have several.

    Raises:
        UsageError: no such record; the two share no metric of a system.
    """
    with closing(place_at(None if from_ is None else str(from_), store, project)) as place:
        points = place.points(metric, system, "", None)
        before, after = _pair(_found(points, old, metric), _found(points, new, metric))
        rows, warnings = _rows(place, before, after)
    assert before.value is not None
    assert after.value is not None
    return Attribution(
        before.metric, after.system, before.sha256, after.sha256, before.value, after.value,
        frame(rows, PARTS), warnings,
    )  # fmt: skip


def _found(points: Sequence[Point], words: str, metric: str | None) -> list[Point]:
    """The points of a record; of several records of one date those of the last."""
    if words.isdigit() and len(words) < 8:
        found = [each for each in points if each.record == int(words)]
    else:
        found = [
            each for each in points
            if each.sha256.startswith(words) or each.evaluated_at.isoformat().startswith(words)
        ]  # fmt: skip
    found = [each for each in found if each.value is not None]
    if not found:
        values = f"values of {metric}" if metric else "values"
        raise UsageError(f"there is no record {words!r} with {values}.", code="unknown-record")
    return [each for each in found if each.record == found[-1].record]


def _pair(old: Sequence[Point], new: Sequence[Point]) -> tuple[Point, Point]:
    """The points of both records of the same system and metric."""
    later = {(each.system, each.metric): each for each in new}
    pairs = [(each, later[each.system, each.metric]) for each in old
             if (each.system, each.metric) in later]  # fmt: skip
    systems = sorted({each.system for each, _ in pairs})
    if not pairs:
        problem = "the two records share no metric of a system; name others."
        raise UsageError(problem, code="not-comparable")
    if len(systems) > 1:
        problem = f"the records have several systems; choose one: {', '.join(systems)}."
        raise UsageError(problem, code="missing-input")
    return next((each for each in pairs if each[0].metric == _FIRST), pairs[0])


def _rows(
    place: Place, before: Point, after: Point
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    inputs = inputs_of(place, before), inputs_of(place, after)
    changed = differing(*inputs)
    evidence = {name: words for name, words in changed.items() if words}
    if not evidence:
        part = (after.value or 0.0) - (before.value or 0.0)
        unknown = abs(part) > _TINY
        words = "all inputs have the same hashes" if unknown else ""
        return [_row(each, "unknown" if unknown else "no", None if unknown else 0.0, words)
                for each in CAUSES], ()  # fmt: skip
    if len(evidence) == 1:  # nothing else changed, so it is all of it
        parts: Mapping[str, float] = {
            next(iter(evidence)): (after.value or 0.0) - (before.value or 0.0)
        }
    else:
        try:
            parts = _shapley(inputs, tuple(evidence), before.metric)
        except RankgateError as error:
            return [_row(each, *(("unknown", None, evidence[each]) if each in evidence
                                 else ("no", 0.0, ""))) for each in CAUSES], (
                f"the parts are not known: {error}",)  # fmt: skip
    return [
        _row(each, "yes" if each in parts else "no", parts.get(each, 0.0), evidence.get(each, ""))
        for each in CAUSES
    ], ()


_TINY = 1e-9


def _row(cause: str, changed: str, part: float | None, words: str) -> dict[str, Any]:
    return {"cause": cause, "changed": changed, "part": part, "evidence": words}


def _shapley(
    inputs: tuple[Inputs, Inputs], causes: tuple[str, ...], metric: str
) -> Mapping[str, float]:
    """The mean effect of each cause over all orders in which they may come."""
    of_run = [cause for cause in causes if cause in OF_RUN]
    if len(of_run) > 1:
        problem = f"the rankings show {' and '.join(of_run)} only together."
        raise UsageError(problem, code="not-comparable")
    values: dict[frozenset[str], float] = {}
    for size in range(len(causes) + 1):
        for names in combinations(causes, size):
            run, qrels, convention = mixed(*inputs, frozenset(names))
            mean = evaluate(qrels, run, [metric], convention).runs[0].means[metric]
            values[frozenset(names)] = float(mean)
    ends = (frozenset[str](), inputs[0].point), (frozenset(causes), inputs[1].point)
    for chosen, point in ends:
        if abs(values[chosen] - (point.value or 0.0)) > _TINY:
            problem = f"the value of {point.evaluated_at:%Y-%m-%d} is not computed again from it."
            raise UsageError(problem, code="not-comparable")
    count = len(causes)
    parts = {}
    for cause in causes:
        total = 0.0
        for chosen, value in values.items():
            if cause not in chosen:
                size = len(chosen)
                weight = 1 / (count * math.comb(count - 1, size))
                total += weight * (values[chosen | {cause}] - value)
        parts[cause] = total
    return parts
