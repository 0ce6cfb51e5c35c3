"""A user-defined convention, written in TOML.

The keys are the axes of ``Convention``; ``base`` names the convention that holds for everything
else (``trec`` by default)::

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

from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.errors import UsageError
from rankgate.measurement.scoring.convention import DESCRIPTIVE_FIELDS, Convention
from rankgate.measurement.scoring.convention_overrides import override_convention
from rankgate.measurement.scoring.presets import convention

_TABLES = ("parameters", "special")


def read_convention(path: str | Path) -> Convention:
    """Read the convention in a TOML file.

    Raises:
        InputError: the file does not exist or is not TOML, or a key or value is unknown; with its
            line.
    """
    file = TomlFile.read(path, code="invalid-convention")
    file.check_keys(file.values, {axis_field.name for axis_field in fields(Convention)} | {"base"})
    for key in (*_TABLES, "spellings"):
        if not isinstance(file.values.get(key, {}), dict):
            raise file.error(f"'{key}' must be a table; write it as [{key}].", key)
    base = _text_value(file, "base", "trec")
    base_convention = _with_choices(file, base)
    return replace(
        base_convention,
        name=_text_value(file, "name", Path(path).stem),
        title=_text_value(file, "title", f"{base} with its own choices" if file.values else base),
        source=_text_value(file, "source", ""),
        versions=_text_value(file, "versions", ""),
        defects=tuple(map(str, file.values.get("defects", ()))),
        spellings={
            **base_convention.spellings,
            **{str(tool_name): str(metric) for tool_name, metric in file.values.get("spellings", {}).items()},
        },
    )


def _with_choices(file: TomlFile, base: str) -> Convention:
    """The base with all choices of the file: first complete axes, then single metrics."""
    try:
        start = convention(base)
    except UsageError as error:
        raise file.error(error.problem, "base") from None
    pairs = {}
    for path, value in _settings(file):
        key = path[-1] if path[-2:-1] in ((), ("*",)) else ".".join(path[1:])
        pairs[key] = value
        try:
            override_convention(start, pairs)
        except UsageError as error:
            raise file.error(error.problem, *path) from None
    return override_convention(start, pairs)


def _settings(file: TomlFile) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every choice in the file by its path."""
    for key, value in file.values.items():
        if key not in {*DESCRIPTIVE_FIELDS, *_TABLES, "base"}:
            yield (key,), value
    for table in _TABLES:
        for metric, choices in file.values.get(table, {}).items():
            if not isinstance(choices, dict):
                message = f"'{table}.{metric}' must be a table; write it as [{table}.{metric}]."
                raise file.error(message, table, metric)
            yield from (((table, metric, key), value) for key, value in choices.items())


def _text_value(file: TomlFile, key: str, otherwise: str) -> str:
    value = file.values.get(key, otherwise)
    if not isinstance(value, str) or (key == "name" and not value.strip()):
        raise file.error(f"{key} must be a word.", key)
    return value
