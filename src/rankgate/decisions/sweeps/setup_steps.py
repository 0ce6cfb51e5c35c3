"""Steps that set up a point of a sweep and undo it: HTTP requests, SQL, commands.

`run_program` runs a program with a time limit, `carry_out` runs one step, and `Setup` runs all
steps of a point and undoes them, also after a failure.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.document_model import make_printable
from rankgate.decisions.sweeps.dials import Step
from rankgate.engines.requests.secrets import Secrets, fill, resolve_table, template_names
from rankgate.engines.requests.transport import Response, Transport

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject
    from rankgate.data.streams.journal import Journal
    from rankgate.decisions.sweeps.dials import Point
    from rankgate.engines.engine import Engine


_WAIT_SECONDS = 0.1  # seconds between two checks
_MAX_MESSAGE = 200


def run_program(
    command: Sequence[object], folder: Path, timeout: float, watch: Callable[[], None] = lambda: None
) -> str:
    """Run a program; return the reason of its failure, empty if it succeeded.

    The program and its children have ended when this returns or raises.

    Args:
        command: the program and its arguments.
        folder: the working directory.
        timeout: seconds that it may take.
        watch: a function that is called often; its exception ends the program.
    """
    arguments = [str(word) for word in command]
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                arguments,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as error:
            return f"{arguments[0]} cannot be started: {error.strerror}"
        try:
            status = _wait_for_exit(process, timeout, watch)
        finally:
            _kill(process)
        if status is None:
            return f"{arguments[0]} took more than {timeout:g} seconds"
        if not status:
            return ""
        errors.seek(max(errors.seek(0, os.SEEK_END) - 4096, 0))
        lines = errors.read().decode(errors="replace").strip().splitlines()
    last = make_printable(lines[-1])[:_MAX_MESSAGE] if lines else ""
    return f"{arguments[0]} ended with {status}" + (f": {last}" if last else "")


def _wait_for_exit(process: subprocess.Popen[bytes], timeout: float, watch: Callable[[], None]) -> int | None:
    """The exit status; None after the time limit."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        watch()
        with suppress(subprocess.TimeoutExpired):
            return process.wait(_WAIT_SECONDS)
    return None


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


_METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH")
_NOT_FOUND = 404


def refuse_step(step: Step, engine: Engine | None) -> None:
    """Refuse an invalid step before any step runs.

    Raises:
        UsageError: not one action; an invalid request; a path or SQL without an engine.
    """
    if sum(action is not None for action in (step.request, step.sql, step.command)) != 1:
        raise UsageError("set exactly one of request, sql and command.", code="invalid-sweep")
    if step.command is not None and not step.command:
        raise UsageError("command is a list of a program and its arguments.", code="invalid-sweep")
    if engine is None and (step.sql or (step.request and _is_path(step.request))):
        raise UsageError(
            "this step needs the server of an engine, but no engine is given; write the whole URL.",
            code="invalid-sweep",
        )
    if step.request is not None:
        method = step.request.partition(" ")[0]
        if method not in _METHODS or not step.request.partition(" ")[2].strip():
            raise UsageError(
                f'request is one of {", ".join(_METHODS)} and a URL or path, as in "POST /shop/_close".',
                code="invalid-sweep",
            )
        if _is_path(step.request) and (step.headers or step.ca):
            raise UsageError(
                "headers and ca are for a whole URL; a path has those of the engine.", code="invalid-sweep"
            )


def names_in(step: Step) -> set[str]:
    """The names in double braces that a step uses."""
    return {*template_names([step.request, step.body, step.sql, step.command, step.headers])}


def with_values(step: Step, values: JsonObject) -> Step:
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
    """Run a step; return the reason of its failure, empty if it succeeded.

    Args:
        step: the step, with its values.
        engine: the engine with the server or database.
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


def _without_secrets(step: Step) -> dict[str, Any]:
    """The step as plain values; secrets in its headers are hidden."""
    return {**asdict(step), "headers": Secrets.in_plain_text(step).scrubbed(step.headers)}


JOURNAL = "undo.jsonl"
"""The file of steps to undo, in the folder of a sweep."""


class SetupError(Exception):
    """A failed step of a set-up, which makes the point fail."""


@dataclass(frozen=True)
class Setup:
    """The steps that prepare a point, and the steps that undo the set-up.

    Attributes:
        steps: the steps in order.
        undo: the steps that undo the set-up, in order; if empty, the steps are run with the values
            of the baseline.
        baseline: a value for each dial.
        fixed_values: values of the names in double braces that are not dials.
        engine: the engine with the server or database of steps.
        folder: the working directory of commands.
    """

    steps: Sequence[Step] = ()
    undo: Sequence[Step] = ()
    baseline: Mapping[str, Any] = ()  # type: ignore[assignment]
    fixed_values: Mapping[str, Any] = ()  # type: ignore[assignment]
    engine: Engine | None = None
    folder: Path = Path()

    @property
    def names(self) -> set[str]:
        """The names in double braces that the steps use."""
        return {name for step in (*self.steps, *self.undo) for name in names_in(step)}

    def at_point(self, point: Point) -> list[Step]:
        """The steps of a point."""
        return [with_values(step, {**self.fixed_values, **point}) for step in self.steps]

    def identity(self, point: Point) -> list[dict[str, Any]]:
        """The steps of a point as plain values."""
        return [_without_secrets(step) for step in self.at_point(point)]

    @contextmanager
    def applied(self, point: Point, journal: Journal | None) -> Iterator[None]:
        """Set up a point, and undo the set-up at the end.

        The steps to undo are on disk before the first step, so that another process can undo the
        set-up.

        Raises:
            SetupError: a step failed; earlier steps are undone.
            UsageError: the set-up cannot be undone.
        """
        if not self.steps:
            yield
            return
        assert journal is not None
        undo_values = {**self.fixed_values, **(point if self.undo else self.baseline)}
        undo = [with_values(step, undo_values) for step in self.undo or self.steps]
        journal.add({"undo": [_without_secrets(step) for step in undo]})
        try:
            for step in self.at_point(point):
                if problem := carry_out(step, self.engine, self.folder):
                    raise SetupError(problem)
            yield
        finally:
            self._undo_steps(undo, journal)

    def finish(self, journal: Journal) -> bool:
        """Undo the steps that an earlier process left; return True if there were any.

        Raises:
            UsageError: the set-up cannot be undone.
        """
        last = journal.rows[-1] if journal.rows else {}
        if "undo" not in last:
            return False
        stored_steps = [Step(**step_values) for step_values in last["undo"]]
        current_steps = [
            with_values(step, {**self.fixed_values, **self.baseline}) for step in self.undo or self.steps
        ]
        for index, (stored_step, step) in enumerate(zip(stored_steps, current_steps, strict=False)):
            if stored_step.headers == _without_secrets(step)["headers"]:
                stored_steps[index] = replace(stored_step, headers=step.headers)
        self._undo_steps(stored_steps, journal)
        return True

    def _undo_steps(self, undo: Sequence[Step], journal: Journal) -> None:
        for step in undo:
            if problem := carry_out(step, self.engine, self.folder, undo=True):
                raise UsageError(
                    f"the set-up of a point cannot be undone: {problem}; {journal.path} keeps the remaining "
                    "steps to undo, and the same command tries them first.",
                    code="undo-failed",
                )
        journal.add({"undone": True})
