"""ir_measures, computed here: ``from rankgate.compat import ir_measures``.

Names, arguments and results are those of ir_measures 0.4; numbers follow the convention
``ir_measures``, which computes each measure as that library's default provider does. Any metric of
rankgate is a measure too. What differs is in docs/guides/moving/ir_measures.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from rankgate.data import read_qrels, read_run
from rankgate.errors import UsageError
from rankgate.evaluation.evaluate import evaluate
from rankgate.evaluation.trec.columns import NICKNAMES
from rankgate.frozen import dataclass
from rankgate.metrics.names import parse, parse_all
from rankgate.metrics.subtopics import FACET_METRICS

if TYPE_CHECKING:
    from rankgate.metrics.declare import Metric as RankgateMetric

_MEASURES = (
    *("Accuracy", "AP", "Bpref", "BPM", "Compat", "ERR", "ERR_IA", "infAP", "INSQ", "INST"),
    *("IPrec", "Judged", "nDCG", "NERR8", "NERR9", "NERR10", "NERR11", "NumQ", "NumRel", "NumRet"),
    *("P", "P_IA", "R", "RBP", "Rprec", "RR", "SDCG", "SetAP", "SetF", "SetP", "SetR"),
    *("StRecall", "Success", "alpha_DCG", "alpha_nDCG", "nERR_IA", "nNRBP", "NRBP", "AP_IA"),
)
_ALIASES = {
    "MAP": "AP",
    "MRR": "RR",
    "NDCG": "nDCG",
    "RPrec": "Rprec",
    "BPref": "Bpref",
    "Precision": "P",
    "Recall": "R",
}
_FUNCTIONS = (
    *("CalcResults", "Evaluator", "Measure", "Metric", "Qrel", "ScoredDoc", "calc"),
    *("calc_aggregate", "evaluator", "iter_calc", "parse_measure", "parse_trec_measure"),
    *("read_trec_qrels", "read_trec_run"),
)
__all__ = [*_FUNCTIONS, *_MEASURES]  # noqa: PLE0604 - names, written once


class Qrel(NamedTuple):
    """A judgment; `iteration` is the subtopic."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class ScoredDoc(NamedTuple):
    """A document of a run."""

    query_id: str
    doc_id: str
    score: float


class Metric(NamedTuple):
    """The value of one query."""

    query_id: str
    measure: Measure
    value: float


class CalcResults(NamedTuple):
    """Means, and the values of queries."""

    aggregated: dict[Measure, float]
    per_query: list[Metric]


@dataclass(frozen=True)
class Measure:
    """A measure with its parameters: ``nDCG@10``, ``P(rel=2)@5``.

    Attributes:
        metric: what rankgate computes.
    """

    metric: RankgateMetric

    def __call__(self, **params: Any) -> Measure:
        """The measure with parameters."""
        return parse_measure(_written(self.metric.name, dict(self.metric.given) | params))

    def __matmul__(self, cutoff: float) -> Measure:
        """The measure at a cutoff."""
        return Measure(self.metric @ cutoff)

    __getitem__ = __matmul__

    def __str__(self) -> str:
        return str(self.metric)

    __repr__ = __str__

    def calc_aggregate(self, qrels: Any, run: Any) -> float:
        """The mean over the judged queries."""
        return calc_aggregate([self], qrels, run)[self]

    def iter_calc(self, qrels: Any, run: Any) -> Iterator[Metric]:
        """The value of each query."""
        return iter_calc([self], qrels, run)

    def calc(self, qrels: Any, run: Any) -> CalcResults:
        """The mean, and the value of each query."""
        return calc([self], qrels, run)

    def evaluator(self, qrels: Any) -> Evaluator:
        """The measure and judgments, ready for several runs."""
        return evaluator([self], qrels)


class Evaluator:
    """Measures and judgments, ready for several runs.

    Args:
        measures: measures, or their names.
        qrels: judgments.
    """

    def __init__(self, measures: Iterable[Measure | str], qrels: Any) -> None:
        found = [each if isinstance(each, Measure) else parse_measure(each) for each in measures]
        self.measures = tuple(dict.fromkeys(found))
        self._given = qrels

    @cached_property
    def _qrels(self) -> Any:
        return _table(self._given, "relevance", "grade")

    def calc(self, run: Any) -> CalcResults:
        """Means over the judged queries, and the value of each query.

        Raises:
            InputError: judgments or a run that cannot be read.
            UsageError: a measure that does not fit the judgments.
        """
        names = [str(each) for each in self.measures]
        judgments = self._qrels
        if isinstance(judgments, pl.DataFrame) and not self._by_subtopic:
            judgments = judgments.drop("subtopic", strict=False)
        scores = evaluate(judgments, _table(run, "score", "score"), names, "ir_measures").runs[0]
        aggregated = {each: scores.means[str(each)] for each in self.measures}
        values = [
            Metric(query, each, value)
            for each in self.measures
            for query, value in scores.per_query(str(each)).items()
            if value is not None
        ]
        return CalcResults(aggregated, values)

    @property
    def _by_subtopic(self) -> bool:
        names = {each.name for each in FACET_METRICS}
        return any(each.metric.name in names for each in self.measures)

    def calc_aggregate(self, run: Any) -> dict[Measure, float]:
        """The mean of each measure over the judged queries."""
        return self.calc(run).aggregated

    def iter_calc(self, run: Any) -> Iterator[Metric]:
        """The value of each measure for each query."""
        return iter(self.calc(run).per_query)


def evaluator(measures: Iterable[Measure | str], qrels: Any) -> Evaluator:
    """Measures and judgments, ready for several runs."""
    return Evaluator(measures, qrels)


def calc_aggregate(measures: Iterable[Measure | str], qrels: Any, run: Any) -> dict[Measure, float]:
    """The mean of each measure over the judged queries.

    >>> calc_aggregate([parse_measure("RR")], {"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}})
    {RR: 0.5}
    """
    return Evaluator(measures, qrels).calc_aggregate(run)


def iter_calc(measures: Iterable[Measure | str], qrels: Any, run: Any) -> Iterator[Metric]:
    """The value of each measure for each query."""
    return Evaluator(measures, qrels).iter_calc(run)


def calc(measures: Iterable[Measure | str], qrels: Any, run: Any) -> CalcResults:
    """Means, and the values of queries."""
    return Evaluator(measures, qrels).calc(run)


def parse_measure(measure: str) -> Measure:
    """The measure of a name.

    Raises:
        UsageError: there is no such measure, or it does not have the parameters.

    >>> parse_measure("P(rel=2)@10")
    P(rel=2)@10
    """
    return Measure(parse(measure, FACET_METRICS))


def parse_trec_measure(measure: str) -> list[Measure]:
    """The measures of a name of trec_eval, or of one of its groups such as ``official``.

    Raises:
        UsageError: trec_eval has no such measure.

    >>> parse_trec_measure("P_3,8")
    [P@3, P@8]
    """
    names = [name for name in NICKNAMES.get(measure, (measure,)) if name != "runid"]
    return [Measure(found) for name in names for _, found in parse_all(name)]


def read_trec_qrels(file: str | Path) -> Iterator[Qrel]:
    """Judgments of a TREC file, or of its text.

    Raises:
        InputError: it cannot be read.
    """
    table = read_qrels(_source(file), from_="trec").table
    for row in table.iter_rows(named=True):
        yield Qrel(row["query_id"], row["doc_id"], int(row["grade"]))


def read_trec_run(file: str | Path) -> Iterator[ScoredDoc]:
    """A TREC run, or its text.

    Raises:
        InputError: it cannot be read.
    """
    for row in read_run(_source(file), from_="trec").table.iter_rows():
        yield ScoredDoc(*row)


def _source(file: str | Path) -> Any:
    """A path, or text with more than one line as a file in memory."""
    text = str(file)
    if "\n" not in text:
        return file
    from rankgate.data.streams.source import InputFile

    return InputFile(None, text.strip("\n").encode() + b"\n")


def _table(given: Any, number: str, ours: str) -> Any:
    """Judgments or a run as rankgate takes them: dictionaries, frames and rows."""
    if isinstance(given, Mapping | str | Path):
        return given
    if not hasattr(given, "columns"):
        given = list(given)
        rows = [(each.query_id, each.doc_id, getattr(each, number)) for each in given]
        table = pl.DataFrame(rows, ["query_id", "doc_id", ours], orient="row")
        if given and hasattr(given[0], "iteration"):
            table = table.with_columns(pl.Series("subtopic", [str(e.iteration) for e in given]))
        return table
    names = {number: ours, "iteration": "subtopic"}
    columns = [name for name in given.columns if name in {"query_id", "doc_id", *names}]
    return pl.DataFrame({names.get(name, name): given[name].to_list() for name in columns})


def _written(name: str, given: Mapping[str, Any]) -> str:
    """A measure as its name is read."""
    cutoff = given.get("cutoff")
    inside = ",".join(f"{key}={value!r}" for key, value in given.items() if key != "cutoff")
    return f"{name}({inside})" + (f"@{cutoff}" if cutoff is not None else "")


def __getattr__(name: str) -> Measure:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return parse_measure(_ALIASES.get(name, name))
    except UsageError as error:
        raise AttributeError(f"no measure {name!r}: {error}") from None
