"""Tantivy, a search engine as a library."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import field
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from rankgate.core.errors import UsageError
from rankgate.core.extras import require
from rankgate.core.frozen import dataclass
from rankgate.data.answers.answer import Answer, Failure, Row, make_answer
from rankgate.data.answers.paths import MISSING
from rankgate.engines.engine import Connection, Engine, Facts, Query
from rankgate.engines.requests.template import fill, template_names


@dataclass(frozen=True, kw_only=True)
class Tantivy(Engine):
    """An index of Tantivy in a folder, ranked by BM25.

    Attributes:
        index: The folder.
        id: The stored field that holds the document's id.
        search: The fields that a query searches.
        boosts: What a match in a field counts, as in {title = 2}; names in double braces stand
            for values.
        every: Whether every word must match.
    """

    engine_kind: ClassVar[str] = "tantivy"
    title: ClassVar[str] = "Tantivy, a search engine as a library"
    source: ClassVar[str] = "https://github.com/quickwit-oss/tantivy-py"

    index: str = field(metadata={"path": True})
    id: str
    search: list[Any]
    boosts: dict[str, Any] = field(default_factory=dict)
    every: bool = False

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
            raise UsageError(f"{self.index}: {error}.", code="cannot-read") from None


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
            stored_values = {
                name: document.get_first(str(key)) for name, key in self._engine.fields.items()
            }
            display_values = {
                name: value for name, value in stored_values.items() if value is not None
            }
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
