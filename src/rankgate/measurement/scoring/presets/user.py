"""A user-defined convention, written in TOML.

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

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from rankgate.core.declare.toml import Toml
from rankgate.core.errors import UsageError
from rankgate.measurement.scoring.convention import WORDS, Convention
from rankgate.measurement.scoring.overrides import overridden
from rankgate.measurement.scoring.presets import convention

_TABLES = ("parameters", "special")


def read(path: str | Path) -> Convention:
    """The convention that a TOML file says.

    Raises:
        InputError: no such file, not TOML, a key or a value that there is not; with its line.
    """
    file = Toml.read(path, code="invalid-convention")
    file.check_keys(file.values, {each.name for each in fields(Convention)} | {"base"})
    for key in (*_TABLES, "spellings"):
        if not isinstance(file.values.get(key, {}), dict):
            raise file.error(f"'{key}' must be a table; write it as [{key}].", key)
    base = _word(file, "base", "trec")
    how = _chosen(file, base)
    return replace(
        how,
        name=_word(file, "name", Path(path).stem),
        title=_word(file, "title", f"{base} with its own choices" if file.values else base),
        source=_word(file, "source", ""),
        versions=_word(file, "versions", ""),
        defects=tuple(map(str, file.values.get("defects", ()))),
        spellings={
            **how.spellings,
            **{str(theirs): str(ours) for theirs, ours in file.values.get("spellings", {}).items()},
        },
    )


def _chosen(file: Toml, base: str) -> Convention:
    """The base with everything that the file chooses: whole axes first, then single metrics."""
    try:
        start = convention(base)
    except UsageError as error:
        raise file.error(error.problem, "base") from None
    pairs = {}
    for path, value in _settings(file):
        key = path[-1] if path[-2:-1] in ((), ("*",)) else ".".join(path[1:])
        pairs[key] = value
        try:
            overridden(start, pairs)
        except UsageError as error:
            raise file.error(error.problem, *path) from None
    return overridden(start, pairs)


def _settings(file: Toml) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Everything that chooses, by its path in the file."""
    for key, value in file.values.items():
        if key not in {*WORDS, *_TABLES, "base"}:
            yield (key,), value
    for table in _TABLES:
        for metric, chosen in file.values.get(table, {}).items():
            if not isinstance(chosen, dict):
                words = f"'{table}.{metric}' must be a table; write it as [{table}.{metric}]."
                raise file.error(words, table, metric)
            yield from (((table, metric, key), value) for key, value in chosen.items())


def _word(file: Toml, key: str, otherwise: str) -> str:
    value = file.values.get(key, otherwise)
    if not isinstance(value, str) or (key == "name" and not value.strip()):
        raise file.error(f"{key} must be a word.", key)
    return value
