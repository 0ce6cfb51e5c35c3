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
    """Keep spending under a ceiling.

    Before a request goes out, the most that it can cost is reserved; its answer replaces that by
    the real cost. So the ceiling holds however many requests are under way.

    Attributes:
        ceiling: the most that may be spent; None without one.
        spent: the amount spent.
        reserved: the most that requests under way can cost.
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

    def take(self, max_cost: float) -> bool:
        """Reserve the largest cost of a request; False if the ceiling has no room for it.

        Waits while requests under way may turn out cheaper than their reservation.
        """
        with self._changed:
            if self.ceiling is not None:
                while self.spent + self.reserved + max_cost > self.ceiling:
                    if not self._under_way:
                        return False
                    self._changed.wait()
            self.reserved += max_cost
            self._under_way += 1
            return True

    def give_back(self, max_cost: float, cost: float) -> None:
        """Replace the reserved cost by the real one."""
        with self._changed:
            self._under_way -= 1
            self.reserved = self.reserved - max_cost if self._under_way else 0.0  # sums are rounded
            self.spent += cost
            self._changed.notify_all()


@dataclass(frozen=True)
class Usage:
    """Requests with their tokens and their cost."""

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
    def of(cls, ceilings: Mapping[str, float | None], usage: Usage) -> Budget:
        """Limits by name, and the usage so far."""
        return cls(*(CostLimit(ceilings.get(name), getattr(usage, name)) for name in LIMIT_NAMES))

    def take(self, max_usage: Usage) -> str:
        """Reserve the most that a request can take.

        Returns:
            The limit that has no room for it; empty if all have.
        """
        reserved_names: list[str] = []
        for name in LIMIT_NAMES:
            if not getattr(self, name).take(getattr(max_usage, name)):
                for reserved_name in reserved_names:
                    getattr(self, reserved_name).give_back(getattr(max_usage, reserved_name), 0)
                return name
            reserved_names.append(name)
        return ""

    def give_back(self, max_usage: Usage, used: Usage) -> None:
        """Replace the reserved usage by the real one."""
        for name in LIMIT_NAMES:
            getattr(self, name).give_back(getattr(max_usage, name), getattr(used, name))


LIMIT_NAMES = ("requests", "tokens", "money")
"""The limits of a budget."""
