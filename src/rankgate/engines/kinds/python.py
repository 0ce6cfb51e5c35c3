"""Any function of Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from importlib import import_module
from typing import Any, ClassVar

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.engines.engine import Answer, Connection, Engine, Query
from rankgate.engines.failure import Failure
from rankgate.engines.hits import Row, answer
from rankgate.engines.paths import MISSING


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
        return Calls(self, imported(self.function, self.folder))


@dataclass(frozen=True)
class Calls(Connection):
    """Calls of a function.

    Attributes:
        engine: the declaration.
        function: what is called.
    """

    engine: Engine
    function: Callable[..., Any]

    def ask(self, query: Query) -> Answer | Failure:
        """The answer of the function; what it raises is a failure of this query."""
        try:
            parameters = self.engine.parameters_of(query)
            found = self.function(query.text, depth=self.engine.depth, **parameters)
            rows = list(rows_of(found, self.engine.fields))
        except Exception as error:  # noqa: BLE001 - the user's own code
            return Failure("refused", f"{type(error).__name__}: {error}")
        return answer(rows, depth=self.engine.depth)


def rows_of(found: Mapping[str, float] | Sequence[Any], fields: Mapping[str, Any]) -> Iterator[Row]:
    """The documents that a function gave: ids, pairs of id and score, a mapping, or objects."""
    if isinstance(found, Mapping):
        for doc_id, score in found.items():
            yield Row(doc_id, score)
        return
    for each in found:
        if isinstance(each, Mapping):
            shown = {name: each[str(key)] for name, key in fields.items() if str(key) in each}
            yield Row(each.get("id", MISSING), each.get("score", MISSING), shown)
        elif isinstance(each, tuple | list):
            doc_id, score = each
            yield Row(doc_id, score)
        else:
            yield Row(each)


def imported(place: str, folder: str | None) -> Callable[..., Any]:
    """The function of a module, as in ``search:rank``, looked for in a folder first.

    Raises:
        UsageError: no such module or function.
    """
    module, _, name = place.partition(":")
    if folder and folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found: Callable[..., Any] = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(
            f"{place}: {error}; write module:function.", code="invalid-engine"
        ) from None
    return found
