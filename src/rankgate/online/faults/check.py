"""One check of a log: what it looks for, and what it spoils."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from rankgate.core.declare import Declared
from rankgate.core.frozen import dataclass

Severity = Literal["block", "annotate"]
Subject = Literal[
    "clicks",
    "impressions",
    "ranks",
    "searches",
    "sessions",
    "users",
    "time",
    "revenue",
    "variants",
    "surveys",
    "states",
    "purchases",
    "carts",
]
"""The data that a KPI is made of and that a finding can spoil."""


@dataclass(frozen=True)
class Check(Declared):
    """A fault that a log can have; ``name`` is its code and ``title`` says what is wrong.

    Attributes:
        faults: SQL over ``events`` and ``searches`` whose rows are the faults; the column
            ``example`` says where the fault is, ``n`` how many one row counts for, and ``size``
            puts the worst first.
        total: SQL of the number that faults are a share of.
        spoils: what of the figures is wrong with it.
        blocks_from: the share of faults from which such figures are not given; None: they always
            are, with a warning.
        ignore_below: the share of faults that is quiet.
        fix: what to do.
    """

    faults: str = field(kw_only=True)
    total: str = field(kw_only=True)
    spoils: tuple[Subject, ...] = field(kw_only=True)
    blocks_from: float | None = field(default=0.01, kw_only=True)
    ignore_below: float = field(default=0.0, kw_only=True)
    fix: str = field(default="", kw_only=True)

    def severity(self, share: float) -> Severity:
        """The severity of faults of this share."""
        return "block" if self.blocks_from is not None and share >= self.blocks_from else "annotate"
