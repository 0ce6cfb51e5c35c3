"""Findings that make an experiment's figures doubtful, or forbid them."""

from __future__ import annotations

from typing import Literal

from rankgate.core.frozen import dataclass


@dataclass(frozen=True)
class ExperimentFinding:
    """A fault of an experiment.

    Attributes:
        code: which check found it.
        severity: ``block``: no figure is given and no rule decided; ``warn``: with a warning.
        text: what is wrong and what to do.
        subject: the measure or the arm; empty for the whole experiment.
    """

    code: str
    severity: Literal["block", "warn"]
    text: str
    subject: str = ""
