"""Prices of a judgment by people, a call of a model and a new query, and the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass


@dataclass(frozen=True)
class Prices:
    """Prices in one currency, and the largest batch.

    Attributes:
        human: of a document that people judge.
        model: of a document that a model judges.
        query: of a query that people begin to judge, in addition to its documents.
        budget: the most documents in a batch that people judge; None sets no limit.
    """

    human: float = 1.0
    model: float = 0.01
    query: float = 0.0
    budget: int | None = None

    @classmethod
    def of(cls, prices: Prices | Mapping[str, float] | Sequence[str]) -> Prices:
        """Read ``{"human": 2}`` or ``["human=2"]``.

        Without prices, 100 documents by the model cost as much as one by people, and a query costs
        nothing but its documents.

        Raises:
            UsageError: an unknown name, one given twice; a price that is no number, or not above 0
                (a query may cost nothing but its documents); prices without that of people.

        >>> Prices.of(["human=2", "model=0.05"])
        Prices(human=2.0, model=0.05, query=0.0, budget=None)
        """
        if isinstance(prices, Prices):
            return prices
        pairs = (
            list(prices.items())
            if isinstance(prices, Mapping)
            else [(name, value) for name, _, value in (text.partition("=") for text in prices)]
        )
        price_by_name: dict[str, float] = {}
        for name, value in pairs:
            if name in price_by_name:
                raise UsageError(f"two prices of {name}; give one.", code="duplicate-option")
            price_by_name[name] = cls._price(name, value)
        budget = price_by_name.pop("budget", None)
        if price_by_name and "human" not in price_by_name:
            raise UsageError(
                f"there is a price of {' and '.join(price_by_name)}, and none of a document that "
                "people judge, in the same currency; add one, such as human=1.",
                code="missing-input",
            )
        return cls(**price_by_name, budget=None if budget is None else int(budget))

    @classmethod
    def _price(cls, name: str, value: float | str) -> float:
        if name not in cls.__dataclass_fields__:
            raise UsageError(
                f"no price is called {name!r}; there are human, model and query, as in human=2.",
                code="unknown-choice",
            )
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if name == "budget" and not (1 <= number < float("inf") and number == int(number)):
            problem = f"the budget {value} is not a number of documents from 1 up."
            raise UsageError(problem, code="out-of-range")
        if not (0 < number < float("inf") or (number == 0 and name == "query")):
            raise UsageError(
                f"the price {name}={value} is not a number above 0: what costs nothing is always "
                "next; give a price, in any currency.",
                code="out-of-range",
            )
        return number
