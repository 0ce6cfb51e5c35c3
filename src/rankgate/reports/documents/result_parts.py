"""Any JSON as tables and facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.present.document import Points
from rankgate.reports.documents.result_tables import is_table, pairs, table, word

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankgate.present.document import Block

    Values = Mapping[str, Any]

_LEFT_OUT = {"schema_version", "kind", "convention", "warnings", "alarms", "usual"}
_CAUTIONS = ("warnings", "alarms", "cautions")


def tables(values: Values) -> tuple[Block, ...]:
    """Warnings, tables, then everything else."""
    return (*_cautions(values), *_every(values))


def _cautions(values: Values) -> list[Block]:
    found = [each for name in _CAUTIONS for each in values.get(name) or ()]
    lines = [
        each["what"] if isinstance(each, dict) and "what" in each else word(each) for each in found
    ]
    return [Points(tuple(lines))] if lines else []


def _every(values: Values) -> list[Block]:
    """Tables, lists of words, and what is left in one that is folded."""
    level = values.get("level") if isinstance(values.get("level"), float) else None
    blocks: list[Block] = []
    facts: dict[str, Any] = {}
    for name, value in values.items():
        heading = name.replace("_", " ")
        if name in _LEFT_OUT or value in (None, [], {}):
            continue
        if is_table(value):
            if name not in _CAUTIONS:
                blocks.append(table(heading, value, level=level))
        elif isinstance(value, dict) and value and all(isinstance(x, dict) for x in value.values()):
            rows = [{"name": key, **each} for key, each in value.items()]
            blocks.append(table(heading, rows, level=level))
        elif isinstance(value, dict) and len(value) > 1 and name not in {"qrels", "hashes"}:
            blocks.append(pairs(heading, value))
        else:
            facts[name] = value
    return [*blocks, *([pairs("everything else", facts)] if facts else [])]
