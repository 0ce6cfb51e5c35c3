"""Two search engines over the same documents, in SQLite FTS5: the old one and the new one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    import sqlite3

    from rankgate.interface.demo.harvest import Docstring

DEPTH = 100
"""The number of documents that an engine returns for a query."""

_WORD = re.compile(r"[^\W_]+")
# fmt: off
_STOP_WORDS = frozenset((
    "a", "all", "an", "and", "at", "by", "do", "for", "from", "how", "if", "in",
    "into", "is", "it", "its", "of", "on", "that", "the", "to", "with",
))
# fmt: on
_CAMEL_CASE_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True)
class Engine:
    """A ranking function over one full-text table.

    Attributes:
        name: What its run is called.
        columns: The fields of a document, in the order of the weights.
        weights: How much a match in each field counts in BM25.
        tokenizer: The FTS5 tokenizer, which fixes case folding and stemming.
        stop: The words of a query that are not searched for, unless there are no others.
    """

    name: str
    columns: tuple[str, ...]
    weights: tuple[float, ...]
    tokenizer: str
    stop: frozenset[str] = frozenset()

    def rank(
        self, index: sqlite3.Connection, text: str, depth: int = DEPTH
    ) -> list[tuple[str, float]]:
        """The documents that contain any word of the text, best first, with their scores.

        The score is Okapi BM25 (k1 = 1.2, b = 0.75) as FTS5 computes it, its
        sign turned so that more is better, rounded to six digits as the run
        file has it. Documents of equal score are sorted by doc_id, last letter
        first: the order in which an evaluation reads them.

        Source: https://www.sqlite.org/fts5.html#the_bm25_function
        """
        weights = ", ".join(map(str, (0.0, *self.weights)))
        rows = index.execute(
            f"SELECT doc_id, round(-bm25({self.name}, {weights}), 6) AS score"  # noqa: S608 - names of our own
            f" FROM {self.name} WHERE {self.name} MATCH ?"
            " ORDER BY score DESC, doc_id DESC LIMIT ?",
            (match_expression(text, self.stop), depth),
        )
        return [(str(doc_id), float(score)) for doc_id, score in rows]


OLD = Engine("old", ("text",), (1.0,), "unicode61")
"""Name, signature and docstring thrown together; a word matches only as it is written."""

NEW = Engine(
    "new",
    ("name", "signature", "summary", "body"),
    (4.0, 1.0, 2.0, 1.0),
    "porter unicode61",
    _STOP_WORDS,
)
"""A match in the name or the first paragraph counts more; `merging` finds `merge`."""

ENGINES = (OLD, NEW)


def match_expression(text: str, stop: frozenset[str] = frozenset()) -> str:
    """The FTS5 expression for any of the words of a text but stop words, each quoted.

    Raises:
        InputError: The text has no word.

    >>> match_expression("http AND basic-auth?")
    '"http" OR "and" OR "basic" OR "auth"'
    """
    all_words = list(dict.fromkeys(_WORD.findall(text.lower())))
    terms = [word for word in all_words if word not in stop] or all_words
    if not terms:
        raise InputError(
            f"the query {text!r} has no word to search for; write at least one.", code="empty-query"
        )
    return " OR ".join(f'"{word}"' for word in terms)


def index_documents(documents: Iterable[Docstring], connection: sqlite3.Connection) -> None:
    """Write one full-text table per engine into an empty database."""
    documents = list(documents)
    for engine in ENGINES:
        fields = ", ".join(engine.columns)
        connection.execute(
            f"CREATE VIRTUAL TABLE {engine.name}"
            f" USING fts5(doc_id UNINDEXED, {fields}, tokenize = '{engine.tokenizer}')"
        )
        placeholders = ", ".join("?" * (1 + len(engine.columns)))
        connection.executemany(
            f"INSERT INTO {engine.name} VALUES ({placeholders})",  # noqa: S608 - names of our own
            ([doc.doc_id, *_fields(doc, engine)] for doc in documents),
        )
    connection.commit()


def _fields(doc: Docstring, engine: Engine) -> list[str]:
    """The texts of a document's fields; `TemporaryDirectory` is in a name also as two words."""
    body = doc.text.split("\n\n", 1)[1:]
    texts = {
        "text": f"{doc.doc_id}\n{doc.signature}\n{doc.text}",
        "name": f"{doc.doc_id} {_CAMEL_CASE_BOUNDARY.sub(' ', doc.doc_id)}",
        "signature": doc.signature,
        "summary": doc.summary,
        "body": body[0] if body else "",
    }
    return [texts[column] for column in engine.columns]
