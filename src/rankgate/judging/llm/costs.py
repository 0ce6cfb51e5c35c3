"""Cost accounting with hard limits on money, tokens and requests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from threading import Condition

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

_MILLION = 1_000_000


@dataclass(frozen=True)
class Prices:
    """Money per million tokens, in any currency.

    Attributes:
        input: of what is asked.
        output: of what is answered.

    Raises:
        UsageError: a price below 0, or not a number.
    """

    input: float
    output: float

    def __post_init__(self) -> None:
        if not all(math.isfinite(price) and price >= 0 for price in (self.input, self.output)):
            raise UsageError("a price is a number of 0 or more.", code="out-of-range")

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """Of a request: (input · price + output · price) / 10⁶.

        >>> Prices(3, 15).cost(1000, 100)
        0.0045
        """
        return (input_tokens * self.input + output_tokens * self.output) / _MILLION


@dataclass
class CostLimit:
    """Keeps what is spent under a ceiling.

    Before a request goes out, the most that it can cost is set reserved; when its answer is there,
    what it did cost takes that place. So the ceiling holds however many requests are under way.

    Attributes:
        ceiling: the most that may be spent; None without one.
        spent: what is spent.
        reserved: what requests under way can cost at most.
    """

    ceiling: float | None = None
    spent: float = 0.0
    reserved: float = 0.0
    _under_way: int = 0
    _changed: Condition = field(default_factory=Condition)

    def __post_init__(self) -> None:
        if self.ceiling is not None and self.ceiling < 0:
            raise UsageError(
                f"a ceiling of {self.ceiling:g} is below nothing; give 0 or more.",
                code="out-of-range",
            )

    def take(self, most: float) -> bool:
        """Set reserved what a request can cost; False where the ceiling has no room for it.

        Waits while requests under way may turn out cheaper than what is set reserved for them.
        """
        with self._changed:
            if self.ceiling is not None:
                while self.spent + self.reserved + most > self.ceiling:
                    if not self._under_way:
                        return False
                    self._changed.wait()
            self.reserved += most
            self._under_way += 1
            return True

    def give_back(self, most: float, cost: float) -> None:
        """Put the real cost in the place of what was set reserved."""
        with self._changed:
            self._under_way -= 1
            self.reserved = self.reserved - most if self._under_way else 0.0  # sums are rounded
            self.spent += cost
            self._changed.notify_all()


@dataclass(frozen=True)
class Usage:
    """What requests take: how many they are, their tokens, and what they cost."""

    requests: int = 0
    tokens: int = 0
    money: float = 0.0


@dataclass(frozen=True)
class Budget:
    """Limits on requests, tokens and money, which hold however many requests are under way.

    Limits are taken in one order, so that requests that wait for each other all come through.

    Attributes:
        requests, tokens, money: each with what is spent.
    """

    requests: CostLimit = field(default_factory=CostLimit)
    tokens: CostLimit = field(default_factory=CostLimit)
    money: CostLimit = field(default_factory=CostLimit)

    @classmethod
    def of(cls, ceilings: Mapping[str, float | None], spent: Usage) -> Budget:
        """Limits by name, and what is spent already."""
        return cls(*(CostLimit(ceilings.get(name), getattr(spent, name)) for name in NAMES))

    def take(self, most: Usage) -> str:
        """Reserve the most that a request can take.

        Returns:
            The limit that has no room for it; empty if all have.
        """
        taken: list[str] = []
        for name in NAMES:
            if not getattr(self, name).take(getattr(most, name)):
                for other in taken:
                    getattr(self, other).give_back(getattr(most, other), 0)
                return name
            taken.append(name)
        return ""

    def give_back(self, most: Usage, used: Usage) -> None:
        """Put what it did take in the place of what was reserved."""
        for name in NAMES:
            getattr(self, name).give_back(getattr(most, name), getattr(used, name))


NAMES = ("requests", "tokens", "money")
"""The limits of a budget."""
