"""Import modules of rankgate with statements that are added to them.

The compiled forms are kept next to those without the statements. Only modules that are imported
after `install` have them; processes that tests start have none.
"""

from __future__ import annotations

import ast
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from importlib.abc import MetaPathFinder


class MarkedLoader(SourceFileLoader):
    """The loader of a kind of statements."""

    kind: ClassVar[str]
    """Of the file of the compiled form."""

    def mark(self, tree: ast.Module) -> ast.Module:
        """Add statements to a module."""
        raise NotImplementedError

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> Any:  # type: ignore[override]
        tree = self.mark(ast.parse(data, path))
        return compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)

    def get_data(self, path: str) -> bytes:
        return super().get_data(self._compiled(path))

    def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
        super().set_data(self._compiled(path), data, _mode=_mode)

    def _compiled(self, path: str) -> str:
        return f"{path[:-4]}.{self.kind}.pyc" if path.endswith(".pyc") else path


def install(loader: type[MarkedLoader]) -> None:
    """Load modules of rankgate by a loader from now on."""

    class Finder(PathFinder):
        @classmethod
        def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
            if fullname.partition(".")[0] != "rankgate":
                return None
            spec = PathFinder.find_spec(fullname, path, target)
            if spec and isinstance(spec.loader, SourceFileLoader):
                spec.loader = loader(spec.loader.name, spec.loader.path)
            return spec

    finder: type[MetaPathFinder] = Finder  # type: ignore[assignment]
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]


def with_location(statement: ast.stmt, original: ast.AST) -> ast.stmt:
    """An added statement at the line of a statement of the module."""
    for node in ast.walk(statement):
        ast.copy_location(node, original)
    return statement


def statements_of(node: Any) -> list[ast.stmt]:
    """The statements of a module, class or function below its docstring and future imports."""
    first = int(ast.get_docstring(node, clean=False) is not None)
    while first < len(node.body) and getattr(node.body[first], "module", "") == "__future__":
        first += 1
    return list(node.body[first:])
