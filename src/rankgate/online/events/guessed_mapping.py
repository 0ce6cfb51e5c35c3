"""The guess of a mapping for a log with an action in each record, by its names and values.

The lines are shown to be saved and checked; nothing is read by a guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice, product
from typing import Any

from rankgate.data.guessed_column_names import (
    Tables,
    click_log_tables,
    guess_fields,
    toml_lines,
    with_search_id,
)
from rankgate.online.events.event_lists import list_tables, normalize_action

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


def suggested_kind(action: str) -> str:
    """The kind that the name of an action suggests; ``other`` if it suggests none.

    >>> [suggested_kind(action) for action in ("product_view", "Klick", "achat", "login")]
    ['impression', 'click', 'purchase', 'other']
    """
    name = normalize_action(action)
    return next((kind for kind, pattern in _SUGGESTIONS if re.search(pattern, name)), OTHER_KIND)


def kinds_of_actions(actions: Iterable[str]) -> dict[str, list[str]]:
    """The actions of each kind that names suggest, for ``[kinds]`` of a mapping.

    >>> kinds_of_actions(["view", "login", "tap", "logout"])
    {'impression': ['view'], 'other': ['login', 'logout'], 'click': ['tap']}
    """
    by_kind: dict[str, list[str]] = {}
    for action in islice(actions, MAX_ACTIONS):
        by_kind.setdefault(suggested_kind(action), []).append(action)
    return by_kind


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


def action_tables(records: Sequence[Mapping[str, Any]]) -> Tables:
    """The mapping of records with an action each; empty for other records.

    >>> tables = action_tables([{"Zeit": "1", "Besuch": "v", "Suchbegriff": "Tee", "Aktion": "Suche"}])
    >>> tables["columns"]["query_event_id"], tables["kinds"]
    ('Besuch+Suchbegriff', {'search': ['Suche']})
    """
    first_record = records[0] if records else {}
    fields = guess_fields(
        [name for name, value in first_record.items() if not isinstance(value, list | dict)]
    )
    mapped = ("at", "action", "session", "user", "variant", "query", "doc_id", "rank")
    columns = {field: fields[field] for field in mapped if field in fields}
    kinds = kinds_of_actions(_values(records, columns["action"])) if "action" in columns else {}
    if "query" not in columns or {*kinds} <= {OTHER_KIND}:
        return {}
    return {"columns": with_search_id(columns), "kinds": kinds}


def _values(records: Iterable[Mapping[str, Any]], name: str) -> dict[str, None]:
    """The different values of a column as texts, in their order."""
    return dict.fromkeys(str(value) for record in records if (value := record.get(name)) is not None)


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


def guess_tables(records: Sequence[Mapping[str, Any]]) -> Tables:
    """The mapping that the first records of a log suggest; empty if none."""
    columns = list(records[0]) if records else []
    return click_log_tables(columns) or list_tables(records) or action_tables(records)


def guess_lines(records: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The lines of the mapping that the first records of a log suggest; empty if none."""
    tables, comments = guess_tables(records), {}
    times = _values(records, tables.get("columns", {}).get("at", ""))
    if times and (formats := time_formats(times)):
        is_clear = len(formats) == 1  # a day above 12 tells it from the month
        tables.setdefault("log", {})["time_format"] = formats[0] if is_clear else "?"
        if not is_clear:
            comments["log", "time_format"] = " or ".join(map(json.dumps, formats))
    return toml_lines(tables, comments)


COUNT_COLUMNS = ("impressions", "clicks")
"""The columns of a table of counts by query, document and rank."""


def names_counts(names: Iterable[str]) -> bool:
    """True for the columns of a table of impressions and clicks by query, document and rank.

    >>> names_counts(["Query", "SKU", "Position", "Impressions", "Clicks"]), names_counts(["query", "clicks"])
    (True, False)
    """
    lowered_names = {name.lower() for name in names}
    return lowered_names >= {*COUNT_COLUMNS} and "searches" not in lowered_names
