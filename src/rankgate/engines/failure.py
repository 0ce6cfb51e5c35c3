"""Why an engine gave no answer."""

from __future__ import annotations

from typing import Literal

from rankgate.core.frozen import dataclass

FailureKind = Literal["again", "refused", "fatal"]


@dataclass(frozen=True)
class Failure:
    """Why a query has no answer.

    Attributes:
        kind: ``again``: worth another try; ``refused``: this query will never be answered;
            ``fatal``: no query will be.
        problem: one line, without any secret.
        wait: seconds that the engine asks to wait.
    """

    kind: FailureKind
    problem: str
    wait: float | None = None
