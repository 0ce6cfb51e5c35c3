"""Find judgments, runs and texts among a user's own files, by the readers of all formats.

`find_files` looks into files and folders and keeps those that hold judgments, runs, queries or
documents. A table with unusual column names comes with a guess of them, which is never used without
being confirmed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.collection import Collection
from rankgate.data.column_guess import UNKNOWN, ColumnGuess, GuessError
from rankgate.data.file_contents import FileContents
from rankgate.data.formats.run_companions import FIELDS_SUFFIX
from rankgate.data.id_match import IdMatch
from rankgate.data.read import contents_of

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputKind

MAX_FILES = 200
_MAX_TEXT_LENGTH = 240
_FEW_DOCUMENTS = 0.01  # share of the judged documents in runs, below which spellings are compared
_MIN_QUERIES = 2  # fewer in each file of a folder: the folder has an engine's answer a file
_MAX_GRADES = 12  # more different numbers are scores
_OTHER_SUFFIXES = frozenset(
    {".md", ".rst", ".toml", ".yaml", ".yml", ".html", ".htm", ".pdf", ".png", ".svg"}
    | {".py", ".ipynb", ".sh", ".js", ".lock", ".log", ".license"}
)
_BLOBS = ".blobs"  # of a store's folder
_FOLDERS_OF_CODE = frozenset(
    {"node_modules", "src", "test", "tests", "build", "dist", "target", "venv", "env"}
)
_JUDGED_COLUMNS = frozenset({"grade", "relevant"})


@dataclass(frozen=True)
class OwnFile:
    """A file, or a folder that is one table, with what it holds.

    Attributes:
        path: the path, as a command takes it.
        contents: what it holds; empty where its columns have to be confirmed.
        guess: the guess of its columns, where their names are unusual.
    """

    path: str
    contents: FileContents
    guess: ColumnGuess | None = None

    @property
    def has_judgments(self) -> bool:
        """True if it holds judgments, or would with the guessed columns."""
        if self.guess is not None:
            return not _JUDGED_COLUMNS.isdisjoint(self.guess.columns)
        return self.contents.qrels is not None

    @property
    def has_run(self) -> bool:
        """True if it holds one run, or would with the guessed columns."""
        return len(self.contents.runs) == 1 if self.guess is None else not self.has_judgments

    @property
    def summary(self) -> str:
        """The path, and how much it holds."""
        if self.guess is not None:
            return f"{self.path} (its columns are a guess)"
        if self.contents.qrels is not None:
            table = self.contents.qrels.table
            counts = f"{len(table):,} of {count_noun(table['query_id'].n_unique(), 'query')}"
        else:
            counts = count_noun(self.contents.runs[0].table["query_id"].n_unique(), "query")
        return f"{self.path} ({counts})"


def find_files(paths: Iterable[str | Path]) -> list[OwnFile]:
    """The files, also those in folders, that hold judgments, a run, queries or documents.

    A folder is one table where its files are an engine's answers or the parts of a table. Of other
    folders the files are looked at, and those of their folders; those that cannot be read are left
    out.

    Raises:
        InputError: a file that is named and cannot be read, with its line.
        UsageError: a folder with more than `MAX_FILES` files.
    """
    files: list[OwnFile] = []
    for path in map(Path, paths):
        files += _look_into(path, levels=2) if path.is_dir() else _read_named_file(path)
    return files


def _look_into(path: Path, levels: int) -> list[OwnFile]:
    children = sorted(filter(_could_hold_data, path.iterdir())) if path.is_dir() else []
    has_too_many = len(children) > MAX_FILES
    files: list[OwnFile] = []
    if levels and not has_too_many:
        files = [file for child in children for file in _look_into(child, levels - 1)]
    runs = [file.contents.runs[0] for file in files if file.guess is None and file.has_run]
    # files that each have the answer to one query are one run together
    are_answers = len(runs) == len(files) and all(
        run.table["query_id"].n_unique() < _MIN_QUERIES and run.table.height for run in runs
    )
    whole_table = _read_file(path) if are_answers else []
    if has_too_many and not whole_table:
        problem = f"{path}: {len(children):,} files, too many to look into; name the files."
        raise UsageError(problem, code="missing-input")
    return whole_table or files


def _could_hold_data(path: Path) -> bool:
    name = path.name.lower()
    return not (
        name.startswith((".", "_", "readme"))
        or name.endswith((".meta.json", ".meta.jsonl", FIELDS_SUFFIX))
        or path.suffix.lower() in _OTHER_SUFFIXES
        or (path.suffix == _BLOBS and path.is_dir())
        or (name in _FOLDERS_OF_CODE and path.is_dir())
    )


def _read_file(path: Path) -> list[OwnFile]:
    """The file, if it can be read and holds something that is looked for."""
    try:
        return _read_named_file(path)
    except (RankgateError, OSError):
        return []


def _read_named_file(path: Path) -> list[OwnFile]:
    """The file, if it holds something that is looked for.

    Raises:
        InputError: it cannot be read.
    """
    try:
        contents = contents_of(path)
        if contents.qrels or len(contents.runs) == 1:
            _ = [run.table.height for run in contents.runs]  # rows with faults are found by reading them
    except GuessError:
        guess = _guess(path)
        return [] if guess is None else [OwnFile(str(path), FileContents(), guess)]
    has_texts = contents.queries is not None or contents.documents is not None
    return [OwnFile(str(path), contents)] if contents.qrels or contents.runs or has_texts else []


def _guess(path: Path) -> ColumnGuess | None:
    """The guess of a table's columns as judgments, or as a run where its numbers are no grades."""
    judged, ranked = _guess_as(path, "qrels"), _guess_as(path, "run")
    if judged is None or ranked is None:
        return judged or ranked
    is_run = UNKNOWN not in ranked.columns.values()
    is_judged = UNKNOWN not in judged.columns.values() and (not is_run or _holds_grades(path, judged))
    return judged if is_judged or not is_run else ranked


def _guess_as(path: Path, kind: InputKind) -> ColumnGuess | None:
    try:
        contents_of(path, as_=kind)
    except GuessError as error:
        return error.guess
    except (RankgateError, OSError):
        pass
    return None


def _holds_grades(path: Path, guess: ColumnGuess) -> bool:
    """True if the guessed grades are labels, or few different whole numbers, unlike scores."""
    if guess.grades:
        return True
    try:
        grades = Collection(str(path), columns=dict(guess.columns)).qrels().table["grade"]
    except RankgateError:
        return False
    return bool((grades == grades.round()).all()) and grades.n_unique() <= _MAX_GRADES


def judgments_and_runs(files: Sequence[OwnFile]) -> tuple[list[OwnFile], list[OwnFile]]:
    """The files with judgments, those with judgments alone if there are any, and the files with a run."""
    judged = [file for file in files if file.has_judgments]
    runs = [file for file in files if file.has_run]
    return [file for file in judged if not file.has_run] or judged, runs


def sharing_queries(
    judged: Sequence[OwnFile], runs: Sequence[OwnFile], enough: int
) -> tuple[list[OwnFile], list[OwnFile]]:
    """The judgments that share queries with enough runs, and the runs that share queries with these.

    All of both where no judgments do, as ids may differ in spelling, or columns are a guess.
    """
    runs_of_judged = [
        (file, [run for run in runs if file.guess or run.guess or _share_queries(file, run)])
        for file in judged
    ]
    enough_runs = [(file, shared_runs) for file, shared_runs in runs_of_judged if len(shared_runs) >= enough]
    if not enough_runs:
        return list(judged), list(runs)
    paths = {run.path for _, shared_runs in enough_runs for run in shared_runs}
    return [file for file, _ in enough_runs], [run for run in runs if run.path in paths]


def _share_queries(file: OwnFile, run_file: OwnFile) -> bool:
    if file.contents.qrels is None:  # a collection's file, which is not read yet
        return True
    judged_ids = file.contents.qrels.table["query_id"]
    return bool(run_file.contents.runs[0].table["query_id"].is_in(judged_ids.implode()).any())


def known_texts(files: Sequence[OwnFile]) -> tuple[dict[str, str], dict[str, str]]:
    """The texts of queries, and of documents, in some files and in those beside their runs, by id."""
    queries: dict[str, str] = {}
    documents: dict[str, str] = {}
    beside_runs = [_read_file(Path(file.path + FIELDS_SUFFIX)) for file in files if file.has_run]
    for file in chain(files, *beside_runs):
        contents = file.contents
        if contents.queries is not None and "text" in contents.queries.columns:
            queries |= dict(contents.queries.select("query_id", "text").drop_nulls().iter_rows())
        if contents.documents is not None:
            table = join_fields(contents.documents)
            documents |= dict(table.select("doc_id", "text").drop_nulls().iter_rows())
    return queries, documents


def join_fields(documents: pl.DataFrame) -> pl.DataFrame:
    """``query_id`` (null: for every query), ``doc_id``, and the fields as one short ``text``."""
    keys = [name for name in ("query_id", "doc_id") if name in documents.columns]
    fields = [name for name in documents.columns if name not in keys]
    text = pl.concat_str(
        [pl.col(name).cast(pl.String) for name in fields], separator=" · ", ignore_nulls=True
    )
    owner = pl.col("query_id") if "query_id" in keys else pl.lit(None, dtype=pl.String)
    shortened = (
        pl.when(text.str.len_chars() > _MAX_TEXT_LENGTH)
        .then(text.str.slice(0, _MAX_TEXT_LENGTH) + "…")
        .otherwise(text)
    )
    return documents.select(owner.alias("query_id"), "doc_id", shortened.alias("text")).cast(pl.String)


@dataclass(frozen=True)
class Respelling:
    """A spelling under which ids meet that do not meet as they are.

    Attributes:
        rules: the spelling, as ``--ids`` takes it.
        fact: what differs, with an example.
    """

    rules: str
    fact: str


def match_ids(collection: Collection, runs: Sequence[str]) -> Respelling | None:
    """The spelling under which judgments and runs meet; None if they meet, or meet in none.

    Raises:
        InputError: judgments or a run that cannot be read.
    """
    if collection.ids:
        return None
    qrels = collection.qrels()
    tables = [collection.run(path).table.select("query_id", "doc_id").unique() for path in runs]
    rules: list[str] = []
    facts: list[str] = []
    for column, kind in (("query_id", "query"), ("doc_id", "document")):
        for table in tables:
            match = IdMatch.from_ids(qrels.table[column], table[column])
            unmatched = kind == "query" or match.both < _FEW_DOCUMENTS * match.left
            if match.verdict == "not" and match.near and unmatched:
                rules.append(match.rules(kind))
                judged_id, run_id = match.near_examples[0]
                facts.append(
                    f"{count_noun(match.near, f'{kind} id')} of judgments and runs differ only in spelling "
                    f"({judged_id!r} and {run_id!r})"
                )
                break
    return Respelling(",".join(rules), "; ".join(facts)) if rules else None
