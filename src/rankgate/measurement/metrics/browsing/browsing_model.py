"""Gains and costs by rank, and metrics declared by the probability that users go on.

Shapes: T queries, N ranks down to the horizon.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, Literal, cast

import numpy as np

from rankgate.core.arrays import Floats
from rankgate.core.declare import OnlyWith, Range
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.judged_block import Judged, total
from rankgate.measurement.metrics.metric_declaration import Metric

Measure = Literal["EU", "ETU", "EC", "ETC", "ED"]
Case = Literal["worst", "best", "residual"]


@dataclass(frozen=True, eq=False)
class Browsed:
    """Gains and costs by rank, the input of a continuation function.

    Attributes:
        gain: ``(T, N)``, from 0 to 1; it includes positions after the end of a list.
        cost: ``(T, N)``, the cost of each document.
        relevant: ``(T,)``, the number of known documents with a gain.
    """

    gain: Floats
    cost: Floats
    relevant: Floats

    @cached_property
    def rank(self) -> Floats:
        """``(N,)``, from 1."""
        return np.arange(1.0, self.gain.shape[1] + 1)

    @cached_property
    def total_gain(self) -> Floats:
        """``(T, N)``, the sum of gains down to each rank."""
        return np.cumsum(self.gain, axis=1)

    @cached_property
    def total_cost(self) -> Floats:
        """``(T, N)``, the sum of costs down to each rank."""
        return np.cumsum(self.cost, axis=1)


@dataclass(frozen=True, eq=False)
class ContinuationModel:
    """The probability that users go on from each rank to the next.

    Attributes:
        on: ``(T, N)``, C: the probability that a user who reached a rank goes on to the next one.
        weights: ``(T, N)``, W, if these do not follow from C.
    """

    on: Floats
    weights: Floats | None = None

    @property
    def weight(self) -> Floats:
        """``(T, N)``, W: the share of each rank in all documents looked at."""
        if self.weights is not None:
            return self.weights
        reach_chance: Floats = np.ones_like(self.on)
        np.cumprod(self.on[:, :-1], axis=1, out=reach_chance[:, 1:])
        return reach_chance / total(reach_chance)[:, None]

    @property
    def last(self) -> Floats:
        """``(T, N)``, L: the probability that each rank is the last one seen."""
        previous_continuation = np.concatenate([np.ones((len(self.on), 1)), self.on[:, :-1]], axis=1)
        return np.cumprod(previous_continuation, axis=1) * (1 - self.on)


def from_weights(weights: Floats) -> Floats:
    """The continuation function that gives these weights: C = W(i + 1) / W(i)."""
    continuation = np.zeros_like(weights)
    np.divide(weights[:, 1:], weights[:, :-1], out=continuation[:, :-1], where=weights[:, :-1] > 0)
    return continuation


def measured_value(browsed: Browsed, going: ContinuationModel, measure: Measure) -> Floats:
    """One of the five measurements, ``(T,)``.

    EU = Σ_i W(i)·g(i)   ETU = Σ_i L(i)·Σ_{j≤i} g(j)   ED = 1 / W(1)
    EC, ETC the same of costs
    """
    if measure == "ED":
        return 1 / going.weight[:, 0]
    if measure in ("EU", "EC"):
        return total(going.weight * (browsed.gain if measure == "EU" else browsed.cost))
    return total(going.last * (browsed.total_gain if measure == "ETU" else browsed.total_cost))


def make_browsed(
    judged: Judged, horizon: int, scale: tuple[float, float], cost: float, *, best: bool
) -> Browsed:
    """Gains by rank; unjudged and missing documents gain 0, or 1 in the best case.

    Args:
        judged: the block.
        horizon: N.
        scale: the grades with gains 0 and 1; grades outside have the gain of the nearer end.
        cost: the cost of a document.
        best: True to give documents without a judgment the gain 1.

    Raises:
        UsageError: both ends of the scale are equal.
    """
    low, high = scale
    if low >= high:
        raise UsageError(
            f"min_grade={low:g} is not below max_grade={high:g}.", code="contradicting-parameters"
        )
    gain = np.full((len(judged.rank), horizon), 1.0 if best else 0.0)
    line, column = np.nonzero((judged.rank <= horizon) & judged.known & (judged.grade >= 0))
    grades = judged.grade[line, column]
    gain[line, judged.rank[line, column] - 1] = np.clip((grades - low) / (high - low), 0, 1)
    relevant = np.count_nonzero(judged.ideal > low, axis=1).astype(np.float64)
    if best:
        relevant = np.maximum(relevant, np.count_nonzero(gain, axis=1))
    return Browsed(gain, np.full(gain.shape, float(cost)), relevant)


Continuation = Callable[..., Floats | ContinuationModel]
"""A function of `Browsed` and keyword-only parameters to C, ``(T, N)`` or broadcastable to it."""

_CELLS = 1 << 22  # number of gains at one time
_HELP = """
    max_grade: the grade that gains 1; greater ones count as it.
    min_grade: the grade that gains 0; smaller ones count as it.
    measure: expected utility a document (`EU`), expected total utility (`ETU`), expected
        cost a document (`EC`), expected total cost (`ETC`), or expected depth (`ED`).
    case: documents without a judgment gain nothing (`worst`), or 1 (`best`), as do those
        behind the end of the list; `residual` is the difference.
    cost: the cost of a document, for users who mind costs, and for `EC` and `ETC`.
    horizon: the last rank that users see.
"""


@dataclass(frozen=True, repr=False)
class BrowsingMetric(Metric):
    """A metric by a continuation function; everything else is inherited from `Metric`."""

    def __call__(self, **values: object) -> BrowsingMetric:
        """See `Metric`; lower cost is better."""
        metric = cast("BrowsingMetric", super().__call__(**values))
        costs = dict(metric.given).get("measure") in ("EC", "ETC")
        return replace(metric, higher_is_better=not costs)


def user_model(
    name: str,
    goes_on: Continuation,
    *,
    title: str = "",
    formula: str = "",
    source: str = "",
    aliases: tuple[str, ...] = (),
) -> BrowsingMetric:
    """A metric by its continuation function, C(i).

    The function sees `Browsed`: ``rank`` ``(N,)``, ``gain``, ``cost``, ``total_gain`` and
    ``total_cost`` ``(T, N)``, and returns the probability of going on from each rank to the next. Its
    keyword-only arguments are parameters; one called ``cutoff`` is what ``@`` binds.

    Args:
        name: the name of the metric.
        goes_on: the function.
        title: a description in one sentence; by default the first line of the docstring.
        formula: C(i).
        source: the source of its definition.
        aliases: other names.

    Raises:
        UsageError: when values are computed: the function gives a probability outside [0, 1], or
            users never stop, for any gain.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> half = user_model("half", lambda seen: np.full(seen.gain.shape, 0.5), title="As RBP.")
    >>> half(max_grade=1).compute(block([[1, 0, 1]])).round(4)
    array([0.625])
    """
    kernel = _kernel(name, goes_on)
    cutoff_name = "cutoff" if "cutoff" in inspect.signature(goes_on).parameters else None
    return BrowsingMetric(
        name,
        kernel,
        title=title or (inspect.getdoc(goes_on) or "").partition("\n")[0],
        formula=f"{name} = Σ_i W(i)·g(i),   {formula or 'W by C(i)'}",
        source=source,
        aliases=aliases,
        at=cutoff_name,
        high=None,
        sees="gains and ranks, as users meet them until they stop",
        blind_to="the number of relevant documents",
        scenarios=False,
    )


def checked_continuation(
    name: str, goes_on: Continuation, browsed: Browsed, values: dict[str, Any]
) -> ContinuationModel:
    """Call a continuation function for a block and check its probabilities.

    Raises:
        UsageError: a probability is outside [0, 1], or the shape does not fit.
    """
    returned = goes_on(browsed, **values)
    if isinstance(returned, ContinuationModel):
        return returned
    try:
        chance = np.broadcast_to(np.asarray(returned, np.float64), browsed.gain.shape)
    except ValueError:
        raise UsageError(
            f"{name}: the continuation function gave an array of shape {np.shape(returned)}, where "
            f"{browsed.gain.shape} is needed.",
            code="function-value",
        ) from None
    wrong = chance[~((chance >= 0) & (chance <= 1))]
    if wrong.size:
        raise UsageError(
            f"{name}: the continuation function gave {wrong[0]:g}; a probability of going on must lie "
            "between 0 and 1.",
            code="continuation-outside-range",
        )
    return ContinuationModel(chance)


@functools.cache
def _users_stop(name: str, goes_on: Continuation, values: tuple[tuple[str, Any], ...]) -> bool:
    """True if users stop on lists of constant gain 0, 0.5 or 1."""
    gain = np.array([[0.0], [0.5], [1.0]]) * np.ones(1000)
    browsed = Browsed(gain, np.ones_like(gain), gain.sum(axis=1))
    return bool((checked_continuation(name, goes_on, browsed, dict(values)).on < 1).any())


def _kernel(name: str, goes_on: Continuation) -> Callable[..., Floats]:
    own_parameters = [
        parameter
        for parameter in list(inspect.signature(goes_on).parameters.values())[1:]
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    ]

    def kernel(
        judged: Judged,
        *,
        max_grade: Annotated[float, Range(0)] = 4,
        min_grade: Annotated[float, Range(0)] = 0,
        measure: Measure = "EU",
        case: Case = "worst",
        cost: Annotated[float, Range(0)] = 1,
        horizon: Annotated[int, Range(2)] = 1000,
        **values: Any,
    ) -> Floats:
        if not _users_stop(name, goes_on, tuple(values.items())):
            raise UsageError(
                f"{name}: users never stop, even if they find everything; make the continuation function "
                "return less than 1 somewhere.",
                code="endless-continuation",
            )

        def value(rows: Judged, *, best: bool) -> Floats:
            browsed = make_browsed(rows, horizon, (min_grade, max_grade), cost, best=best)
            return measured_value(browsed, checked_continuation(name, goes_on, browsed, values), measure)

        query_values = np.empty(len(judged.rank))
        step = max(1, _CELLS // horizon)
        for begin in range(0, len(query_values), step):
            chunk = _select_rows(judged, slice(begin, begin + step))
            lowest = value(chunk, best=False) if case != "best" else 0.0
            highest = value(chunk, best=True) if case != "worst" else 0.0
            query_values[begin : begin + step] = highest - lowest if case == "residual" else highest + lowest
        return query_values

    common_parameters = [
        parameter
        for parameter in inspect.signature(kernel).parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    annotations = {**goes_on.__annotations__, **kernel.__annotations__}
    docstring = inspect.getdoc(goes_on) or ""
    _, _, args = docstring.partition("Args:\n")
    kernel.__name__ = name
    kernel.__doc__ = f"{docstring.partition(chr(10))[0]}\n\nArgs:\n{args.rstrip()}{_HELP}"
    kernel.__module__ = goes_on.__module__
    if not {"cost", "total_cost"} & set(goes_on.__code__.co_names):
        only = OnlyWith("measure", "EC", "ETC")
        annotations["cost"] = Annotated[float, Range(0), only]
    annotated_names = [
        parameter.name for parameter in (*own_parameters, *common_parameters) if parameter.name in annotations
    ]
    kernel.__annotations__ = {name: annotations[name] for name in annotated_names}
    parameters = [common_parameters[0], *own_parameters, *common_parameters[1:]]
    kernel.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return kernel


def _select_rows(judged: Judged, rows: slice) -> Judged:
    """The block of some of the queries."""
    if rows.start == 0 and rows.stop >= len(judged.rank):
        return judged
    names = [field_name for field_name in Judged.__slots__ if field_name != "level"]
    return replace(judged, **{name: getattr(judged, name)[rows] for name in names})
