"""Build the demo: harvest, index, search with both engines, write what can be evaluated."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.interface.demo import engines
from rankgate.interface.demo.harvest import harvest_docstrings
from rankgate.interface.demo.judgments import judgments, movies, queries

INDEX = "docs.sqlite"
QRELS = "qrels.txt"
QUERIES = "queries.tsv"
ENGINE = "engine.toml"
MOVIES_QRELS = "movies.qrels"
MOVIES_RUN = "movies.run"

_PRIMARY_CODE_MASK = 0xFF  # the bits of SQLite's code of an error that name its kind
_WRITE_ERRORS = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
)


_ENGINE = f"""\
# The new index as an engine that rankgate snapshot asks. Other weights, other rankings:
# rankgate snapshot demo/engine.toml demo/queries.tsv -o name-4.run --parameter name=4
[engine]
kind = "sqlite"
database = "{INDEX}"
table = "new"
id = "doc_id"
weights = [0, "{{{{name}}}}", 2.0, 2.0, 1.0]  # doc_id, name, signature, summary, body

[engine.parameters]
name = 8.0

[engine.fields]
title = "name"
text = "summary"
"""


@dataclass(frozen=True)
class Demo:
    """A folder in which the demo was built.

    Attributes:
        folder: Where the files are.
        documents: How many documents were harvested and indexed.
        queries: How many queries both engines answered.
        judgments: How many judgments of these documents the qrels hold.
    """

    folder: Path
    documents: int
    queries: int
    judgments: int

    @property
    def index(self) -> Path:
        """The SQLite database with one full-text table per engine."""
        return self.folder / INDEX

    @property
    def old(self) -> Path:
        """The run of the old engine."""
        return self.folder / "old.run"

    @property
    def new(self) -> Path:
        """The run of the new engine."""
        return self.folder / "new.run"

    @property
    def qrels(self) -> Path:
        """The judgments, in TREC format."""
        return self.folder / QRELS

    @property
    def movies_qrels(self) -> Path:
        """The judgments of the movie set."""
        return self.folder / MOVIES_QRELS

    @property
    def movies_run(self) -> Path:
        """The one run of the movie set."""
        return self.folder / MOVIES_RUN


def build(folder: str | Path) -> Demo:
    """Write index, runs, qrels and queries into a folder, which is made if it is missing.

    All files are written to a temporary folder and moved into place when they are complete;
    other files in the folder are left alone. The same interpreter writes the
    same runs each time.

    Raises:
        InputError: The folder cannot be written, or Python's SQLite has no FTS5.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder, prefix=".building-") as partial:
            demo = _write(Path(partial))
            for file in sorted(Path(partial).iterdir()):
                file.replace(folder / file.name)
    except OSError as error:
        reason = error.strerror or str(error)
        problem = f"the demo cannot be written here ({reason}); name another folder."
        raise InputError(problem, source=str(folder), code="cannot-write") from error
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & _PRIMARY_CODE_MASK in _WRITE_ERRORS:
            problem = f"the demo cannot be written here ({error}); make room, or name another one."
            raise InputError(problem, source=str(folder), code="cannot-write") from error
        problem = f"the demo's index cannot be built ({error}); it needs a SQLite with FTS5."
        raise InputError(problem, source=str(folder), code="demo-not-built") from error
    return Demo(folder, demo.documents, demo.queries, demo.judgments)


def _write(folder: Path) -> Demo:
    documents = harvest_docstrings()
    doc_ids = {doc.doc_id for doc in documents}
    texts = queries()
    # A function that this Python lacks cannot be found, so it is not asked for.
    judged = [judgment for judgment in judgments() if judgment.doc_id in doc_ids]
    with closing(sqlite3.connect(folder / INDEX)) as index:
        engines.index_documents(documents, index)
        for engine in engines.ENGINES:
            ranking = {query_id: engine.rank(index, text) for query_id, text in texts.items()}
            _save(folder / f"{engine.name}.run", _run_lines(ranking, engine.name))
    _save(folder / QRELS, [f"{j.query_id} 0 {j.doc_id} {j.grade}" for j in judged])
    _save(folder / QUERIES, [f"{query_id}\t{text}" for query_id, text in texts.items()])
    _save(folder / ENGINE, _ENGINE.splitlines())
    _write_movies(folder)
    return Demo(folder, len(documents), len(texts), len(judged))


def _write_movies(folder: Path) -> None:
    """The guide ranks without scores, so ten points go to the first movie, one to the last."""
    ranking: dict[str, list[tuple[str, float]]] = {}
    for movie in movies():
        ranking.setdefault(movie.query_id, []).append((movie.doc_id, 11.0 - movie.rank))
    _save(folder / MOVIES_RUN, _run_lines(ranking, "movies"))
    _save(folder / MOVIES_QRELS, [f"{m.query_id} 0 {m.doc_id} {m.grade}" for m in movies()])


def _run_lines(ranking: dict[str, list[tuple[str, float]]], tag: str) -> list[str]:
    """A run in TREC format: query_id, Q0, doc_id, rank from 1, score, tag."""
    return [
        f"{query_id} Q0 {doc_id} {rank} {score} {tag}"
        for query_id, hits in ranking.items()
        for rank, (doc_id, score) in enumerate(hits, start=1)
    ]


def _save(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
