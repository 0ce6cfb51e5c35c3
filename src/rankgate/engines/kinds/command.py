"""Any program that reads queries from standard input."""

from __future__ import annotations

import json
import select
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from typing import Any, ClassVar

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.answers.answer import Answer, Failure
from rankgate.data.answers.paths import parse_path
from rankgate.data.answers.shape import Shape
from rankgate.engines.engine import Connection, Engine, Query
from rankgate.engines.requests.template import fill, template_names

_LARGEST = 64 << 20  # bytes of an answer


@dataclass(frozen=True, kw_only=True)
class Command(Engine):
    """A program that answers each line with a line.

    It gets ``{"query_id", "query", "depth", "parameters"}`` on a line of standard input, and
    answers ``{"hits": [{"id", "score", …}]}`` on a line of standard output, one query after the
    other, until its standard input ends.

    Attributes:
        command: The program and its arguments; names in double braces represent parameters.
        folder: Where it is started.
    """

    engine_kind: ClassVar[str] = "command"
    title: ClassVar[str] = "any program that reads queries from standard input"

    command: list[Any]
    folder: str | None = field(default=".", metadata={"path": True})

    def check(self) -> None:
        """Refuse a command that is empty or not of texts."""
        if not self.command or not all(isinstance(word, str) for word in self.command):
            raise UsageError("command is a list of texts.", code="invalid-engine")
        self.refuse_unknown(template_names(self.command))

    def uses(self) -> None:
        """It gets every parameter."""

    def connect(self) -> Connection:
        """Start a process."""
        return Process(self)


class Process(Connection):
    """A process, which is started again after it fails."""

    def __init__(self, engine: Command) -> None:
        self._engine = engine
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""
        fields = {name: parse_path(str(path)) for name, path in engine.fields.items()}
        self._shape = Shape(("hits",), ("id",), ("score",), fields, ("total",))

    def ask(self, query: Query) -> Answer | Failure:
        """The program's answer to a query."""
        engine = self._engine
        request = {
            "query_id": query.query_id,
            "query": query.text,
            "depth": engine.depth,
            "parameters": engine.parameters_of(query),
        }
        return self.exchange(request, engine.depth)

    def exchange(self, request: Mapping[str, Any], depth: int | None = None) -> Answer | Failure:
        """The documents of the line with which a program answers a line.

        Args:
            request: the line.
            depth: the number of documents of the answer that count; all by default.
        """
        try:
            process = self._running(self._engine.parameters)
            assert process.stdin is not None
            process.stdin.write(json.dumps(request, ensure_ascii=False).encode() + b"\n")
            process.stdin.flush()
            line = self._line(process)
        except FileNotFoundError as error:
            return Failure("fatal", f"the command cannot be started: {error.strerror}")
        except (OSError, KeyError) as error:
            self.close()
            return Failure("again", f"the command ended: {error}")
        if isinstance(line, Failure):
            self.close()
            return line
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return Failure("refused", "the answer is no line of JSON")
        if isinstance(value, dict) and isinstance(value.get("error"), str):
            return Failure("refused", value["error"])
        return self._shape.read(value, depth)

    def _running(self, parameters: Mapping[str, Any]) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            command = [str(word) for word in fill(self._engine.command, parameters)]
            self._rest = b""
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self._engine.folder
            )
        return self._process

    def _line(self, process: subprocess.Popen[bytes]) -> bytes | Failure:
        """The next line of its output, in time."""
        assert process.stdout is not None
        end = time.monotonic() + self._engine.timeout
        while b"\n" not in self._rest:
            seconds_left = end - time.monotonic()
            if seconds_left <= 0 or not select.select([process.stdout], [], [], seconds_left)[0]:
                return Failure("again", f"no answer within {self._engine.timeout:g} seconds")
            piece = process.stdout.read1(1 << 16)  # type: ignore[attr-defined]
            if not piece:
                return Failure("again", f"the command ended with {process.wait()}")
            self._rest += piece
            if len(self._rest) > _LARGEST:
                return Failure("again", f"the answer is larger than {_LARGEST:,} bytes")
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def close(self) -> None:
        """End the process; kill it if it does not end."""
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe:
                with suppress(OSError):
                    pipe.close()
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
