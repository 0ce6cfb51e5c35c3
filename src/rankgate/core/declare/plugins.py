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
class Origin:
    """Where extensions come from: an entry point of a package, or a file.

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
        """Whether it declares this version of the extension points, or none."""
        return not self.versions or str(API_VERSION) in self.versions

    def __str__(self) -> str:
        """The plug-in in words."""
        return f"the plug-in {self.name}" + (f" ({self.entry})" if self.entry else "")


@dataclass(frozen=True)
class Loaded:
    """What an entry point or a file gave.

    Attributes:
        origin: where it comes from.
        values: the objects in it.
        problem: why it could not be loaded; empty if it was.
    """

    origin: Origin
    values: tuple[Any, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Added(Generic[T]):
    """Objects of one class that plug-ins add.

    Attributes:
        by_name: the objects.
        problems: of plug-ins that could not be loaded, a sentence each.
    """

    by_name: Mapping[str, T]
    problems: tuple[str, ...] = ()

    def unknown(self, problem: str, code: str) -> UsageError:
        """The error that nothing has a name; a plug-in that failed may have had it."""
        if not self.problems:
            return UsageError(problem, code=code)
        return UsageError(f"{problem} {' '.join(self.problems)}", code="invalid-plugin")


def added(
    group: str,
    kind: type[T],
    taken: Mapping[str, object],
    plain: Callable[[T], T] = lambda value: value,
) -> Added[T]:
    """Return the objects of one class that packages and files add.

    Args:
        group: the entry points of packages.
        kind: the class.
        taken: objects by the names that no plug-in may use.
        plain: what is kept of an object.
    """
    found: dict[str, T] = {}
    problems = []
    for each in loaded(group):
        if each.problem:
            problems.append(each.problem)
        for value in each.values:
            if not isinstance(value, kind):
                continue
            kept = plain(value)
            name = getattr(kept, "name", "")
            if taken.get(name) == kept or found.get(name) == kept:
                continue  # imported from rankgate, or the same object twice
            if name in taken or name in found:
                problems.append(f"{each.origin}: the name {name!r} is taken; choose another one.")
            else:
                found[name] = kept
    return Added(found, tuple(problems))


def loaded(group: str) -> tuple[Loaded, ...]:
    """Return what the packages of a group, and the files in use, hold."""
    return (*_packages(group), *files_in_use())


@cache
def _packages(group: str) -> tuple[Loaded, ...]:
    return tuple(_load(origin, point) for origin, point in origins(group))


def origins(*groups: str) -> Iterator[tuple[Origin, EntryPoint]]:
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
            entry = f"{point.name} = {point.value}"
            yield Origin(name, group, entry, versions.get(package, ())), point


def _load(origin: Origin, point: EntryPoint) -> Loaded:
    if not origin.compatible:
        return Loaded(origin, problem=_incompatible(origin))
    try:
        value = point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - any failure is the plug-in's
        words = f"{type(error).__name__}: {error}".rstrip(".")
        return Loaded(origin, problem=f"{origin} cannot be loaded ({words}); fix or remove it.")
    values = vars(value).values() if isinstance(value, ModuleType) else [value]
    return Loaded(origin, tuple(values))


_FILES: ContextVar[tuple[Loaded, ...]] = ContextVar("rankgate plug-in files", default=())


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
    more = (
        _of_file(str(one))
        if isinstance(one, str | Path)
        else Loaded(Origin("this program"), (one,))
        for one in extensions
    )
    token = _FILES.set((*_FILES.get(), *more))
    try:
        yield
    finally:
        _FILES.reset(token)


def files_in_use() -> tuple[Loaded, ...]:
    """The files that were named, with what they hold."""
    return _FILES.get()


def _of_file(path: str) -> Loaded:
    from rankgate.core.declare.plugin_files import run

    values = run(path)
    origin = Origin(path, versions=_versions(values))
    if not origin.compatible:
        raise UsageError(_incompatible(origin), code="incompatible-plugin")
    return Loaded(origin, tuple(values.values()))


def _versions(values: Mapping[str, object]) -> tuple[str, ...]:
    return (str(values["RANKGATE_API"]),) if "RANKGATE_API" in values else ()


def _incompatible(origin: Origin) -> str:
    return (
        f"{origin} is for version {' or '.join(origin.versions)} of the extension points, and this "
        f"rankgate has version {API_VERSION}; install a version of both that fit."
    )
