"""The plug-ins that are installed or named: the result of ``plugins``."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import ClassVar, Literal

from rankgate.core.declare.plugins import API_VERSION, LoadedPlugin, files_in_use, load_plugins
from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result
from rankgate.interface.extend.points import EXTENSION_POINTS, ExtensionPoint

Status = Literal["works", "incompatible", "fails", "adds nothing"]


@dataclass(frozen=True)
class PluginDetails:
    """One entry point of a package, or what one file adds to one extension point.

    Attributes:
        plugin: the package with its version, or the file.
        adds: the extension point, such as metric.
        names: of the objects that it adds.
        entry: the entry point; empty for a file.
        place: where the code is; empty where it cannot be found.
        versions: of the extension points that it declares; empty if none.
        status: whether it works.
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

    kind: ClassVar[str] = "installed_plugins"
    label: ClassVar[str] = "Plug-ins"
    document_from: ClassVar[str] = "rankgate.interface.cli.plugins.document:document"

    api_version: int
    plugins: tuple[PluginDetails, ...]

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Plug-ins that do not work."""
        return tuple(
            Notice("invalid-plugin", plugin.problem, plugin.plugin)
            for plugin in self.plugins
            if plugin.problem
        )


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
    return PluginDetails(
        origin.name, point.name, names, origin.entry, path, origin.versions, status, problem
    )


def _object_names(plugin: LoadedPlugin, point: ExtensionPoint) -> Iterator[str]:
    from rankgate.measurement.scoring import CONVENTIONS

    for value in plugin.values:
        if isinstance(value, point.kind):
            name: str = getattr(value, "name", "")
            if not (point.name == "convention" and CONVENTIONS.get(name) == value):
                yield name


def _module_file(module: str) -> str:
    """The file of a module; a plug-in may fail while its package is looked at."""
    try:
        spec = find_spec(module)
    except Exception:  # noqa: BLE001 - its own code may run
        return ""
    return (spec.origin or "") if spec else ""
