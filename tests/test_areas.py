"""The order of areas holds for imports of every kind, and for modules that strings name.

The order itself is the contract of ``pyproject.toml``, which import-linter checks; here imports
inside functions, dotted names in strings and modules that are loaded by name count as well.
"""

import ast
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
LAYERS = [set(layer.split(" | ")) for layer in CONTRACTS["contracts"][0]["layers"]]
LEVEL = {area: -index for index, layer in enumerate(LAYERS) for area in layer}
FACADE = {"rankgate", "rankgate.online", "rankgate.spark"} | {f"rankgate.{n}" for n in LAYERS[0]}
"""What users import from; an area's own ``__init__`` that hands out names is among them."""
NAMES = {
    *(
        f"rankgate.{group}"
        for group in (
            "alerts",
            "api",
            "click_models",
            "conventions",
            "engines",
            "formats",
            "fusion",
            "interleavings",
            "jobs",
            "kpis",
            "log_checks",
            "metrics",
            "off_policy_estimators",
            "report_blocks",
            "resolve_rules",
            "rules",
        )
    ),  # entry points of plug-ins
    *(f"rankgate.{logger}" for logger in ("access", "models", "schedule", "web")),
    "rankgate.css",
    "rankgate.record",  # a key of click's context
    "rankgate.report.words",  # another one
    "rankgate.toml",
}
"""Strings that look like modules."""
DIVIDED = {"core", "measurement", "decisions", "workspace", "interface"}
"""Areas with packages for topics of their own."""
DOTTED = re.compile(rf"(?:rankgate\.|(?=(?:{'|'.join(LEVEL)})\.[\w.]+:))\w+(?:\.\w+)*(?::\w+)?")


@dataclass(frozen=True)
class Edge:
    """A module that names another one."""

    module: str
    line: int
    target: str
    how: str

    def __str__(self) -> str:
        """With file and line."""
        path = self.module.replace(".", "/")
        file = next(
            (file for file in (f"src/{path}/__init__.py", f"src/{path}.py") if (ROOT / file).exists()),
            f"src/{path}.py",
        )
        return f"{file}:{self.line}: {self.how} {self.target}"


@cache
def sources():
    """The text of each module by its name."""
    texts = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        texts[name.removesuffix(".__init__")] = path.read_text("utf-8")
    return texts


def edges(module, text):
    """The modules that a module imports, and those that its strings name."""
    return _parsed(module, text)[0]


@cache
def _parsed(module, text):
    """The edges of a module, and the top packages that it imports."""
    nodes = list(ast.walk(ast.parse(text)))
    edges = [
        *(Edge(module, line, target, "imports") for line, target in _imports(nodes)),
        *(Edge(module, line, target, "names") for line, target in _strings(nodes, module)),
    ]
    packages = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            packages.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            packages.add((node.module or "").partition(".")[0])
    return edges, packages


def _imports(nodes):
    """Modules, or names in them, that statements import."""
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.partition(".")[0] == "rankgate":
                yield node.lineno, name


def _strings(nodes, module):
    """What strings name, docstrings and sentences left out."""
    constants, left_out = {"__name__": module}, set()
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            left_out.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            left_out.update(map(id, node.values))
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            constants |= dict.fromkeys(names, node.value.value)
    for node in nodes:
        text = ""
        if isinstance(node, ast.JoinedStr):
            text = _filled(node, constants)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = "" if id(node) in left_out else node.value
        if DOTTED.fullmatch(text):
            yield node.lineno, text if text.startswith("rankgate") else f"rankgate.{text}"


def _filled(node, constants):
    """An f-string with the constants of its module filled in, up to the first other value."""
    text = ""
    for value in node.values:
        if isinstance(value, ast.Constant):
            text += str(value.value)
        elif isinstance(value.value, ast.Name) and value.value.id in constants:
            text += str(constants[value.value.id])
        else:
            return text.rpartition(".")[0]
    return text


def module_of(target, modules):
    """The module of a dotted name, ``module:attribute`` or a name inside; None if there is none."""
    name, colon, _ = target.partition(":")
    parent = "" if colon else name.rpartition(".")[0]
    return next((module for module in (name, parent) if module in modules), None)


def area_of(module):
    """The area of a module; empty for the façade."""
    return "" if module in FACADE or module.count(".") < 1 else module.split(".")[1]


def problems(texts):
    """What breaks the order of areas, with file and line."""
    packages = {}
    with_modules = {
        tuple(module.split(".")[1:3]) for module in texts if module.count(".") > 2
    }  # packages of areas
    for module, text in texts.items():
        for edge in edges(module, text):
            if edge.how == "names" and edge.target in NAMES:
                continue
            target = module_of(edge.target, texts)
            if target is None or (edge.how == "names" and target == "rankgate"):
                yield f"{edge}: no such module"
                continue
            source_area, target_area = area_of(module), area_of(target)
            if not source_area:
                continue
            if not target_area or (source_area != target_area and LEVEL[target_area] >= LEVEL[source_area]):
                yield f"{edge}: {target_area or 'the façade'} is not below {source_area}"
            elif source_area == target_area:
                inner, target_inner = module.split(".")[2:3], target.split(".")[2:3]
                if inner and target_inner and inner != target_inner and (source_area, *inner) in with_modules:
                    packages.setdefault((source_area, *inner), {}).setdefault(
                        (source_area, *target_inner), edge
                    )
    yield from _circles(packages)


def _circles(packages):
    """Packages of an area that need each other, directly or through others."""
    for package, targets in packages.items():
        if package[0] not in DIVIDED:
            continue
        for target, edge in targets.items():
            reached, pending = set(), [target]
            while pending:
                new = set(packages.get(pending.pop(), ())) - reached
                reached |= new
                pending += new
            if package in reached:
                yield f"{edge}: {target[1]} needs {package[1]}, a circle"


def test_no_import_and_no_string_breaks_the_order_of_areas():
    assert list(problems(sources())) == []


@pytest.mark.parametrize(
    ("module", "text", "problem"),
    [
        ("rankgate.core.new", "import rankgate.data.read", ":1: imports rankgate.data.read: data"),
        (
            "rankgate.data.new",
            "def f():\n    from rankgate.measurement.scoring import scoring_plan\n",
            ":2: imports rankgate.measurement.scoring.scoring_plan: measurement is not below data",
        ),
        (
            "rankgate.data.new",
            'HOME = "rankgate.online.events.ingest:ingest"',
            ":1: names rankgate.online.events.ingest:ingest: online is not below data",
        ),
        (
            "rankgate.engines.new",
            '_HERE = "rankgate.online"\nHOME = f"{_HERE}.events.ingest:ingest"',
            ":2: names rankgate.online.events.ingest:ingest: online is not below engines",
        ),
        (
            "rankgate.data.new",
            'def f(name):\n    return load(f"rankgate.workspace.records.{name}")',
            ":2: names rankgate.workspace.records: workspace is not below data",
        ),
        (
            "rankgate.store.new",
            'KIND = "decisions.gating.verdict:Verdict"',
            ":1: names rankgate.decisions.gating.verdict:Verdict: decisions",
        ),
        ("rankgate.spark.new", "from rankgate import evaluate", ": the façade is not below spark"),
        ("rankgate.core.new", 'NAME = "rankgate.core.nothing:f"', ": no such module"),
        (
            "rankgate.measurement.scoring.new",
            'HOME = "rankgate.measurement.evaluation.evaluate:evaluate"',
            ": evaluation needs scoring, a circle",
        ),
    ],
)
def test_a_planted_module_is_named_with_file_and_line(module, text, problem):
    problem_lines = list(problems({**sources(), module: text}))
    assert [line for line in problem_lines if line.startswith("src/" + module.replace(".", "/"))]
    assert any(problem in line for line in problem_lines)


COMMANDS = re.compile(
    r"rankgate\.(?:[\w.]+\.)?(?:commands\.\w+|(?:\w+_)?commands?)|rankgate\.interface\.cli.*"
)
"""Modules of commands, by their names."""
CLICK = re.compile(rf"{COMMANDS.pattern}|rankgate\.core\.console\.\w+|rankgate\.[\w.]+_options")
TABLES = {"polars", "numpy", "pandas", "pyarrow", "sqlite3"}


def importers(libraries):
    """Modules that import a library, in a function too."""
    return [module for module, text in sources().items() if libraries & _parsed(module, text)[1]]


def test_click_lives_in_commands_and_options():
    assert [module for module in importers({"click"}) if not CLICK.fullmatch(module)] == []


def test_commands_hold_no_tables():
    command_modules = [module for module in sources() if COMMANDS.fullmatch(module)]
    assert len(command_modules) > 30  # the names are those of today
    assert not {*importers(TABLES)} & {*command_modules}


def test_only_commands_import_commands():
    """A registry names them in strings."""
    wrong = [
        str(edge)
        for module, text in sources().items()
        if not COMMANDS.fullmatch(module) and module != "rankgate.__main__"
        for edge in edges(module, text)
        if edge.how == "imports" and COMMANDS.fullmatch(module_of(edge.target, sources()) or "")
    ]
    assert wrong == []


def test_the_map_of_contributing_has_every_area_and_package():
    """In the order of the contract, with one line each."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("src/rankgate/\n")[2]
    lines = re.findall(r"(?m)^(  (?:  )?)(\S+) +\S", text.partition("```")[0])
    areas, packages = [], {}
    for indent, name in lines:
        if indent == "  ":
            areas.append(name.rstrip("/"))
        else:
            packages.setdefault(areas[-1], []).append(name)
    level = [LEVEL[area] for area in areas]
    assert level == sorted(level)
    assert len(areas) == len(set(areas)) == 12
    for area in areas:
        folder = ROOT / "src" / "rankgate" / area
        subpackages = {path.name for path in folder.iterdir() if (path / "__init__.py").exists()}
        written = {name.rstrip("/") for name in packages.get(area, ())}
        assert all((folder / name).exists() for name in written)
        if area in DIVIDED:
            assert subpackages <= written, area
