"""What rankgate does: one verb a file, plain values in, a frozen result out."""

from rankgate.services.evaluate import Evaluation, evaluate

__all__ = ["Evaluation", "evaluate"]
