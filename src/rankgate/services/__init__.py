"""What rankgate does: one verb a file, plain values in, a frozen result out."""

from rankgate.services.evaluate import DEFAULT_METRICS, Evaluation, evaluate

__all__ = ["DEFAULT_METRICS", "Evaluation", "evaluate"]
