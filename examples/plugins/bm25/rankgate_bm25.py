"""BM25 over a file of documents: an engine that needs no server.

For baselines, and for tests of what asks engines. All documents are in memory; a hundred thousand
short ones take a few seconds to read. Formula as in Robertson & Zaragoza, 2009,
doi:10.1561/1500000019, with the idf of Lucene, which is never negative.
"""

import json
import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

from rankgate.extend import (
    Answer,
    Connection,
    Engine,
    EngineKind,
    Facts,
    Failure,
    Query,
    Range,
    UsageError,
)

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True)
class Bm25(Engine):
    """BM25 over a JSONL file.

    Attributes:
        documents: The file, an object a line.
        id: The key of the document's id.
        text: The keys of the texts that are searched, as in ["title", "text"].
        k1: How soon repeated words stop counting.
        b: How much the length of a document counts.
    """

    engine_kind: ClassVar[str] = "bm25"
    title: ClassVar[str] = "BM25 over a JSONL file, in memory"
    source: ClassVar[str] = "https://doi.org/10.1561/1500000019"

    documents: str = field(metadata={"path": True})
    id: str = "doc_id"
    text: list[Any] = field(default_factory=lambda: ["title", "text"])
    k1: Annotated[float, Range(0)] = 0.9
    b: Annotated[float, Range(0, 1)] = 0.4

    def connect(self) -> Connection:
        """Read and index the file."""
        try:
            lines = Path(self.documents).read_text(encoding="utf-8").splitlines()
            return _Index(self, [json.loads(line) for line in lines if line.strip()])
        except (OSError, ValueError, KeyError) as error:
            raise UsageError(f"{self.documents}: {error}.", code="cannot-read") from None


class _Index(Connection):
    def __init__(self, engine: Bm25, documents: list[dict[str, Any]]) -> None:
        self._engine = engine
        self._ids = [str(each[engine.id]) for each in documents]
        self._fields = [{name: each.get(name) for name in engine.fields} for each in documents]
        self._lengths: list[int] = []
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, each in enumerate(documents):
            words = _words(" ".join(str(each.get(name, "")) for name in engine.text))
            self._lengths.append(len(words))
            for word, count in Counter(words).items():
                self._postings[word].append((place, count))
        self._average = sum(self._lengths) / max(1, len(self._lengths)) or 1.0

    def ask(self, query: Query) -> Answer | Failure:
        engine, scores = self._engine, Counter[int]()
        for word in _words(query.text):
            found = self._postings.get(word, [])
            idf = math.log1p((len(self._ids) - len(found) + 0.5) / (len(found) + 0.5))
            for place, count in found:
                length = 1 - engine.b + engine.b * self._lengths[place] / self._average
                scores[place] += idf * count / (count + engine.k1 * length)
        best = sorted(scores, key=lambda place: (-scores[place], self._ids[place]))[: engine.depth]
        return Answer(
            [self._ids[place] for place in best],
            [scores[place] for place in best],
            [self._fields[place] for place in best],
            len(scores),
        )

    def facts(self) -> Facts:
        return Facts("0.1.0", len(self._ids))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


BM25 = EngineKind(Bm25.engine_kind, Bm25, title=Bm25.title, source=Bm25.source)
