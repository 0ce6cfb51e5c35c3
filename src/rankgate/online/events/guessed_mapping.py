"""The guess of a mapping for a log with an action in each record, by its names and values.

The lines are shown to be saved and checked; nothing is read by a guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice, product
from typing import Any

from rankgate.data.column_names import match_columns
from rankgate.data.guessed_column_names import (
    Tables,
    click_log_tables,
    columns_of_fields,
    guess_fields,
    normalize_name,
    toml_lines,
    with_search_id,
)
from rankgate.online.events.event_lists import normalize_action

_SUGGESTIONS = (
    ("add_to_cart", "cart|basket|bag|korb|panier|carrito|carrinho|carrello"),
    ("refund", "refund|return|retour|retoure|erstatt|rembours|reembols|rimborso"),
    (
        "purchase",
        "purchase|order|buy|bought|checkout|transaction|payment|sale|kauf|kaeuf|käuf|bestell|achat|commande|compra|acquist",
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


NUMBER_NAMES: Mapping[str, str] = {
    "value": "price revenue amount total ordervalue basketvalue value umsatz preis betrag prix precio prezzo",
    "hits": "hits results numresults nresults resultcount resultscount totalresults totalhits treffer",
    "latency_ms": "latency latencyms took tookms durationms responsetimems ms",
    "page": "page pagenumber seite",
    "quantity": "quantity qty count menge anzahl stueck stück",
}
"""The names of columns of numbers in other tools, by field."""

_SEARCH_FIELDS = ("at", "session", "user", "variant", "query")
"""The fields of a record of a search."""

_LISTS_OF_RESULTS = re.compile(
    r"result|hit|item|shown|product|doc|treffer|ergebnis|produkt|artikel|liste|resultat|produit|producto|produto"
)
_LIST_TEXT = re.compile(r"\s*\[.*\]\s*|[^|]+(\|[^|]+)+", re.DOTALL)


def list_tables(records: Sequence[Mapping[str, Any]], columns: Mapping[str, str] | None = None) -> Tables:
    """The mapping of records of searches with lists; empty for other records.

    Args:
        records: the first records.
        columns: the columns of fields that are known, by field.

    >>> list_tables([{"q": "tv", "hits": ["a", "b"], "clicks": [{"doc": "b", "rank": 2}]}])["lists"]
    {'click': {'column': 'clicks', 'doc_id': 'doc', 'rank': 'rank'}}
    >>> list_tables([{"Anfrage": "tv", "Treffer": "a|b", "Klicks": "b|a"}])["columns"]
    {'query': 'Anfrage', 'response_ids': 'Treffer'}
    """
    names = list(dict.fromkeys(name for record in records for name in record))
    list_names = [name for name in names if any(_is_list(record.get(name)) for record in records)]
    doc_ids = {doc_id for record in records for name in list_names for doc_id in _doc_ids(record.get(name))}
    list_names += [  # lists of at most one document are among the documents of other lists
        name
        for name in names
        if name not in list_names
        and suggested_kind(name) in LIST_KINDS
        and {*_values(records, name)} - {""} <= doc_ids
    ]
    lists = {
        kind: name
        for name in reversed(list_names)
        if (kind := _kind_of_list(name)) in (*LIST_KINDS, "impression")
    }
    single_names = [
        name
        for name in names
        if name not in list_names and not any(isinstance(record.get(name), dict) for record in records)
    ]
    fields = guess_fields(single_names, columns)
    unknown_names = [name for name in single_names if name not in fields.values()]
    if not lists or not ("query" in fields or unknown_names):
        return {}
    mapped_columns = columns_of_fields(_SEARCH_FIELDS, fields)
    if "query" not in mapped_columns:
        mapped_columns["query"] = unknown_names[0]
    list_keys: dict[str, Any] = {}
    for kind, name in lists.items():
        element = next((element for record in records for element in _elements(record.get(name))), "")
        keys = _element_keys(element, kind) if isinstance(element, Mapping) else {}
        if kind == "impression" and not keys:
            mapped_columns["response_ids"] = name
        else:
            list_keys[kind] = {"column": name, **keys}
    return {"log": {"kind": "search"}, "columns": mapped_columns, "lists": list_keys}


LIST_KINDS = ("click", "add_to_cart", "purchase")
"""Kinds of events of which a record of a search may hold a list."""


def _is_list(value: object) -> bool:
    return isinstance(value, list) or (isinstance(value, str) and bool(_LIST_TEXT.fullmatch(value)))


def _element_keys(element: Mapping[str, Any], kind: str) -> dict[str, str]:
    """The keys of the document and its rank in an element, and of what was paid for it."""
    numbers = {
        field: key
        for key in element
        for field in ("value", "quantity")
        if kind == "purchase" and normalize_name(key) in NUMBER_NAMES[field].split()
    }
    return match_columns(element, ("doc_id", "rank")) | numbers


def _doc_ids(value: object) -> Iterator[str]:
    """The texts in a list, or in a text that is one."""
    elements = _elements(value) or (value.split("|") if isinstance(value, str) else ())
    return (str(element).strip() for element in elements if not isinstance(element, Mapping))


def _elements(value: object) -> Sequence[Any]:
    """The elements of a list, or of a text that is a list of JSON; none of other values."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError):
            value = json.loads(value)
    return value if isinstance(value, list) else ()


def _kind_of_list(name: str) -> str:
    kind = suggested_kind(name)
    return kind if kind in LIST_KINDS or not _LISTS_OF_RESULTS.search(name.lower()) else "impression"


def action_tables(records: Sequence[Mapping[str, Any]], columns: Mapping[str, str] | None = None) -> Tables:
    """The mapping of records with an action each; empty for other records. Arguments as in `list_tables`.

    >>> tables = action_tables([{"Zeit": "1", "Besuch": "v", "Suchbegriff": "Tee", "Aktion": "Suche"}])
    >>> tables["columns"]["query_event_id"], tables["kinds"]
    ('Besuch+Suchbegriff', {'search': ['Suche']})
    """
    first_record = records[0] if records else {}
    names = [name for name, value in first_record.items() if not isinstance(value, list | dict)]
    fields = guess_fields(names, columns)
    mapped_columns = columns_of_fields(("at", "action", *_SEARCH_FIELDS, "doc_id", "rank"), fields)
    action = mapped_columns.get("action")
    kinds = kinds_of_actions(_values(records, action)) if action else {}
    if "query" not in mapped_columns or {*kinds} <= {OTHER_KIND}:
        return {}
    return {"columns": with_search_id(mapped_columns), "kinds": kinds}


def search_tables(records: Sequence[Mapping[str, Any]], columns: Mapping[str, str] | None = None) -> Tables:
    """The mapping of records of searches and nothing else; empty without words and times.

    >>> search_tables([{"Zeit": "1", "Suchbegriff": "Tee", "Testgruppe": "A"}])["columns"]
    {'at': 'Zeit', 'variant': 'Testgruppe', 'query': 'Suchbegriff'}
    """
    fields = guess_fields(list(records[0]) if records else [], columns)
    if not {"at", "query"} <= {*fields}:
        return {}
    return {"log": {"kind": "search"}, "columns": columns_of_fields(_SEARCH_FIELDS, fields)}


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


def guess_tables(records: Sequence[Mapping[str, Any]], columns: Mapping[str, str] | None = None) -> Tables:
    """The mapping that the first records of a log suggest; empty if none. Arguments as in `list_tables`."""
    names = list(records[0]) if records else []
    return click_log_tables(names) or list_tables(records, columns) or action_tables(records, columns)


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
