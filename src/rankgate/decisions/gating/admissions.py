"""Admissions of judges that a policy asks for, from the files that it names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.core.errors import InputError
from rankgate.data.text.json_text import parsed
from rankgate.decisions.gating.evidence import Admission
from rankgate.decisions.gating.rules import RULES

if TYPE_CHECKING:
    from rankgate.decisions.gating.policy import Policy


def admissions(policy: Policy) -> dict[str, Admission]:
    """Every admission that a rule of the policy names, by its file.

    Raises:
        InputError: the file cannot be read, or is not an admission.
    """
    files = [rule["file"] for rule in policy.rules if "admission" in RULES[rule.kind].needs]
    return {file: _read(policy.folder / file) for file in files}


def _read(path: Path) -> Admission:
    try:
        result = parsed(path.read_bytes(), str(path))
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}.", source=str(path), code="cannot-read"
        ) from None
    try:
        return Admission(
            str(result["verdict"]), str(result["judge"]["name"]), str(result["judge"]["sha256"])
        )
    except (KeyError, TypeError):
        problem = "not an admission; write one: rankgate admit PEOPLE JUDGE --format json -o FILE."
        raise InputError(problem, source=str(path), code="wrong-document") from None
