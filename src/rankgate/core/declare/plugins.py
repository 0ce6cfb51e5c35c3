"""Extensions: objects that installed packages declare by entry points, and files that users name.

A package names the version of the extension points that it is written for by an entry point in
`API_GROUP`, a file by ``RANKGATE_API = 1``. A plug-in that cannot be loaded is left out and
reported, so that it never stops what others do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

API_VERSION = 1
"""The version of the extension points; it changes when a plug-in would have to."""

API_GROUP = "rankgate.api"
"""Entry points whose names are the versions of the extension points that a package is for."""

T = TypeVar("T")


@dataclass(frozen=True)
class PluginOrigin:
    """The source of extensions: an entry point of a package, or a file.

    Attributes:
        name: of the package, with its version; of the file, as the user wrote it.
        group: the entry points; empty for a file.
        entry: the entry point, as ``NAME = MODULE:OBJECT``; empty for a file.
        versions: of the extension points that it declares; empty if it declares none.
    """

    name: str
    group: str = ""
    entry: str = ""
    versions: tuple[str, ...] = ()

    @property
    def compatible(self) -> bool:
        """True if it declares this version of the extension points, or none."""
        return not self.versions or str(API_VERSION) in self.versions

    def __str__(self) -> str:
        """The plug-in in words."""
        return f"the plug-in {self.name}" + (f" ({self.entry})" if self.entry else "")


@dataclass(frozen=True)
class LoadedPlugin:
    """The objects of an entry point or a file.

    Attributes:
        origin: where it comes from.
        values: the objects in it.
        problem: why it could not be loaded; empty if it was.
    """

    origin: PluginOrigin
    values: tuple[Any, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class PluginObjects(Generic[T]):
    """Objects of one class that plug-ins add.

    Attributes:
        by_name: the objects.
        problems: of plug-ins that could not be loaded, a sentence each.
    """

    by_name: Mapping[str, T]
    problems: tuple[str, ...] = ()

    def unknown(self, problem: str, code: str) -> UsageError:
        """The error for an unknown name; a plug-in that failed may have had it."""
        if not self.problems:
            return UsageError(problem, code=code)
        return UsageError(f"{problem} {' '.join(self.problems)}", code="invalid-plugin")


def find_plugin_objects(
    group: str,
    kind: type[T],
    reserved: Mapping[str, object],
    plain: Callable[[T], T] = lambda value: value,
) -> PluginObjects[T]:
    """Return the objects of one class that packages and files add.

    Args:
        group: the entry points of packages.
        kind: the class.
        reserved: objects by the names that no plug-in may use.
        plain: converts an object before it is added.
    """
    by_name: dict[str, T] = {}
    problems = []
    for plugin in load_plugins(group):
        if plugin.problem:
            problems.append(plugin.problem)
        for value in plugin.values:
            if not isinstance(value, kind):
                continue
            declared = plain(value)
            name = getattr(declared, "name", "")
            if reserved.get(name) == declared or by_name.get(name) == declared:
                continue  # imported from rankgate, or the same object twice
            if name in reserved or name in by_name:
                problems.append(f"{plugin.origin}: the name {name!r} is taken; choose another one.")
            else:
                by_name[name] = declared
    return PluginObjects(by_name, tuple(problems))


def load_plugins(group: str) -> tuple[LoadedPlugin, ...]:
    """Load the packages of a group, and the files in use."""
    return (*_load_packages(group), *files_in_use())


@cache
def _load_packages(group: str) -> tuple[LoadedPlugin, ...]:
    return tuple(_load_entry_point(origin, point) for origin, point in plugin_origins(group))


def plugin_origins(*groups: str) -> Iterator[tuple[PluginOrigin, EntryPoint]]:
    """The entry points of some groups, with where they come from; nothing is imported."""
    from importlib.metadata import entry_points

    versions: dict[str, tuple[str, ...]] = {}
    for point in entry_points(group=API_GROUP):
        package = point.dist.name if point.dist else ""
        versions[package] = (*versions.get(package, ()), point.name)
    for group in groups:
        for point in sorted(entry_points(group=group)):
            package = point.dist.name if point.dist else ""
            name = f"{package} {point.dist.version}" if point.dist else point.value
            declaration = f"{point.name} = {point.value}"
            yield PluginOrigin(name, group, declaration, versions.get(package, ())), point


def _load_entry_point(origin: PluginOrigin, point: EntryPoint) -> LoadedPlugin:
    if not origin.compatible:
        return LoadedPlugin(origin, problem=_incompatible_message(origin))
    try:
        value = point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - any failure is the plug-in's
        message = f"{type(error).__name__}: {error}".rstrip(".")
        return LoadedPlugin(
            origin, problem=f"{origin} cannot be loaded ({message}); fix or remove it."
        )
    values = vars(value).values() if isinstance(value, ModuleType) else [value]
    return LoadedPlugin(origin, tuple(values))


_FILES: ContextVar[tuple[LoadedPlugin, ...]] = ContextVar("rankgate plug-in files", default=())


@contextmanager
def using(*extensions: str | Path | object) -> Iterator[None]:
    """Add extensions to those of installed packages, so that every verb finds them by name.

    Args:
        extensions: Python files, which are run, or objects such as a metric of one's own.

    Raises:
        UsageError: A file cannot be read, fails, or is for another version.

    >>> with using():
    ...     files_in_use()
    ()
    """
    loaded_extensions = (
        _load_file(str(extension))
        if isinstance(extension, str | Path)
        else LoadedPlugin(PluginOrigin("this program"), (extension,))
        for extension in extensions
    )
    token = _FILES.set((*_FILES.get(), *loaded_extensions))
    try:
        yield
    finally:
        _FILES.reset(token)


def files_in_use() -> tuple[LoadedPlugin, ...]:
    """The files that the user named, with their objects."""
    return _FILES.get()


def _load_file(path: str) -> LoadedPlugin:
    from rankgate.core.declare.plugin_files import run_plugin_file

    values = run_plugin_file(path)
    origin = PluginOrigin(path, versions=_declared_versions(values))
    if not origin.compatible:
        raise UsageError(_incompatible_message(origin), code="incompatible-plugin")
    return LoadedPlugin(origin, tuple(values.values()))


def _declared_versions(values: Mapping[str, object]) -> tuple[str, ...]:
    return (str(values["RANKGATE_API"]),) if "RANKGATE_API" in values else ()


def _incompatible_message(origin: PluginOrigin) -> str:
    return (
        f"{origin} is for version {' or '.join(origin.versions)} of the extension points, and this "
        f"rankgate has version {API_VERSION}; install a version of both that fit."
    )
