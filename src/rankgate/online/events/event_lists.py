"""Lists in the records of a log as events: the results that a search showed, the clicks on them."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass
from rankgate.online.log_database import quote_text

if TYPE_CHECKING:
    from rankgate.core.declare.toml_file import TomlFile


@dataclass(frozen=True)
class EventList:
    """A list in each record of a log, whose elements are events of one kind.

    Attributes:
        column: the column of the list, or its path.
        doc_id: the key of the document in an element; empty where the elements are ids.
        rank: the key of the rank; without one, impressions are numbered in their order, and other
            events have the rank of their document in the list of ``response_ids``.
        value: the key of the value; empty if there is none.
        quantity: the key of the number by which the value is multiplied; empty if there is none.
        actions: the actions whose records have this list, in lower case and with ``_``; empty for
            all records.
    """

    column: str
    doc_id: str = ""
    rank: str = ""
    value: str = ""
    quantity: str = ""
    actions: tuple[str, ...] = ()

    def array_sql(self, kind: str) -> str:
        """SQL of the list as JSON, from the table ``staged``; null for records without it."""
        conditions = [is_list_sql(kind)]
        if self.actions:
            conditions.append(f"{ACTION_SQL} IN ({', '.join(map(quote_text, self.actions))})")
        return f"CASE WHEN {' AND '.join(conditions)} THEN list_{kind} END"

    def replaces_sql(self, kind: str) -> str:
        """SQL that is true for a record of the kind of its elements, which stand in its place."""
        return f"(kind = {quote_text(kind)} AND coalesce(json_array_length({self.array_sql(kind)}), 0) > 0)"

    def rows_sql(self, kind: str, rank_base: int | None) -> str:
        """SQL of the elements, from the table ``staged``.

        The columns are those of ``staged``, and ``place`` (the position in the list), ``element_id``,
        ``element_rank`` and ``element_value``.
        """
        rank = "place"
        if self.rank:
            rank = f"try_cast({_key_sql(self.rank)} AS INTEGER)"
        if not self.rank and kind != "impression":
            rank = f"nullif(list_position({_RESPONSE}, {_key_sql(self.doc_id)}), 0)"
        shift = "0"
        if self.rank and rank_base != 1:
            shift = "1" if rank_base == 0 else "CASE WHEN min(written_rank) OVER () = 0 THEN 1 ELSE 0 END"
        value = f"try_cast({_key_sql(self.value)} AS DOUBLE)" if self.value else "NULL"
        if self.quantity:
            value += f" * coalesce(try_cast({_key_sql(self.quantity)} AS DOUBLE), 1)"
        array = self.array_sql(kind)  # WHERE may be computed later
        elements = (
            f"SELECT *, unnest(from_json({array}, '[\"JSON\"]')) AS element, "
            f"unnest(range(1, json_array_length({array})::BIGINT + 1)) AS place FROM staged "
            "WHERE kind IS NOT NULL"
        )
        return (
            f"SELECT *, written_rank + {shift} AS element_rank FROM (SELECT *, {_key_sql(self.doc_id)} AS "
            f"element_id, {rank} AS written_rank, {value} AS element_value FROM ({elements}))"
        )


ACTION_SQL = "regexp_replace(lower(action), '[- ]', '_', 'g')"
"""SQL of the action of a record in the form of a mapping's kinds."""


def list_sql(text: str) -> str:
    """SQL of a list as JSON: an array as it is, or ids in a text, as in ``a|b``, ``a, b``, ``['a', 'b']``."""
    signs = quote_text(" '\"")
    token = quote_text(r"""\"[^\"]*\"|'[^']*'|[^\[\](),;\s'\"]+""")
    json_type = f"CASE WHEN json_valid({text}) THEN json_type({text}) END"
    return (
        f"CASE WHEN {json_type} IN ('ARRAY', 'OBJECT') THEN {text} "
        f"WHEN lower(trim({text})) IN ('null', 'none', 'nan') THEN NULL "
        f"WHEN contains({text}, '|') THEN "
        f"to_json([trim(i) FOR i IN string_split({text}, '|') IF trim(i) != ''])::VARCHAR ELSE "
        f"to_json([trim(i, {signs}) FOR i IN regexp_extract_all({text}, {token})])::VARCHAR END"
    )


def is_list_sql(kind: str) -> str:
    """SQL that is true if the list of a record is an array."""
    return f"(CASE WHEN json_valid(list_{kind}) THEN json_type(list_{kind}) = 'ARRAY' ELSE false END)"


_RESPONSE = "CASE WHEN json_valid(response_ids) THEN from_json(response_ids, '[\"VARCHAR\"]') END"


def _key_sql(key: str) -> str:
    path = "".join(f".{json.dumps(step, ensure_ascii=False)}" for step in key.split(".") if step)
    return f"json_extract_string(element, {quote_text('$' + path)})"


def normalize_action(action: str) -> str:
    """An action in lower case, with ``_`` for blanks and hyphens.

    >>> normalize_action("Product List-Viewed")
    'product_list_viewed'
    """
    return re.sub("[- ]", "_", action.lower())


def read_event_lists(toml: TomlFile, kinds: tuple[str, ...]) -> dict[str, EventList]:
    """The lists of a mapping: ``[lists.click]`` with its column, keys of elements, and actions.

    Raises:
        InputError: an unknown kind or key, or a list without its column.
    """
    lists = {}
    toml.check_keys(toml.values.get("lists", {}), kinds, "lists")
    for kind, keys in toml.values.get("lists", {}).items():
        toml.check_keys(keys, [declared.name for declared in fields(EventList)], "lists", kind)
        actions = keys.get("actions", [])
        names = [name for key, name in keys.items() if key != "actions"]
        texts = [*names, *actions] if isinstance(actions, list) else [None]
        if not keys.get("column") or not all(isinstance(text, str) for text in texts):
            problem = (
                "name the list's column, the keys of its elements as doc_id, rank, value, quantity, and the "
                "actions that have it as a list."
            )
            raise toml.error(problem, "lists", kind)
        lists[kind] = EventList(**{**keys, "actions": tuple(map(normalize_action, actions))})
    return lists
