"""List the tests that a change can touch, for ``make test-changed``.

A test module depends on what it imports, and on what that imports, at any depth: imports inside
functions count, as do dotted names in strings, such as
``"rankgate.workspace.reports.chart_kinds:CHART_KINDS"``, and modules of a package that are
loaded by name. A module that only hands out names of others, such as ``rankgate`` or the list of
commands, counts by the names that a test mentions. The list may be too long. It is complete except
for names that are made at run time.

For most test modules ``tests/record.json`` has the modules in which they called a function, which
are fewer. It decides where only bodies of functions changed; where more of a module changed, the
modules that import it count too. Imports decide for tests and modules that are not in the record,
for tests whose processes it cannot see, and for modules that are called during imports. A file
in which only comments and spaces changed selects the tests that read the text of all modules.

``python tests/changed.py [REVISION]`` compares the files here with a revision of git (HEAD). The
nearest tests come first: changed ones, those that import a changed module themselves, those whose
path shares most words with a changed one, and those that call the fewest modules.
"""

from __future__ import annotations

import ast
import gc
import marshal
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple

from support.recording import UNSEEN, Record, load

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
EVERYTHING = re.compile(r"(pyproject\.toml|constraints\.txt|Makefile|tests/(conftest|support/).*)$")
"""Changes of these files can touch every test."""
WRITTEN = {"tests/record.json", "tests/wording.json"}
"""What runs of the tests write, and no test reads but those that changed."""
STORED = Path(__file__).parent / "__pycache__" / "sources"
"""The imports, names and words of modules, so that only changed ones are parsed again."""
READS_ALL = 'rglob("*.py")'
"""In the text of tests that read the text of all modules."""
DOTTED = re.compile(r"rankgate(?:\.\w+)+")
WORD = re.compile(r"[\w-]+")


def modules() -> dict[str, Path]:
    """Every module of the package and of the tests by its dotted name."""
    paths = {}
    for folder in (ROOT / "src", ROOT / "tests"):
        for path in sorted(folder.rglob("*.py")):
            name = ".".join(path.relative_to(folder).with_suffix("").parts)
            paths[name.removesuffix(".__init__")] = path
    return paths


MODULES = modules()
PACKAGES = {name for name, path in MODULES.items() if path.name == "__init__.py"}
CONFTESTS = [name for name, path in MODULES.items() if path.name == "conftest.py"]


class Source(NamedTuple):
    """The imports, dotted names and words of a file; the names that it hands out, with their modules."""

    imports: set[str]
    strings: set[str]
    mentions: set[str]
    table: dict[str, str]


class Reader(ast.NodeVisitor):
    """Collects what a `Source` holds."""

    def __init__(self, name: str) -> None:
        """Read the file of a module."""
        self.imports: set[str] = set()
        self.strings: set[str] = set()
        self.mentions: set[str] = set()
        self.table: dict[str, str] = {}
        self.visit(ast.parse(MODULES[name].read_bytes()))

    def visit(self, node: ast.AST) -> None:
        """Read a node; most have no method here, and the base class looks for one by a name that it makes."""
        READERS.get(type(node), Reader.generic_visit)(self, node)

    def generic_visit(self, node: ast.AST) -> None:
        """Read what a node is made of."""
        for value in vars(node).values():
            for part in value if isinstance(value, list) else (value,):
                if isinstance(part, ast.AST):
                    self.visit(part)

    def visit_If(self, node: ast.If) -> None:
        """Skip imports for type checkers."""
        if getattr(node.test, "id", "") != "TYPE_CHECKING":
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        """``import a.b``."""
        self.imports.update(alias.name for alias in node.names)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """``from a.b import c``, where c may be a module or a name that a.b hands out."""
        for alias in node.names:
            self.imports.update((node.module or "", f"{node.module}.{alias.name}"))
            self.mentions.add(alias.name)

    def visit_Dict(self, node: ast.Dict) -> None:
        """A table from names to their modules, or from modules to their names."""
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(value, ast.List) and DOTTED.fullmatch(str(getattr(key, "value", ""))):
                names = [name.value for name in value.elts if isinstance(name, ast.Constant)]
                if module := module_of(key.value):
                    self.table |= {str(name).split()[-1]: module for name in names}
            if isinstance(key, ast.Constant) and isinstance(value, ast.Constant):
                match = DOTTED.match(str(value.value))
                if match and (module := module_of(match[0])):
                    self.table[str(key.value)] = module
                    continue
            self.visit(value)

    def visit_Constant(self, node: ast.Constant) -> None:
        """A string: dotted names of modules, words of a command line."""
        if isinstance(node.value, str):
            self.strings.update(match.rstrip(".") for match in DOTTED.findall(node.value))
            if len(node.value) < 1000:  # not a text that mentions every word
                self.mentions.update(WORD.findall(node.value))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """``rankgate.evaluate``."""
        self.mentions.add(node.attr)
        self.generic_visit(node)


READERS: dict[type[ast.AST], Callable[[Reader, Any], None]] = {
    getattr(ast, name.removeprefix("visit_")): method
    for name, method in vars(Reader).items()
    if name.startswith("visit_")
}


@cache
def stored_sources() -> dict[str, tuple[tuple[str, ...], dict[str, Any]]]:
    """What earlier calls read, by module, with the states of the files, of which this file is one."""
    try:
        return marshal.loads(STORED.read_bytes())  # noqa: S302 - as Python reads the files beside it
    except (OSError, EOFError, ValueError, TypeError):
        return {}


@cache
def source(name: str) -> Source:
    """The parsed file of a module."""
    stats = [path.stat() for path in (MODULES[name], Path(__file__))]
    state = tuple(f"{stat.st_mtime_ns} {stat.st_size}" for stat in stats)
    stored_state, attributes = stored_sources().get(name, ((), {}))
    if state != stored_state:
        attributes = vars(Reader(name))
        stored_sources()[name] = state, attributes
    return Source(**attributes)


def store_sources() -> None:
    """Replace what earlier calls read; several calls may do so at once."""
    STORED.parent.mkdir(exist_ok=True)
    with NamedTemporaryFile(dir=STORED.parent, delete=False) as file:
        file.write(marshal.dumps(stored_sources()))
    Path(file.name).replace(STORED)


def module_of(dotted: str) -> str | None:
    """The module that a dotted name is in."""
    while dotted and dotted not in MODULES:
        dotted = dotted.rpartition(".")[0]
    return dotted or None


@cache
def dependencies(name: str) -> frozenset[str]:
    """The modules that a module loads itself."""
    loaded = {module for dotted in source(name).imports if (module := module_of(dotted))}
    string_modules = {module for dotted in source(name).strings if (module := module_of(dotted))}
    for package in string_modules & PACKAGES:
        if not source(package).table:  # its modules are loaded by name
            loaded |= {module for module in MODULES if module.startswith(f"{package}.")}
    return frozenset(loaded | string_modules)


def reached(test: str) -> set[str]:
    """All modules that a test module can load."""
    folders = MODULES[test].parents
    conftests = [name for name in CONFTESTS if MODULES[name].parent in folders]
    pending = {test, *conftests, "rankgate.interface.cli"}
    mentions = set().union(*(source(name).mentions for name in (test, *conftests)))
    reached_modules: set[str] = set()
    while pending:
        name = pending.pop()
        reached_modules.add(name)
        table = source(name).table
        pending |= dependencies(name) | packages_of(name) | {table[word] for word in mentions & table.keys()}
        pending -= reached_modules
    return reached_modules


@cache
def packages_of(name: str) -> set[str]:
    """The packages that a module is in."""
    return {name.rsplit(".", depth)[0] for depth in range(1, name.count(".") + 1)} & MODULES.keys()


def changed_files(revision: str) -> list[str]:
    """Files that differ from a revision, and files that git does not track."""
    commands = (["diff", "--name-only", revision], ["ls-files", "--others", "--exclude-standard"])
    outputs = (
        subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for arguments in commands
    )
    return sorted({line for output in outputs for line in output.splitlines()} - WRITTEN)


def shape(text: str | bytes, *, bodies: bool) -> str:
    """A module without comments and spaces, with or without the bodies of its functions."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if not bodies and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = node.body[: ast.get_docstring(node) is not None]
    return ast.dump(tree)


def is_same(file: str, revision: str, *, bodies: bool) -> bool:
    """True if a file of Python differs from a revision in nothing, or in bodies of functions alone."""
    show = ["git", "show", f"{revision}:{file}"]
    old = subprocess.run(show, cwd=ROOT, check=False, capture_output=True)
    if old.returncode or not file.endswith(".py") or not (ROOT / file).exists():
        return False
    return shape(old.stdout, bodies=bodies) == shape((ROOT / file).read_bytes(), bodies=bodies)


@cache
def loaded_by(name: str) -> frozenset[str]:
    """The modules that a module uses, also by names that a package hands out; none of a package that does."""
    if source(name).table:
        return frozenset()
    tables = [source(package).table for package in dependencies(name) & PACKAGES]
    by_name = {table[word] for table in tables for word in source(name).mentions & table.keys()}
    return dependencies(name) | by_name


def users(name: str, recorded: set[str]) -> set[str]:
    """The modules that use a module, and the users of those that only hold data."""
    result: set[str] = set()
    pending = {name}
    while pending:
        current = pending.pop()
        direct = {user for user in MODULES.keys() - result - {name} if current in loaded_by(user)}
        result |= direct
        pending |= direct - recorded
    return result


class Change(NamedTuple):
    """What changed.

    Attributes:
        modules: all modules that changed.
        unrecorded: of these the ones whose calls are not recorded, or not all.
        calls: the modules whose calls show that a test is touched by the other ones.
    """

    modules: set[str]
    unrecorded: set[str]
    calls: set[str]


def is_touched(test: str, change: Change, record: Record) -> bool:
    """True if a change can touch a test module: by its calls if they are recorded, or by its imports."""
    called = record.modules.get(str(MODULES[test].relative_to(ROOT)), {UNSEEN})
    by_imports = change.modules if UNSEEN in called else change.unrecorded
    called_module = not change.calls.isdisjoint(called | {test})
    return called_module or (bool(by_imports) and not by_imports.isdisjoint(reached(test)))


def touched_tests(files: list[str], revision: str) -> list[str]:
    """The paths of the test modules that a change of files can touch, and of its doctests."""
    changed = [file for file in files if not is_same(file, revision, bodies=True)]
    reshaped = {file for file in changed if not is_same(file, revision, bodies=False)}
    return tests_of(changed, reshaped, reads_all=any(file.endswith(".py") for file in files))


def tests_of(files: list[str], reshaped: set[str], *, reads_all: bool) -> list[str]:
    """The paths of the tests of changed files, the nearest first.

    Args:
        files: the changed files.
        reshaped: of these the ones in which more than bodies of functions changed.
        reads_all: with the tests that read the text of all modules.
    """
    if any(EVERYTHING.match(file) for file in files):
        return ["tests", "src"]
    names = {str(path.relative_to(ROOT)): name for name, path in MODULES.items()}
    changed = {names[file] for file in files if file in names}
    folders = {str(Path(file).parent) for file in files if file.startswith("src/") and file not in names}
    beside_data = {name for path, name in names.items() if str(Path(path).parent) in folders}
    record = load()
    recorded = set().union(*record.modules.values()) - record.at_import
    calls = changed.union(*(users(names[file], recorded) for file in reshaped & names.keys()))
    change = Change(changed | beside_data, changed - recorded | beside_data, calls)
    other_paths = {
        "/".join(Path(file).parts[:2]) for file in files if not file.startswith(("src/", "tests/"))
    }
    paths = {file for file in files if file.startswith("src/") and file in names and (ROOT / file).exists()}
    for name, path in MODULES.items():
        if not path.name.startswith("test_"):
            continue
        data_file_changed = any(
            file.startswith(f"{path.parent.relative_to(ROOT)}/") and file not in names for file in files
        )
        text = path.read_text()
        if (
            data_file_changed
            or any(other_path in text for other_path in other_paths)
            or (reads_all and READS_ALL in text)
            or is_touched(name, change, record)
        ):
            paths.add(str(path.relative_to(ROOT)))
    if any(file.endswith(".md") for file in files):
        paths.add("tests/docs")
    words = set().union(*(path_words(file) for file in files))

    def distance(path: str) -> tuple[bool, bool, int, int, str]:
        called = record.modules.get(path, {UNSEEN})
        imports = dependencies(names[path]) if path in names else frozenset()
        return (
            path not in files,
            changed.isdisjoint(imports),
            -len(words & path_words(path)),
            len(MODULES if UNSEEN in called else called),
            path,
        )

    return sorted(paths, key=distance)


def path_words(path: str) -> set[str]:
    """The words of a path, without an s at the end."""
    return {word.removesuffix("s") for word in re.split(r"[/_]", path.removesuffix(".py"))}


if __name__ == "__main__":
    gc.disable()  # millions of nodes and little garbage
    since = sys.argv[1] if sys.argv[1:] else "HEAD"
    sys.stdout.write("\n".join(touched_tests(changed_files(since), since)) + "\n")
    store_sources()
