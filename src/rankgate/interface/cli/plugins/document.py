"""The document of installed plug-ins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid, printable

if TYPE_CHECKING:
    from rankgate.interface.cli.plugins.installed_plugins import InstalledPlugins

_WORDS = frozenset(range(4))
_HEAD = ("plugin", "adds", "names", "entry", "place", "versions", "status", "problem")


def document(result: InstalledPlugins) -> Document:
    """Each plug-in with what it adds and whether it works; then what is wrong."""
    rows = tuple(
        (printable(each.plugin), each.adds, printable(", ".join(each.names)), each.status)
        for each in result.plugins
    )
    places = tuple(dict.fromkeys((each.plugin, each.place) for each in result.plugins))
    count = len({each.plugin for each in result.plugins})
    named = f"{count or 'No'} plug-in{'' if count == 1 else 's'}"
    return made(
        f"{named}; version {result.api_version} of the extension points",
        Warnings(tuple(notice.text for notice in result.notices)),
        Table("", Grid(("plug-in", "adds", "names", "status"), rows, _WORDS)),
        Table("from", Grid(("plug-in", "file"), places, _WORDS), prose=True),
        rows=PlainRows(
            _HEAD,
            [
                (
                    each.plugin, each.adds, " ".join(each.names), each.entry, each.place,
                    " ".join(each.versions), each.status, each.problem,
                )
                for each in result.plugins
            ],
        ),
    )  # fmt: skip
