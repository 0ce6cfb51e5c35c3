"""The demo's documents, from the standard library, and two search engines over them.

The modules of the standard library that the demo searches are named by hand. Importing them has no
visible effect: no window, browser or network connection opens. All exist on Python 3.11 to 3.13;
modules that a platform or build lacks are skipped.

The documents are docstrings of these modules, read from the interpreter. The two engines, the
old one and the new one, search the same documents in SQLite FTS5.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from types import ModuleType, NoneType
from typing import TYPE_CHECKING

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    import sqlite3


# fmt: off
MODULES = (
    # the language and its objects
    "builtins", "collections", "contextlib", "copy", "dataclasses", "enum", "functools",
    "importlib", "itertools", "keyword", "operator", "sys", "traceback", "warnings",
    # text and numbers
    "calendar", "colorsys", "datetime", "difflib", "fractions", "math", "pprint", "random", "re",
    "secrets", "shlex", "statistics", "string", "struct", "textwrap", "unicodedata", "uuid",
    "zoneinfo",
    # data structures and formats
    "base64", "binascii", "bisect", "configparser", "csv", "graphlib", "gzip", "hashlib", "heapq",
    "hmac", "html", "html.parser", "json", "mimetypes", "pickle", "queue", "shelve", "sqlite3",
    "tarfile", "tomllib", "xml.etree.ElementTree", "zipfile", "zlib",
    # files and the operating system
    "atexit", "filecmp", "fileinput", "fnmatch", "getpass", "glob", "io", "linecache", "os",
    "os.path", "pathlib", "platform", "shutil", "signal", "subprocess", "tempfile", "time",
    "timeit", "webbrowser",
    # programs, logs and tests
    "argparse", "logging", "unittest", "unittest.mock",
    # concurrency and the network
    "asyncio", "concurrent.futures", "email", "email.message", "email.utils", "http",
    "http.cookies", "http.server", "ipaddress", "multiprocessing", "smtplib", "socket",
    "threading", "urllib.parse", "urllib.request",
)
# fmt: on


_STABLE_TYPES = {str, bytes, bool, int, float, NoneType}
_PUBLIC_NAME = re.compile(r"[^\W_]\w*")


@dataclass(frozen=True)
class Docstring:
    """One docstring: a document of the search in the standard library's documentation.

    Attributes:
        doc_id: The qualified name, ``pathlib.Path.read_text``; builtins have no module.
        signature: The call as written in code, or only the name if Python has no more information.
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


class _UnstableDefault:
    """The replacement of a default whose text changes from run to run, such as an address."""

    def __repr__(self) -> str:
        return "..."


@dataclass(frozen=True)
class _Candidate:
    """One name of a documented object, with the criteria for choosing among its names.

    Attributes:
        doc: The document under this name.
        behind: The identity of the object.
        depth: The number of ancestors of its class.
        alias: True if the object's own name is different.
    """

    doc: Docstring
    behind: int
    depth: int
    alias: bool


def harvest_docstrings() -> list[Docstring]:
    """Read the docstrings of the public names of the standard library, sorted by doc_id.

    Modules, classes, functions, methods and properties, each once: an object
    that can be reached by several names, or a docstring that the methods of
    one name share within a module, is under the name closest to its origin.

    Raises:
        InputError: This interpreter has no docstrings (it was started with ``-OO``).
    """
    if harvest_docstrings.__doc__ is None:
        raise InputError(
            "there are no docstrings to search; start Python without -OO.", code="no-such-content"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # reading a deprecated name does not use it
        modules = [(name, module) for name in MODULES if (module := _module(name))]
        members = {name: dict(_members(name, module)) for name, module in modules}
        exported = {definition for definitions in members.values() for definition in definitions.values()}
        candidates = [
            candidate
            for name, module in modules
            for candidate in _documents(name, module, members[name], exported)
        ]
    return _keep_first(candidates)


def _module(name: str) -> ModuleType | None:
    """The module; None if this build of Python does not have it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _members(name: str, module: ModuleType) -> Iterator[tuple[str, object]]:
    """The public classes and functions of a module: from its ``__all__``, or its definitions."""
    declared = getattr(module, "__all__", None)
    home = {name, f"_{name}", module.__name__}
    for member in sorted(declared or vars(module)):
        definition = getattr(module, member, None)
        is_class_or_routine = inspect.isclass(definition) or inspect.isroutine(definition)
        origin = getattr(definition, "__module__", None) or name
        stock = origin.split(".")[0] in sys.stdlib_module_names  # not a replaced hook
        is_own = declared or name == "builtins" or origin in home
        if is_class_or_routine and stock and is_own and _PUBLIC_NAME.fullmatch(member):
            yield member, definition


def _documents(
    name: str, module: ModuleType, members: dict[str, object], exported: set[object]
) -> Iterator[_Candidate]:
    """Every documented object of a module, under its qualified name."""
    if name != "builtins":
        yield from _document(name, name, module, 0)
    prefix = "" if name == "builtins" else f"{name}."
    for member, definition in members.items():
        yield from _document(prefix + member, name, definition, 0)
        if isinstance(definition, type):
            for attribute, inner in _attributes(definition, exported):
                doc_id = f"{prefix}{member}.{attribute}"
                yield from _document(doc_id, name, inner, len(definition.__mro__))


def _attributes(owner: type, exported: set[object]) -> Iterator[tuple[str, object]]:
    """The public methods and properties that a class defines, itself or in a private base."""
    listed_names: set[str] = set()
    for base in owner.__mro__:
        is_private = base not in exported and "._" in f".{base.__module__}.{base.__name__}"
        for name, definition in sorted(vars(base).items()):
            if name in listed_names or not _PUBLIC_NAME.fullmatch(name):
                continue
            listed_names.add(name)
            inner = getattr(definition, "__func__", definition)
            is_method = inspect.isroutine(inner) or isinstance(inner, property)
            if is_method and (base is owner or is_private):
                yield name, inner


def _document(doc_id: str, module: str, definition: object, depth: int) -> Iterator[_Candidate]:
    """The document of one object, with its name; nothing without a docstring."""
    text = getattr(definition, "__doc__", None)
    if isinstance(text, str) and text.strip():
        doc = Docstring(doc_id, _signature(doc_id, definition), inspect.cleandoc(text), module)
        last_name = doc_id.rsplit(".", 1)[-1]
        alias = getattr(definition, "__name__", last_name) not in {last_name, doc_id}
        yield _Candidate(doc, id(getattr(definition, "__func__", definition)), depth, alias)


def _signature(doc_id: str, definition: object) -> str:
    """The name and its parameters, ``...`` for defaults that are not plain values."""
    name = doc_id.rsplit(".", 1)[-1]
    if not callable(definition):
        return name
    try:
        signature = inspect.signature(definition)
    except (AttributeError, TypeError, ValueError):  # the signature is missing or unreadable
        return name
    parameters = [
        parameter if _has_stable_default(parameter) else parameter.replace(default=_UnstableDefault())
        for parameter in signature.parameters.values()
    ]
    return f"{name}{signature.replace(parameters=parameters)}"


def _has_stable_default(parameter: inspect.Parameter) -> bool:
    """True without a default, or if its text is the same on every machine."""
    default = parameter.default
    return default is parameter.empty or (type(default) in _STABLE_TYPES and default != sys.executable)


def _keep_first(candidates: list[_Candidate]) -> list[Docstring]:
    """Keep one name for each object, and for each text that methods of the same name share."""
    used_keys: set[object] = set()
    documents: list[Docstring] = []
    for candidate in sorted(candidates, key=_sort_key):
        doc = candidate.doc
        shared_key = (doc.module, doc.doc_id.rsplit(".", 1)[-1], doc.text)
        if used_keys.isdisjoint({candidate.behind, shared_key}):
            documents.append(doc)
        used_keys |= {candidate.behind, shared_key}
    return sorted(documents, key=lambda doc: doc.doc_id)


def _sort_key(candidate: _Candidate) -> tuple[int, bool, int, str]:
    """The sort key of a name: close to the origin, the object's own name, and short names first."""
    return candidate.depth, candidate.alias, len(candidate.doc.doc_id), candidate.doc.doc_id


DEPTH = 100
"""The number of documents that an engine returns for a query."""

_WORD = re.compile(r"[^\W_]+")
# fmt: off
_STOP_WORDS = frozenset((
    "a", "all", "an", "and", "at", "by", "do", "for", "from", "how", "if", "in",
    "into", "is", "it", "its", "of", "on", "that", "the", "to", "with",
))
# fmt: on
_CAMEL_CASE_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True)
class Engine:
    """A ranking function over one full-text table.

    Attributes:
        name: The name of its run.
        columns: The fields of a document, in the order of the weights.
        weights: The weight of a match in each field in BM25.
        tokenizer: The FTS5 tokenizer, which fixes case folding and stemming.
        stop: The words of a query that are not searched for, unless there are no others.
    """

    name: str
    columns: tuple[str, ...]
    weights: tuple[float, ...]
    tokenizer: str
    stop: frozenset[str] = frozenset()

    def rank(self, index: sqlite3.Connection, text: str, depth: int = DEPTH) -> list[tuple[str, float]]:
        """The documents that contain any word of the text, best first, with their scores.

        The score is Okapi BM25 (k1 = 1.2, b = 0.75) as FTS5 computes it, its
        sign turned so that more is better, rounded to six digits as the run
        file has it. Documents of equal score are sorted by doc_id, last letter
        first: the order in which an evaluation reads them.

        Source: https://www.sqlite.org/fts5.html#the_bm25_function
        """
        weights = ", ".join(map(str, (0.0, *self.weights)))
        rows = index.execute(
            f"SELECT doc_id, round(-bm25({self.name}, {weights}), 6) AS score"  # noqa: S608 - names of our own
            f" FROM {self.name} WHERE {self.name} MATCH ?"
            " ORDER BY score DESC, doc_id DESC LIMIT ?",
            (match_expression(text, self.stop), depth),
        )
        return [(str(doc_id), float(score)) for doc_id, score in rows]


OLD = Engine("old", ("text",), (1.0,), "unicode61")
"""Name, signature and docstring thrown together; a word matches only as it is written."""

NEW = Engine(
    "new", ("name", "signature", "summary", "body"), (4.0, 1.0, 2.0, 1.0), "porter unicode61", _STOP_WORDS
)
"""A match in the name or the first paragraph counts more; `merging` finds `merge`."""

ENGINES = (OLD, NEW)


def match_expression(text: str, stop: frozenset[str] = frozenset()) -> str:
    """The FTS5 expression for any of the words of a text but stop words, each quoted.

    Raises:
        InputError: The text has no word.

    >>> match_expression("http AND basic-auth?")
    '"http" OR "and" OR "basic" OR "auth"'
    """
    all_words = list(dict.fromkeys(_WORD.findall(text.lower())))
    terms = [word for word in all_words if word not in stop] or all_words
    if not terms:
        raise InputError(
            f"the query {text!r} has no word to search for; write at least one.", code="empty-query"
        )
    return " OR ".join(f'"{word}"' for word in terms)


def index_documents(documents: Iterable[Docstring], connection: sqlite3.Connection) -> None:
    """Write one full-text table per engine into an empty database."""
    documents = list(documents)
    for engine in ENGINES:
        fields = ", ".join(engine.columns)
        connection.execute(
            f"CREATE VIRTUAL TABLE {engine.name}"
            f" USING fts5(doc_id UNINDEXED, {fields}, tokenize = '{engine.tokenizer}')"
        )
        placeholders = ", ".join("?" * (1 + len(engine.columns)))
        connection.executemany(
            f"INSERT INTO {engine.name} VALUES ({placeholders})",  # noqa: S608 - names of our own
            ([doc.doc_id, *_fields(doc, engine)] for doc in documents),
        )
    connection.commit()


def _fields(doc: Docstring, engine: Engine) -> list[str]:
    """The texts of a document's fields; `TemporaryDirectory` is in a name also as two words."""
    body = doc.text.split("\n\n", 1)[1:]
    texts = {
        "text": f"{doc.doc_id}\n{doc.signature}\n{doc.text}",
        "name": f"{doc.doc_id} {_CAMEL_CASE_BOUNDARY.sub(' ', doc.doc_id)}",
        "signature": doc.signature,
        "summary": doc.summary,
        "body": body[0] if body else "",
    }
    return [texts[column] for column in engine.columns]
