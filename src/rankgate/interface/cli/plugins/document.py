"""The document of installed plug-ins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable

if TYPE_CHECKING:
    from rankgate.interface.cli.plugins.installed_plugins import InstalledPlugins

_TEXT_COLUMNS = frozenset(range(4))
_COLUMNS = ("plugin", "adds", "names", "entry", "place", "versions", "status", "problem")


def document(result: InstalledPlugins) -> Document:
    """Each plug-in with what it adds and whether it works; then what is wrong."""
    rows = tuple(
        (
            make_printable(plugin.plugin),
            plugin.adds,
            make_printable(", ".join(plugin.names)),
            plugin.status,
        )
        for plugin in result.plugins
    )
    places = tuple(dict.fromkeys((plugin.plugin, plugin.place) for plugin in result.plugins))
    count = len({plugin.plugin for plugin in result.plugins})
    count_text = f"{count or 'No'} plug-in{'' if count == 1 else 's'}"
    return made(
        f"{count_text}; version {result.api_version} of the extension points",
        Warnings(tuple(notice.text for notice in result.notices)),
        Table("", Grid(("plug-in", "adds", "names", "status"), rows, _TEXT_COLUMNS)),
        Table("from", Grid(("plug-in", "file"), places, _TEXT_COLUMNS), prose=True),
        rows=PlainRows(
            _COLUMNS,
            [
                (
                    plugin.plugin,
                    plugin.adds,
                    " ".join(plugin.names),
                    plugin.entry,
                    plugin.place,
                    " ".join(plugin.versions),
                    plugin.status,
                    plugin.problem,
                )
                for plugin in result.plugins
            ],
        ),
    )
