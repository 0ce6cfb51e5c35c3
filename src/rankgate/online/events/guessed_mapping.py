"""The guess of a mapping for a log with an action in each record, by its names and values.

The lines are shown to be saved and checked; nothing is read by a guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import product
from typing import Any

from rankgate.data.column_names import match_columns
from rankgate.data.guessed_column_names import column_of_fields, mapping_lines, name_fit
from rankgate.online.events.event_lists import list_mapping

_SUGGESTIONS = (
    ("add_to_cart", "cart|basket|bag|korb|panier|carrito|carrinho|carrello"),
    ("refund", "refund|return|retour|retoure|erstatt|rembours|reembols|rimborso"),
    (
        "purchase",
        "purchase|order|buy|bought|checkout|transaction|payment|sale|kauf|bestell|achat|commande|compra|acquist",
    ),
    ("click", "click|tap|select|open|klick|clic|clique"),
    ("impression", "impression|view|show|display|expos|anzeige|angezeigt|einblend|affich"),
    ("dwell", "dwell|time_on"),
    ("search", "search|query|suche|recherche|busqueda|busca|ricerca|zoek"),
)
"""Kinds by what names of actions contain, the first that fits."""

OTHER_KIND = "other"
MAX_ACTIONS = 10
"""The actions that a message names at most."""

_DATES = (
    "%d.%m.%Y",
    "%d.%m.%y",
    *(f"{a}{sep}{b}{sep}{y}" for sep in "/-" for y in ("%Y", "%y") for a, b in (("%d", "%m"), ("%m", "%d"))),
)
_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", ", %H:%M", ", %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_UNKNOWN = "?"


def suggested_kind(action: str) -> str:
    """The kind that the name of an action suggests; ``other`` if it suggests none.

    >>> [suggested_kind(action) for action in ("product_view", "Klick", "achat", "login")]
    ['impression', 'click', 'purchase', 'other']
    """
    name = re.sub("[- ]", "_", action.lower())
    return next((kind for kind, pattern in _SUGGESTIONS if re.search(pattern, name)), OTHER_KIND)


def kind_lines(actions: Sequence[str]) -> tuple[str, ...]:
    """The lines of a mapping's ``[kinds]`` with the kinds that names suggest.

    >>> kind_lines(["view", "login", "tap", "logout"])
    ('impression = ["view"]', 'other = ["login", "logout"]', 'click = ["tap"]')
    """
    by_kind: dict[str, list[str]] = {}
    for action in actions[:MAX_ACTIONS]:
        by_kind.setdefault(suggested_kind(action), []).append(action)
    return tuple(f"{kind} = {json.dumps(names, ensure_ascii=False)}" for kind, names in by_kind.items())


def time_formats(texts: Iterable[str]) -> list[str]:
    """The formats of dates with the day or the month first that fit all of some texts.

    >>> time_formats(["01.09.2026 08:02:13"]), time_formats(["09/13/2026"]), time_formats(["2026-09-01"])
    (['%d.%m.%Y %H:%M:%S'], ['%m/%d/%Y'], [])
    >>> time_formats(["09/01/2026"])
    ['%d/%m/%Y', '%m/%d/%Y']
    """
    formats = [date + time for date, time in product(_DATES, _TIMES)]
    for text in texts:
        formats = [form for form in formats if _fits(text, form)]
    return formats


def _fits(text: str, form: str) -> bool:
    try:
        datetime.strptime(text.strip(), form)  # noqa: DTZ007 - only whether it fits
    except ValueError:
        return False
    return True


def action_mapping(records: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The lines of a mapping for records with an action each; empty for other records.

    >>> action_mapping([{"ts": "1", "visit_id": "v", "term": "tea", "action": "search"}])[:3]
    ('[columns]', 'at = "ts"', 'action = "action"')
    >>> action_mapping([{"Zeit": "1", "Besuch": "v", "Suchbegriff": "Tee", "Aktion": "Suche"}])[1:4]
    ('at = "Zeit"', 'action = "Aktion"', 'session = "Besuch"')
    """
    names = (
        [name for name, value in records[0].items() if not isinstance(value, list | dict)] if records else []
    )
    columns = column_of_fields(names)
    columns = {
        field: columns[field] for field in ("at", "action", "session", "user", "variant") if field in columns
    }
    left_names = [name for name in names if name not in columns.values()]
    usual_names = match_columns(left_names, ("query_id", "doc_id", "rank"))
    for field, our_name in (("query", "query_id"), ("doc_id", "doc_id"), ("rank", "rank")):
        fit = max(left_names, key=lambda name: name_fit(name, our_name), default="")
        if our_name in usual_names or (fit and name_fit(fit, our_name)):
            columns[field] = usual_names.get(our_name, fit)
    values = {
        field: list(
            dict.fromkeys(str(value) for record in records if (value := record.get(name)) is not None)
        )
        for field, name in columns.items()
    }
    kinds = {*map(suggested_kind, values.get("action", ()))} - {OTHER_KIND}
    if "query" not in columns or not kinds:
        return ()
    if owner := columns.get("session") or columns.get("user"):
        columns["query_event_id"] = f"{owner}+{columns['query']}"
    formats = time_formats(values["at"]) if values.get("at") else []
    time_lines = [f"time_format = {_quoted(formats[0])}"] if len(formats) == 1 else []
    if len(formats) > 1:  # no day above 12 tells them apart
        time_lines = [f"time_format = {_quoted(_UNKNOWN)}  # {' or '.join(map(_quoted, formats))}"]
    return (
        *(["[log]", *time_lines] if time_lines else []),
        "[columns]",
        *(f"{field} = {_quoted(name)}" for field, name in columns.items()),
        "[kinds]",
        *kind_lines(values["action"]),
    )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


_PRESET_COLUMNS = {
    "ga4": {"event_name", "event_params"},
    "snowplow": {"collector_tstamp", "domain_userid"},
    "segment": {"messageId", "event", "properties"},
}
"""The columns by which the log of a product is recognized."""


def preset_of(columns: Iterable[str]) -> str:
    """The product whose log has these columns; empty if none is recognized.

    >>> preset_of(["event_date", "event_name", "event_params"]), preset_of(["ts", "action"])
    ('ga4', '')
    """
    names = {*columns}
    return next((preset for preset, needed in _PRESET_COLUMNS.items() if needed <= names), "")


def guess_lines(records: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The lines of the mapping that the first records of a log suggest; empty if none."""
    columns = list(records[0]) if records else []
    return mapping_lines(columns) or list_mapping(records) or action_mapping(records)


COUNTED = ("impressions", "clicks")
"""The columns of a table of counts by query, document and rank."""


def names_counts(names: Iterable[str]) -> bool:
    """True for the columns of a table of impressions and clicks by query, document and rank.

    >>> names_counts(["Query", "SKU", "Position", "Impressions", "Clicks"]), names_counts(["query", "clicks"])
    (True, False)
    """
    lowered_names = {name.lower() for name in names}
    return lowered_names >= {*COUNTED} and "searches" not in lowered_names
