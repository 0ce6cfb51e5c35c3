"""Registries that find declared objects by name, and the plug-ins that add to them.

Extensions are objects that installed packages declare by entry points, and files that users
name. A package names the version of the extension points that it is written for by an entry
point in `API_GROUP`, a file by ``RANKGATE_API = 1``. A plug-in that cannot be loaded is skipped and
reported, so that it does not stop other plug-ins.

After the extensions come the function that runs a Python file that the user names as a
plug-in, declared objects with parameters, and the registries that find them by name.
"""

from __future__ import annotations

import pkgutil
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from difflib import get_close_matches
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from rankgate.core.declare.parameter import Parameter


API_VERSION = 1
"""The version of the extension points; it changes when a plug-in would have to."""

API_GROUP = "rankgate.api"
"""Entry points, named by the versions of the extension points that a package supports."""

T = TypeVar("T")


@dataclass(frozen=True)
class PluginOrigin:
    """The source of extensions: an entry point of a package, or a file.

    Attributes:
        name: the name of the package with its version, or the name of the file as the user wrote
            it.
        group: the entry points; empty for a file.
        entry: the entry point, as ``NAME = MODULE:OBJECT``; empty for a file.
        versions: the versions of the extension points that it declares; empty if it declares none.
    """

    name: str
    group: str = ""
    entry: str = ""
    versions: tuple[str, ...] = ()

    @property
    def compatible(self) -> bool:
        """True if the source declares this version of the extension points, or no version."""
        return not self.versions or str(API_VERSION) in self.versions

    def __str__(self) -> str:
        """The source as text."""
        return f"the plug-in {self.name}" + (f" ({self.entry})" if self.entry else "")


@dataclass(frozen=True)
class LoadedPlugin:
    """The objects of an entry point or a file.

    Attributes:
        origin: the package or file that declares the objects.
        values: the objects.
        problem: the reason why loading failed; empty if it succeeded.
    """

    origin: PluginOrigin
    values: tuple[Any, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class PluginObjects(Generic[T]):
    """Objects of one class that plug-ins add.

    Attributes:
        by_name: the objects.
        problems: the problems of plug-ins that could not be loaded, one sentence for each.
    """

    by_name: Mapping[str, T]
    problems: tuple[str, ...] = ()

    def unknown(self, problem: str, code: str) -> UsageError:
        """The error for an unknown name; a plug-in that failed may have had it."""
        if not self.problems:
            return UsageError(problem, code=code)
        return UsageError(f"{problem} {' '.join(self.problems)}", code="invalid-plugin")


def find_plugin_objects(
    group: str, kind: type[T], reserved: Mapping[str, object], plain: Callable[[T], T] = lambda value: value
) -> PluginObjects[T]:
    """Return the objects of one class that packages and files add.

    Args:
        group: the entry points of packages.
        kind: the class.
        reserved: objects by the names that no plug-in may use.
        plain: a function that converts an object before it is added.
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
    """The entry points of some groups, with their sources; nothing is imported."""
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
        return LoadedPlugin(origin, problem=f"{origin} cannot be loaded ({message}); fix or remove it.")
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

    values = run_plugin_file(path)
    origin = PluginOrigin(path, versions=_declared_versions(values))
    if not origin.compatible:
        raise UsageError(_incompatible_message(origin), code="incompatible-plugin")
    return LoadedPlugin(origin, tuple(values.values()))


def _declared_versions(values: Mapping[str, object]) -> tuple[str, ...]:
    return (str(values["RANKGATE_API"]),) if "RANKGATE_API" in values else ()


def _incompatible_message(origin: PluginOrigin) -> str:
    return (
        f"{origin} is for version {' or '.join(origin.versions)} of the extension points, and this rankgate "
        f"has version {API_VERSION}; install matching versions of both."
    )


def run_plugin_file(path: str | Path) -> Mapping[str, object]:
    """Run a Python file and return its global names.

    Raises:
        UsageError: The file cannot be read, is not Python, or fails; the message has the line.
    """
    file_path = Path(path)
    try:
        code = compile(file_path.read_bytes(), str(file_path), "exec")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}.", code="cannot-read") from None
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        reason = error.msg if isinstance(error, SyntaxError) else error
        raise UsageError(f"{path}{line}: this is not Python: {reason}.", code="invalid-plugin") from None
    module = ModuleType(f"rankgate_plugin_{file_path.stem}")
    module.__file__ = str(file_path)
    sys.modules[module.__name__] = module  # a dataclass looks its module up while the file runs
    try:
        exec(code, module.__dict__)  # noqa: S102 - what the user asked for, as the help says
    except (Exception, SystemExit) as error:
        is_rankgate_error = isinstance(error, RankgateError)
        reason = str(error).rstrip(".") if is_rankgate_error else f"{type(error).__name__}: {error}"
        raise UsageError(f"{_error_location(error, file_path)}: {reason}.", code="invalid-plugin") from error
    finally:
        del sys.modules[module.__name__]
    return vars(module)


def _error_location(error: BaseException, path: Path) -> str:
    """The file, and the last line of it in the traceback of the error."""
    trace = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in trace if frame.filename == str(path)]
    return f"{path}:{lines[-1]}" if lines else str(path)


@dataclass(frozen=True)
class Declared:
    """An object with a name and parameters, such as a metric or a kind of rule.

    Attributes:
        name: the one canonical name.
        title: a description in one sentence.
        source: the paper or tool that defines it.
        aliases: other names for it.
    """

    name: str
    title: str = field(default="", kw_only=True)
    source: str = field(default="", kw_only=True)
    aliases: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Its parameters by name."""
        return MappingProxyType({})

    @property
    def accepted(self) -> Mapping[str, Parameter]:
        """The parameters that `read` accepts."""
        return self.parameters

    def read(self, name: str, value: object, *, words: bool = False) -> Any:
        """Return the value of one parameter in its stored form.

        Args:
            name: the parameter.
            value: its value.
            words: True if the value is text from the command line or a file.

        Raises:
            UsageError: There is no such parameter, or it does not take the value.
        """
        accepted = self.accepted
        if name not in accepted:
            matches = get_close_matches(name, accepted, n=1)
            parameter_hint = f"it takes {', '.join(accepted)}" if accepted else "it has no parameters"
            hint = f"did you mean {matches[0]}?" if matches else f"{parameter_hint}."
            raise UsageError(f"{self.name}: no parameter {name!r}; {hint}", code="unknown-parameter")
        try:
            return accepted[name].parse(value) if words else accepted[name].read(value)
        except ValueError as error:
            raise UsageError(f"{self.name}: {name}={value!r} {error}", code="invalid-parameter") from None


class _HasName(Protocol):
    @property
    def name(self) -> str: ...


D = TypeVar("D", bound=Declared)
N = TypeVar("N", bound=_HasName)


class Registry(Mapping[str, D], Generic[D]):
    """Declared objects by name: those of a package, then those of installed plug-ins.

    Args:
        kind: the class of the objects.
        noun: the word for one entry in errors, such as *rule*.
        declared: the objects, or a function that returns them when they are first needed.
        group: the entry points by which installed packages declare more objects.
    """

    def __init__(
        self, kind: type[D], noun: str, declared: Iterable[D] | Callable[[], Iterable[D]], group: str = ""
    ) -> None:
        self._kind = kind
        self._noun = noun
        self._declared = declared
        self._group = group

    @cached_property
    def _declared_objects(self) -> Mapping[str, D]:
        objects = self._declared() if callable(self._declared) else self._declared
        return {declared.name: declared for declared in objects}

    @property
    def added(self) -> PluginObjects[D]:
        """Objects that plug-ins add; loaded only when a name is unknown, as it takes long."""
        return (
            find_plugin_objects(self._group, self._kind, self._declared_objects)
            if self._group
            else PluginObjects({})
        )

    @property
    def aliases(self) -> Mapping[str, str]:
        """The canonical name of each alias in the package."""
        return {
            alias: declared.name for declared in self._declared_objects.values() for alias in declared.aliases
        }

    @property
    def all_objects(self) -> tuple[D, ...]:
        """All objects: those of the package, then those of plug-ins."""
        return (*self._declared_objects.values(), *self.added.by_name.values())

    def __getitem__(self, name: str) -> D:
        return self._declared_objects[name] if name in self._declared_objects else self.added.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared_objects)

    def __len__(self) -> int:
        return len(self._declared_objects)

    def find(self, name: str) -> D:
        """Return the object with a name or an alias.

        Raises:
            UsageError: No object has the name; the message gives the nearest.
        """
        if name in self._declared_objects:
            return self._declared_objects[name]
        if name in self.aliases:
            return self._declared_objects[self.aliases[name]]
        additions = self.added
        if name in additions.by_name:
            return additions.by_name[name]
        by_alias = {alias: declared for declared in additions.by_name.values() for alias in declared.aliases}
        if name in by_alias:
            return by_alias[name]
        names = [*self._declared_objects, *additions.by_name]
        matches = get_close_matches(name, names, 1)
        hint = f"did you mean {matches[0]}?" if matches else f"known: {', '.join(names) or 'none'}."
        raise additions.unknown(
            f"unknown {self._noun} {name!r}; {hint}", f"unknown-{self._noun.replace(' ', '-')}"
        )


def load_modules(name: str) -> list[ModuleType]:
    """Import a module, or a package and its modules."""
    module = import_module(name)
    return [module] + [
        import_module(f"{name}.{module_info.name}")
        for module_info in pkgutil.iter_modules(getattr(module, "__path__", ()))
    ]


def find_declared(name: str, kind: type[N]) -> tuple[N, ...]:
    """Return the objects of one class that a module or the modules of a package define, by name."""
    objects = {
        value.name: value
        for module in load_modules(name)
        for value in vars(module).values()
        if isinstance(value, kind)
    }
    return tuple(objects[name] for name in sorted(objects))
