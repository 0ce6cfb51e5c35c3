"""All checks of ``rankgate validate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Result
from rankgate.data.files.checks import CHECKS, Needs, Severity

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class CheckDetails:
    """A check as help and documentation show it.

    Attributes:
        name: as findings name it.
        severity: ``error``, ``warning`` or ``note``.
        needs: what it looks at.
        title: what it finds.
    """

    name: str
    severity: Severity
    needs: Needs
    title: str


@dataclass(frozen=True)
class Checklist(Result):
    """Every check that there is.

    Attributes:
        checks: the details of each, in the order in which they are done.
    """

    kind: ClassVar[str] = "checklist"
    document_from: ClassVar[str] = "rankgate.data.files.documents.validation:checklist"

    checks: tuple[CheckDetails, ...]

    def __len__(self) -> int:
        """The number of checks."""
        return len(self.checks)

    def _table(self) -> pl.DataFrame:
        import polars as pl

        return pl.DataFrame([vars(check) for check in self.checks])


def make_checklist() -> Checklist:
    """Every check that there is."""
    details = (
        CheckDetails(check.name, check.severity, check.needs, check.title) for check in CHECKS
    )
    return Checklist(tuple(details))
