"""Build the demo from its bundled judgments: harvest, index, search, write.

The two bundled sets of judgments are on the standard library's documentation, and on five
movie queries.

The queries on the documentation were written as a programmer would type them. Both engines'
first twelve documents on Python 3.11, 3.12 and 3.13 were pooled and judged by reading the
docstring; documents that neither engine returned but that answer a query were added. Grades: 3 the
full answer, 2 a good part of the answer, 1 a useful hint, 0 not useful.

The movie queries, their grades and their one ranking are those of a published guide to ranking
metrics (S. Srivastava, "Beyond Accuracy", 2025).

The build harvests and indexes the documents, searches with both engines, and writes what can
be evaluated.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.core.output_files import new_folder
from rankgate.data.formats.tables.csv_tables import CsvTable
from rankgate.data.streams.source import InputFile
from rankgate.interface.demo import demo_engines
from rankgate.interface.demo.demo_engines import harvest_docstrings


@dataclass(frozen=True)
class Judgment:
    """The grade of one document for one query, 0 to 3, with the reason."""

    query_id: str
    doc_id: str
    grade: int
    reason: str


@dataclass(frozen=True)
class Movie:
    """One line of the movie set: the document at a rank of a query, and its grade."""

    query_id: str
    query: str
    rank: int
    doc_id: str
    grade: int


def queries() -> dict[str, str]:
    """The text of every query on the documentation, by query_id, in file order."""
    return {row["query_id"]: row["text"] for row in _rows("queries.tsv")}


def judgments() -> list[Judgment]:
    """The judgments of the queries on the documentation, on all Python versions."""
    return [
        Judgment(row["query_id"], row["doc_id"], int(row["grade"]), row["reason"])
        for row in _rows("qrels.csv")
    ]


def movies() -> list[Movie]:
    """The movie set, query by query, best rank first."""
    return [
        Movie(row["query_id"], row["query"], int(row["rank"]), row["doc_id"], int(row["grade"]))
        for row in _rows("movies.csv")
    ]


def _rows(name: str) -> list[dict[str, str]]:
    content = (files("rankgate.interface.demo") / "data" / name).read_bytes()
    return CsvTable(InputFile(Path(name), content)).frame().collect().to_dicts()


INDEX = "docs.sqlite"
QRELS = "qrels.txt"
QUERIES = "queries.tsv"
ENGINE = "engine.toml"
MOVIES_QRELS = "movies.qrels"
MOVIES_RUN = "movies.run"

_PRIMARY_CODE_MASK = 0xFF  # the bits of SQLite's error code that name the kind of error
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
        folder: The folder of the files.
        documents: The number of documents harvested and indexed.
        queries: The number of queries that both engines answered.
        judgments: The number of judgments of these documents in the qrels.
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
    def sorted(self) -> Path:
        """The run of the new engine with each first page in the order of names."""
        return self.folder / "sorted.run"

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
        with new_folder(folder), TemporaryDirectory(dir=folder, prefix=".building-") as partial:
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
    # A function that this Python lacks cannot be found, so its judgments are left out.
    judged = [judgment for judgment in judgments() if judgment.doc_id in doc_ids]
    with closing(sqlite3.connect(folder / INDEX)) as index:
        demo_engines.index_documents(documents, index)
        for engine in demo_engines.ENGINES:
            ranking = {query_id: engine.rank(index, text) for query_id, text in texts.items()}
            _save(folder / f"{engine.name}.run", _run_lines(ranking, engine.name))
    sorted_pages = {query_id: _sort_page(hits) for query_id, hits in ranking.items()}
    _save(folder / "sorted.run", _run_lines(sorted_pages, "sorted"))
    _save(folder / QRELS, [f"{j.query_id} 0 {j.doc_id} {j.grade}" for j in judged])
    _save(folder / QUERIES, [f"{query_id}\t{text}" for query_id, text in texts.items()])
    _save(folder / ENGINE, _ENGINE.splitlines())
    _write_movies(folder)
    return Demo(folder, len(documents), len(texts), len(judged))


def _sort_page(hits: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """The ranking with its first ten documents in the order of their names: a fault to find."""
    names = sorted(doc_id for doc_id, _ in hits[:_PAGE])
    best_score = hits[0][1] if hits else 0.0
    return [*((name, best_score + _PAGE - rank) for rank, name in enumerate(names)), *hits[_PAGE:]]


_PAGE = 10  # documents of a page


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
