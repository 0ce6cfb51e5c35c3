"""One fault that was found in a log."""

from __future__ import annotations

from rankgate.core.frozen import dataclass

UNMAPPED = "unmapped-actions"
"""The code of the finding about actions that no kind is known for."""


@dataclass(frozen=True)
class LogFinding:
    """A fault of a log.

    Attributes:
        code: which check found it.
        severity: ``block``: figures that it spoils are not given; ``annotate``: with a warning.
        count: how many faults.
        total: of how many.
        spoils: what figures are made of that it makes wrong.
        words: what is wrong.
        examples: where.
        fix: what to do.
    """

    code: str
    severity: str
    count: int
    total: int
    spoils: tuple[str, ...]
    words: str
    examples: tuple[str, ...] = ()
    fix: str = ""

    @property
    def share(self) -> float:
        """Faults as a share of all."""
        return self.count / self.total if self.total else 0.0
