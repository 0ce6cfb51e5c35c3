"""Everything that can be wrong with files of judgments and runs: one small object a check."""

from rankgate.data.files.checks import (
    copied,
    grades,
    ids,
    judgments,
    numbering,
    order,
    rankings,
    raters,
    seen,
    written,
)
from rankgate.data.files.checks.declare import SEVERITIES, Check, Found, Needs, Severity

_MODULES = (written, seen, judgments, grades, copied, raters, rankings, order, ids, numbering)

CHECKS = tuple(
    each for module in _MODULES for each in vars(module).values() if isinstance(each, Check)
)
"""Every check, in the order in which they are tried: that of the modules, and within each."""

__all__ = ["CHECKS", "SEVERITIES", "Check", "Found", "Needs", "Severity"]
