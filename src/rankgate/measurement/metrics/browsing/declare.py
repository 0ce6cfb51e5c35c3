"""Declare a metric by its continuation function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, cast

import numpy as np

from rankgate.core.declare import OnlyWith, Range
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.browsing.browsed import (
    Browsed,
    Case,
    Going,
    Measure,
    expected,
    met,
)
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Floats, Judged

Continuation = Callable[..., Floats | Going]
"""A function of `Browsed` and keyword-only parameters to C, ``(T, N)`` or what spreads to it."""

_CELLS = 1 << 22  # of gains at one time
_HELP = """
    max_grade: the grade that gains 1; greater ones count as it.
    min_grade: the grade that gains 0; smaller ones count as it.
    measure: expected utility a document (`EU`), expected total utility (`ETU`), expected
        cost a document (`EC`), expected total cost (`ETC`), or expected depth (`ED`).
    case: documents without a judgment gain nothing (`worst`), or 1 (`best`), as do those
        behind the end of the list; `residual` is the difference.
    cost: what a document costs; of use where users mind costs, and for `EC` and `ETC`.
    horizon: the last rank that users see.
"""


@dataclass(frozen=True, repr=False)
class BrowsingMetric(Metric):
    """A metric that follows from how likely users go on; everything else is as of `Metric`."""

    def __call__(self, **values: object) -> BrowsingMetric:
        """As of `Metric`; less cost is better."""
        made = cast("BrowsingMetric", super().__call__(**values))
        costs = dict(made.given).get("measure") in ("EC", "ETC")
        return replace(made, higher_is_better=not costs)


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
    ``total_cost`` ``(T, N)``, and returns the chance to go on from each rank to the next. Its
    keyword-only arguments are parameters; one called ``cutoff`` is what ``@`` binds.

    Args:
        name: what the metric is called.
        goes_on: the function.
        title: what it measures, in one sentence; without it the first line of the docstring.
        formula: C(i).
        source: where it is defined.
        aliases: other names.

    Raises:
        UsageError: when values are computed: the function gives a chance outside [0, 1], or
            users never stop, whatever they gain.

    >>> from rankgate.measurement.metrics.judged import block
    >>> half = user_model("half", lambda seen: np.full(seen.gain.shape, 0.5), title="As RBP.")
    >>> half(max_grade=1).compute(block([[1, 0, 1]])).round(4)
    array([0.625])
    """
    kernel = _kernel(name, goes_on)
    at = "cutoff" if "cutoff" in inspect.signature(goes_on).parameters else None
    return BrowsingMetric(
        name,
        kernel,
        title=title or (inspect.getdoc(goes_on) or "").partition("\n")[0],
        formula=f"{name} = Σ_i W(i)·g(i),   {formula or 'W by C(i)'}",
        source=source,
        aliases=aliases,
        at=at,
        high=None,
        sees="gains and ranks, as users meet them until they stop",
        blind_to="how much there was to find",
        scenarios=False,
    )


def chances(name: str, goes_on: Continuation, seen: Browsed, values: dict[str, Any]) -> Going:
    """What a continuation function gives for a block, checked.

    Raises:
        UsageError: a chance outside [0, 1], or a shape that does not fit.
    """
    found = goes_on(seen, **values)
    if isinstance(found, Going):
        return found
    try:
        on = np.broadcast_to(np.asarray(found, np.float64), seen.gain.shape)
    except ValueError:
        raise UsageError(
            f"{name}: the continuation function gave an array of shape {np.shape(found)}, "
            f"where {seen.gain.shape} is needed.",
            code="function-value",
        ) from None
    wrong = on[~((on >= 0) & (on <= 1))]
    if wrong.size:
        raise UsageError(
            f"{name}: the continuation function gave {wrong[0]:g}; "
            "a chance to go on is from 0 to 1.",
            code="continuation-outside-range",
        )
    return Going(on)


@functools.cache
def _stops(name: str, goes_on: Continuation, values: tuple[tuple[str, Any], ...]) -> bool:
    """Whether users stop at all: on lists that gain nothing, or all."""
    gain = np.array([[0.0], [0.5], [1.0]]) * np.ones(1000)
    seen = Browsed(gain, np.ones_like(gain), gain.sum(axis=1))
    return bool((chances(name, goes_on, seen, dict(values)).on < 1).any())


def _kernel(name: str, goes_on: Continuation) -> Callable[..., Floats]:
    own = [
        each
        for each in list(inspect.signature(goes_on).parameters.values())[1:]
        if each.kind is inspect.Parameter.KEYWORD_ONLY
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
        if not _stops(name, goes_on, tuple(values.items())):
            raise UsageError(
                f"{name}: users never stop, whatever they find; "
                "let the continuation function be below 1 somewhere.",
                code="endless-continuation",
            )

        def value(part: Judged, *, best: bool) -> Floats:
            seen = met(part, horizon, (min_grade, max_grade), cost, best=best)
            return expected(seen, chances(name, goes_on, seen, values), measure)

        found = np.empty(len(judged.rank))
        step = max(1, _CELLS // horizon)
        for begin in range(0, len(found), step):
            part = _rows(judged, slice(begin, begin + step))
            least = value(part, best=False) if case != "best" else 0.0
            most = value(part, best=True) if case != "worst" else 0.0
            found[begin : begin + step] = most - least if case == "residual" else most + least
        return found

    shared = [
        each
        for each in inspect.signature(kernel).parameters.values()
        if each.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    notes = {**goes_on.__annotations__, **kernel.__annotations__}
    said = inspect.getdoc(goes_on) or ""
    _, _, args = said.partition("Args:\n")
    kernel.__name__ = name
    kernel.__doc__ = f"{said.partition(chr(10))[0]}\n\nArgs:\n{args.rstrip()}{_HELP}"
    kernel.__module__ = goes_on.__module__
    if not {"cost", "total_cost"} & set(goes_on.__code__.co_names):
        only = OnlyWith("measure", "EC", "ETC")
        notes["cost"] = Annotated[float, Range(0), only]
    known = [each.name for each in (*own, *shared) if each.name in notes]
    kernel.__annotations__ = {name: notes[name] for name in known}
    kernel.__signature__ = inspect.Signature([shared[0], *own, *shared[1:]])  # type: ignore[attr-defined]
    return kernel


def _rows(judged: Judged, rows: slice) -> Judged:
    """Some of the queries of a block."""
    if rows.start == 0 and rows.stop >= len(judged.rank):
        return judged
    names = [each for each in Judged.__slots__ if each != "level"]
    return replace(judged, **{name: getattr(judged, name)[rows] for name in names})
