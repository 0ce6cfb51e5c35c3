"""Any function of Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from importlib import import_module
from typing import Any, ClassVar

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.answers.answer import Answer, Failure, Row, make_answer
from rankgate.data.answers.paths import MISSING
from rankgate.engines.engine import Connection, Engine, Query


@dataclass(frozen=True, kw_only=True)
class Python(Engine):
    """A function that takes a query and gives documents, best first.

    It is called with the query's text, and with ``depth`` and the parameters by name. It gives
    ids, or pairs of id and score, or ``{id: score}``, or objects with id, score and fields.

    Attributes:
        function: Where it is, as in "search:rank": a module that can be imported from the
            folder of this file, and a name. It is run: name only one that you trust.
        folder: Where the module is looked for first.
    """

    engine_kind: ClassVar[str] = "python"
    title: ClassVar[str] = "any function of Python"

    function: str
    folder: str | None = field(default=".", metadata={"path": True})

    def uses(self) -> None:
        """It gets every parameter."""

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
        """The answer of the function; an exception of it is a failure of this query."""
        try:
            parameters = self.engine.parameters_of(query)
            results = self.function(query.text, depth=self.engine.depth, **parameters)
            rows = list(result_rows(results, self.engine.fields))
        except Exception as error:  # noqa: BLE001 - the user's own code
            return Failure("refused", f"{type(error).__name__}: {error}")
        return make_answer(rows, depth=self.engine.depth)


def result_rows(
    results: Mapping[str, float] | Sequence[Any], fields: Mapping[str, Any]
) -> Iterator[Row]:
    """The documents of a function's result: ids, pairs of id and score, a mapping, or objects."""
    if isinstance(results, Mapping):
        for doc_id, score in results.items():
            yield Row(doc_id, score)
        return
    for result in results:
        if isinstance(result, Mapping):
            display_fields = {
                name: result[str(key)] for name, key in fields.items() if str(key) in result
            }
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
        raise UsageError(
            f"{reference}: {error}; write module:function.", code="invalid-engine"
        ) from None
    return function
