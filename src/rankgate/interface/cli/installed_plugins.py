"""List plug-ins, as the result of ``plugins``, and trace errors to them.

The result holds the plug-ins that are installed or named. `find_culprit` finds the plug-in that an
error came from, so that the message names the plug-in and not rankgate.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from rankgate.core.declare.registries import (
    API_VERSION,
    LoadedPlugin,
    files_in_use,
    load_plugins,
    plugin_origins,
)
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.document_model import PlainRows
from rankgate.core.present.layout import NOTICES, View
from rankgate.core.present.number_formats import count_noun
from rankgate.interface.extend.points import EXTENSION_POINTS, ExtensionPoint

Status = Literal["works", "incompatible", "fails", "adds nothing"]


@dataclass(frozen=True)
class PluginDetails:
    """One entry point of a package, or the objects that one file adds to one extension point.

    Attributes:
        plugin: the package with its version, or the file.
        adds: the extension point, such as metric.
        names: the names of the objects that it adds.
        entry: the entry point; empty for a file.
        place: the location of the code; empty if it cannot be found.
        versions: the versions of the extension points that it declares; empty if none.
        status: True if it works.
        problem: why it does not; empty if it does.
    """

    plugin: str
    adds: str
    names: tuple[str, ...]
    entry: str
    place: str
    versions: tuple[str, ...]
    status: Status
    problem: str


@dataclass(frozen=True)
class InstalledPlugins(Result):
    """The plug-ins that are installed or named.

    Attributes:
        api_version: the version of the extension points of this rankgate.
        plugins: each entry point of each package, then the files.
    """

    kind = "installed_plugins"
    label = "Plug-ins"
    layout = (
        NOTICES,
        View(
            "plugins",
            cells=("plugin", "adds", "names", "status", "place"),
            headers={"plugin": "plug-in", "place": "file"},
            prose=True,
        ),
    )
    notice_texts = (NoticeText("invalid-plugin", "{row.problem}", source="plugins", subject="{row.plugin}"),)

    api_version: int
    plugins: tuple[PluginDetails, ...]

    @property
    def headline(self) -> str:
        """The number of plug-ins."""
        count = len({plugin.plugin for plugin in self.plugins})
        count_text = count_noun(count, "plug-in") if count else "No plug-ins"
        return f"{count_text}; version {self.api_version} of the extension points"

    def csv_rows(self) -> PlainRows:
        """Every plug-in."""
        rows = [
            [" ".join(value) if isinstance(value, tuple) else value for value in vars(plugin).values()]
            for plugin in self.plugins
        ]
        return PlainRows(tuple(field.name for field in fields(PluginDetails)), rows)


def plugins() -> InstalledPlugins:
    """Load every installed plug-in; report what each adds, or why it cannot be used.

    >>> plugins().api_version
    1
    """
    return InstalledPlugins(API_VERSION, (*_plugins_of_packages(), *_plugins_of_files()))


def _plugins_of_packages() -> Iterator[PluginDetails]:
    for point in EXTENSION_POINTS:
        for plugin in load_plugins(point.group):
            if plugin.origin.group:
                module = plugin.origin.entry.partition(" = ")[2].partition(":")[0]
                yield _plugin_details(plugin, point, _module_file(module))


def _plugins_of_files() -> Iterator[PluginDetails]:
    for plugin in files_in_use():
        path = plugin.origin.name
        details = [_plugin_details(plugin, point, path) for point in EXTENSION_POINTS]
        useful = [detail for detail in details if detail.status == "works"]
        yield from useful or [PluginDetails(path, "", (), "", path, (), "adds nothing", "")]


def _plugin_details(plugin: LoadedPlugin, point: ExtensionPoint, path: str) -> PluginDetails:
    names = () if plugin.problem else tuple(dict.fromkeys(_object_names(plugin, point)))
    problem = plugin.problem
    status: Status = "works"
    if problem:
        status = "fails" if plugin.origin.compatible else "incompatible"
    elif not names:
        status, problem = "adds nothing", f"{plugin.origin} holds no {point.kind.__name__}."
    origin = plugin.origin
    return PluginDetails(origin.name, point.name, names, origin.entry, path, origin.versions, status, problem)


def _object_names(plugin: LoadedPlugin, point: ExtensionPoint) -> Iterator[str]:
    from rankgate.measurement.scoring import CONVENTIONS

    for value in plugin.values:
        if isinstance(value, point.kind):
            name: str = getattr(value, "name", "")
            if not (point.name == "convention" and CONVENTIONS.get(name) == value):
                yield name


def _module_file(module: str) -> str:
    """The file of a module; empty if the code of its package fails."""
    try:
        spec = find_spec(module)
    except Exception:  # noqa: BLE001 - its own code may run
        return ""
    return (spec.origin or "") if spec else ""


def find_culprit(error: Exception) -> str:
    """Return the plug-in that an error passed through last, with file and line; empty if none.

    Args:
        error: any exception with its traceback.
    """
    owners = dict(_plugin_paths())
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        for path, owner in owners.items():
            if Path(frame.filename) == path or path in Path(frame.filename).parents:
                return f"{owner} ({frame.filename}:{frame.lineno})"
    return ""


def _plugin_paths() -> Iterator[tuple[Path, str]]:
    """The files, and the folders of packages, of plug-ins that were imported, with their names."""
    for plugin in files_in_use():
        yield Path(plugin.origin.name), str(plugin.origin)
    for origin, point in plugin_origins(*(extension_point.group for extension_point in EXTENSION_POINTS)):
        module = sys.modules.get(point.module.partition(".")[0])
        file = getattr(module, "__file__", None)
        if file:
            path = Path(file)
            yield (path.parent if path.name == "__init__.py" else path), str(origin)
