"""From tables to values: rankings are formed under a convention, and kernels run over them."""

from rankgate.scoring.convention import CONVENTIONS, Convention
from rankgate.scoring.score import score

__all__ = ["CONVENTIONS", "Convention", "score"]
