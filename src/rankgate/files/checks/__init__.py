"""Everything that can be wrong with files of judgments and runs: one small object a check."""

from rankgate.files.checks import (
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
from rankgate.files.checks.declare import SEVERITIES, Check, Found, Needs, Severity

CHECKS: tuple[Check, ...] = (
    *written.CHECKS,
    *seen.CHECKS,
    *judgments.CHECKS,
    *grades.CHECKS,
    *copied.CHECKS,
    *raters.CHECKS,
    *rankings.CHECKS,
    *order.CHECKS,
    *ids.CHECKS,
    *numbering.CHECKS,
)
"""Every check, in the order in which they are tried."""

__all__ = ["CHECKS", "SEVERITIES", "Check", "Found", "Needs", "Severity"]
