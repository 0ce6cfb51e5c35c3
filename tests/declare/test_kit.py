"""The declaration kit: parameters, registries with plug-ins, TOML with lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType
from typing import Annotated, Literal

import pytest

from rankgate.core.declare import Declared, Parameter, Range, Registry, fields_of, parameters_of, registries
from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.errors import InputError, UsageError
from support.wording import raises, refused

READ = [
    (Parameter("k", "int", range=Range(1)), 3, 3),
    (Parameter("k", "int", optional=True), None, None),
    (Parameter("level", "float"), 1, 1.0),
    (Parameter("level", "number"), 1, 1),
    (Parameter("rel", "float", default=1), 2.0, 2),
    (Parameter("tier", "text", choices=("block", "warn")), "warn", "warn"),
    (Parameter("gain", "gain", choices=("exp",)), {1: 2}, ((1, 2),)),
    (Parameter("forced", "map", choices=("zero",)), {"zero": "none"}, {"zero": None}),
]
REFUSED = [
    (Parameter("k", "int", range=Range(1)), 0),
    (Parameter("k", "int"), True),
    (Parameter("p", "float", range=Range(0, 1)), float("nan")),
    (Parameter("p", "float", range=Range(0, 1, exclusive=True)), 1),
    (Parameter("p", "float", range=Range(0, exclusive=True)), 0),
    (Parameter("tier", "text", choices=("block",)), "blok"),
    (Parameter("flag", "bool"), 1),
    (Parameter("names", "list"), "a"),
]


@pytest.mark.parametrize(("declared", "value", "stored"), READ)
def test_a_value_is_stored_as_it_is_declared(declared, value, stored):
    parsed = declared.read(value)
    assert (parsed, type(parsed)) == (stored, type(stored))


@pytest.mark.parametrize(("declared", "value"), REFUSED)
def test_a_value_that_does_not_fit_is_refused(declared, value):
    with refused(ValueError):
        declared.read(value)


def test_words_of_the_command_line_are_read_by_kind():
    assert Parameter("flag", "bool").parse("yes") is True
    assert Parameter("k", "int").parse("10") == 10
    assert Parameter("rater", "text").parse("10") == "10"
    assert Parameter("above", "float", optional=True).parse("none") is None


def test_parameters_of_a_function_have_the_help_of_its_docstring():
    def rule(table, *, plus: Annotated[float, Range(0)] = 1.0, way: Literal["a", "b"] = "a"):
        """Do it.

        Args:
            table: the ratings.
            plus: what is
                added.
            way: the way.

        Returns:
            nothing.
        """
        return table, plus, way

    rule.__annotations__ = {"plus": Annotated[float, Range(0)], "way": Literal["a", "b"]}
    plus, choice_parameter = parameters_of(rule).values()
    assert (plus.name, plus.help, plus.default, plus.range) == ("plus", "what is added.", 1, Range(0))
    assert (choice_parameter.kind, choice_parameter.choices) == ("choice", ("a", "b"))


def test_fields_of_a_dataclass_can_have_another_name():
    Options = dataclass(
        type(
            "Options",
            (),
            {
                "__doc__": "It.\n\n    Attributes:\n        method: how.\n",
                "__annotations__": {"method": str},
                "method": field(default="t", metadata={"name": "test"}),
            },
        )
    )
    (parameter,) = fields_of(Options).values()
    assert (parameter.name, parameter.help, parameter.default, parameter.kind) == (
        "test",
        "how.",
        "t",
        "text",
    )


class Point:
    """An entry point."""

    name, value, dist = "r", "theirs", None

    def __init__(self, loaded):
        self.loaded = loaded

    def load(self):
        if isinstance(self.loaded, BaseException):
            raise self.loaded
        return self.loaded


@pytest.fixture
def plugged(monkeypatch):
    """Install an object as a plug-in; entry points are read only for an unknown name."""

    def install(loaded):
        def points(group):
            return [Point(loaded)] if group == "rankgate.rules" else []

        monkeypatch.setattr("importlib.metadata.entry_points", points)
        registries._load_packages.cache_clear()
        return Registry(Declared, "rule", [Declared("ours")], group="rankgate.rules")

    yield install
    registries._load_packages.cache_clear()


def test_a_registry_finds_its_own_then_those_of_plug_ins(plugged):
    module = ModuleType("theirs")
    module.RULE = Declared("theirs")
    rules = plugged(module)
    assert list(rules) == ["ours"]
    assert rules.find("theirs") is module.RULE
    with raises("unknown-rule", UsageError) as refused:
        rules.find("our")
    assert refused.value.code == "unknown-rule"


@pytest.mark.parametrize("failure", [SystemExit(3), ImportError("no")])
def test_a_plug_in_that_fails_is_one_clear_error(plugged, failure):
    rules = plugged(failure)
    assert rules.find("ours").name == "ours"  # plug-ins are not even looked at
    with raises("invalid-plugin", UsageError):
        rules.find("theirs")


def test_a_plug_in_cannot_take_a_name(plugged):
    with raises("invalid-plugin", UsageError):
        plugged(Declared("ours", title="another")).find("theirs")


def test_lines_of_a_long_text_are_no_keys_of_toml():
    text = '[gate]\nnote = """\n[rules]\nalpha = 1\n"""\nalpha = 2\n'
    file = TomlFile.parse(text, "p.toml")
    assert file.lines == {("gate",): 1, ("gate", "note"): 2, ("gate", "alpha"): 6}


def test_errors_of_toml_name_the_line():
    file = TomlFile.parse("[gate]\nalpha = 2\nbeta = 1\n", "p.toml", code="invalid-policy")
    alpha = Parameter("alpha", "number", range=Range(0, 1))
    with raises("invalid-policy", InputError, line=3):
        file.read_values(file.values["gate"], [alpha], "gate")
    with raises("invalid-policy", InputError, line=2) as refused:
        file.read_values({"alpha": 2}, [alpha], "gate")
    assert refused.value.code == "invalid-policy"
    needed = Parameter("metric", "text", "what is measured", required=True)
    with raises("invalid-policy", InputError, line=1):
        file.read_values({}, [needed], "gate")
