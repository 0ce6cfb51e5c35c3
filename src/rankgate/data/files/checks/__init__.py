"""All checks of files of judgments and runs: one small object for each check."""

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
    member for module in _MODULES for member in vars(module).values() if isinstance(member, Check)
)
"""Every check, in the order in which they run: by module, and within each by position."""

__all__ = ["CHECKS", "SEVERITIES", "Check", "Found", "Needs", "Severity"]
