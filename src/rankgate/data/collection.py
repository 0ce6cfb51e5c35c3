"""The test collection: judgments, and what is known of queries, documents and users.

A `Collection` is what every verb measures against. It holds where its tables are and how they are
read; rows are read when a verb needs them.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast, get_args

from rankgate.core.declare.toml import Toml
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import ByContent, dataclass
from rankgate.data.column_map import ColumnMap, mapped
from rankgate.data.formats import registry

if TYPE_CHECKING:
    from rankgate.data.inputs import (
        ColumnsLike,
        QrelsLike,
        RunLike,
        RunsLike,
        TableLike,
        TagsLike,
    )
    from rankgate.data.logs.interactions import LogLike
    from rankgate.data.logs.items import Described
    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run
    from rankgate.data.sample import Sample

UNKNOWN = "unknown"
"""The word for a model of which nobody states which judgments of people it saw."""

CANDIDATES = "candidate_items"
"""The parameter of commands for `Collection.candidates`: some have candidates that are runs."""

FILE = "collection.toml"
"""The file of a folder that holds a collection."""


OF_TASKS = ("sequences", "items.document")
"""Fields with which values are of tasks of several rankings, or of documents of passages."""

OF_SAMPLES = ("sample", "predicted")
"""Fields with which means are those of the queries drawn from."""

Selection = Literal["unknown", "random", "pooled"]
"""How documents to be judged were chosen: not known, by chance, or from lists of other systems."""

SELECTIONS: tuple[Selection, ...] = get_args(Selection)

_TABLE = "collection"
_WORDS = frozenset({"random", "none", UNKNOWN, "-"})
"""Texts that stand where a file could, and are not one."""

_TEXTS = frozenset({"name", "selection", "category", "group", "length", "document"})
_FLAGS = frozenset({"drop_seen", "judged_users_only"})


class _Shown(ByContent):
    """A value that shows the fields that were set."""

    def __repr__(self) -> str:
        shown = [f"{name}={_short(value)}" for name, value in self.stated().items()]
        return f"{type(self).__name__}({', '.join(shown)})"

    def stated(self) -> dict[str, Any]:
        """The fields that differ from their defaults."""
        return {
            one.name: value
            for one in dataclasses.fields(cast("Any", self))
            if not _is_default(value := getattr(self, one.name), one)
        }

    def filled(self, defaults: Self) -> Self:
        """The same value with the fields of another one where this one states nothing."""
        return cast("Self", replace(cast("Any", defaults), **self.stated()))


def _is_default(value: Any, one: dataclasses.Field[Any]) -> bool:
    """True where a field has its default; frames and arrays never are one."""
    if isinstance(value, _Shown):
        return not value.stated()
    return value is one.default or (isinstance(value, tuple | Mapping) and not value)


def _short(value: object) -> str:
    """A value in a few words: tables and dictionaries by their type and size."""
    if isinstance(value, str | Path | int | bool | _Shown):
        return repr(str(value)) if isinstance(value, Path) else repr(value)
    if isinstance(value, tuple) and len(repr(value)) < 80:
        return repr(value)
    size = getattr(value, "shape", None) or (len(value) if hasattr(value, "__len__") else "")
    return f"<{type(value).__name__} {size}>".replace(" >", ">")


@dataclass(frozen=True, repr=False)
class Items(_Shown):
    """What is known of items, documents or passages: a table, and what its columns are.

    Attributes:
        table: A table of items: item_id and columns.
        features: Item columns with numbers (features).
        category: The item column with categories; several are separated by bars.
        group: The item column with groups, for fairness of exposure.
        length: The item column with lengths of passages in tokens.
        document: The item column with the document that each passage is a part of; where
            judgments are of documents, rankings of passages become rankings of documents.
        catalogue: The number of items, which are then numbered from 0, or their ids; items of
            training, the table, judgments and matrices belong to the catalogue in any case.
    """

    table: TableLike | Described | None = None
    _: KW_ONLY
    features: Sequence[str] = ()
    category: str | None = None
    group: str | None = None
    length: str | None = None
    document: str | None = None
    catalogue: int | Iterable[object] | None = None

    def __post_init__(self) -> None:
        named = (self.features,) if isinstance(self.features, str) else self.features
        self.__dict__["features"] = tuple(named)


@dataclass(frozen=True, repr=False)
class Predicted(_Shown):
    """A model's judgments of all queries, and people's judgments that the model saw.

    Attributes:
        judgments: A model's judgments of all queries; people's judgments of a sample of the
            queries correct the bias of the model.
        saw: People's judgments that the model saw, as examples or in training: a table, none, or
            unknown; their queries are left out, as they do not correct the model.
    """

    judgments: QrelsLike
    saw: QrelsLike = UNKNOWN


@dataclass(frozen=True, repr=False)
class Collection(_Shown):
    """Judgments, and what is known of queries, documents and users.

    Constructing one reads nothing but what is declared; verbs read the rows that they need, and
    report errors in them with file and line.

    Attributes:
        judgments: Judgments: a path, a frame (Polars, pandas, Arrow), ``{query: {doc: grade}}``,
            ``{query: {doc, …}}``; a matrix of grades (NumPy, SciPy, torch, jax, DLPack) with a row
            a query, or ``rankgate.Lists`` of items by number.
        name: What results call the collection; by default the name of the judgments.
        columns: The columns of CSV and TSV files and frames that have no usual name, as in
            query=search_term,doc=sku,grade=final_rating; runs are read by them too.
        grades: The grade of each label, where judgments hold labels, as in Exact=3,Partial=1.
        tags: A table with query_id and columns of tags (head or tail, intent, cluster); a file of
            features, whose tag feature_7 is the quarter of the queries by the mean of feature 7;
            or ids:PATTERN, a regular expression whose named groups are tags of the ids that fit.
        items: The table of items; `Items` names its columns.
        users: A table of users: user_id and columns.
        sample: How the judged queries were drawn: random (each had the same chance), or a table
            with query_id and query_inclusion (its chance), query_stratum or weight (how much it
            counts), such as a pool's; means are then those of the queries drawn from, with their
            95% intervals.
        selection: How the judged documents were chosen: "random", so that unjudged ones are like
            them; "pooled" from the lists of other systems, so that unjudged ones are worse;
            "unknown" (as without it) assumes each in half of the draws.
        predicted: A model's judgments of all queries, which people's judgments of a sample of the
            queries correct.
        training: The training log of the systems, or a matrix in which 0 is nothing.
        sequences: Which rankings belong together (sessions, variations of a topic), so that values
            are of tasks: a table with query_id, sequence (or session, conversation, topic) and
            perhaps position; or ids:PATTERN with these names as groups.
        candidates: The items that may be recommended, as rankgate split writes them.
        reference: The run of a simple system to compare with, such as the most popular items.
        drop_seen: Remove items that the user had in training from the lists.
        judged_users_only: Compute list metrics over users with judgments only, not over all users.

    Raises:
        UsageError: a column map that cannot be; a grade of a label that is not a number; an
            unknown selection.

    >>> Collection("qrels.csv", columns="query=term,doc=sku", tags="queries.csv")
    Collection(judgments='qrels.csv', columns='query=term,doc=sku', tags='queries.csv')
    """

    judgments: QrelsLike | None = None
    _: KW_ONLY
    name: str | None = None
    columns: ColumnsLike | None = None
    grades: Mapping[str, float] = field(default_factory=dict)
    tags: TagsLike | None = None
    items: Items = Items()
    users: TableLike | None = None
    sample: Sample | TableLike | None = None
    selection: Selection | None = None
    predicted: Predicted | None = None
    training: LogLike | None = None
    sequences: TagsLike | None = None
    candidates: TableLike | None = None
    reference: RunLike | None = None
    drop_seen: bool = False
    judged_users_only: bool = False

    def __post_init__(self) -> None:
        ColumnMap.of(self.columns)  # a map that cannot be is an error now
        for label, grade in self.grades.items():
            if isinstance(grade, bool) or not isinstance(grade, int | float):
                problem = f"grades: {label} is {grade!r}, which is not a number."
                raise UsageError(problem, code="not-a-number")
        if self.selection is not None and self.selection not in SELECTIONS:
            problem = f"unknown selection {self.selection!r}; there are {', '.join(SELECTIONS)}."
            raise UsageError(problem, code="unknown-choice")
        if not isinstance(self.items, Items):
            self.__dict__["items"] = Items(self.items)
        if self.predicted is not None and not isinstance(self.predicted, Predicted):
            self.__dict__["predicted"] = Predicted(self.predicted)

    def filled(self, defaults: Self) -> Self:
        """The same collection with what another one states where this one states nothing."""
        return replace(super().filled(defaults), items=self.items.filled(defaults.items))

    @classmethod
    def of(cls, source: Collection | QrelsLike | None) -> Collection:
        """The collection that a verb was given: as it is, of judgments, or in a TOML file.

        Args:
            source: a collection; judgments in any form; a TOML file with ``[collection]``, or a
                folder with a file ``collection.toml``.

        Raises:
            InputError: a TOML file that cannot be read; with its line.
        """
        if isinstance(source, Collection):
            return source
        if isinstance(source, str | Path) and (path := collection_file(source)):
            return read_collection(path)
        return cls(source)

    @property
    def judgments_source(self) -> Any:
        """The judgments under our names of columns, with grades for labels; read where it must be.

        Raises:
            InputError: a column that is not there, a label without a grade; with file and line.
            UsageError: the collection has no judgments.
        """
        if self.judgments is None:
            raise UsageError("judgments are missing; give them first.", code="missing-input")
        if self.grades:
            from rankgate.data.grade_labels import graded_judgments

            return graded_judgments(self.judgments, self.columns, self.grades)
        return mapped(self.judgments, self.columns, "qrels")

    def qrels(self, *, subtopics: bool = False) -> Qrels:
        """The judgments as a table.

        Args:
            subtopics: whether judgments by subtopic are taken; otherwise they are an error.

        Raises:
            InputError, UsageError: as `judgments_source` and ``read_qrels``.
        """
        from rankgate.data.read import read_qrels

        found = read_qrels(self.judgments_source, subtopics=subtopics)
        return replace(found, name=self.name) if self.name else found

    def run_source(self, run: RunsLike) -> Any:
        """A run or several under our names of columns.

        Raises:
            InputError: a column that is not there; with file and line.
        """
        return mapped(run, self.columns, "run")

    def run(self, run: RunLike | Mapping[str, RunLike], name: str | None = None) -> Run:
        """A run under our names of columns, named as ``{name: run}`` names it.

        Raises:
            InputError: what is wrong, with file and line.
            UsageError: several runs by name.
        """
        from rankgate.data.read import is_ranking, read_run

        source = self.run_source(run)
        if not isinstance(source, Mapping) or is_ranking(source):
            return read_run(source, name)
        if len(source) > 1:
            problem = f"{len(source)} runs, where one is taken: {', '.join(map(str, source))}."
            raise UsageError(problem, code="wrong-run-count")
        ((name, rankings),) = source.items()
        return replace(read_run(rankings, name), name=str(name))

    def refuse(self, taker: str, *fields: str) -> None:
        """Check that nothing is stated that changes values and that a verb does not take.

        Args:
            taker: what the error calls the verb.
            fields: of the collection, or of its items, as in ``items.document``.

        Raises:
            UsageError: a field that is stated.
        """
        for name in fields:
            holder, _, inner = name.rpartition(".")
            stated = getattr(self, holder).stated() if holder else self.stated()
            if inner in stated:
                raise UsageError(
                    f"{taker} takes no {inner} of a collection, with which its values would be "
                    "other ones; leave it out.",
                    code="conflicting-options",
                )

    @property
    def frame_columns(self) -> Mapping[str, str] | None:
        """Our names of columns and those of frames, for logs and further runs."""
        column_map = ColumnMap.of(self.columns)
        return column_map.of_frames if column_map else None


def collection_file(source: str | Path) -> Path | None:
    """The TOML file of a collection; None where a path is something else."""
    path = Path(source)
    if path.suffix == ".toml":
        return path
    # unlike `Path.is_file`, this is false for a name that is too long, which readers report
    return path / FILE if os.path.isfile(path / FILE) else None  # noqa: PTH113


def read_collection(path: str | Path) -> Collection:
    """The collection of a TOML file, which has the table ``[collection]``.

    Raises:
        InputError: the file cannot be read, has no such table, or an unknown key or value; with
            its line.
    """
    file = Toml.read(path, code="invalid-collection")
    if _TABLE not in file.values:
        problem = f"no [{_TABLE}] in it, which names the judgments and other tables."
        raise InputError(problem, source=str(path), line=1, code="invalid-collection")
    return collection_in(file)


def collection_in(file: Toml) -> Collection:
    """Read the table ``[collection]``; without one the collection is empty.

    Raises:
        InputError: as `read_collection`.
    """
    table = file.values.get(_TABLE, {})
    fields = {one.name for one in dataclasses.fields(Collection)}
    file.check_keys(table, fields, _TABLE)
    folder = Path(file.source).parent
    values = {key: _value(file, folder, key, value) for key, value in table.items()}
    try:
        return Collection(**values)
    except UsageError as error:
        raise file.error(error.problem, _TABLE) from None


def _value(file: Toml, folder: Path, key: str, value: Any) -> Any:
    """One field of the collection.

    Raises:
        InputError: the value is of another type.
    """
    path = (_TABLE, key)
    if key == "items" and isinstance(value, dict):
        return Items(**_table(file, folder, value, Items, path))
    if key == "predicted":
        table = value if isinstance(value, dict) else {"judgments": value}
        if "judgments" not in table:
            raise file.error("predicted needs judgments, the file of the model's.", *path)
        return Predicted(**_table(file, folder, table, Predicted, path))
    if key == "columns":
        if isinstance(value, str) or _is_texts(value):
            return value
        raise file.error("columns is a text as in query=term,doc=sku, or a table.", *path)
    if key == "grades":
        if isinstance(value, dict):
            return value
        raise file.error("grades is a table of labels, as in { Exact = 3, Partial = 1 }.", *path)
    if key == "items":
        return Items(_located(file, folder, value, path))
    return _plain(file, folder, key, value, path)


def _table(
    file: Toml, folder: Path, table: Mapping[str, Any], kind: type, path: tuple[str, ...]
) -> dict[str, Any]:
    """The fields of a value that is a table in the file."""
    file.check_keys(table, {one.name for one in dataclasses.fields(kind)}, *path)
    return {key: _plain(file, folder, key, value, (*path, key)) for key, value in table.items()}


def _plain(file: Toml, folder: Path, key: str, value: Any, path: Sequence[str]) -> Any:
    """A text, a number, a flag or the path of a file."""
    if key in _FLAGS:
        if isinstance(value, bool):
            return value
        raise file.error(f"{key} is true or false.", *path)
    if key in _TEXTS:
        if isinstance(value, str):
            return value
        raise file.error(f"{key} is a text in quotes.", *path)
    if key == "features":
        if isinstance(value, list) and all(isinstance(name, str) for name in value):
            return tuple(value)
        raise file.error('features is a list of columns, as in ["price"].', *path)
    if key == "catalogue":
        if isinstance(value, int | list) and not isinstance(value, bool):
            return value
        raise file.error("catalogue is the number of items, or a list of their ids.", *path)
    return _located(file, folder, value, path)


def _located(file: Toml, folder: Path, value: Any, path: Sequence[str]) -> str:
    """A file as seen from the current folder; words and patterns as they are."""
    if not isinstance(value, str):
        raise file.error(f"{path[-1]} is the path of a file in quotes.", *path)
    if value in _WORDS or value.startswith("ids:") or "://" in value:
        return value
    form, rest = registry.prefixed(value)
    located = str(folder / rest)
    return f"{form}:{located}" if form else located


def _is_texts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
