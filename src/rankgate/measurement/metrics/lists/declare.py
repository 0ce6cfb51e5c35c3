"""Declare a metric on lists: what it needs, and how partial results are merged."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal, cast

import numpy as np

from rankgate.core.declare import Parameter, Range, parameters_of
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.lists.listed import Floats, Listed, Sums
from rankgate.measurement.metrics.views import LISTS, View

Need = Literal["seen", "relevant", "history", "baseline", "earlier", "features", "similarities",
               "categories", "groups"]  # fmt: skip
"""What a metric needs besides the lists; the fields of `Listed`."""

NEEDS: Mapping[Need, str] = {
    "seen": "how often items were seen before: training",
    "relevant": "what is relevant to whom: judgments",
    "history": "what users had before: training",
    "baseline": "the lists of a simple system, such as the most popular items",
    "earlier": "the lists of the same system at an earlier time",
    "features": "numbers that describe items",
    "similarities": "the similarity of two items",
    "categories": "the categories of items",
    "groups": "the groups of items",
}
"""Each need in words."""

Merge = Literal["mean", "items", "ratio"]
"""How lists become one number: the mean over lists; a function of how often each item is shown;
a function of sums over lists."""

_CUTOFF = Parameter(
    "cutoff", "int", "K; without it whole lists count.", range=Range(1), optional=True
)
_ASKS: Mapping[tuple[str, str], tuple[Need, Need | None]] = {
    ("relevance", "use"): ("relevant", None),
    ("relevance", "only"): ("relevant", None),
    ("over", "training"): ("seen", None),
    ("similarity", "given"): ("similarities", "features"),
    ("against", "history"): ("history", "earlier"),
}
"""What values of parameters need, and what they make needless."""
_LOOKS = frozenset({"weight", "patience"})
"""Parameters of the attention that places get."""
_BOUNDLESS = frozenset(
    {
        ("divisor", "items"),
        ("relevance", "only"),
        ("similarity", "given"),
        ("similarity", "overlap"),
    }
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
        merge: how lists become one number.
        needs: what it needs besides the lists.
        finish: ``(M,)`` sums to the number, for ``ratio``.
        look: what each of so many places is looked at, given the parameters of its name, for
            ``items`` that are distinguished by their exposure.
    """

    merge: Merge = "mean"
    needs: tuple[Need, ...] = ()
    finish: Callable[..., float] | None = None
    look: Callable[..., Floats] | None = None
    blind_to: str = "whether anything shown is relevant"
    view: View = LISTS

    def __call__(self, **values: object) -> "ListMetric":
        """As of `Metric`; variants of libraries that know no bounds have none.

        >>> from rankgate.measurement.metrics.lists import ILD
        >>> ILD.high, ILD(divisor="items").high
        (2.0, None)
        """
        read = {name: self.read(name, value) for name, value in values.items()}
        return self._given({**dict(self.given), **read})

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The kernel's parameters, and the cutoff."""
        return {**parameters_of(self.kernel), "cutoff": _CUTOFF}

    @property
    def cutoff(self) -> int | None:
        """K; None where whole lists count."""
        cutoff: int | None = dict(self.given).get("cutoff")
        return cutoff

    def lacks(self, listed: Listed) -> tuple[Need, ...]:
        """What is needed and not there."""
        return tuple(need for need in self.wanted if getattr(listed, need) is None)

    def refuse_lacking(self, listed: Listed) -> None:
        """Check that all is there that is needed.

        Raises:
            UsageError: what is not.
        """
        for need in self.lacks(listed):
            raise UsageError(f"{self} needs {NEEDS[need]}.", code="missing-input")

    @property
    def wanted(self) -> tuple[Need, ...]:
        """What it needs besides the lists with the parameters that are bound to it."""
        asked = [_ASKS[pair] for pair in self.given if pair in _ASKS]
        spared = {needless for _, needless in asked}
        every = dict.fromkeys((*self.needs, *(need for need, _ in asked)))
        return tuple(need for need in every if need not in spared)

    @property
    def of_judged_users(self) -> bool:
        """Whether only users with judgments have a value; of other metrics all served users do."""
        return "relevant" in self.wanted

    def under(self, defaults: Mapping[str, Any]) -> "ListMetric":
        """The same metric with what a convention binds; its own parameters go before.

        >>> from rankgate.measurement.metrics.lists import Gini
        >>> str(Gini(over="shown").under({"divisor": "n-1", "over": "catalogue"}))
        "Gini(over='shown',divisor='n-1')"
        """
        every = {name: self.read(name, value) for name, value in self.settled(defaults).items()}
        return self._given({**every, **dict(self.given)})

    def _given(self, given: Mapping[str, Any]) -> "ListMetric":
        pairs = tuple(sorted(given.items()))
        if _BOUNDLESS.isdisjoint(pairs):
            return replace(self, given=pairs)
        return replace(self, given=pairs, low=-math.inf, high=None)

    def values(self, listed: Listed) -> Floats:
        """One value a list, ``(T,)``; for ``ratio`` the terms, ``(T, M)``.

        A metric that needs to know what is relevant has no value, and no terms, for users of
        whom nothing is judged.

        Raises:
            UsageError: something is needed that is not there.
        """
        self.refuse_lacking(listed)
        own = self._own()
        cut = listed.first(self.cutoff)
        found = np.concatenate([self.kernel(part, **own) for part in cut.parts(self.wanted)])
        if self.of_judged_users and listed.judged is not None:
            found[~listed.judged] = 0 if self.merge == "ratio" else np.nan
        return found

    @property
    def counted(self) -> tuple[Any, ...]:
        """What the sums over lists depend on: metrics with the same value can share them."""
        return self.cutoff, self.look is not None and self._looks()

    def sums(self, listed: Listed) -> Sums:
        """What the lists show together, as far as this metric looks; for ``items``."""
        cut = listed.first(self.cutoff)
        return cut.sums(looked=self.looked(cut.items.shape[1]))

    def looked(self, places: int) -> Floats | None:
        """What each of so many places is looked at; None where it is no matter."""
        return None if self.look is None else self.look(places, **dict(self._looks()))

    def _looks(self) -> tuple[tuple[str, Any], ...]:
        return tuple(pair for pair in self.bound().items() if pair[0] in _LOOKS)

    def of_sums(self, sums: Sums | Floats) -> float:
        """The number that sums over lists make; not for ``mean``."""
        if isinstance(sums, Sums):
            return float(self.kernel(sums, **self._own()))
        assert self.finish is not None
        return float(self.finish(sums))

    def number(self, found: Sums | Floats) -> float:
        """The one number for all lists; NaN if there is none.

        Args:
            found: as the metric merges: `values` of lists, or `sums` over them.
        """
        if isinstance(found, Sums):
            return self.of_sums(found)
        if self.merge == "ratio":
            return self.of_sums(found.sum(axis=0))
        known = found[~np.isnan(found)]
        return float(known.mean()) if len(known) else float("nan")

    def value(self, listed: Listed) -> float:
        """The one number for all lists; NaN if there is none.

        Raises:
            UsageError: something is needed that is not there.

        >>> from rankgate.measurement.metrics.lists import ILD
        >>> shown = Listed(np.array([[0, 1]]), 2, features=np.array([[1.0, 0.0], [0.0, 1.0]]))
        >>> ILD.value(shown)
        1.0
        """
        return self.number(self.sums(listed) if self.merge == "items" else self.values(listed))

    def _own(self) -> dict[str, Any]:
        known = parameters_of(self.kernel)
        return {name: value for name, value in self.bound().items() if name in known}


def lists_apart(metrics: Mapping[str, Metric]) -> tuple[dict[str, Metric], dict[str, ListMetric]]:
    """Metrics of rankings and subtopics, and those of lists, by label."""
    lists = {name: cast("ListMetric", each) for name, each in metrics.items() if each.view == LISTS}
    return {name: each for name, each in metrics.items() if name not in lists}, lists
