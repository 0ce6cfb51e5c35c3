"""Declare a metric: its kernel, its meaning, its parameters, and the view that it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from rankgate.core.declare import Declared, Parameter, parameters_of
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.measurement.metrics.judged_block import Judged, Steps


@dataclass(frozen=True)
class View:
    """The kind of the first argument of a metric's kernel.

    Attributes:
        name: the name in messages.
        build: for a view that rankgate does not build itself: from a ``scoring.plan.Block`` of
            whole queries, pairs of positions ``(t,)`` among the queries of the block and what the
            kernel sees of them. Every query is in one pair.
    """

    name: str
    build: Callable[[Any], Iterable[tuple[NDArray[np.int64], Any]]] | None = None


RANKING = View("ranking")
"""A `Judged` block: ranks and grades of the judged documents."""

SUBTOPICS = View("subtopics")
"""A `Faceted` block: the subtopics that documents answer, by rank."""

SAMPLED_POOLS = View("sampled pools")
"""A list of `SampledPool`, one for each query: the pool by stratum, and what was judged of it."""

SEQUENCES = View("sequences")
"""A `Sequences` value: all documents of the rankings of whole tasks, judged or not."""

LISTS = View("lists")
"""A `Listed` value: the first items of all lists, and data of items and users."""


JUDGED_ONLY = Parameter(
    "judged_only", "bool", "Unjudged documents leave the lists before ranks are given.", default=False
)
"""The alignment parameter that every metric has."""
_BOUNDED_WITH = (
    *((name, None) for name in ("cutoff", "rel", "p", "base", "max_grade", "beta", "levels")),
    ("recall", None),
    ("gain", ("binary", "linear", "exp", "scaled")),
)
"""Parameters, with their values, under which bounds hold by default; see `Metric.bounded_with`."""


NO_MEANS = {"sum": "a sum", "geometric": "a geometric mean", "weighted": "a weighted mean"}
"""Names of aggregates other than the plain mean."""


@dataclass(frozen=True, repr=False)
class Metric(Declared):
    """A kernel with its declaration; a value, never changed, compared field by field.

    Attributes:
        name: the one canonical name.
        kernel: a function of a `Judged` block and keyword-only parameters that returns the `Steps`
            of the values, or ``(T,)`` values that are not sums over documents, NaN where a query
            has none.
        title: a description in one sentence.
        formula: the definition in one or two lines.
        aliases: other names it is known by.
        trec: the names that trec_eval gives it.
        at: the parameter that ``@`` binds, or None.
        low: the least value there can be.
        high: the greatest value, None where there is no bound.
        aggregate: the method that makes one number of the values of many queries.
        weight: the weight of each query in a ``weighted`` mean: with the parameters of the kernel,
            ``(T,)``.
        higher_is_better: the direction of improvement.
        source: the paper or tool that defines it.
        sees: the data that can change its value.
        blind_to: the data that cannot change its value, against expectation.
        given: the bound parameters as sorted (name, value) pairs.
        view: the data that the kernel sees.
        prefix_only: True if its value at a cutoff follows from the documents above the cutoff and
            the judgments, so that nothing below has to be ranked.
        whole_list_when: values of parameters under which that does not hold.
        ideal_order_optimal: True if no order of some documents has a greater value than that of
            falling grades.
        additive: True if its value is a sum over the documents retrieved, each by its own grade and
            rank alone.
        scenarios: True if its value is meaningful where unjudged documents are given grades.
        bounds: the enclosure of its values over all grades of unjudged documents: ``exact`` if it
            rises with each grade in the ranking and does not use a pool; ``safe`` if it also falls
            with the grades of the pool; None if unknown.
        bounded_with: parameters under which that still holds, with the values under which it
            does, or None for any value; of all others the default only.
        residual: for a metric of endless lists: with the parameters of the kernel and ``best``,
            what documents behind the end could add if all had the grade ``best``, ``(T,)``.
    """

    kernel: Callable[..., Floats | Steps]
    formula: str = ""
    trec: tuple[str, ...] = ()
    at: str | None = "cutoff"
    low: float = 0.0
    high: float | None = 1.0
    aggregate: Literal["mean", "sum", "geometric", "weighted"] = "mean"
    weight: Callable[..., Floats] | None = None
    higher_is_better: bool = True
    sees: str = ""
    blind_to: str = ""
    given: tuple[tuple[str, Any], ...] = ()
    view: View = RANKING
    prefix_only: bool = False
    whole_list_when: tuple[tuple[str, Any], ...] = ()
    ideal_order_optimal: bool = False
    additive: bool = False
    scenarios: bool = True
    bounds: Literal["exact", "safe"] | None = None
    bounded_with: tuple[tuple[str, tuple[object, ...] | None], ...] = _BOUNDED_WITH
    residual: Callable[..., Floats] | None = None

    def __call__(self, **values: object) -> Metric:
        """The same metric with these parameters bound, as in ``nDCG(gain="exp")``.

        Raises:
            UsageError: the parameter does not exist, or does not accept the value.
        """
        new_values = {name: self.read(name, value) for name, value in values.items()}
        return replace(self, given=tuple(sorted({**dict(self.given), **new_values}.items())))

    def __matmul__(self, value: float) -> Metric:
        """The metric at a cutoff (or recall level, by `at`): ``nDCG @ 10``."""
        if self.at is None:
            raise UsageError(
                f"{self.name} takes nothing after @; use {self.name} alone.", code="unexpected-cutoff"
            )
        return self(**{self.at: value})

    def __str__(self) -> str:
        """The canonical name ``NAME(k=v,…)@n``, which `names.parse` reads back."""
        bound_parameters = dict(self.given)
        order = [name for name in (*self.parameters, "judged_only") if name in bound_parameters]
        parameter_list = ",".join(
            f"{name}={_format_value(bound_parameters[name])}" for name in order if name != self.at
        )
        cutoff = f"@{bound_parameters[self.at]!r}" if self.at in bound_parameters else ""
        return self.name + (f"({parameter_list})" if parameter_list else "") + cutoff

    def __repr__(self) -> str:
        """The canonical name."""
        return str(self)

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The kernel's parameters by name, in the order of its signature."""
        return parameters_of(self.kernel)

    @property
    def accepted(self) -> Mapping[str, Parameter]:
        """The parameters that can be bound, including `judged_only`."""
        accepted = {**self.parameters, "judged_only": JUDGED_ONLY}
        if self.at in accepted:
            accepted[self.at] = replace(accepted[self.at], optional=False)  # `@` needs a value
        return accepted

    @property
    def judged_only(self) -> bool:
        """True if unjudged documents leave the lists before ranks are counted."""
        return bool(dict(self.given).get("judged_only", False))

    @property
    def rel(self) -> float | None:
        """The smallest grade that counts as relevant; None where grades count as they are."""
        declared = self.parameters.get("rel")
        return dict(self.given).get("rel", declared.default) if declared else None

    @property
    def missing(self) -> tuple[str, ...]:
        """The required parameters that are not bound yet."""
        bound_parameters = dict(self.given)
        return tuple(n for n, p in self.parameters.items() if p.required and n not in bound_parameters)

    def under_convention(self, defaults: Mapping[str, Any]) -> Metric:  # noqa: ARG002 - for those of lists
        """The metric under a convention: unchanged, as conventions act when values are computed."""
        return self

    def compute(self, judged: Any, defaults: Mapping[str, Any] | None = None) -> Floats:  # noqa: ANN401
        """The values of a block of queries, ``(T,)``, NaN where a query has none.

        Args:
            judged: the block, as its view shows it.
            defaults: the parameters that a convention binds; the metric's own parameters override
                them, and those that the kernel does not take are left out.

        Raises:
            UsageError: a required parameter is bound nowhere.
        """
        from rankgate.measurement.metrics.judged_block import Steps

        block = judged.down_to(self.depth(defaults)) if self.view == RANKING else judged
        result = self.kernel(block, **self.bound(defaults))
        return result.value if isinstance(result, Steps) else result

    def weigh(self, judged: Judged, defaults: Mapping[str, Any] | None = None) -> Floats | None:
        """The weight of each query of a block in the mean, ``(T,)``; None for equal weights.

        Args:
            judged: the block.
            defaults: as in ``compute``.
        """
        return self.weight(judged, **self.bound(defaults)) if self.weight else None

    def decompose(self, judged: Judged, defaults: Mapping[str, Any] | None = None) -> Steps | None:
        """The contribution of each document to the values; None where values are not such sums.

        Args:
            judged: the block.
            defaults: as in ``compute``.
        """
        from rankgate.measurement.metrics.judged_block import Steps

        result = self.kernel(judged, **self.bound(defaults))
        return result if isinstance(result, Steps) else None

    def bound(self, defaults: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The kernel's arguments: the metric's own go before those of a convention.

        Raises:
            UsageError: a required parameter is bound nowhere.
        """
        parameters = self.parameters
        bound = {name: v for name, v in self.settled(defaults or {}).items() if name in parameters}
        bound |= {name: v for name, v in self.given if name in parameters}
        if any(name not in bound for name in self.missing):
            raise UsageError(self.incomplete(), code="incomplete-metric")
        return bound

    def settled(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """The values that a convention binds, as far as the metric's own parameters agree.

        A parameter that is written always has an effect: where that depends on another one, the
        written parameter decides what the other is, or it is an error.

        Raises:
            UsageError: a parameter of the metric's own would have no effect, as another one has
                a value that leaves none and it is not clear which it should have.
        """
        parameters, own_values, settled_values = self.parameters, dict(self.given), dict(defaults)
        conditions = [
            (name, only)
            for name, value in self.given
            if name in parameters and value is not None
            for only in parameters[name].only_with
        ]
        for name, only in conditions:
            other_value = {**settled_values, **own_values}.get(only.other, parameters[only.other].default)
            if other_value in only:
                continue
            if only.decides is None or only.other in own_values:
                choice = "leave one out" if only.other in own_values else f"give {only} too"
                raise UsageError(
                    f"{self}: {name}={_format_value(own_values[name])} has no effect with "
                    f"{only.other}={_format_value(other_value)}; {choice}.",
                    code="contradicting-parameters",
                )
            settled_values[only.other] = only.decides
        return settled_values

    def depth(self, defaults: Mapping[str, Any] | None = None) -> int | None:
        """The last rank that its value follows from; None where that is the end of the list.

        Args:
            defaults: as in ``compute``.
        """
        bound = self.bound(defaults)
        if not self.prefix_only or any(bound.get(name) == v for name, v in self.whole_list_when):
            return None
        declared = self.parameters.get("cutoff")
        cutoff = bound.get("cutoff", declared.default if declared else None)
        return int(cutoff) if cutoff else None

    def has_bounds(self, defaults: Mapping[str, Any] | None = None) -> bool:
        """True if bounds of its values are known under the bound parameters.

        Args:
            defaults: as in ``compute``.
        """
        allowed, declared = dict(self.bounded_with), self.parameters
        return self.bounds is not None and all(
            value == declared[name].default
            or (name in allowed and ((allowed_values := allowed[name]) is None or value in allowed_values))
            for name, value in self.bound(defaults).items()
        )

    def incomplete(self) -> str:
        """The sentence for a metric that lacks a required parameter."""
        name = self.missing[0]
        parameter = self.parameters[name]
        example = 10 if parameter.kind == "int" else 0.5
        example_name = f"{self.name}@{example}" if name == self.at else f"{self.name}({name}={example})"
        return f"{self.name} needs a {name}, such as {example_name}."


def _format_value(value: object) -> str:
    """A bound value in the form of names; a gain map is ``{1:1,2:3}``."""
    if isinstance(value, tuple):
        return "{" + ",".join(f"{grade!r}:{gain!r}" for grade, gain in value) + "}"
    return repr(value)
