"""Scoring: form rankings under a convention, and run kernels over them."""

from rankgate.measurement.scoring.convention import Alignment, Convention
from rankgate.measurement.scoring.presets import CONVENTIONS, convention

__all__ = ["CONVENTIONS", "Alignment", "Convention", "convention"]
