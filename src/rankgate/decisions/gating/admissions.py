"""Admissions of judges that a policy asks for, from the files that it names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.core.errors import InputError
from rankgate.data.text.json_text import parse_json
from rankgate.decisions.gating.evidence import Admission
from rankgate.decisions.gating.rules import RULES

if TYPE_CHECKING:
    from rankgate.decisions.gating.policy import Policy


def read_admissions(policy: Policy) -> dict[str, Admission]:
    """Every admission that a rule of the policy names, by its file.

    Raises:
        InputError: the file cannot be read, or is not an admission.
    """
    return {file: _read_admission(policy.folder / file) for file in list_admission_files(policy)}


def list_admission_files(policy: Policy) -> list[str]:
    """The files of admissions that rules of a policy name, as it names them."""
    return [rule["file"] for rule in policy.rules if RULES[rule.kind].reads_admission]


def _read_admission(path: Path) -> Admission:
    try:
        result = parse_json(path.read_bytes(), str(path))
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
