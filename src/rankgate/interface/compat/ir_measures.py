"""ir_measures, computed here: ``from rankgate.compat import ir_measures``.

Names, arguments and results are those of ir_measures 0.4; numbers follow the convention
``ir_measures``, which computes each measure as that library's default provider does. Any metric of
rankgate is a measure too. Differences are listed in docs/guides/moving/ir_measures.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data import read_run
from rankgate.data.collection import Collection
from rankgate.data.id_match import ACCEPT
from rankgate.data.streams.source import open_source
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.evaluation.trec.trec_columns import NICKNAMES
from rankgate.measurement.metrics.facet_metrics import FACET_METRICS
from rankgate.measurement.metrics.metric_declaration import Metric as RankgateMetric
from rankgate.measurement.metrics.metric_name_parser import name_of_measure, parse, parse_all

if TYPE_CHECKING:
    AnyMeasure: TypeAlias = "_MeasureCalculation"

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
    """The means and the values of queries; for a single measure the mean is one number."""

    aggregated: Any
    per_query: list[Metric]


class _MeasureCalculation:
    """Calculation of a measure from judgments and a run."""

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
class Measure(_MeasureCalculation):
    """A measure with its parameters: ``nDCG@10``, ``P(rel=2)@5``.

    Attributes:
        metric: the metric of rankgate.
    """

    metric: RankgateMetric

    def __call__(self, **params: Any) -> Measure:
        """The measure with parameters."""
        return parse_measure(_measure_name(self.metric.name, dict(self.metric.given) | params))

    def __matmul__(self, cutoff: float) -> Measure:
        """The measure at a cutoff."""
        return Measure(self.metric @ cutoff)

    __getitem__ = __matmul__

    def __str__(self) -> str:
        return str(self.metric)

    __repr__ = __str__


BaseMeasure = Measure


@dataclass(frozen=True)
class DefinedMeasure(_MeasureCalculation):
    """A measure that a function of two pandas frames computes; `define` makes it.

    Attributes:
        function: a function of all judgments and the whole run; it gives pairs of a query and its
            value.
        name: the printed name.
        cutoff: the first documents of each query that count; None counts all.
        takes_cutoff: True if the measure accepts a cutoff.
    """

    function: Callable[[Any, Any], Iterable[tuple[str, float]]]
    name: str
    cutoff: int | None = None
    takes_cutoff: bool = True

    def __matmul__(self, cutoff: int) -> DefinedMeasure:
        """The measure at a cutoff.

        Raises:
            UsageError: the measure was defined without a cutoff.
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
        """The values by judged query, and their mean; 0 for queries that the function omits."""
        judgments = _to_pandas(qrels, "relevance", "grade")
        judgments = judgments.sort_values([name for name in ("query_id", "doc_id") if name in judgments])
        ranked = _to_pandas(run, "score", "score").sort_values(["query_id", "score"], ascending=[True, False])
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
    label = name or str(getattr(impl, "__name__", "measure"))
    return DefinedMeasure(impl, label, takes_cutoff=support_cutoff)


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

    label = name or str(getattr(impl, "__name__", "measure"))
    return define(of_queries, label, support_cutoff, **described)


class Evaluator:
    """Measures and judgments, ready for several runs.

    Args:
        measures: measures of this module or of ir_measures itself, metrics of rankgate, or names;
            results have the same objects.

    Raises:
        UsageError: one measure, where a list is needed; something that is not a measure.
        qrels: judgments.
    """

    def __init__(self, measures: Iterable[AnyMeasure | str], qrels: Any) -> None:
        if isinstance(measures, str | _MeasureCalculation) or name_of_measure(measures) is not measures:
            problem = f"{measures} is one measure; give a list of them, as in [{measures}]."
            raise UsageError(problem, code="wrong-type")
        keys = [parse_measure(name) if isinstance(name, str) else name for name in measures]
        self._computed = {key: _to_measure(key) for key in keys}
        self.measures = tuple(self._computed)
        is_reusable = hasattr(qrels, "columns") or isinstance(qrels, Mapping | str | Path)
        self._given = qrels if is_reusable else list(qrels)

    @cached_property
    def _qrels(self) -> Any:
        return _to_table(self._given, "relevance", "grade")

    def calc(self, run: Any) -> CalcResults:
        """Means over the judged queries, and the value of each query.

        Raises:
            InputError: judgments or a run that cannot be read.
            UsageError: a measure that does not fit the judgments.
        """
        if not hasattr(run, "columns") and not isinstance(run, Mapping | str | Path):
            run = list(run)
        means: dict[Any, float] = {}
        values: list[Metric] = []
        declared: dict[Any, str] = {}
        for key, measure in self._computed.items():
            if isinstance(measure, Measure):
                declared[key] = str(measure)
                continue
            result = measure.results(self._given, run)
            means[key] = result.aggregated[measure]
            values += [value._replace(measure=key) for value in result.per_query]
        if declared or not means:
            result = self._declared(declared, run)
            means |= result.aggregated
            values += result.per_query
        return CalcResults({key: means[key] for key in self.measures}, values)

    def _declared(self, measures: Mapping[Any, str], run: Any) -> CalcResults:
        names = list(dict.fromkeys(measures.values()))
        judgments = self._qrels
        if isinstance(judgments, pl.DataFrame) and not self._by_subtopic:
            judgments = judgments.drop("subtopic", strict=False)
        collection = Collection(judgments, ids=ACCEPT)
        scores = evaluate(collection, _to_table(run, "score", "score"), names, "ir_measures").runs[0]
        aggregated = {key: scores.means[name] for key, name in measures.items()}
        values = [
            Metric(query, key, value)
            for key, name in measures.items()
            for query, value in scores.per_query(name).items()
            if value is not None
        ]
        return CalcResults(aggregated, values)

    @property
    def _by_subtopic(self) -> bool:
        names = {metric.name for metric in FACET_METRICS}
        return any(
            isinstance(measure, Measure) and measure.metric.name in names
            for measure in self._computed.values()
        )

    def calc_aggregate(self, run: Any) -> dict[AnyMeasure, float]:
        """The mean of each measure over the judged queries."""
        means: dict[AnyMeasure, float] = self.calc(run).aggregated
        return means

    def iter_calc(self, run: Any) -> Iterator[Metric]:
        """The value of each measure for each query."""
        return iter(self.calc(run).per_query)


def _to_measure(measure: Any) -> Measure | DefinedMeasure:
    """The measure of this module for a measure of ir_measures, a metric of rankgate or a name.

    Raises:
        UsageError: the value is not a measure.
    """
    if isinstance(measure, Measure | DefinedMeasure):
        return measure
    function = getattr(measure, "runtime_impl", None)
    if callable(function):  # made by `define` of ir_measures, which applies its cutoff itself
        name = str(measure)
        return DefinedMeasure(
            lambda qrels, run: ((row.query_id, row.value) for row in function(qrels, run)), name
        )
    spelling = name_of_measure(measure)
    if not isinstance(spelling, str | RankgateMetric):
        problem = f"a {type(measure).__name__} is not a measure; give one such as nDCG@10, or its name."
        raise UsageError(problem, code="wrong-type")
    return parse_measure(str(spelling))


def evaluator(measures: Iterable[AnyMeasure | str], qrels: Any) -> Evaluator:
    """Measures and judgments, ready for several runs."""
    return Evaluator(measures, qrels)


def calc_aggregate(measures: Iterable[AnyMeasure | str], qrels: Any, run: Any) -> dict[AnyMeasure, float]:
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
    if measure.startswith("set_F."):  # each number is a measure
        names = [f"set_F.{beta}" for beta in measure.removeprefix("set_F.").split(",")]
    return [Measure(metric) for name in names for _, metric in parse_all(name)]


def read_trec_qrels(file: str | Path) -> Iterator[Qrel]:
    """The judgments of a TREC file, an open file, or the text of a file; one for each line.

    Raises:
        InputError: it cannot be read.
    """
    for row, line in enumerate(_read_text(file).splitlines(), 1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != len(Qrel._fields) or not fields[3].lstrip("+-").isdecimal():
            problem = f"'{line[:80]}', expected query, iteration, document and a whole grade."
            raise InputError(problem, source=_file_label(file), line=row, code="wrong-shape")
        query, iteration, document, grade = fields
        yield Qrel(query, document, int(grade), iteration)


def read_trec_run(file: str | Path) -> Iterator[ScoredDoc]:
    """A TREC run, or its text.

    Raises:
        InputError: it cannot be read.
    """
    for row in read_run(_source(file), from_="trec").table.iter_rows():
        yield ScoredDoc(*row)


def _read_text(file: Any) -> str:
    """The text of a path or of an open file; other text stays unchanged."""
    if hasattr(file, "read"):
        return str(file.read())
    if "\n" in str(file):
        return str(file)
    return open_source(str(file)).everything(1 << 40).decode()


def _file_label(file: Any) -> str:
    return "qrels" if hasattr(file, "read") or "\n" in str(file) else str(file)


def _to_pandas(table: Any, number: str, column: str) -> Any:
    """The judgments or run as the pandas frame that user functions accept."""
    import pandas as pd

    if hasattr(table, "columns") and hasattr(table, "iloc"):
        return table
    if isinstance(table, str | Path):
        table = (read_trec_qrels if column == "grade" else read_trec_run)(table)
    if isinstance(table, Mapping):
        rows = [(query, *pair) for query, row in table.items() for pair in row.items()]
        return pd.DataFrame(rows, columns=["query_id", "doc_id", number])
    if hasattr(table, "columns"):
        return pd.DataFrame({name: table[name].to_list() for name in table.columns})
    return pd.DataFrame(
        [row._asdict() for row in table], columns=list((Qrel if column == "grade" else ScoredDoc)._fields)
    )


def _source(file: str | Path) -> Any:
    """The path; for text with several lines, a file in memory."""
    text = str(file)
    if "\n" not in text:
        return file
    from rankgate.data.streams.source import InputFile

    return InputFile(None, text.strip("\n").encode() + b"\n")


def _to_table(input_table: Any, number: str, column: str) -> Any:
    """The judgments or run in a form that rankgate accepts: a dictionary, frame or rows."""
    if isinstance(input_table, Mapping | str | Path):
        return input_table
    if not hasattr(input_table, "columns"):
        input_table = list(input_table)
        rows = [(row.query_id, row.doc_id, getattr(row, number)) for row in input_table]
        table = pl.DataFrame(rows, ["query_id", "doc_id", column], orient="row")
        if input_table and hasattr(input_table[0], "iteration"):
            table = table.with_columns(pl.Series("subtopic", [str(e.iteration) for e in input_table]))
        return table
    names = {number: column, "iteration": "subtopic"}
    columns = [name for name in input_table.columns if name in {"query_id", "doc_id", *names}]
    return pl.DataFrame({names.get(name, name): input_table[name].to_list() for name in columns})


def _measure_name(name: str, parameters: Mapping[str, Any]) -> str:
    """The name of a measure in the form that the parser reads."""
    cutoff = parameters.get("cutoff")
    parameter_list = ",".join(f"{key}={value!r}" for key, value in parameters.items() if key != "cutoff")
    return f"{name}({parameter_list})" + (f"@{cutoff}" if cutoff is not None else "")


def __getattr__(name: str) -> Measure:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return parse_measure(_ALIASES.get(name, name))
    except UsageError as error:
        raise AttributeError(f"no measure {name!r}: {error}") from None
