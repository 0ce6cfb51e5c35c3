"""Engines on the same machine: programs, Python functions, and the library Tantivy."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rankgate.core.errors import UsageError, require
from rankgate.core.frozen import dataclass
from rankgate.data.answers.engine_answers import MISSING, Answer, Failure, Row, Shape, make_answer, parse_path
from rankgate.engines.engine import Connection, Engine, Facts, Query
from rankgate.engines.requests.secrets import fill, template_names

_LARGEST = 64 << 20  # bytes of an answer


@dataclass(frozen=True, kw_only=True)
class Command(Engine):
    """A program that reads one query per line and writes one answer per line.

    It reads ``{"query_id", "query", "depth", "parameters"}`` from standard input and writes
    ``{"hits": [{"id", "score", …}]}`` to standard output, one query after the other, until its
    standard input ends.

    Attributes:
        command: The program and its arguments; names in double braces represent parameters.
        folder: The working folder of the program.
    """

    engine_kind = "command"
    title = "any program that reads queries from standard input"

    command: list[Any]
    folder: str | None = field(default=".", metadata={"path": True})

    def check(self) -> None:
        """Refuse a command that is empty or has parts that are not texts."""
        if not self.command or not all(isinstance(word, str) for word in self.command):
            raise UsageError("command must be a list of strings.", code="invalid-engine")
        self.refuse_unknown(template_names(self.command))

    def uses(self) -> None:
        """Return None: the program receives every parameter."""

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
        """Answer a query by the program."""
        engine = self._engine
        request = {
            "query_id": query.query_id,
            "query": query.text,
            "depth": engine.depth,
            "parameters": engine.parameters_of(query),
        }
        return self.exchange(request, engine.depth)

    def exchange(self, request: Mapping[str, Any], depth: int | None = None) -> Answer | Failure:
        """Send one line to the program and read the documents of its answer.

        Args:
            request: the content of the line.
            depth: the number of documents that count; all by default.
        """
        try:
            if self._process is None or self._process.poll() is not None:
                command = [str(word) for word in fill(self._engine.command, self._engine.parameters)]
                self._rest = b""
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self._engine.folder
                )
            process = self._process
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
            return Failure("refused", "the answer is not a line of JSON")
        if isinstance(value, dict) and isinstance(value.get("error"), str):
            return Failure("refused", value["error"])
        return self._shape.read(value, depth)

    def _line(self, process: subprocess.Popen[bytes]) -> bytes | Failure:
        """The next line of the program's output; a `Failure` after the time limit."""
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


@dataclass(frozen=True, kw_only=True)
class Python(Engine):
    """A function that takes a query and returns documents, best first.

    It is called with the query's text, and with ``depth`` and the parameters by name. It returns
    ids, pairs of id and score, ``{id: score}``, or objects with id, score and fields.

    Attributes:
        function: The function, as in "search:rank": a module that can be imported from the
            folder of this file, and a name in it. Its code is run: use only code that you trust.
        folder: The folder to search first for the module.
    """

    engine_kind = "python"
    title = "any function of Python"

    function: str
    folder: str | None = field(default=".", metadata={"path": True})

    def uses(self) -> None:
        """Return None: the function receives every parameter."""

    def connect(self) -> Connection:
        """Import the function."""
        return FunctionConnection(self, import_function(self.function, self.folder))


@dataclass(frozen=True)
class FunctionConnection(Connection):
    """Calls of a function.

    Attributes:
        engine: the declaration.
        function: the function.
    """

    engine: Engine
    function: Callable[..., Any]

    def ask(self, query: Query) -> Answer | Failure:
        """Answer a query by the function; an exception in the function fails this query."""
        try:
            parameters = self.engine.parameters_of(query)
            results = self.function(query.text, depth=self.engine.depth, **parameters)
            rows = list(result_rows(results, self.engine.fields))
        except Exception as error:  # noqa: BLE001 - the user's own code
            return Failure("refused", f"{type(error).__name__}: {error}")
        return make_answer(rows, depth=self.engine.depth)


def result_rows(results: Mapping[str, float] | Sequence[Any], fields: Mapping[str, Any]) -> Iterator[Row]:
    """The documents of a function's result: ids, pairs of id and score, a mapping, or objects."""
    if isinstance(results, Mapping):
        for doc_id, score in results.items():
            yield Row(doc_id, score)
        return
    for result in results:
        if isinstance(result, Mapping):
            display_fields = {name: result[str(key)] for name, key in fields.items() if str(key) in result}
            yield Row(result.get("id", MISSING), result.get("score", MISSING), display_fields)
        elif isinstance(result, tuple | list):
            doc_id, score = result
            yield Row(doc_id, score)
        else:
            yield Row(result)


def import_function(reference: str, folder: str | None) -> Callable[..., Any]:
    """The function of a module, as in ``search:rank``; the folder comes first in the search.

    Raises:
        UsageError: no such module or function.
    """
    module, _, name = reference.partition(":")
    if folder and folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        function: Callable[..., Any] = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"{reference}: {error}; write module:function.", code="invalid-engine") from None
    return function


@dataclass(frozen=True, kw_only=True)
class Tantivy(Engine):
    """An index of Tantivy in a folder, ranked by BM25.

    Attributes:
        index: The folder.
        id: The stored field that holds the document's id.
        search: The fields that a query searches.
        boosts: The weight of a match in a field, as in {title = 2}; names in double braces
            represent parameters.
        every: True if every word must match.
    """

    engine_kind = "tantivy"
    title = "Tantivy, a search engine as a library"
    source = "https://github.com/quickwit-oss/tantivy-py"

    index: str = field(metadata={"path": True})
    id: str
    search: list[Any]
    boosts: dict[str, Any] = field(default_factory=dict)
    every: bool = False

    def addresses(self) -> tuple[str, ...]:
        """None: the engine reads its folder only."""
        return ()

    def check(self) -> None:
        """Refuse names without a value."""
        self.refuse_unknown(template_names(self.boosts))

    def connect(self) -> Connection:
        """Open the index."""
        require("the engine needs Tantivy", "tantivy")
        import tantivy

        try:
            return _Index(self, tantivy.Index.open(self.index))
        except ValueError as error:
            name = Path(self.index).name  # the folder is the server's, for engines of projects
            problem = str(error).replace(self.index, name)
            raise UsageError(f"{name}: {problem}.", code="cannot-read") from None


class _Index(Connection):
    def __init__(self, engine: Tantivy, index: Any) -> None:
        self._engine, self._index = engine, index
        self._searcher = index.searcher()

    def ask(self, query: Query) -> Answer | Failure:
        engine = self._engine
        values = engine.known(query)
        try:
            boosts = {name: float(boost) for name, boost in fill(engine.boosts, values).items()}
            parsed, _ = self._index.parse_query_lenient(
                query.text,
                [str(name) for name in engine.search],
                field_boosts=boosts,
                conjunction_by_default=engine.every,
            )
            search_result = self._searcher.search(parsed, engine.depth)
            rows = list(self._rows(search_result.hits))
        except (ValueError, KeyError, TypeError) as error:
            return Failure("refused", f"Tantivy: {error}")
        return make_answer(rows, MISSING if search_result.count is None else search_result.count)

    def _rows(self, hits: list[Any]) -> Iterator[Row]:
        for score, address in hits:
            document = self._searcher.doc(address)
            stored_values = {name: document.get_first(str(key)) for name, key in self._engine.fields.items()}
            display_values = {name: value for name, value in stored_values.items() if value is not None}
            yield Row(document.get_first(self._engine.id) or MISSING, score, display_values)

    def facts(self) -> Facts:
        try:
            meta = json.loads((Path(self._engine.index) / "meta.json").read_bytes())
        except (OSError, ValueError):
            meta = {}
        schema = json.dumps(meta.get("schema"), sort_keys=True)
        return Facts(
            f"tantivy {version('tantivy')}",
            self._searcher.num_docs,
            sha256(schema.encode()).hexdigest()[:12],
            f"opstamp {meta['opstamp']}" if "opstamp" in meta else "",
        )
