"""Steps that set a point up, and undo it: HTTP requests, SQL, commands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rankgate.core.errors import UsageError
from rankgate.decisions.sweeps.processes import run_program
from rankgate.engines.requests.secrets import Secrets, resolve_table
from rankgate.engines.requests.template import fill, template_names
from rankgate.engines.requests.transport import Response, Transport

if TYPE_CHECKING:
    from rankgate.decisions.sweeps.settings import Step
    from rankgate.engines.engine import Engine

_METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH")
_NOT_FOUND = 404


def refuse_step(step: Step, engine: Engine | None) -> None:
    """Check a step before any step is carried out.

    Raises:
        UsageError: not one action; a request that is none; a path or SQL without an engine.
    """
    if sum(action is not None for action in (step.request, step.sql, step.command)) != 1:
        raise UsageError("say one of request, sql and command.", code="invalid-sweep")
    if step.command is not None and not step.command:
        raise UsageError("command is a list of a program and its arguments.", code="invalid-sweep")
    if engine is None and (step.sql or (step.request and _is_path(step.request))):
        raise UsageError(
            "this step is for the server of an engine, and there is none; write the whole URL.",
            code="invalid-sweep",
        )
    if step.request is not None:
        method = step.request.partition(" ")[0]
        if method not in _METHODS or not step.request.partition(" ")[2].strip():
            raise UsageError(
                f"request is one of {', '.join(_METHODS)} and a URL or path, as in "
                '"POST /shop/_close".',
                code="invalid-sweep",
            )
        if _is_path(step.request) and (step.headers or step.ca):
            raise UsageError(
                "headers and ca are for a whole URL; a path has those of the engine.",
                code="invalid-sweep",
            )


def names_in(step: Step) -> set[str]:
    """The names in double braces that a step uses."""
    return {*template_names([step.request, step.body, step.sql, step.command, step.headers])}


def with_values(step: Step, values: Mapping[str, Any]) -> Step:
    """The step with values in place of names."""
    return replace(
        step,
        request=fill(step.request, values),
        body=fill(step.body, values),
        headers=fill(step.headers, values),
        sql=None if step.sql is None else str(fill(step.sql, values)),
        command=fill(step.command, values),
    )


def carry_out(step: Step, engine: Engine | None, folder: Path, *, undo: bool = False) -> str:
    """Carry a step out; return the reason of its failure, empty if it succeeded.

    Args:
        step: the step, with its values.
        engine: whose server or database it is for.
        folder: the working directory of commands.
        undo: True if the target of a deletion may be missing.
    """
    secrets = Secrets.named_in(step, engine)
    try:
        if step.request is not None:
            problem = _request(step, engine, undo=undo)
        elif step.sql is not None:
            assert engine is not None
            engine.execute(step.sql)
            return ""
        else:
            problem = run_program(step.command or (), folder, step.timeout)
    except UsageError as error:
        problem = error.problem.rstrip(".")
    return secrets.message(problem)


def _request(step: Step, engine: Engine | None, *, undo: bool) -> str:
    method, _, url = str(step.request).partition(" ")
    url = url.strip()
    if url.startswith("/"):
        assert engine is not None
        transport = replace(engine, timeout=step.timeout).transport()
    else:
        secrets = Secrets()
        parts = urlsplit(secrets.resolved(url))
        transport = Transport(
            f"{parts.scheme}://{parts.netloc}",
            resolve_table(step.headers, secrets),
            timeout=step.timeout,
            authority=step.ca,
        )
        url = parts.path + (f"?{parts.query}" if parts.query else "")
    body = None if step.body is None else json.dumps(step.body, ensure_ascii=False).encode()
    reply = transport.send(method, url, body)
    if isinstance(reply, Response) or (undo and method == "DELETE" and reply.status == _NOT_FOUND):
        return ""
    return f"{step.request}: {reply.problem}"


def _is_path(request: str) -> bool:
    return request.partition(" ")[2].strip().startswith("/")
