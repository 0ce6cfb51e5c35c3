"""An option of a verb is the same in Python, in commands, in requests and for assistants."""

from __future__ import annotations

import types
from dataclasses import dataclass, is_dataclass
from inspect import signature
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click
import pytest

from cli.test_parity import NAMES, PAIRS
from rankgate.core.declare import Parameter, declared_parameter, fields_of
from rankgate.data.files.conversion import convert
from rankgate.data.files.validate import validate
from rankgate.decisions.advice.advise import advise
from rankgate.decisions.advice.blind_spots import blindspots
from rankgate.decisions.comparison.compare import compare
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.cutoffs.cutoff import cutoff
from rankgate.decisions.gating.gate import gate
from rankgate.decisions.migration.migrate import migrate
from rankgate.decisions.reproduction.rank_similarity import rank_similarity
from rankgate.decisions.unjudged.holes import holes
from rankgate.interface.cli import rankgate as program
from rankgate.interface.mcp.mcp_tools import make_tools, open_folder
from rankgate.judging.admission.requirements import Demands
from rankgate.judging.llm.judge import Judge
from rankgate.judging.models.model_admission import admit_model
from rankgate.judging.pooling.pool_sampling import PoolDesign
from rankgate.judging.resolution.resolve import resolve
from rankgate.judging.store.import_export import import_file
from rankgate.measurement.description.describe import describe
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.explanation.explain import explain
from rankgate.measurement.explanation.reconcile import reconcile
from rankgate.measurement.metric_options import verb_parameter
from rankgate.workspace.records.history import history
from rankgate.workspace.web.openapi import describe_api
from rankgate.workspace.web.routes import ROUTES

VERBS = {
    "eval": (evaluate, ("evaluate",)),
    "compare": (compare, ("compare",)),
    "gate": (gate, ("gate",)),
    "explain": (explain, ("explain-value",)),
    "reconcile": (reconcile, ()),
    "holes": (holes, ()),
    "cutoff": (cutoff, ()),
    "blindspots": (blindspots, ()),
    "rank-similarity": (rank_similarity, ()),
    "migrate": (migrate, ()),
    "validate": (validate, ()),
    "describe": (describe, ()),
    "advise": (advise, ()),
    "convert": (convert, ()),
    "resolve": (resolve, ("resolve",)),
    "rate": (Judge, ("model-start", "model-rule", "model-resume")),
    "store model admit": (Demands, ("model-admit",)),
    "pool": (PoolDesign, ("next-add",)),
    "store import": (import_file, ("material-add",)),
    "history": (history, ("trends", "trend-svg", "trend-png")),
}
"""Commands that requests or assistants offer: the verb, or the value that is stated, and routes."""

NOT_OFFERED = {
    "a page shows it of its own project, without options": {
        *("agree", "attribute", "record", "next", "total-error", "plot", "report")
    },
    "it writes or asks for hours; people start it at a terminal": {
        *("snapshot", "sweep", "fuse", "split", "sheet", "collect", "reanchor", "stages")
    },
    "few people need it, and no assistant was asked for it": {
        *("audit", "admit", "admit-plan", "gold", "reusability", "scorecard", "rating-accuracy"),
        *("conventions", "metrics", "formats", "policy", "baseline", "engines", "trec_eval"),
    },
}
"""Verbs that neither requests nor assistants offer, by reason."""

LEFT_OUT = {
    "assistants": {
        "an argument takes room in every conversation, and the default does": {
            *("evaluate.bounds", "evaluate.slices", "compare.slices", "compare.depth"),
            *("gate.redraws", "explain.depth", "describe.cutoff", "validate.scale"),
            *("reconcile.from_", "reconcile.to", "reconcile.conventions"),
            *("holes.convention", "holes.test", "holes.depth", "holes.draws"),
            *("cutoff.metric", "cutoff.convention", "cutoff.silent", "cutoff.kept"),
            *("cutoff.slices", "cutoff.rel", "cutoff.test"),
            *("blindspots.convention", "blindspots.depth", "blindspots.page"),
            *("rank_similarity.p", "rank_similarity.ties", "rank_similarity.depth"),
            *("rank_similarity.collection", "rank_similarity.metrics"),
            *("rank_similarity.baselines", "rank_similarity.convention"),
            *("migrate.metric", "migrate.convention", "migrate.budget"),
            *("migrate.highest", "migrate.test"),
            *("advise.task", "advise.stage", "advise.page", "advise.depth"),
            *("advise.convention", "advise.test"),
        },
        "a file names its format as FORMAT:PATH, and a collection its columns": {
            f"{verb}.{name}"
            for verb in ("validate", "describe", "convert")
            for name in ("from_", "columns", "grades", "as_")
        },
        "the server was started for its folder, today, and writes no log": {
            *("gate.log", "gate.folder", "gate.today", "validate.today")
        },
        "judgments of an exact search begin a measurement of engines, which assistants do not ask": {
            *("convert.depth", "convert.tolerance")
        },
    },
    "requests": {
        "the server keeps no log, and has no folder": {"gate.log", "gate.folder", "gate.today"},
        "no request has needed it, and the default does": {
            *("compare.depth", "gate.redraws", "history.rate", "history.bridge")
        },
        "the history is that of the project": {"history.from_", "history.store", "history.project"},
        "ratings and their scale are the project's": {
            *("resolve.ratings", "resolve.scale", "resolve.from_", "resolve.columns"),
            *("import_file.store", "import_file.project"),
        },
        "a final word of the project counts first; the other rules have no parameters": {
            "resolve.parameters"
        },
        "only whole pools are rated on pages": {
            *("resolve.sample", "resolve.rest", "PoolDesign.rel", "PoolDesign.strata"),
            *("PoolDesign.queries", "PoolDesign.query_sampling", "PoolDesign.sizes"),
            "PoolDesign.seed",
        },
        "it belongs to the endpoint, which whoever runs the server declares": {
            *("Judge.protocol", "Judge.url", "Judge.key_from", "Judge.retries"),
            *("Judge.timeout", "Judge.backoff"),
        },
        "a form has a number for each of the two prices": {"Judge.prices"},
        "jobs of pages show documents as they are, once": {"Judge.again", "Judge.attack"},
        "it is of attacks, of families of models, or of runs, which a job does not have": {
            *("Demands.tau", "Demands.raised", "Demands.family")
        },
        "the upload is a field of its own, as are its format and the button that only checks": {
            *("import_file.source", "import_file.from_", "import_file.dry_run")
        },
    },
}
"""Options that are left out there, by reason."""

OTHER = {
    "the server reads no files: the text itself is sent": {
        *("gate.policy", "resolve.transform", "import_file.transform", "Judge.template")
    },
    "it is an object with all fields of a test": {"compare.test"},
    "a form has lines, or one text": {"Judge.parameters", "import_file.columns"},
    "final words count before any rule, so adjudicated is no choice": {"resolve.rule"},
    "without it that of the endpoint": {"Judge.concurrency"},
    "a page shows all metrics and slices without it": {"history.metric", "history.slice"},
    "without it influence, where there are judgments and two runs": {"PoolDesign.order"},
    "it is stated beside the endpoint, and listed there": {"Judge.model"},
}
"""Options of requests that differ in type, default, choices or help, by reason."""

RANKED = {"qrels", "run", "runs"}
"""What inputs hold that have another name, and other words, in each channel."""

INPUTS = {"collection": "qrels", "target": "output"}
"""Inputs that assistants call as the arguments of commands."""


@dataclass
class Offered:
    """An option as a program may state it."""

    kind: str
    default: Any
    choices: tuple[str, ...]
    limits: tuple[float | None, float | None]
    help: str
    required: bool


def declared_of(verb) -> dict[str, Parameter]:
    """What a verb or a value declares, in the words of commands."""
    if verb is Demands:
        return dict(fields_of(verb)) | {"with_runs": declared_parameter(admit_model, "with_runs")}
    if is_dataclass(verb):
        return dict(fields_of(verb))
    declared = {name: verb_parameter(verb, name) for name in signature(verb).parameters}
    return declared | ({"test": fields_of(Test)["method"]} if verb is compare else {})


def option_of(command: str) -> dict[str, click.Option]:
    """The options of a command, by their names in Python."""
    called: Any = program
    for word in command.split():
        called = called.get_command(click.Context(called), word)
    return {
        NAMES.get(option.name, option.name): option
        for option in called.params
        if isinstance(option, click.Option)
    }


def offered_in_requests(names) -> dict[str, Offered]:
    """The options of routes; the same in all of them."""
    operations = {
        operation["operationId"]: operation
        for path in describe_api(ROUTES)["paths"].values()
        for operation in path.values()
    }
    options: dict[str, Offered] = {}
    for route in ROUTES:
        if route.name not in names:
            continue
        operation = operations[route.name]
        schemas = {one["name"]: one["schema"] for one in operation["parameters"]}
        if route.method == "POST":
            (content,) = operation["requestBody"]["content"].values()
            schemas |= content["schema"]["properties"]
        for field in route.fields:
            schema = schemas[field.name]
            kind = schema.get("type", "array")
            offered = Offered(
                kind if isinstance(kind, str) else kind[0],
                schema.get("default"),
                tuple(schema.get("enum", ())),
                (schema.get("minimum"), schema.get("maximum")),
                field.help,
                field.required,
            )
            assert options.setdefault(field.name, offered) == offered or field.name == "metric"
    return options


def offered_to_assistants(verb) -> dict[str, Offered]:
    """The arguments of the tool of a verb; empty without a tool."""
    tools = {tool.verb: tool for tool in make_tools(open_folder(Path(), 1))}
    if verb not in tools:
        return {}
    options = {}
    for argument in tools[verb].arguments:
        parameter = argument.parameter
        kinds = [kind for kind in _members(parameter.annotation) if kind is not type(None)]
        choices = get_args(kinds[0]) if get_origin(kinds[0]) is Literal else ()
        assert argument.name == INPUTS.get(argument.declared.name, argument.declared.name)
        options[argument.declared.name] = Offered(
            "string" if choices else _JSON_TYPES.get(kinds[0], "array"),
            None if argument.required else parameter.default,
            choices,
            (None, None),
            argument.help,
            argument.required,
        )
    return options


_JSON_TYPES = {str: "string", float: "number", int: "integer", bool: "boolean"}


def _members(annotation):
    is_union = isinstance(annotation, types.UnionType)
    return get_args(annotation) if is_union else (annotation,)


def _plain(text):
    """Text without marks of code, and without differences between options and parameters."""
    return "".join(letter for letter in text.lower() if letter not in "`-_").rstrip(".")


def _listed(reasons):
    names = [name for names in reasons.values() for name in names]
    assert len(names) == len(set(names))
    assert all(reason.strip() for reason in reasons)
    return set(names)


CHANNELS = ("requests", "assistants")


def offered(command, channel):
    verb, routes = VERBS[command]
    if channel == "requests":
        return offered_in_requests(routes)
    return offered_to_assistants(verb)


def test_every_verb_is_offered_or_listed_with_its_reason():
    listed = _listed(NOT_OFFERED)
    assert not listed & set(VERBS)
    assert set(PAIRS) <= listed | set(VERBS)
    tools = {tool.verb for tool in make_tools(open_folder(Path(), 1)) if tool.verb.__doc__}
    assert {verb for verb, routes in VERBS.values() if not routes} <= tools


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("command", VERBS)
def test_an_option_is_left_out_only_for_a_listed_reason(command, channel):
    verb, _ = VERBS[command]
    options = offered(command, channel)
    listed = _listed(LEFT_OUT[channel])
    stated = {f"{verb.__name__}.{name}" for name in declared_of(verb)}
    missing = {f"{verb.__name__}.{name}" for name in set(declared_of(verb)) - set(options)}
    assert missing & stated == (listed & stated if options else missing)


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("command", VERBS)
def test_an_option_is_the_same_everywhere(command, channel):
    verb, _ = VERBS[command]
    commands, options = option_of(command), offered(command, channel)
    other = _listed(OTHER) if channel == "requests" else set()
    for field, declared in declared_of(verb).items():
        name = declared.name if declared.name in options else field
        if name not in options or f"{verb.__name__}.{field}" in other:
            continue
        if declared.content in RANKED or (declared.content and declared.required):
            continue  # each channel says what names its inputs
        assert _differences(declared, options[name], commands.get(declared.name)) == []


def _differences(declared: Parameter, one: Offered, option: click.Option | None) -> list[str]:
    """Differences between a verb's declaration, the offered field, and the command's option."""
    kinds = {"float": "number", "int": "integer", "bool": "boolean"}
    kind = "array" if declared.repeatable else kinds.get(declared.kind, "string")
    default = tuple(one.default) if isinstance(one.default, list) else one.default
    pairs = {
        "type": (one.kind, kind),
        "default": (default or None, declared.default or None),
        "choices": (one.choices, declared.choices),
        "required": (one.required, declared.required),
        "limits": ([_limit(bound) for bound in one.limits], _limits_of(declared)),
    }
    helps = [_plain(one.help), _plain(declared.help)]
    if option is not None:
        choices = tuple(getattr(option.type, "choices", ()))
        pairs["choices of the command"] = (choices, declared.choices)
        pairs["several of the command"] = (option.multiple, declared.repeatable)
        helps.append(_plain(option.help))
    shortest = min(helps, key=len)
    pairs |= {f"help {text!r}": (text[: len(shortest)], shortest) for text in helps}
    pairs["no help"] = (bool(shortest), True)
    return [f"{what}: {left!r}, not {right!r}" for what, (left, right) in pairs.items() if left != right]


def _limit(bound):
    """A bound; None if it is infinite or the largest whole number of JSON."""
    return None if bound is None or abs(bound) in {float("inf"), 2**53} else bound


def _limits_of(declared: Parameter):
    return [_limit(declared.range.low), _limit(declared.range.high)]
