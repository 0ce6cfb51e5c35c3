"""A convention of one's own, written in TOML.

The keys are the axes of ``Convention``; ``base`` names the convention that holds for everything
else (``trec`` unless it is said)::

    name = "ours"
    base = "trec"
    ties = "doc_id_asc"
    without_relevant = "none"

    [parameters.nDCG]
    gain = "exp"

    [special.RR]
    depth = 10

    [spellings]
    "ndcg at {k}" = "nDCG@{k}"
"""

from __future__ import annotations

import tomllib
from dataclasses import fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.errors import InputError, UsageError
from rankgate.scoring.convention import Convention
from rankgate.scoring.overrides import overridden
from rankgate.scoring.presets import convention

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORDS = ("title", "source")
_TABLES = ("parameters", "special")


def read(path: str | Path) -> Convention:
    """The convention that a TOML file says.

    Raises:
        InputError: no such file, not TOML, a key or a value that there is not; names the file.
    """
    label = str(path)
    try:
        with Path(path).open("rb") as source:
            table = tomllib.load(source)
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}.", source=label, code="cannot-read"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"is not TOML: {error}.", source=label, code="invalid-toml") from None
    try:
        return of(table, Path(path).stem)
    except UsageError as error:
        raise InputError(str(error), source=label, code="invalid-convention") from None


def of(table: Mapping[str, Any], name: str) -> Convention:
    """The convention that a table says; ``name`` where it does not say its own.

    Raises:
        UsageError: a key or a value that there is not.
    """
    known = {each.name for each in fields(Convention)} | {"base"}
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(known))}."
            raise UsageError(f"unknown key '{key}'; {hint}", code="unknown-key")
    for key in (*_TABLES, "spellings"):
        if not isinstance(table.get(key, {}), dict):
            raise UsageError(
                f"'{key}' must be a table; write it as [{key}].", code="invalid-convention"
            )
    base = table.get("base", "trec")
    if not isinstance(base, str):
        raise UsageError("base must be the name of a convention.", code="invalid-convention")
    how = overridden(convention(base), dict(_settings(table)))
    return replace(
        how,
        name=_word(table, "name", name),
        title=_word(table, "title", f"{base} with choices of its own" if table else base),
        source=_word(table, "source", ""),
        defects=tuple(map(str, table.get("defects", ()))),
        spellings={**how.spellings, **_spellings(table)},
    )


def _settings(table: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Everything that chooses, as settings: whole axes first, then single metrics."""
    plain = {*_WORDS, *_TABLES, "name", "base", "defects", "spellings"}
    found = [(key, value) for key, value in table.items() if key not in plain]
    for each in _TABLES:
        for metric, chosen in table.get(each, {}).items():
            if not isinstance(chosen, dict):
                raise UsageError(
                    f"'{each}.{metric}' must be a table; write it as [{each}.{metric}].",
                    code="invalid-convention",
                )
            found += [(_key(metric, key), value) for key, value in chosen.items()]
    return found


def _key(metric: str, key: str) -> str:
    return key if metric == "*" else f"{metric}.{key}"


def _word(table: Mapping[str, Any], key: str, otherwise: str) -> str:
    value = table.get(key, otherwise)
    if not isinstance(value, str) or (key == "name" and not value.strip()):
        raise UsageError(f"{key} must be a word.", code="invalid-convention")
    return value


def _spellings(table: Mapping[str, Any]) -> dict[str, str]:
    return {str(theirs): str(ours) for theirs, ours in table.get("spellings", {}).items()}
