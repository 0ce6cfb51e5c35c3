"""The documents of the demo: docstrings of the standard library, read from the interpreter."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType, NoneType

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.interface.demo.modules import MODULES

_PLAIN = {str, bytes, bool, int, float, NoneType}
_PUBLIC = re.compile(r"[^\W_]\w*")


@dataclass(frozen=True)
class Docstring:
    """One docstring: what a search of the standard library's documentation finds.

    Attributes:
        doc_id: The qualified name, ``pathlib.Path.read_text``; builtins go without a module.
        signature: The call as one would write it, or the bare name where Python knows no more.
        text: The docstring, its indentation removed.
        module: The module in which the name was found.
    """

    doc_id: str
    signature: str
    text: str
    module: str

    @property
    def summary(self) -> str:
        """The first paragraph of the text, on one line."""
        return " ".join(self.text.split("\n\n", 1)[0].split())


class _Other:
    """A default whose own words would change from run to run: an address, the state of the hour."""

    def __repr__(self) -> str:
        return "..."


@dataclass(frozen=True)
class _Found:
    """One name of a documented object, with what says how natural the name is.

    Attributes:
        doc: The document under this name.
        behind: The identity of the object.
        depth: How many ancestors the class has in which it was found.
        alias: The object calls itself otherwise.
    """

    doc: Docstring
    behind: int
    depth: int
    alias: bool


def harvest() -> list[Docstring]:
    """Read the docstrings of the public names of the standard library, sorted by doc_id.

    Modules, classes, functions, methods and properties, each once: an object
    that can be reached by several names, or a docstring that the methods of
    one name share within a module, is under the name closest to its origin.

    Raises:
        InputError: This interpreter keeps no docstrings (it was started with ``-OO``).
    """
    if harvest.__doc__ is None:
        raise InputError(
            "there are no docstrings to search; start Python without -OO.", code="no-such-content"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # to look at a deprecated name is not to use it
        modules = [(name, module) for name in MODULES if (module := _module(name))]
        members = {name: dict(_members(name, module)) for name, module in modules}
        exported = {thing for inside in members.values() for thing in inside.values()}
        found = [
            one
            for name, module in modules
            for one in _documents(name, module, members[name], exported)
        ]
    return _once(found)


def _module(name: str) -> ModuleType | None:
    """The module, or nothing where this build of Python goes without it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _members(name: str, module: ModuleType) -> Iterator[tuple[str, object]]:
    """The public classes and functions of a module: its ``__all__``, or what it defines."""
    declared = getattr(module, "__all__", None)
    home = {name, f"_{name}", module.__name__}
    for member in sorted(declared or vars(module)):
        thing = getattr(module, member, None)
        shown = inspect.isclass(thing) or inspect.isroutine(thing)
        origin = getattr(thing, "__module__", None) or name
        stock = origin.split(".")[0] in sys.stdlib_module_names  # not a hook that someone replaced
        ours = declared or name == "builtins" or origin in home
        if shown and stock and ours and _PUBLIC.fullmatch(member):
            yield member, thing


def _documents(
    name: str, module: ModuleType, members: dict[str, object], exported: set[object]
) -> Iterator[_Found]:
    """Every documented thing of a module, under its qualified name."""
    if name != "builtins":
        yield from _document(name, name, module, 0)
    prefix = "" if name == "builtins" else f"{name}."
    for member, thing in members.items():
        yield from _document(prefix + member, name, thing, 0)
        if isinstance(thing, type):
            for attribute, inner in _attributes(thing, exported):
                doc_id = f"{prefix}{member}.{attribute}"
                yield from _document(doc_id, name, inner, len(thing.__mro__))


def _attributes(owner: type, exported: set[object]) -> Iterator[tuple[str, object]]:
    """The public methods and properties that a class defines, itself or in a private base."""
    seen: set[str] = set()
    for base in owner.__mro__:
        hidden = base not in exported and "._" in f".{base.__module__}.{base.__name__}"
        for name, thing in sorted(vars(base).items()):
            if name in seen or not _PUBLIC.fullmatch(name):
                continue
            seen.add(name)
            inner = getattr(thing, "__func__", thing)
            shown = inspect.isroutine(inner) or isinstance(inner, property)
            if shown and (base is owner or hidden):
                yield name, inner


def _document(doc_id: str, module: str, thing: object, depth: int) -> Iterator[_Found]:
    """The document of one thing, or nothing where it has no docstring."""
    text = getattr(thing, "__doc__", None)
    if isinstance(text, str) and text.strip():
        doc = Docstring(doc_id, _signature(doc_id, thing), inspect.cleandoc(text), module)
        last = doc_id.rsplit(".", 1)[-1]
        alias = getattr(thing, "__name__", last) not in {last, doc_id}
        yield _Found(doc, id(getattr(thing, "__func__", thing)), depth, alias)


def _signature(doc_id: str, thing: object) -> str:
    """The name and its parameters, ``...`` for defaults that are not plain values."""
    name = doc_id.rsplit(".", 1)[-1]
    if not callable(thing):
        return name
    try:
        signature = inspect.signature(thing)
    except (AttributeError, TypeError, ValueError):  # no signature, or one Python cannot read
        return name
    parameters = [
        one if _plain(one) else one.replace(default=_Other())
        for one in signature.parameters.values()
    ]
    return f"{name}{signature.replace(parameters=parameters)}"


def _plain(parameter: inspect.Parameter) -> bool:
    """No default, or one that reads the same on every machine."""
    default = parameter.default
    return default is parameter.empty or (type(default) in _PLAIN and default != sys.executable)


def _once(found: list[_Found]) -> list[Docstring]:
    """Each object, and each text that the methods of one name share, under one name only."""
    taken: set[object] = set()
    kept: list[Docstring] = []
    for one in sorted(found, key=_naturalness):
        doc = one.doc
        shared = (doc.module, doc.doc_id.rsplit(".", 1)[-1], doc.text)
        if taken.isdisjoint({one.behind, shared}):
            kept.append(doc)
        taken |= {one.behind, shared}
    return sorted(kept, key=lambda doc: doc.doc_id)


def _naturalness(one: _Found) -> tuple[int, bool, int, str]:
    """Smallest first: close to the origin, called by its own name, short."""
    return one.depth, one.alias, len(one.doc.doc_id), one.doc.doc_id
