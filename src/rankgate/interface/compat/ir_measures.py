"""ir_measures, computed here: ``from rankgate.compat import ir_measures``.

Names, arguments and results are those of ir_measures 0.4; numbers follow the convention
``ir_measures``, which computes each measure as that library's default provider does. Any metric of
rankgate is a measure too. What differs is in docs/guides/moving/ir_measures.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data import read_run
from rankgate.data.streams.source import source
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.evaluation.trec.columns import NICKNAMES
from rankgate.measurement.metrics.names import parse, parse_all
from rankgate.measurement.metrics.subtopics import FACET_METRICS

if TYPE_CHECKING:
    from rankgate.measurement.metrics.declare import Metric as RankgateMetric

    AnyMeasure: TypeAlias = "_Calculated"

_MEASURES = (
    *("Accuracy", "AP", "Bpref", "BPM", "Compat", "ERR", "ERR_IA", "infAP", "INSQ", "INST"),
    *("IPrec", "Judged", "nDCG", "NERR8", "NERR9", "NERR10", "NERR11", "NumQ", "NumRel"),
    *("NumRelRet", "NumRet", "SetRelP"),
    *("P", "P_IA", "R", "RBP", "Rprec", "RR", "SDCG", "SetAP", "SetF", "SetP", "SetR"),
    *("StRecall", "Success", "alpha_DCG", "alpha_nDCG", "nERR_IA", "nNRBP", "NRBP", "AP_IA"),
)
_ALIASES = {
    "MAP": "AP",
    "MRR": "RR",
    "NDCG": "nDCG",
    "MAP_IA": "AP_IA",
    "RPrec": "Rprec",
    "BPref": "Bpref",
    "Precision": "P",
    "Recall": "R",
    "α_DCG": "alpha_DCG",
    "α_nDCG": "alpha_nDCG",
}
_FUNCTIONS = (
    *("BaseMeasure", "CalcResults", "Evaluator", "Measure", "Metric", "Qrel", "ScoredDoc", "calc"),
    *("calc_aggregate", "define", "define_byquery", "evaluator", "iter_calc", "parse_measure"),
    *("parse_trec_measure",),
    *("read_trec_qrels", "read_trec_run"),
)
__all__ = [*_FUNCTIONS, *_MEASURES, *_ALIASES]  # noqa: PLE0604 - names, written once


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
    measure: AnyMeasure
    value: float


class CalcResults(NamedTuple):
    """Means, and the values of queries; those of one measure have one mean, a number."""

    aggregated: Any
    per_query: list[Metric]


class _Calculated:
    """What a measure computes of judgments and a run."""

    def calc_aggregate(self, qrels: Any, run: Any) -> float:
        """The mean over the queries."""
        return calc_aggregate([self], qrels, run)[self]

    def iter_calc(self, qrels: Any, run: Any) -> Iterator[Metric]:
        """The value of each query."""
        return iter_calc([self], qrels, run)

    def calc(self, qrels: Any, run: Any) -> CalcResults:
        """The mean, and the value of each query."""
        means, values = calc([self], qrels, run)
        return CalcResults(means[self], values)

    def evaluator(self, qrels: Any) -> Evaluator:
        """The measure and judgments, ready for several runs."""
        return evaluator([self], qrels)


@dataclass(frozen=True)
class Measure(_Calculated):
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


BaseMeasure = Measure


@dataclass(frozen=True)
class DefinedMeasure(_Calculated):
    """A measure that a function of two pandas frames computes; `define` makes it.

    Attributes:
        function: from all judgments and the whole run to pairs of a query and its value.
        name: as it is printed.
        cutoff: the first documents of each query that count; None counts all.
        takes_cutoff: a cutoff may be given.
    """

    function: Callable[[Any, Any], Iterable[tuple[str, float]]]
    name: str
    cutoff: int | None = None
    takes_cutoff: bool = True

    def __matmul__(self, cutoff: int) -> DefinedMeasure:
        """The measure at a cutoff.

        Raises:
            UsageError: it was defined without one.
        """
        if not self.takes_cutoff:
            raise UsageError(f"{self.name} takes no cutoff.", code="unknown-parameter")
        return replace(self, cutoff=cutoff)

    def __call__(self, *, cutoff: int) -> DefinedMeasure:
        """The measure at a cutoff."""
        return self @ cutoff

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"

    __repr__ = __str__

    def results(self, qrels: Any, run: Any) -> CalcResults:
        """The values by judged query, 0 for one that the function leaves out, and their mean."""
        judgments = _frame(qrels, "relevance", "grade").sort_values(["query_id", "doc_id"])
        ranked = _frame(run, "score", "score").sort_values(
            ["query_id", "score"], ascending=[True, False]
        )
        if self.cutoff is not None:
            ranked = ranked.groupby("query_id").head(self.cutoff).reset_index(drop=True)
        values = {str(query): value for query, value in self.function(judgments, ranked)}
        values |= dict.fromkeys(sorted(set(judgments["query_id"]) - values.keys()), 0.0)
        mean = sum(values.values()) / len(values) if values else math.nan
        return CalcResults({self: mean}, [Metric(q, self, value) for q, value in values.items()])


def define(
    impl: Callable[[Any, Any], Iterable[tuple[str, float]]],
    name: str | None = None,
    support_cutoff: bool = True,  # noqa: FBT001, FBT002 - the library's signature
    **described: Any,  # noqa: ARG001 - inputs and titles, which describe the measure there
) -> DefinedMeasure:
    """Make a measure of a function that takes all judgments and the whole run as pandas frames."""
    shown = name or str(getattr(impl, "__name__", "measure"))
    return DefinedMeasure(impl, shown, takes_cutoff=support_cutoff)


def define_byquery(
    impl: Callable[[Any, Any], float],
    name: str | None = None,
    support_cutoff: bool = True,  # noqa: FBT001, FBT002 - the library's signature
    **described: Any,
) -> DefinedMeasure:
    """Make a measure of a function that takes the judgments and the ranking of one query."""

    def of_queries(qrels: Any, run: Any) -> Iterator[tuple[str, float]]:
        for query, ranking in run.groupby("query_id"):
            yield query, impl(qrels[qrels["query_id"] == query], ranking)

    shown = name or str(getattr(impl, "__name__", "measure"))
    return define(of_queries, shown, support_cutoff, **described)


class Evaluator:
    """Measures and judgments, ready for several runs.

    Args:
        measures: measures, or their names.
        qrels: judgments.
    """

    def __init__(self, measures: Iterable[AnyMeasure | str], qrels: Any) -> None:
        parsed = [parse_measure(name) if isinstance(name, str) else name for name in measures]
        self.measures = tuple(dict.fromkeys(parsed))
        as_it_is = hasattr(qrels, "columns") or isinstance(qrels, Mapping | str | Path)
        self._given = qrels if as_it_is else list(qrels)

    @cached_property
    def _qrels(self) -> Any:
        return _table(self._given, "relevance", "grade")

    def calc(self, run: Any) -> CalcResults:
        """Means over the judged queries, and the value of each query.

        Raises:
            InputError: judgments or a run that cannot be read.
            UsageError: a measure that does not fit the judgments.
        """
        if not hasattr(run, "columns") and not isinstance(run, Mapping | str | Path):
            run = list(run)
        defined = [measure for measure in self.measures if isinstance(measure, DefinedMeasure)]
        declared = [measure for measure in self.measures if isinstance(measure, Measure)]
        results = [measure.results(self._given, run) for measure in defined]
        if declared or not defined:
            results.append(self._declared(declared, run))
        means = {measure: mean for each in results for measure, mean in each.aggregated.items()}
        values = [value for each in results for value in each.per_query]
        return CalcResults({measure: means[measure] for measure in self.measures}, values)

    def _declared(self, measures: Sequence[Measure], run: Any) -> CalcResults:
        names = [str(measure) for measure in measures]
        judgments = self._qrels
        if isinstance(judgments, pl.DataFrame) and not self._by_subtopic:
            judgments = judgments.drop("subtopic", strict=False)
        scores = evaluate(judgments, _table(run, "score", "score"), names, "ir_measures").runs[0]
        aggregated = {measure: scores.means[str(measure)] for measure in measures}
        values = [
            Metric(query, measure, value)
            for measure in measures
            for query, value in scores.per_query(str(measure)).items()
            if value is not None
        ]
        return CalcResults(aggregated, values)

    @property
    def _by_subtopic(self) -> bool:
        names = {each.name for each in FACET_METRICS}
        return any(
            isinstance(measure, Measure) and measure.metric.name in names
            for measure in self.measures
        )

    def calc_aggregate(self, run: Any) -> dict[AnyMeasure, float]:
        """The mean of each measure over the judged queries."""
        means: dict[AnyMeasure, float] = self.calc(run).aggregated
        return means

    def iter_calc(self, run: Any) -> Iterator[Metric]:
        """The value of each measure for each query."""
        return iter(self.calc(run).per_query)


def evaluator(measures: Iterable[AnyMeasure | str], qrels: Any) -> Evaluator:
    """Measures and judgments, ready for several runs."""
    return Evaluator(measures, qrels)


def calc_aggregate(
    measures: Iterable[AnyMeasure | str], qrels: Any, run: Any
) -> dict[AnyMeasure, float]:
    """The mean of each measure over the judged queries.

    >>> calc_aggregate([parse_measure("RR")], {"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}})
    {RR: 0.5}
    """
    return Evaluator(measures, qrels).calc_aggregate(run)


def iter_calc(measures: Iterable[AnyMeasure | str], qrels: Any, run: Any) -> Iterator[Metric]:
    """The value of each measure for each query."""
    return Evaluator(measures, qrels).iter_calc(run)


def calc(measures: Iterable[AnyMeasure | str], qrels: Any, run: Any) -> CalcResults:
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
    """Judgments of a TREC file, of an open one, or of its text; one for each line.

    Raises:
        InputError: it cannot be read.
    """
    for row, line in enumerate(_text(file).splitlines(), 1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != len(Qrel._fields) or not fields[3].lstrip("+-").isdecimal():
            problem = f"'{line[:80]}', expected query, iteration, document and a whole grade."
            raise InputError(problem, source=_label(file), line=row, code="wrong-shape")
        query, iteration, document, grade = fields
        yield Qrel(query, document, int(grade), iteration)


def read_trec_run(file: str | Path) -> Iterator[ScoredDoc]:
    """A TREC run, or its text.

    Raises:
        InputError: it cannot be read.
    """
    for row in read_run(_source(file), from_="trec").table.iter_rows():
        yield ScoredDoc(*row)


def _text(file: Any) -> str:
    """The text of a path, of an open file, or as it is."""
    if hasattr(file, "read"):
        return str(file.read())
    if "\n" in str(file):
        return str(file)
    return source(str(file)).everything(1 << 40).decode()


def _label(file: Any) -> str:
    return "qrels" if hasattr(file, "read") or "\n" in str(file) else str(file)


def _frame(table: Any, number: str, ours: str) -> Any:
    """Judgments or a run as the pandas frame that functions of users take."""
    import pandas as pd

    if hasattr(table, "columns") and hasattr(table, "iloc"):
        return table
    if isinstance(table, str | Path):
        table = (read_trec_qrels if ours == "grade" else read_trec_run)(table)
    if isinstance(table, Mapping):
        rows = [(query, *pair) for query, row in table.items() for pair in row.items()]
        return pd.DataFrame(rows, columns=["query_id", "doc_id", number])
    if hasattr(table, "columns"):
        return pd.DataFrame({name: table[name].to_list() for name in table.columns})
    return pd.DataFrame([row._asdict() for row in table], columns=list(
        (Qrel if ours == "grade" else ScoredDoc)._fields))  # fmt: skip


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
