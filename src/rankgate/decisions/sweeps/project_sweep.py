"""A sweep of an engine of a project: its engine, queries and judgments as the tables of a plan.

The dials are names in double braces in the engine's requests. Their values are numbers, true, false or
plain words, so that no value can be a path, a statement or a command.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.engines.project_engines import read_project_engine
from rankgate.engines.snapshots.project_snapshot import list_project_queries
from rankgate.store.material import project_engines

if TYPE_CHECKING:
    from rankgate.engines.project_engines import EngineAccess
    from rankgate.store.stored_project import StoredProject

_WORD = re.compile(r"[A-Za-z0-9_%^+-]{1,50}", re.ASCII)
_DIAL_CODE = "invalid-dial"


def read_dials(texts: Sequence[str]) -> dict[str, list[float | bool | str]]:
    """The values of each dial in texts such as ``k1=0.9,1.2``.

    Raises:
        UsageError: a text has another form; a value is not a number or a plain word.

    >>> read_dials(["k1=0.9, 1.2", "operator=or,and"])
    {'k1': [0.9, 1.2], 'operator': ['or', 'and']}
    """
    dials: dict[str, list[float | bool | str]] = {}
    for text in texts:
        name, equals, values = (side.strip() for side in text.partition("="))
        if not equals or not name or not values:
            raise UsageError(
                f"a dial is its name and values, as in k1=0.9,1.2, not {text!r}.", code=_DIAL_CODE
            )
        if name in dials:
            raise UsageError(f"the dial {name!r} is there twice.", code=_DIAL_CODE)
        dials[name] = [_read_value(name, value.strip()) for value in values.split(",")]
    return dials


def _read_value(name: str, text: str) -> float | bool | str:
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if isinstance(value, str):
        if _WORD.fullmatch(value):
            return value
        problem = (
            f"{text[:50]!r} is no value of the dial {name}; write numbers, or words of letters, digits and "
            "- _ + % ^, with commas between."
        )
        raise UsageError(problem, code=_DIAL_CODE)
    if not isinstance(value, bool | int | float) or abs(value) > 2**53:
        raise UsageError(f"{text[:50]!r} is no value of the dial {name}.", code=_DIAL_CODE)
    return value


def project_plan(
    project: StoredProject,
    engine: str,
    judgments: str,
    dials: Mapping[str, Sequence[object]],
    metrics: Sequence[str] = (),
    *,
    rate: float | None = None,
    access: EngineAccess | None = None,
    search: str | None = None,
) -> dict[str, Any]:
    """The plan of a sweep of a project's engine, in the form of a sweep's file.

    Args:
        project: the project.
        engine: the name of the engine.
        judgments: the name of the judgments.
        dials: the values of each dial.
        metrics: metrics; the first one decides; nDCG@10 by default.
        rate: queries a second, at most; unlimited by default.
        access: the resources that the engine may use; None is unlimited.
        search: grid, or race for fewer requests and held-out queries; grid by default.

    Raises:
        InputError: the project has no queries; a setting of the engine does not fit.
        UsageError: no such engine or judgments; a host, file or secret that the engine may not use; a
            dial that the engine's requests do not have.
    """
    with project.store.read() as connection:
        definition = project_engines.get_engine(connection, project.number, engine)
    configuration = read_project_engine(definition, project.name, access)
    names = configuration.engine.parameters
    for name in dials:
        if name not in names:
            parameter_list = f"it has {', '.join(sorted(names))}" if names else "it has none"
            problem = f"the engine {engine} has no parameter {name!r}; {parameter_list}."
            raise UsageError(problem, code="unknown-dial")
    rate = rate if access is None else access.limit_rate(rate)
    settings: dict[str, Any] = {
        "engine": replace(configuration, pace=replace(configuration.pace, rate=rate)),
        "queries": list_project_queries(project),
        "qrels": project.judgments(judgments),
    }
    if search:
        settings["search"] = search
    if metrics:
        settings["metrics"] = list(metrics)
    return {"sweep": settings, "dials": {name: list(values) for name, values in dials.items()}}
