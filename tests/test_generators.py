"""Data of a test do not depend on the tests that ran before it."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
MAKERS = ("default_rng", "Random", "RandomState")


def shared_generators(text):
    """Names of tests that draw, or call what draws, from a generator of the module."""
    tree = ast.parse(text)
    generators = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).rpartition(".")[2] in MAKERS
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    used_names = {
        node.name: {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }
    drawing = set(generators)
    while more := {name for name, names in used_names.items() if names & drawing} - drawing:
        drawing |= more
    return sorted(name for name in drawing if name.startswith("test_"))


@pytest.mark.parametrize(
    ("body", "tests"),
    [("RNG.random()", ["test_a"]), ("drawn()", ["test_a"]), ("DATA.sum(), np.random.default_rng(1)", [])],
)
def test_a_shared_generator_is_recognised(body, tests):
    text = "RNG = np.random.default_rng(0)\ndef drawn():\n    return RNG.random(3)\nDATA = drawn()\n"
    assert shared_generators(f"{text}def test_a():\n    {body}\n") == tests


def test_no_test_draws_from_a_generator_of_its_module():
    tests = {
        str(path.relative_to(TESTS)): names
        for path in TESTS.rglob("test_*.py")
        if (names := shared_generators(path.read_text("utf-8")))
    }
    assert tests == {}
