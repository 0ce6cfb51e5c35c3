"""All checks of files of judgments and runs: one small object for each check."""

from rankgate.data.files.checks import file_checks, golden_checks, id_checks, judgment_checks, ranking_checks
from rankgate.data.files.checks.check_declarations import SEVERITIES, Check, Found, Needs, Severity

_MODULES = (file_checks, judgment_checks, ranking_checks, id_checks, golden_checks)

CHECKS = tuple(member for module in _MODULES for member in vars(module).values() if isinstance(member, Check))
"""Every check, in the order in which they run: by module, and within each by position."""

__all__ = ["CHECKS", "SEVERITIES", "Check", "Found", "Needs", "Severity"]
