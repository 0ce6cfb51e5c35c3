"""From tables to values: rankings are formed under a convention, and kernels run over them."""

from rankgate.measurement.scoring.convention import Alignment, Convention
from rankgate.measurement.scoring.presets import CONVENTIONS, convention

__all__ = ["CONVENTIONS", "Alignment", "Convention", "convention"]
