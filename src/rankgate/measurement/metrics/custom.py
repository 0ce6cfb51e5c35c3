"""Metrics from users: functions declared like built-in metrics, files and plug-ins."""

from __future__ import annotations

import functools
import inspect
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

import numpy as np

from rankgate.core import declare
from rankgate.core.declare.registries import run_plugin_file
from rankgate.core.errors import FunctionError, RankgateError, UsageError
from rankgate.core.present.number_formats import count_noun
from rankgate.measurement.metrics.built_in import find_built_in
from rankgate.measurement.metrics.judged_block import Steps
from rankgate.measurement.metrics.metric_declaration import Metric

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.measurement.metrics.judged_block import Judged
    from rankgate.measurement.metrics.metric_declaration import View

    Function = Callable[..., Any]
    Kernel = Callable[..., Floats | Steps]


_LARGEST = 2**63
_MAX_CHARACTERS = 80  # characters of a value in a message
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_BY_QUERY = re.compile(r"(\w+\.)*(Sequence|list|List)\[")
_BY_BLOCK = re.compile(r"(\w+\.)*Judged")


class MetricOptions(TypedDict, total=False):
    """Options of a declaration: the fields of `Metric` with the same names."""

    title: str
    formula: str
    aliases: tuple[str, ...]
    at: str | None
    low: float
    high: float | None
    aggregate: Literal["mean", "sum", "geometric"]
    higher_is_better: bool
    source: str
    sees: str
    blind_to: str
    view: View
    prefix_only: bool
    whole_list_when: tuple[tuple[str, Any], ...]
    ideal_order_optimal: bool
    scenarios: bool
    bounds: Literal["exact", "safe"] | None
    bounded_with: tuple[tuple[str, tuple[object, ...] | None], ...]
    residual: Callable[..., Floats]


@overload
def metric(function: Function, /) -> Metric: ...
@overload
def metric(
    *, name: str | None = None, per_query: bool | None = None, **words: Unpack[MetricOptions]
) -> Callable[[Function], Metric]: ...
@overload
def metric(
    function: Function,
    /,
    *,
    name: str | None = None,
    per_query: bool | None = None,
    **words: Unpack[MetricOptions],
) -> Metric: ...
def metric(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    per_query: bool | None = None,
    **words: Unpack[MetricOptions],
) -> Metric | Callable[[Function], Metric]:
    """Make a metric of a function; alone or as a decorator, with or without arguments.

    The function sees either the grades of one query's ranking, best rank first, None being
    an unjudged document; or a whole `Judged` block of queries, which is many times faster and
    may return the `Steps` of the values.
    Its keyword-only arguments are the metric's parameters: names, types and defaults. One
    called ``cutoff`` is what ``@`` binds, and the grades end there. An argument called ``ideal``
    is not a parameter: it is given the grades of all judged documents, highest first.

    Args:
        function: computes the value: a number, or NaN if undefined, so that the
            convention decides what counts.
        name: the name of the metric; by default that of the function.
        per_query: True if the function takes grades; without it, the annotation of its first
            argument decides: ``Sequence[float | None]`` (or a list) or ``Judged``.
        **words: other fields of `Metric`; the title is the first line of the docstring.

    Raises:
        UsageError: a name that cannot be written, or arguments without annotations.

    >>> from collections.abc import Sequence
    >>> @metric
    ... def wasted(grades: Sequence[float | None], *, cutoff: int = 10) -> float:
    ...     "The share of the places that hold nothing of worth."
    ...     return 1 - sum(bool(grade) for grade in grades) / cutoff
    >>> str(wasted @ 5), wasted.title
    ('wasted@5', 'The share of the places that hold nothing of worth.')
    """
    if function is None:
        return functools.partial(_declare_metric, name=name, per_query=per_query, words=words)
    return _declare_metric(function, name=name, per_query=per_query, words=words)


def _declare_metric(
    function: Function, *, name: str | None, per_query: bool | None, words: MetricOptions
) -> Metric:
    metric_name = str(name or getattr(function, "__name__", ""))
    if not re.fullmatch(r"[^\W\d][\w-]*", metric_name):
        raise UsageError(
            f"{metric_name!r} cannot name a metric; give one such as name='first_hit'.",
            code="invalid-metric-name",
        )
    sees_grades = False if "view" in words else per_query
    by_query = _sees_grades(function, metric_name) if sees_grades is None else sees_grades
    kernel = _kernel(function, metric_name, by_query=by_query)
    names = list(inspect.signature(kernel).parameters)
    declaration: dict[str, Any] = {
        "title": (inspect.getdoc(function) or "").partition("\n")[0],
        "at": "cutoff" if "cutoff" in names else None,
        "low": -np.inf,
        "high": None,
        **words,
    }
    return Metric(metric_name, kernel, **declaration)


def _sees_grades(function: Function, name: str) -> bool:
    """True if the annotation of the first argument is the grades of one query."""
    first = next(iter(inspect.signature(function).parameters.values()), None)
    annotation = "" if first is None else first.annotation
    text = (
        annotation
        if isinstance(annotation, str)
        else getattr(annotation, "__qualname__", "") or str(annotation)
    )
    if _BY_BLOCK.fullmatch(text):
        return False
    if _BY_QUERY.match(str(annotation)):
        return True
    raise UsageError(
        f"{name}: declare the function's input: annotate its first argument as Sequence[float | None], the "
        "grades of one query, or as Judged, a block of queries.",
        code="invalid-metric-function",
    )


@functools.cache  # one kernel per function, so that two declarations of it are equal
def _kernel(function: Function, name: str, *, by_query: bool) -> Kernel:
    """The function as a kernel that checks its return values."""
    parameters = _checked_arguments(function, name, by_query=by_query)
    wants_ideal = by_query and "ideal" in parameters
    end = parameters["cutoff"].default if "cutoff" in parameters else None
    kernel_parameters = {
        key: parameter for key, parameter in parameters.items() if not (by_query and key == "ideal")
    }

    def kernel(judged: Judged, **bound: Any) -> Floats | Steps:
        if not by_query:
            return _block_result(name, judged, functools.partial(function, judged, **bound))
        values = np.empty(len(judged.rank))
        for row, grades in enumerate(_rankings(judged, bound.get("cutoff", end))):
            if wants_ideal:
                bound["ideal"] = judged.ideal[row, : judged.judged[row]].tolist()
            values[row] = _query_value(name, row, grades, functools.partial(function, grades, **bound))
        return values

    functools.update_wrapper(kernel, function)
    kernel.__name__ = name
    annotations = getattr(function, "__annotations__", {})
    kernel.__annotations__ = {key: annotations[key] for key in kernel_parameters if key in annotations}
    block = inspect.Parameter("judged", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([block, *kernel_parameters.values()])
    kernel.__signature__ = signature  # type: ignore[attr-defined]
    return kernel


def _checked_arguments(function: Function, name: str, *, by_query: bool) -> dict[str, inspect.Parameter]:
    """The keyword-only arguments; other arguments except the first are errors."""
    first, *remaining = inspect.signature(function).parameters.values() or [None]
    invalid = [
        parameter for parameter in remaining if parameter is not None and parameter.kind is not _KEYWORD
    ]
    if first is None or first.kind is _KEYWORD or invalid:
        sees = "grades" if by_query else "judged"
        example = ", ".join(
            [sees, "*", *(parameter.name for parameter in remaining if parameter is not None)]
        )
        raise UsageError(
            f"{name}: a metric takes one positional argument and keyword-only parameters, such as "
            f"{name}({example}).",
            code="invalid-metric-function",
        )
    parameters = {parameter.name: parameter for parameter in remaining if parameter is not None}
    if "judged_only" in parameters:
        raise UsageError(
            f"{name}: every metric has judged_only already; leave it out.", code="invalid-metric-function"
        )
    return parameters


def _rankings(judged: Judged, cutoff: int | None) -> Iterator[list[float | None]]:
    """The grades of each ranking, rank by rank."""
    for ranks, grades, retrieved in zip(judged.rank, judged.grade, judged.retrieved, strict=True):
        length = int(retrieved) if cutoff is None else min(int(retrieved), cutoff)
        ranking: list[float | None] = [None] * length
        # a grade below 0 means an unjudged document of the pool
        valid = (ranks <= length) & (grades >= 0)
        for rank, grade in zip(ranks[valid].tolist(), grades[valid].tolist(), strict=True):
            ranking[rank - 1] = grade
        yield ranking


def _query_value(name: str, row: int, grades: list[float | None], call: Callable[[], object]) -> float:
    documents = count_noun(len(grades), "document")
    try:
        value = call()
    except RankgateError:
        raise
    except (Exception, SystemExit) as error:
        location = _location(call, error)
        message = f"{name}{location} failed on a list of {documents}: {type(error).__name__}: {error}"
        raise FunctionError(message, row) from error
    if not isinstance(value, Real | np.bool_) or not _fits_float(value):
        value_text = _describe_value(value)
        message = (
            f"{name}{_location(call)} gave {value_text}, which is not a number, for a list of {documents}"
        )
        raise FunctionError(message, row, code="function-value")
    return float(value)


def _location(call: Callable[[], object], error: BaseException | None = None) -> str:
    """The file and line where a user's function failed or begins: `` (own.py:7)``."""
    function = call.func if isinstance(call, functools.partial) else call
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:  # an object that can be called
        return ""
    line = code.co_firstlineno
    for frame, line_of_frame in traceback.walk_tb(error.__traceback__ if error else None):
        if frame.f_code.co_filename == code.co_filename:
            line = line_of_frame
    return f" ({Path(code.co_filename).name}:{line})"


def _fits_float(value: Any) -> bool:  # noqa: ANN401 - a number of any type
    """True if a number fits in 64 bits; also true for NaN, which means undefined."""
    try:
        return not np.isinf(float(value))
    except OverflowError:
        return False


def _describe_value(value: object) -> str:
    """A short description of a returned value."""
    if isinstance(value, int) and abs(value) > _LARGEST:
        return "a whole number beyond 64 bits"
    text = repr(value)
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"


def _block_result(name: str, judged: Any, call: Callable[[], Any]) -> Floats | Steps:  # noqa: ANN401 - of any view
    T = len(getattr(judged, "rank", judged))  # a view defined by the user has a length
    try:
        result = call()
        values = np.asarray(result.value if isinstance(result, Steps) else result)
    except RankgateError:
        raise
    except (Exception, SystemExit) as error:
        problem = f"{name}{_location(call, error)} failed: {type(error).__name__}: {error}"
        raise FunctionError(problem) from error
    if values.shape != (T,) or values.dtype.kind not in "fiub":
        description = f"{type(result).__name__} of shape {values.shape} and type {values.dtype}"
        raise FunctionError(
            f"{name}{_location(call)} must give one number for each of {T} queries, not a {description}",
            code="function-value",
        )
    values = values.astype(np.float64)
    if np.isinf(values).any():
        raise FunctionError(
            f"{name}{_location(call)} gave an infinite number",
            int(np.isinf(values).argmax()),
            code="function-value",
        )
    return result if isinstance(result, Steps) else values


GROUP = "rankgate.metrics"
"""The entry points under which a package names its metrics."""


def from_file(path: str | Path | None) -> tuple[Metric, ...]:
    """The metrics that a Python file declares; the file is executed.

    Args:
        path: the file; without a file there are no metrics.

    Raises:
        UsageError: the file cannot be read, fails, or declares no metric.
    """
    if path is None:
        return ()
    metrics = _declared_metrics(run_plugin_file(path).values(), str(path))
    if not metrics:
        raise UsageError(
            f"{path}: declares no metric; put @rankgate.metric before a function.", code="invalid-plugin"
        )
    return metrics


def load_plugin_metrics(reserved: Mapping[str, Metric] | None = None) -> declare.PluginObjects[Metric]:
    """The metrics of plug-ins by name, and the problems of the rest.

    Args:
        reserved: metrics by the names that plug-ins may not use; by default the catalogue.
    """
    if reserved is None:
        from rankgate.measurement.metrics.metric_catalogue import by_name

        reserved = by_name
    return declare.find_plugin_objects(GROUP, Metric, reserved, lambda metric: replace(metric, given=()))


def _declared_metrics(values: Iterable[object], owner: str) -> tuple[Metric, ...]:
    """The metrics among some values that are not built in, each once, without bound parameters."""
    metrics_by_name: dict[str, Metric] = {}
    for value in values:
        if not isinstance(value, Metric):
            continue
        built_in_metric = find_built_in(value.name)
        if built_in_metric is not None and built_in_metric.kernel is value.kernel:
            continue
        metric = replace(value, given=())
        if metrics_by_name.setdefault(metric.name, metric) != metric:
            raise UsageError(
                f"{owner}: there are two metrics {metric.name}; rename one.", code="metric-name-taken"
            )
    return tuple(metrics_by_name.values())
