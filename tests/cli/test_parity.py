"""A command and the Python function of the same name have the same parameters."""

from __future__ import annotations

import inspect
from dataclasses import fields

import click
import pytest

import rankgate
from rankgate.core.declare import fields_of
from rankgate.core.declare.parameter import parse_docstring_section
from rankgate.data.collection import Collection, Items
from rankgate.data.logs.log_judgments import Truth
from rankgate.data.logs.splits import SplitPlan
from rankgate.decisions.comparison.inference import Test
from rankgate.interface.cli import COMMANDS
from rankgate.interface.cli import rankgate as program
from rankgate.judging.admission.requirements import Demands
from rankgate.judging.pooling.pool_sampling import PoolDesign
from rankgate.measurement.fusion.fuse import FusionLearning
from support.wording import raises

FUNCTIONS = {
    "eval": "evaluate",
    "sheet": "sheets",
    "rating-accuracy": "rating_accuracy",
    "total-error": "total_error",
    "admit-plan": "admit_plan",
    "next": "settle",
}
"""The Python functions that have another name than the command."""

NAMES = {"begin": "from_", "end": "to"}
"""The parameters that have another name in Python than among the arguments of a command."""

PRINTED = {
    *("form", "output", "store", "project", "save_as", "strategy", "backend", "master"),
    *("metrics_from", "overrides", "from_format"),
}
"""Options of what is printed, kept or read, and of the whole program: a function takes tables of a
`StoredProject`, finds metrics by name with `rankgate.extend.using`, and takes a convention."""

INSTEAD = {"names", "name", "extra"}
"""What only a function takes: a function to call, names of frames, metrics as objects."""

COLLECTION = {field.name for field in fields(Collection)} - {"judgments", "name", "candidates"}
COLUMNS = {field.name for field in fields(Items)} - {"table", "catalogue"}
"""Columns of a table of items; a catalogue without a table is an array or a number."""
RUN = {"earlier", "repeats"}
"""What is known of one system; gate has the fields of noise."""

VALUES = {
    "collection": {"qrels", *COLLECTION, *COLUMNS, "candidate_items", "predicted_saw", *RUN},
    "test": {field.name for field in fields_of(Test).values()},
}
"""What a command has for one value that a function takes; compare has candidates of its own."""

_JUDGE_GRADES = {"judge", "asked", "attacked", "repeated"}

OWN_VALUES = {
    "admit": {"demands": set(fields_of(Demands)), "judge": _JUDGE_GRADES},
    "admit-plan": {"judge": _JUDGE_GRADES - {"attacked", "repeated"}},  # no part of a plan
    "record": {"provenance": {"revision", "branch"}},
    "fuse": {"learning": set(fields_of(FusionLearning))},
    "pool": {"design": set(fields_of(PoolDesign)) - {"rel"}},
    "split": {"plan": set(fields_of(SplitPlan)), "rule": set(fields_of(Truth))},
}
"""The same of values that one command takes; rel is of Python alone."""

COMMAND_ONLY = {
    "advise": {"queries", "complete", "alpha"},  # PlannedJudgments; a level of the test
    "next": {"save_sample", "save_batch", "people", "budget"},  # files; judgments; a price
    "stages": {"parameters", "folder", "again", "force"},  # LivePipeline
    "validate": {"listed"},  # how many problems are printed
    "eval": {"per_query", "scale", "also", "record"},  # what is printed; grades of raters
    "explain": {"all_parameters"},  # what is printed
    "compare": {
        *("query_id", "worst", "pairs", "tables", "lists", "record", "also"),  # what is printed and recorded
        *("scores", "directions", "seeds"),  # read_scores; read_run
        *("data_sets", "only", "missing"),  # compare_data_sets
    },
    "holes": {"count"},  # a method of the result
    "fuse": {"target", "to"},  # the file
    "snapshot": {"target", "baseline", "baseline_output", "seed", "also", "record"},  # compare_engines
    "sweep": {"qrels", "dials", "metrics", "rate", "record", "search"},  # an engine of a project
    "gate": {
        "open_page",
        *("also", "details", "record", "checked", "snapshots"),  # what is printed and recorded; self_check
        *("noise", "scores", "directions"),  # read_run; read_scores
        *("comment", "refresh_after"),  # posted by the command
        "metrics",  # called policy
    },
    "pool": {"rest_to"},  # a file
    "migrate": {"save_pool"},  # a file
    "rate": {
        *("seed", "llm", "protocol", "url", "key_from", "template", "structure", "parameters"),
        *(
            "concurrency",
            "retries",
            "backoff",
            "timeout",
            "prices",
            "ceiling",
            "calls",
            "tokens",
            "longest",
            "again",
            "confidence",
            "attack",
        ),
    },  # fields of a Judge
    "resolve": {"unresolved"},  # a file
    "agree": {"baseline", "candidate", "metrics", "convention", "rule", "draws", "seed"},
    "admit": {"scale"},  # of the judgments
    "record": {"name", "notes"},  # named by a file elsewhere; annotate
    "split": {"from_", "into", "to"},  # files
    "scorecard": {"also", "record", "seeds"},  # read_run
    "plot": {
        *("name", "theme", "scale"),  # called kind; of the picture
        *("cutoffs", "unequal"),  # metrics; a comparison has pictures too
    },
}
"""What a command has and its function has not, with the reason."""

PYTHON_ONLY = {
    "reconcile": {"conventions"},
    "gate": {"folder", "today"},
    "validate": {"today"},
    "rate": {"path", "judge"},
    "reusability": {"rel"},
    "record": {"results", "store", "project"},
    "history": {"store", "project"},
    "attribute": {"store", "project"},
    "plot": {"kind"},
    "snapshot": {"output"},
    "next": {"qrels"},  # --people
}
"""What a function has and its command has not."""

OTHER_DEFAULTS = {("explain", "depth")}  # a page of a terminal; a notebook shows all

PAIRS = {
    name: FUNCTIONS.get(name, name)
    for name in COMMANDS
    if FUNCTIONS.get(name, name) in rankgate.__all__ and name != "conventions"
}


def command_of(name):
    return program.get_command(click.Context(program), name)


def _command(name):
    """The options and arguments of a command, by their names in Python."""
    command = command_of(name)
    return {NAMES.get(parameter.name, parameter.name): parameter for parameter in command.params}


def _function(name):
    return inspect.signature(getattr(rankgate, PAIRS[name])).parameters


def _taken(name):
    """What a function takes, with the parts of its values."""
    tested = VALUES["test"] & set(_command(name))  # some verbs take a few fields of a test
    values = {**VALUES, "test": tested, **OWN_VALUES.get(name, {})}
    return set().union(*(values.get(parameter, {parameter}) for parameter in _function(name)))


@pytest.mark.parametrize("name", PAIRS)
def test_a_command_and_its_function_take_the_same(name):
    command, function = (set(_command(name)) - PRINTED, _taken(name) - INSTEAD)
    assert command - function <= COMMAND_ONLY.get(name, set())
    assert function - command <= PYTHON_ONLY.get(name, set())


@pytest.mark.parametrize("name", PAIRS)
def test_options_have_the_names_of_parameters(name):
    for key, parameter in _command(name).items():
        if isinstance(parameter, click.Option) and key in _function(name):
            long = {word[2:].replace("-", "_") for word in parameter.opts if word.startswith("--")}
            option_name = key.rstrip("_").removesuffix("s") if parameter.multiple else key.rstrip("_")
            assert {option_name, key} & long, key


def test_the_former_name_of_override_is_accepted():
    command = command_of("eval")
    words = ["q", "r", "--set", "a=1", "--override", "b=2"]
    with command.make_context("eval", words, **program.context_settings) as context:
        assert context.params["overrides"] == ("a=1", "b=2")
        assert "--set" not in command.get_help(context)


@pytest.mark.parametrize("name", PAIRS)
def test_a_command_and_its_function_have_the_same_defaults(name):
    function = _function(name)
    for key, parameter in _command(name).items():
        if key not in function or not isinstance(parameter, click.Option):
            continue
        if (name, key) in OTHER_DEFAULTS:
            continue
        with click.Context(command_of(name)) as context:
            command_default = parameter.get_default(context)
        default = function[key].default
        empty_values = (None, (), "", False, inspect.Parameter.empty)
        unset = command_default in (None, (), False, "") or "UNSET" in repr(command_default)
        if unset and default in empty_values:
            continue
        assert (
            tuple(command_default) if isinstance(command_default, list) else command_default
        ) == default, key


SHARED = {
    *("metric", "metrics", "convention", "overrides", "seed", "resamples", "scale"),
    *("from_", "as_", "to", "unequal", "labels"),
    *(field.name for field in fields_of(Test).values()),
}
"""Options that mean the same in every command, and have the same help there."""

OWN_HELP = {
    *(("advise", "task"), ("advise", "stage"), ("split", "way")),  # with each choice explained
    *(("reconcile", "value"), ("explain", "depth"), ("gate", "noise"), ("rating-accuracy", "k")),
    ("next", "prices"),
    *(("plot", "query_id"), ("plot", "cutoffs"), ("resolve", "parameters"), ("sheet", "raters")),
    *(("fuse", "parameters"), ("fuse", "weights"), ("snapshot", "parameters"), ("stages", "parameters")),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_help_of_an_option_is_what_the_docstring_says(name):
    documented = parse_docstring_section(getattr(rankgate, PAIRS[name]).__doc__, "Args")
    for key, parameter in _command(name).items():
        if not isinstance(parameter, click.Option) or key not in documented:
            continue
        if key not in SHARED and (name, key) not in OWN_HELP:
            assert _plain(parameter.help).startswith(_plain(documented[key])), key


def _plain(text):
    """Text without marks of code, and without differences between options and parameters."""
    return "".join(letter for letter in text.lower() if letter not in "`-_").rstrip(".")


@pytest.mark.parametrize("name", ["compare", "stages"])
def test_options_of_a_test_come_from_one_declaration(name):
    for field in fields_of(Test).values():
        shared = _command(name).get(field.name)
        if shared is None or (name == "stages" and field.name == "correction"):
            assert name == "stages"
            continue
        assert shared.help == field.help
        if field.choices:
            assert tuple(shared.type.choices) == field.choices


@pytest.mark.parametrize(
    "name",
    [
        *("eval", "compare", "gate", "scorecard", "reconcile", "plot", "explain", "holes", "cutoff"),
        *("blindspots", "total-error", "stages", "advise", "next", "reusability"),
        *("rank-similarity", "report"),
    ],
)
def test_options_of_a_collection_come_from_one_declaration(name):
    command, eval_options = _command(name), _command("eval")
    for key in sorted(VALUES["collection"] - {"qrels"}):
        option = command[key]
        assert (option.opts, option.help, option.section) == (
            *(eval_options[key].opts, eval_options[key].help, eval_options[key].section),
        )
        field = "candidates" if key == "candidate_items" else key
        singular = field.removesuffix("s") if option.multiple and field != "grades" else field
        assert f"--{singular.replace('_', '-')}" in option.opts


def test_a_test_can_be_given_as_one_value():
    qrels = {f"q{i}": {"a": i % 2, "b": 1} for i in range(20)}
    old = {query: {"b": 1.0, "a": 2.0} for query in qrels}
    new = {query: {"b": 2.0, "a": 1.0} for query in qrels}
    by_method = rankgate.compare(qrels, old, new, ["RR"], test="randomization")
    by_value = rankgate.compare(qrels, old, new, ["RR"], test=Test("randomization"))
    assert by_method.to_dict() == by_value.to_dict()
    narrow = rankgate.compare(qrels, old, new, ["RR"], test=Test("randomization", level=0.9))
    assert narrow.only.level == 0.9
    with raises("invalid-parameter", rankgate.UsageError):
        rankgate.compare(qrels, old, new, ["RR"], test="no test")
