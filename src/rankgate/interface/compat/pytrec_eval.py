"""pytrec_eval, computed here: ``import rankgate.compat.pytrec_eval as pytrec_eval``.

Names, arguments, results and refusals are those of pytrec_eval-terrier 0.5, which evaluates like
trec_eval 9. Where that library ends the interpreter, this module raises ValueError.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.measurement.evaluation.trec.dict_evaluator import DictEvaluator
from rankgate.measurement.evaluation.trec.trec_columns import CUT_NAMES, NICKNAMES, SINCE_10, parse_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.evaluation.trec.trec_columns import Column

__all__ = ["RelevanceEvaluator", "parse_qrel", "parse_run", "supported_measures", "supported_nicknames"]

supported_measures = frozenset(NICKNAMES["all_trec"]) - SINCE_10
"""The names that can be requested."""

supported_nicknames = {
    nickname: frozenset(names) & supported_measures
    for nickname, names in NICKNAMES.items()
    if set(names) <= set(NICKNAMES["all_trec"])
}
"""Names of groups."""

_MIN_VALUE = 0.00001  # the floor of the geometric means
_PARAMETERS = r"[._]([0-9]+(?:\.[0-9]+)?(?:,[0-9]+(?:\.[0-9]+)?)*)"


def parse_run(f_run: Iterable[str]) -> dict[str, dict[str, float]]:
    """Read the lines of a TREC run into ``{query_id: {doc_id: score}}``.

    Raises:
        ValueError: a line without six fields, or a score that is not a number.
        AssertionError: a document twice for one query.
    """
    run: dict[str, dict[str, float]] = defaultdict(dict)
    for line in f_run:
        query_id, _, doc_id, _, score, _ = line.split()
        _refuse_twice(run[query_id], query_id, doc_id)
        run[query_id][doc_id] = float(score)
    return run


def parse_qrel(f_qrel: Iterable[str]) -> dict[str, dict[str, int]]:
    """Read the lines of TREC qrels into ``{query_id: {doc_id: grade}}``.

    Raises:
        ValueError: a line without four fields, or a grade that is not a whole number.
        AssertionError: a document twice for one query.
    """
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for line in f_qrel:
        query_id, _, doc_id, grade = line.split()
        _refuse_twice(qrels[query_id], query_id, doc_id)
        qrels[query_id][doc_id] = int(grade)
    return qrels


def _refuse_twice(documents: Mapping[str, Any], query_id: str, doc_id: str) -> None:
    if doc_id in documents:
        message = f"document '{doc_id}' appears twice under query '{query_id}'; remove one."
        raise AssertionError(message)


def compute_aggregated_measure(measure: str, values: Sequence[float]) -> float:
    """Join the values of queries: counts are added, logarithms undone, the rest averaged."""
    if measure.startswith("num_"):
        return float(np.sum(values))
    if not len(values):
        return math.nan
    joined = np.mean(values)
    return float(np.exp(joined) if measure.startswith("gm_") else joined)


class RelevanceEvaluator:
    """Judgments and metrics, ready to evaluate runs.

    Args:
        query_relevance: ``{query_id: {doc_id: grade}}``; queries without documents are left out.
        measures: names, such as ``map``, ``P_5``, ``ndcg_cut.5,10``, and nicknames.
        relevance_level: the smallest grade that counts as relevant.
        judged_docs_only_flag: documents without a judgment leave the rankings.

    Raises:
        TypeError: ids that are not strings, grades or a level that are not whole numbers.
        ValueError: an unknown name, or parameters that the measure does not accept.
    """

    def __init__(
        self,
        query_relevance: Mapping[str, Mapping[str, int]],
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool = False,  # noqa: FBT001, FBT002 - the library's signature
    ) -> None:
        names = _measure_names(measures)
        if not isinstance(relevance_level, int) or relevance_level < 1:
            message = f"relevance_level {relevance_level!r} must be a whole number of 1 or more."
            raise TypeError(message)
        judgments = {query: row for query, row in query_relevance.items() if len(row)}
        _check_types(judgments, "query_relevance", "grade", (int,))
        self._columns = parse_columns(names, level=relevance_level, te9=True)
        self._evaluator = (
            DictEvaluator.from_judgments(judgments, self._columns, judged_only=bool(judged_docs_only_flag))
            if judgments
            else None
        )

    def evaluate(self, scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """Evaluate a run, ``{query_id: {doc_id: score}}``.

        Returns:
            ``{query_id: {name: value}}`` for the queries that are judged, in the run's order;
            ``gm_map`` and ``gm_bpref`` are logarithms, ``runid`` and ``relstring`` 0.

        Raises:
            TypeError: not dictionaries, ids that are not strings, scores that are not numbers.
        """
        if not scores:
            return {}
        if not isinstance(scores, dict):
            message = f"scores: a {type(scores).__name__}, where a dict of dicts is needed."
            raise TypeError(message)
        _check_types(scores, "scores", "score", (float, int))
        if self._evaluator is None:
            return {}
        queries, arrays = self._evaluator.evaluate(scores)
        names = [column.label if column.name in CUT_NAMES else column.name for column in self._columns]
        values = [_column_values(*pair, len(queries)) for pair in zip(self._columns, arrays, strict=True)]
        rows = zip(*values, strict=True) if values else ([] for _ in queries)
        return {query: dict(zip(names, row, strict=True)) for query, row in zip(queries, rows, strict=True)}


def _column_values(column: Column, values: NDArray[np.float64] | None, queries: int) -> list[float]:
    if values is None:
        return [0.0] * queries
    if column.metrics[0].aggregate == "geometric":
        values = np.log(np.maximum(values, _MIN_VALUE))
    numbers: list[float] = values.tolist()
    return numbers


def _measure_names(measures: Iterable[str]) -> list[str]:
    """The names in trec_eval's form: nicknames replaced, parameters joined after a dot."""
    numbers_by_name: dict[str, set[str]] = {}
    for measure in measures:
        if measure in supported_nicknames:
            for name in supported_nicknames[measure]:
                numbers_by_name.setdefault(name, set())
        elif measure in supported_measures:
            numbers_by_name.setdefault(measure, set())
        else:
            name, numbers = _split_parameters(measure)
            numbers_by_name.setdefault(name, set()).update(numbers)
    return [f"{name}.{','.join(sorted(ns))}" if ns else name for name, ns in numbers_by_name.items()]


def _split_parameters(measure: str) -> tuple[str, list[str]]:
    for name in supported_measures:
        match = re.match(re.escape(name) + _PARAMETERS, measure)
        if match:
            return name, match[1].split(",")
    message = f"unsupported measure {measure}"
    raise ValueError(message)


def _check_types(table: Mapping[Any, Any], argument: str, number: str, kinds: tuple[type, ...]) -> None:
    """Check the types of a dict of dicts, by the set of types that each level has."""
    types: set[type] = set()
    for row in table.values():
        if not isinstance(row, dict):
            message = f"{argument}: a {type(row).__name__}, where a dict by document is needed."
            raise TypeError(message)
        types.update(map(type, row.values()))
        _check_ids(row, argument)
    _check_ids(table, argument)
    for kind in types:
        if not issubclass(kind, kinds):
            must = " or ".join(kind.__name__ for kind in kinds)
            message = f"{argument}: a {number} of type {kind.__name__}; it must be {must}."
            raise TypeError(message)


def _check_ids(keys: Iterable[Any], argument: str) -> None:
    try:
        "".join(keys)
    except TypeError:
        message = f"{argument}: an id is not a string; convert ids to strings first."
        raise TypeError(message) from None
