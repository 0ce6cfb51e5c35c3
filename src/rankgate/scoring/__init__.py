"""From tables to values: rankings are formed under a convention, and kernels run over them."""

from rankgate.scoring.convention import Alignment, Convention
from rankgate.scoring.presets import CONVENTIONS, convention

__all__ = ["CONVENTIONS", "Alignment", "Convention", "convention"]
