"""The API of pytrec_eval, computed by rankgate: ``from rankgate.compat import pytrec_eval``."""

from rankgate.interface.compat import pytrec_eval
from rankgate.interface.compat.pytrec_eval import *  # noqa: F403 - every name of the library

__all__ = pytrec_eval.__all__
compute_aggregated_measure = pytrec_eval.compute_aggregated_measure  # missing from `import *`
