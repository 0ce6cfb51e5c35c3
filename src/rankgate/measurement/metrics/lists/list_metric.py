"""Declare a metric on lists, and accumulate its partial results.

A declaration states what the metric needs, and how partial results are merged. Partial results
are for batches on several machines, in any order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from rankgate.core.arrays import Floats
from rankgate.core.declare import Parameter, Range, parameters_of
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.judged_block import ExactMean
from rankgate.measurement.metrics.lists.list_input import Listed, Sums
from rankgate.measurement.metrics.metric_declaration import LISTS, Metric, View

NEEDS: Mapping[str, str] = {
    "seen": "the popularity of items in training",
    "relevant": "the relevance of items to users, from judgments",
    "history": "the history of users in training",
    "baseline": "the lists of a simple system, such as the most popular items",
    "earlier": "the lists of the same system at an earlier time",
    "features": "numbers that describe items",
    "similarities": "the similarity of two items",
    "categories": "the categories of items",
    "groups": "the groups of items",
}
"""Inputs of metrics besides the lists, in words: fields of `Listed`, or its `tables` of items."""

Merge = Literal["mean", "items", "ratio"]
"""Aggregations over lists: the mean over lists; a function of the frequency of each item;
a function of sums over lists."""

_CUTOFF = Parameter("cutoff", "int", "K; without it whole lists count.", range=Range(1), optional=True)
_INPUTS_OF_VALUES: Mapping[tuple[str, str], tuple[str, str | None]] = {
    ("relevance", "use"): ("relevant", None),
    ("relevance", "only"): ("relevant", None),
    ("over", "training"): ("seen", None),
    ("similarity", "given"): ("similarities", "features"),
    ("against", "history"): ("history", "earlier"),
}
"""Inputs that values of parameters need, and inputs that they make needless."""
_ATTENTION_PARAMETERS = frozenset({"weight", "patience"})
"""Parameters of the attention that places get."""
_UNBOUNDED_VALUES = frozenset(
    {("divisor", "items"), ("relevance", "only"), ("similarity", "given"), ("similarity", "overlap")}
)
"""Values of parameters under which a metric does not keep its bounds."""


@dataclass(frozen=True, repr=False)
class ListMetric(Metric):
    """A metric on lists: a value, never changed; names, parameters and ``@`` as of `Metric`.

    ``kernel`` is a function of keyword-only parameters and of

    - `Listed`, returning ``(T,)`` values, NaN where a list has none (``merge`` is ``mean``);
    - `Sums`, returning one number (``items``);
    - `Listed`, returning ``(T, M)`` terms that are added over lists; ``finish`` makes a number
      of the sums (``ratio``).

    The lists are cut at ``cutoff`` before the kernel sees them.

    Attributes:
        merge: the method that makes one number of lists.
        needs: the data that it needs besides the lists.
        finish: ``(M,)`` sums to the number, for ``ratio``.
        look: a function that gives the attention at each position, given the parameters of its
            name, for ``items`` that are distinguished by their exposure.
    """

    merge: Merge = "mean"
    needs: tuple[str, ...] = ()
    finish: Callable[..., float] | None = None
    look: Callable[..., Floats] | None = None
    blind_to: str = "whether anything shown is relevant"
    view: View = LISTS

    def __call__(self, **values: object) -> ListMetric:
        """See `Metric`; variants of libraries that define no bounds have none.

        >>> from rankgate.measurement.metrics.lists import ILD
        >>> ILD.high, ILD(divisor="items").high
        (2.0, None)
        """
        new_values = {name: self.read(name, value) for name, value in values.items()}
        return self._given_inputs({**dict(self.given), **new_values})

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The kernel's parameters, and the cutoff."""
        return {**parameters_of(self.kernel), "cutoff": _CUTOFF}

    @property
    def cutoff(self) -> int | None:
        """K; None where whole lists count."""
        return dict(self.given).get("cutoff")

    def lacks(self, lists: Listed) -> tuple[str, ...]:
        """The needed inputs that are missing."""
        return tuple(need for need in self.inputs_needed if lists.need(need) is None)

    def refuse_lacking(self, lists: Listed) -> None:
        """Check that all needed inputs are given.

        Raises:
            UsageError: an input is missing.
        """
        for need in self.lacks(lists):
            raise UsageError(f"{self} needs {NEEDS[need]}.", code="missing-input")

    @property
    def inputs_needed(self) -> tuple[str, ...]:
        """The inputs besides the lists that it needs with its bound parameters."""
        requirements = [_INPUTS_OF_VALUES[pair] for pair in self.given if pair in _INPUTS_OF_VALUES]
        needless_inputs = {needless for _, needless in requirements}
        all_needs = dict.fromkeys((*self.needs, *(need for need, _ in requirements)))
        return tuple(need for need in all_needs if need not in needless_inputs)

    @property
    def of_judged_users(self) -> bool:
        """True if only users with judgments have a value; of other metrics all served users do."""
        return "relevant" in self.inputs_needed

    def under_convention(self, defaults: Mapping[str, Any]) -> ListMetric:
        """The same metric with what a convention binds; its own parameters go before.

        >>> from rankgate.measurement.metrics.lists import Gini
        >>> str(Gini(over="shown").under_convention({"divisor": "n-1", "over": "catalogue"}))
        "Gini(over='shown',divisor='n-1')"
        """
        values = {name: self.read(name, value) for name, value in self.settled(defaults).items()}
        return self._given_inputs({**values, **dict(self.given)})

    def _given_inputs(self, bound_values: Mapping[str, Any]) -> ListMetric:
        pairs = tuple(sorted(bound_values.items()))
        if _UNBOUNDED_VALUES.isdisjoint(pairs):
            return replace(self, given=pairs)
        return replace(self, given=pairs, low=-math.inf, high=None)

    def values(self, lists: Listed) -> Floats:
        """One value a list, ``(T,)``; for ``ratio`` the terms, ``(T, M)``.

        A metric that needs relevant items has no value, and no terms, for users without judgments;
        no metric has any for users of other systems (`Listed.is_user`).

        Raises:
            UsageError: something is needed that is not there.
        """
        self.refuse_lacking(lists)
        parameters = self._own_parameters()
        cut_lists = lists.first(self.cutoff)
        values = np.concatenate(
            [self.kernel(chunk, **parameters) for chunk in cut_lists.parts(self.inputs_needed)]
        )
        if lists.judged is not None:
            has_value = lists.judged if self.of_judged_users else lists.is_user
            values[~has_value] = 0 if self.merge == "ratio" else np.nan
        return values

    @property
    def sums_key(self) -> tuple[Any, ...]:
        """The key of the sums over lists: metrics with the same key can share them."""
        return self.cutoff, self.look is not None and self._looks()

    def sums(self, lists: Listed) -> Sums:
        """Sums over the lists, as far as this metric needs them; for ``items``."""
        cut_lists = lists.first(self.cutoff)
        return cut_lists.sums(looked=self.looked(cut_lists.items.shape[1]))

    def looked(self, places: int) -> Floats | None:
        """The attention that each place gets; None where it does not matter."""
        return None if self.look is None else self.look(places, **dict(self._looks()))

    def _looks(self) -> tuple[tuple[str, Any], ...]:
        return tuple(pair for pair in self.bound().items() if pair[0] in _ATTENTION_PARAMETERS)

    def of_sums(self, sums: Sums | Floats) -> float:
        """The number that sums over lists make; not for ``mean``."""
        if isinstance(sums, Sums):
            return float(self.kernel(sums, **self._own_parameters()))  # type: ignore[arg-type]  # a number
        assert self.finish is not None
        return float(self.finish(sums))

    def number(self, values: Sums | Floats) -> float:
        """The one number for all lists; NaN if there is none.

        Args:
            values: as the metric merges: `values` of lists, or `sums` over them.
        """
        if isinstance(values, Sums):
            return self.of_sums(values)
        if self.merge == "ratio":
            return self.of_sums(values.sum(axis=0))
        defined = values[~np.isnan(values)]
        return float(defined.mean()) if len(defined) else float("nan")

    def value(self, lists: Listed) -> float:
        """The one number for all lists; NaN if there is none.

        Raises:
            UsageError: something is needed that is not there.

        >>> from rankgate.measurement.metrics.lists import ILD
        >>> shown = Listed(np.array([[0, 1]]), 2, features=np.array([[1.0, 0.0], [0.0, 1.0]]))
        >>> ILD.value(shown)
        1.0
        """
        return self.number(self.sums(lists) if self.merge == "items" else self.values(lists))

    def _own_parameters(self) -> dict[str, Any]:
        kernel_parameters = parameters_of(self.kernel)
        return {name: value for name, value in self.bound().items() if name in kernel_parameters}


def split_list_metrics(metrics: Mapping[str, Metric]) -> tuple[dict[str, Metric], dict[str, ListMetric]]:
    """Metrics of rankings and subtopics, and metrics on lists, by label."""
    lists = {name: cast("ListMetric", metric) for name, metric in metrics.items() if metric.view == LISTS}
    return {name: metric for name, metric in metrics.items() if name not in lists}, lists


PartialResult: TypeAlias = Sums | tuple[ExactMean, ...]
"""The partial result of a batch of lists; exact sums give the same bits in any order."""


def partial_result(metric: ListMetric, values: Sums | Floats) -> PartialResult:
    """The partial result of a batch for a metric.

    Args:
        metric: the metric on lists.
        values: its values, terms or sums; see `ListMetric.number`.
    """
    if isinstance(values, Sums):
        return values
    if metric.merge == "ratio":
        return tuple(ExactMean.from_values(column) for column in values.T)
    return (ExactMean.from_values(values[~np.isnan(values)]),)


def merge_partials(first: PartialResult, second: PartialResult) -> PartialResult:
    """Merge the partial results of two batches."""
    if isinstance(first, Sums) and isinstance(second, Sums):
        return first + second
    assert not isinstance(first, Sums)
    assert not isinstance(second, Sums)
    return tuple(first_mean + second_mean for first_mean, second_mean in zip(first, second, strict=True))


def final_value(metric: ListMetric, partial: PartialResult) -> float:
    """The value of the metric from the merged partial results."""
    if isinstance(partial, Sums):
        return metric.of_sums(partial)
    if metric.merge == "mean":
        return partial[0].value
    return metric.of_sums(np.array([mean.sum for mean in partial]))
