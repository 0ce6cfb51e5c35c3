"""What a judgment by people, a call of a model and a new query cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rankgate.errors import UsageError


@dataclass(frozen=True)
class Prices:
    """Prices in one currency.

    Attributes:
        document: of a document that people judge.
        query: of a query that is added, without its documents.
        call: of a document that a model judges.
    """

    document: float = 1.0
    query: float = 0.0
    call: float = 0.01

    @classmethod
    def of(cls, given: Prices | Mapping[str, float] | Sequence[str]) -> Prices:
        """From ``{"document": 2}`` or ``["document=2"]``; what is not given keeps its default.

        Raises:
            UsageError: an unknown name; a price that is no number, or not above 0 (a query may
                cost nothing but its documents).

        >>> Prices.of(["document=2", "call=0.05"])
        Prices(document=2.0, query=0.0, call=0.05)
        """
        if isinstance(given, Prices):
            return given
        pairs = given.items() if isinstance(given, Mapping) else [
            (name, value) for name, _, value in (word.partition("=") for word in given)
        ]  # fmt: skip
        found: dict[str, float] = {}
        for name, value in pairs:
            if name not in cls.__dataclass_fields__:
                raise UsageError(
                    f"no price is called {name!r}; there are document, query and call, as in "
                    "document=2.",
                    code="unknown-choice",
                )
            try:
                number = float(value)
            except ValueError:
                number = float("nan")
            if not (0 < number < float("inf") or (number == 0 and name == "query")):
                raise UsageError(
                    f"the price {name}={value} is no number above 0: what costs nothing is always "
                    "next; give a price, in any currency.",
                    code="out-of-range",
                )
            found[name] = number
        return cls(**found)
