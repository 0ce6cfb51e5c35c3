"""A hash of the code that the results of a study depend on, and of nothing else.

From the study's `run` it follows names through the modules of this project, and hashes what it
reaches as syntax trees. What changes no result does not change the hash: comments, docstrings,
annotations, sentences of errors and warnings, formatting, names that this project gives, and the
files that definitions are in, those that a string names too. A function is known by what it does, a
field by its place in its class. What only a string names is not followed, nor is what other tests
fix against other tools: reading, metrics and scoring.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

FOLLOWED = (
    "data.files",
    "decisions.comparison",
    "decisions.gating",
    "decisions.unjudged",
    "judging",
    "measurement.stats",
    "workspace.records",
)
"""Packages of this project whose definitions count; studies and what is besides them do too."""

_FOLLOWED = tuple(f"{package}." for package in FOLLOWED)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_IMPORTS = (ast.Import, ast.ImportFrom)
_NAMED = (ast.Name, ast.arg, ast.ExceptHandler, *_FUNCTIONS, ast.ClassDef)
_LEFT_OUT = {"annotation", "returns", "type_comment", "ctx", "kind", "type_params"}


@dataclass(frozen=True)
class Module:
    """What a file defines, and what it calls things of other files.

    Attributes:
        own: the statements that define a top-level name.
        imports: a name, and the module and name that it stands for.
    """

    own: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, order=True)
class Place:
    """A definition: a top-level name, or a method of a class."""

    module: str
    name: str
    method: str = ""


class Code:
    """The definitions of a project, read as they are reached."""

    def __init__(self, roots: Sequence[Path]) -> None:
        """Look for modules in these folders."""
        self._roots = roots
        self._module = cache(self._parsed)
        self._nodes = cache(self._in_order)

    def digest(self, module: str, name: str = "run") -> str:
        """Hash a function with everything that it reaches."""
        reached = sorted(self._reached(Place(module, name)))
        places = self._positions(reached)
        first = {definition: _short(self._line(definition, {}, places)) for definition in reached}
        lines = {_short(self._line(definition, first, places)) for definition in reached}
        return _short("\n".join(sorted(lines)))

    def reached(self, module: str, name: str = "run") -> list[str]:
        """What the hash is of, to look at."""
        definitions = sorted(self._reached(Place(module, name)))
        return [
            ".".join(filter(None, (definition.module, definition.name, definition.method)))
            for definition in definitions
        ]

    def _reached(self, start: Place) -> set[Place]:
        reached, used = {start}, set[str]()
        todo = [start]
        while todo:
            new = set()
            for node in self._nodes(todo.pop()):
                if isinstance(node[1], ast.Attribute):
                    used.add(node[1].attr)
                if node[2]:
                    new.add(node[2])
            for definition in reached | new:
                new |= {method for method in self._methods(definition) if method.method in used}
            todo += new - reached
            reached |= new
        return reached

    def _parsed(self, name: str) -> Module | None:
        package, _, submodule = name.partition(".")
        if package == "rankgate" and not f"{submodule}.".startswith(_FOLLOWED):
            return None
        stem = name.replace(".", "/")
        for root in self._roots:
            for path in (root / f"{stem}.py", root / stem / "__init__.py"):
                if path.is_file():
                    return _module(ast.parse(path.read_text(encoding="utf-8")), name)
        return None

    def _final(self, module: str, name: str) -> Place | str:
        """Where a name is defined: in this project, or as the words of the import."""
        for _ in range(9):
            parsed_module = self._module(module)
            if parsed_module is None:
                break
            if name in parsed_module.own:
                return Place(module, name)
            if name not in parsed_module.imports:
                break
            module, name = parsed_module.imports[name]
        return "ours" if module.startswith("rankgate") else f"{module}.{name}"

    def _target(self, module: Module, node: ast.AST) -> Place | str | None:
        """What a name, or an attribute of an imported module, stands for."""
        if isinstance(node, ast.Name) and node.id in module.imports:
            return self._final(*module.imports[node.id])
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            origin = module.imports.get(node.value.id)
            if origin and not isinstance(self._final(*origin), Place):
                return self._final(".".join(filter(None, origin)), node.attr)
        return None

    def _class(self, place: Place) -> ast.ClassDef | None:
        module = self._module(place.module)
        statements = module.own.get(place.name, []) if module and not place.method else []
        return next((statement for statement in statements if isinstance(statement, ast.ClassDef)), None)

    def _methods(self, place: Place) -> list[Place]:
        """Methods that count where their name is used; special ones count with their class."""
        class_node = self._class(place)
        return [
            Place(place.module, place.name, statement.name)
            for statement in (class_node.body if class_node else ())
            if isinstance(statement, _FUNCTIONS) and not statement.name.startswith("__")
        ]

    def _in_order(self, place: Place) -> list[tuple[str, ast.AST, Place | None, str]]:
        """Each node of a definition: a bracket, the node, what it stands for here, and outside."""
        module = self._module(place.module)
        if module is None or place.name not in module.own:
            return []
        statements = module.own[place.name]
        if place.method:
            body = [member for stmt in statements if isinstance(stmt, ast.ClassDef) for member in stmt.body]
            statements = [s for s in body if isinstance(s, _FUNCTIONS) and s.name == place.method]
        methods = not place.method and self._class(place) is not None
        nodes = list(_walked(statements, without_methods=methods))
        bound = {name for _, node in nodes for name in _bound(node)}
        entries = []
        for bracket, node in nodes:
            local = isinstance(node, ast.Name) and node.id in bound
            target = None if local else self._target(module, node)
            definition = target if isinstance(target, Place) else None
            entries.append((bracket, node, definition, target if isinstance(target, str) else ""))
        return entries

    def _positions(self, reached: Sequence[Place]) -> dict[str, str]:
        """Of fields and parameters: their places in the classes and functions that have them."""
        positions: dict[str, set[int]] = {}
        for definition in reached:
            class_node = self._class(definition)
            names = [
                statement.target.id
                for statement in (class_node.body if class_node else ())
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
            ]
            for _, node, _, _ in self._nodes(definition)[:2]:
                if isinstance(node, _FUNCTIONS):
                    arguments = node.args
                    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
            for i, name in enumerate(names):
                positions.setdefault(name, set()).add(i)
        for definition in reached:
            if definition.method:
                positions.setdefault(definition.method, {-1})
        return {name: ",".join(map(str, sorted(places))) for name, places in positions.items()}

    def _line(self, place: Place, digests: dict[Place, str], places: dict[str, str]) -> str:
        """A definition as one line."""
        nodes = self._nodes(place)
        bound = {name for _, node, _, _ in nodes for name in _bound(node)}
        local_numbers: dict[str, int] = {}
        parts = []
        for bracket, node, definition, external in nodes:
            parts.append(bracket)
            if definition:
                parts.append(f"={digests.get(definition, '')}")
                continue
            parts.append(type(node).__name__)
            for key, value in ast.iter_fields(node):
                if isinstance(value, str) and not isinstance(node, ast.Constant):
                    if value in bound and isinstance(node, _NAMED):
                        parts.append(f"#{local_numbers.setdefault(value, len(local_numbers))}")
                    else:
                        parts.append(external or self._word(node, value, digests, places))
                elif key not in _LEFT_OUT and not isinstance(value, (ast.AST, list)):
                    parts.append(repr(value))
        return " ".join(parts)

    @staticmethod
    def _word(node: ast.AST, value: str, digests: dict[Place, str], places: dict[str, str]) -> str:
        """A name that is neither a variable here nor a definition elsewhere."""
        if isinstance(node, (ast.Attribute, ast.keyword)):
            methods = {digest for definition, digest in digests.items() if definition.method == value}
            return "+".join(sorted(methods)) or places.get(value, value)
        return value


def _module(tree: ast.Module, name: str) -> Module:
    module = Module()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                local = alias.asname or alias.name.partition(".")[0]
                module.imports[local] = (alias.name if alias.asname else local, "")
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                module.imports[alias.asname or alias.name] = (node.module, alias.name)
    for statement in _top(tree.body):
        for defined_name in _defined(statement):
            module.own.setdefault(defined_name, []).append(statement)
            module.imports[defined_name] = (name, defined_name)
    return module


def _top(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those of blocks too, but not those for type checkers."""
    for statement in body:
        if isinstance(statement, ast.If):
            if not (isinstance(statement.test, ast.Name) and statement.test.id == "TYPE_CHECKING"):
                yield from _top([*statement.body, *statement.orelse])
        elif isinstance(statement, ast.Try):
            yield from _top([*statement.body, *(s for h in statement.handlers for s in h.body)])
        else:
            yield statement


def _defined(statement: ast.stmt) -> list[str]:
    if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
        return [statement.name]
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        return [n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return []


def _walked(items: Sequence[ast.AST], *, without_methods: bool) -> Iterator[tuple[str, ast.AST]]:
    """Every node with a bracket, without what changes no result."""
    for item in items:
        is_docstring = isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)
        method = isinstance(item, _FUNCTIONS) and not item.name.startswith("__")
        if is_docstring or isinstance(item, _IMPORTS) or (without_methods and method):
            continue
        if isinstance(item, ast.Raise) or _sentence(item) or _module_name(item):
            yield "()", ast.Pass()
            continue
        yield "(", item
        keeps_methods = without_methods and not isinstance(item, ast.ClassDef)
        for key, value in ast.iter_fields(item):
            if key in _LEFT_OUT:
                continue
            children = value if isinstance(value, list) else [value]
            nodes = [child for child in children if isinstance(child, ast.AST)]
            if nodes:
                yield f"{key}[", ast.Pass()
                yield from _walked(nodes, without_methods=without_methods and not keeps_methods)
        yield ")", ast.Pass()


def _sentence(node: ast.AST) -> bool:
    """Whether this is text of more than two words, for people."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    texts = [piece.value for piece in parts if isinstance(piece, ast.Constant)]
    return sum(text.count(" ") for text in texts if isinstance(text, str)) > 1


def _module_name(node: ast.AST) -> bool:
    """True for a string that names a module of this project, or a function of one."""
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, str) and re.fullmatch(r"rankgate(\.\w+)+(:\w+)?", value) is not None


def _bound(node: ast.AST) -> Iterator[str]:
    """Names that a definition gives to its own variables."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.ExceptHandler)) and node.name:
        yield node.name


def _short(line: str) -> str:
    return sha256(line.encode()).hexdigest()
