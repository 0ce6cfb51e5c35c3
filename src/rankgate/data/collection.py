"""The test collection: judgments, and data on queries, documents and users.

Every verb measures against a `Collection`. It stores the sources of its tables and the options to
read
them; rows are read when a verb needs them.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast, get_args

from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import ByContent, dataclass
from rankgate.data.adapters import is_ranking, read_rankings, repeatable
from rankgate.data.collection_fields import RESERVED_TEXTS, TABLE_KINDS, field_kinds, json_schema, read_field
from rankgate.data.column_map import ColumnMap, map_columns
from rankgate.data.formats import registry
from rankgate.data.id_match import IdRules
from rankgate.data.spark_tables import SparkTable, is_on_spark

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject
    from rankgate.data.input_types import ColumnsLike, QrelsLike, RunLike, RunsLike, TableLike, TagsLike
    from rankgate.data.logs.interactions import LogLike
    from rankgate.data.logs.item_tables import DescribedTable
    from rankgate.data.qrels import Qrels
    from rankgate.data.query_sample import Sample
    from rankgate.data.run import Run
    from rankgate.data.seal import Seal

UNKNOWN = "unknown"
"""The word for a model if it is unknown which judgments of people the model saw."""

CANDIDATES = "candidate_items"
"""The parameter of commands for `Collection.candidates`: some have candidates that are runs."""

FILE = "collection.toml"
"""The file of a folder that holds a collection."""


TASK_FIELDS = ("sequences", "items.document")
"""Fields that make values those of tasks of several rankings, or of documents of passages."""

SAMPLE_FIELDS = ("sample", "predicted")
"""Fields that make means those of the population of queries that was sampled."""

Selection = Literal["unknown", "random", "pooled", "complete", "sparse"]
"""The ways to choose documents for judging: unknown, by chance, or from lists of systems."""

SETTLED: Mapping[Selection, str] = {
    "complete": "judgments are complete: unjudged documents are irrelevant",
    "sparse": "judgments are sparse: the decision is about the judged documents alone",
}
"""The selections under which unjudged documents leave nothing open, and what they mean."""

SELECTIONS: tuple[Selection, ...] = get_args(Selection)

_TABLE = "collection"
_NOT_FILES = frozenset({"random", "none", UNKNOWN, "-"})
"""Texts that are accepted instead of a file."""


class _FieldValue(ByContent):
    """A base class whose repr shows only the fields that were set."""

    def __repr__(self) -> str:
        field_texts = [f"{name}={_short_text(value)}" for name, value in self.stated().items()]
        return f"{type(self).__name__}({', '.join(field_texts)})"

    def stated(self) -> dict[str, Any]:
        """The fields that differ from their defaults."""
        return {
            field_.name: value
            for field_ in dataclasses.fields(cast("Any", self))
            if not _is_default(value := getattr(self, field_.name), field_)
        }

    def filled(self, defaults: Self) -> Self:
        """The same value, with unset fields taken from another value."""
        return cast("Self", replace(cast("Any", defaults), **self.stated()))

    def located(self, locate: Callable[[str, str], Any]) -> Self:
        """The same value, with the names of tables replaced by the tables.

        Args:
            locate: a function that returns the table of a kind (one of ``TABLES``) and a name.
        """
        tables: dict[str, Any] = {}
        for name, kind in field_kinds(cast("Any", type(self))).items():
            value = getattr(self, name)
            if isinstance(value, _FieldValue):
                tables[name] = value.located(locate)
            elif kind in TABLE_KINDS and isinstance(value, str) and value not in RESERVED_TEXTS.get(name, ()):
                tables[name] = locate(kind, value)
        return cast("Self", replace(cast("Any", self), **tables))


def _is_default(value: object, field_: dataclasses.Field[Any]) -> bool:
    """True if a field has its default value; always false for frames and arrays."""
    if isinstance(value, _FieldValue):
        return not value.stated()
    is_empty = isinstance(value, tuple | Mapping) and not value and field_.name != "judgments"
    return value is field_.default or is_empty


def _short_text(value: object) -> str:
    """A short text for a value: tables and dictionaries by their type and size."""
    if isinstance(value, str | Path | int | bool | _FieldValue | SparkTable):
        return repr(str(value)) if isinstance(value, Path) else repr(value)
    if isinstance(value, tuple) and len(repr(value)) < 80:
        return repr(value)
    size = getattr(value, "shape", None) or (len(value) if hasattr(value, "__len__") else "")
    return f"<{type(value).__name__} {size}>".replace(" >", ">")


_LOCAL_TABLES = ("tags", "sample", "sequences", "candidates", "reference")
"""Tables that are not read by Spark, but sent to executors if judgments or runs are there."""


def _refuse_spark(**tables: object) -> None:
    """Check that tables are not on Spark; a Spark source has its judgments and runs on Spark.

    Raises:
        UsageError: a table is on Spark; the message names it.
    """
    for name, table in tables.items():
        if is_on_spark(table):
            raise UsageError(
                f"{name}: {table!r:.80} is on Spark, but only judgments, runs, training, items and users can "
                "be there; give a file, or a frame such as frame.toArrow(), which is sent to executors.",
                code="on-spark",
            )


@dataclass(frozen=True, repr=False)
class Items(_FieldValue):
    """A table of items, documents or passages, and the role of its columns.

    Attributes:
        table: A table of items: item_id and columns.
        features: Item columns with numbers (features).
        category: The item column with categories; several are separated by bars.
        group: The item column with groups, for fairness of exposure.
        length: The item column with lengths of passages in tokens.
        document: The item column with the document that contains each passage; with judgments of
            documents, rankings of passages become rankings of documents.
        catalogue: The number of items, which are then numbered from 0, or their ids. Items outside
            count for nothing in metrics of lists. Without it the table is the catalogue, and
            without both the items of training and judgments are.
    """

    table: TableLike | DescribedTable | None = None
    _: KW_ONLY
    features: Sequence[str] = ()
    category: str | None = None
    group: str | None = None
    length: str | None = None
    document: str | None = None
    catalogue: int | Iterable[object] | None = None

    def __post_init__(self) -> None:
        feature_names = (self.features,) if isinstance(self.features, str) else self.features
        self.__dict__["features"] = tuple(feature_names)
        self.__dict__["table"] = repeatable(self.table, "items")


@dataclass(frozen=True, repr=False)
class Predicted(_FieldValue):
    """A model's judgments of all queries, and people's judgments that the model saw.

    Attributes:
        judgments: A model's judgments of all queries; people's judgments of a sample of the
            queries correct the bias of the model.
        saw: People's judgments that the model saw, as examples or in training: a table, none, or
            unknown; their queries are left out, as they do not correct the model. Or sealed: a
            project of a store shows that the model judged before people did.
    """

    judgments: QrelsLike
    saw: QrelsLike | Seal = UNKNOWN

    def __post_init__(self) -> None:
        _refuse_spark(predicted=self.judgments, saw=self.saw)
        for name in ("judgments", "saw"):
            self.__dict__[name] = repeatable(getattr(self, name), name)


@dataclass(frozen=True, repr=False)
class Collection(_FieldValue):
    """Judgments, and what is known of queries, documents and users.

    Constructing one reads nothing but what is declared; verbs read the rows that they need, and
    report errors in them with file and line.

    Attributes:
        judgments: Judgments: a path, a frame (Polars, pandas, Arrow), ``{query: {doc: grade}}``,
            ``{query: {doc, …}}``; a matrix of grades (NumPy, SciPy, torch, jax, DLPack) with a row
            a query, or ``rankgate.Lists`` of items by number; a Spark DataFrame or
            ``rankgate.spark.table``, with which verbs measure on Spark.
        name: The name of the collection in results; by default the name of the judgments.
        ids: How ids that nearly fit are made to meet: trim, percent, nfc, nfkc, underscore, hyphen,
            case, point-zero, zeros, prefix:TEXT, suffix:TEXT, several separated by commas; doc=zeros
            for ids of documents; as-they-are accepts ids that do not fit.
        columns: The columns of CSV and TSV files and frames that have no usual name, as in
            query=search_term,doc=sku,grade=final_rating; runs are read by them too. Lists and keys
            inside JSON are paths: query=inputs.query,docs=outputs.documents,doc=metadata.doc_id;
            relevant is the list in judgments.
        grades: The grade of each label, where judgments hold labels, as in Exact=3,Partial=1.
        tags: A table with query_id and columns of tags (head or tail, intent, cluster); a file of
            features, whose tag feature_7 is the quarter of the queries by the mean of feature 7;
            or ids:PATTERN, a regular expression whose named groups are tags of the ids that fit.
        items: The table of items; `Items` names its columns.
        users: A table of users: user_id and columns.
        sample: The sample design of the judged queries: random (equal probabilities), or a table
            with query_id and query_inclusion (the probability), query_stratum or weight, such as a
            pool's. Means are then estimates for the queries that were sampled from, with 95%
            intervals.
        selection: The selection of the judged documents: "random", so that unjudged ones are like
            them; "pooled" from the lists of other systems, so that unjudged ones are worse;
            "complete": all were looked at, so that unjudged ones are irrelevant; "sparse": a known
            answer or two for each query, so that decisions are about these alone; "unknown" (the
            default) assumes random and pooled in half of the draws each.
        predicted: A model's judgments of all queries, which people's judgments of a sample of the
            queries correct.
        training: The training log of the systems, or a matrix in which 0 is nothing.
        sequences: The rankings that belong together (sessions, variations of a topic), so that
            values are of tasks: a table with query_id, sequence (or session, conversation, topic)
            and optionally position; or ids:PATTERN with these names as groups.
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
    ids: str | None = None
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
        ColumnMap.read(self.columns)  # an invalid map is an error now, not at the first use
        IdRules.read(self.ids)
        grades: Mapping[str, Any] = self.grades
        if {"unrated", None} & {*grades.values()}:
            self.__dict__["grades"] = {
                label: math.nan if grade in {"unrated", None} else grade for label, grade in grades.items()
            }
        for label, grade in self.grades.items():
            if isinstance(grade, bool) or not isinstance(grade, int | float):
                problem = f"grades: {label} is {grade!r}, which is not a number."
                raise UsageError(problem, code="not-a-number")
        if self.selection is not None and self.selection not in SELECTIONS:
            problem = f"unknown selection {self.selection!r}; known: {', '.join(SELECTIONS)}."
            raise UsageError(problem, code="unknown-choice")
        _refuse_spark(**{name: getattr(self, name) for name in _LOCAL_TABLES})
        if not isinstance(self.items, Items):
            self.__dict__["items"] = Items(self.items)
        if self.predicted is not None and not isinstance(self.predicted, Predicted):
            self.__dict__["predicted"] = Predicted(self.predicted)
        for name, value in self.stated().items():
            self.__dict__[name] = repeatable(value, name)  # verbs read a collection several times

    def filled(self, defaults: Self) -> Self:
        """The same collection with another one's fields in place of its defaults."""
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
    def stated_judgments(self) -> Any:
        """The judgments as they were given.

        Raises:
            UsageError: the collection has none.
        """
        if self.judgments is None:
            raise UsageError("judgments are missing; give them first.", code="missing-input")
        return self.judgments

    @property
    def judgments_source(self) -> Any:
        """The judgments with our column names and grades for labels; read only if needed.

        Raises:
            InputError: a column that is not there, a label without a grade; with file and line.
            UsageError: the collection has no judgments, or has them on Spark.
        """
        judgments = read_rankings(self.stated_judgments, "qrels", self.doc_field, self._column("query_id"))
        if self.grades:
            from rankgate.data.labelled_judgments import graded_judgments

            judgments = graded_judgments(judgments, self.columns, self.grades)
        else:
            judgments = map_columns(judgments, self.columns, "qrels")
        if self.ids:
            from rankgate.data.read import read_qrels

            return IdRules.read(self.ids).qrels(read_qrels(judgments, subtopics=True))
        return judgments

    def qrels(self, *, subtopics: bool = False) -> Qrels:
        """The judgments as a table.

        Args:
            subtopics: True if judgments by subtopic are taken; otherwise they are an error.

        Raises:
            InputError, UsageError: as `judgments_source` and ``read_qrels``.
        """
        from rankgate.data.read import read_qrels

        qrels = read_qrels(self.judgments_source, subtopics=subtopics)
        return replace(qrels, name=self.name) if self.name else qrels

    def run_source(self, run: RunsLike) -> Any:
        """A run or several with our column names.

        Raises:
            InputError: a column that is not there; with file and line.
        """
        rankings = read_rankings(run, "run", self.doc_field, self._column("query_id"))
        source = map_columns(rankings, self.columns, "run")
        if not self.ids:
            return source
        from rankgate.data.foreign_frames import named_runs
        from rankgate.data.read import read_run

        rules = IdRules.read(self.ids)
        runs = [
            (name, rules.run(read_run(run, f"run{number}" if name is None else str(name))))
            for number, (name, run) in enumerate(named_runs(source), 1)
        ]
        if any(name is not None for name, _ in runs):
            return dict(runs)
        return runs[0][1] if len(runs) == 1 else [run for _, run in runs]

    @property
    def doc_field(self) -> str | None:
        """The document column that the user named, which is a field in the answers of engines."""
        return self._column("doc_id")

    def _column(self, column: str) -> str | None:
        """The column of the user for one of our columns."""
        column_map = ColumnMap.read(self.columns)
        return None if column_map is None else column_map.theirs.get(column)

    def run(self, run: RunLike | Mapping[str, RunLike], name: str | None = None) -> Run:
        """A run with our column names, with the name in ``{name: run}``.

        Raises:
            InputError: a file cannot be read; the message names file and line.
            UsageError: several runs by name.
        """
        from rankgate.data.read import read_run

        source = self.run_source(run)
        if not isinstance(source, Mapping) or is_ranking(source):
            return read_run(source, name)
        if len(source) > 1:
            problem = f"{len(source)} runs, where one is needed: {', '.join(map(str, source))}."
            raise UsageError(problem, code="wrong-run-count")
        ((name, rankings),) = source.items()
        return replace(read_run(rankings, name), name=str(name))

    def seed_runs(self, run: Run) -> list[Run]:
        """The run of each seed of a system; the run itself if it has no others.

        Raises:
            InputError, UsageError: as `run`.
        """
        if not run.seeds:
            return [run]
        runs = [replace(run, seeds=()), *map(self.run, run.seeds)]
        return [
            replace(seed_run, name=f"{run.name} (seed {number})") for number, seed_run in enumerate(runs, 1)
        ]

    def refuse(self, taker: str, *fields: str) -> None:
        """Check that no field is set that changes values and that a verb does not support.

        Args:
            taker: the name of the verb in the error.
            fields: the fields of the collection, or of its items, as in ``items.document``.

        Raises:
            UsageError: a field that is stated.
        """
        for name in fields:
            holder, _, inner = name.rpartition(".")
            set_fields = getattr(self, holder).stated() if holder else self.stated()
            if inner in set_fields:
                raise UsageError(
                    f"{taker} does not support the collection's {inner}, which would change its values; "
                    "leave it out.",
                    code="conflicting-options",
                )

    @property
    def frame_columns(self) -> Mapping[str, str] | None:
        """Our column names and those of frames, for logs and further runs."""
        column_map = ColumnMap.read(self.columns)
        return column_map.of_frames if column_map else None


def collection_file(source: str | Path) -> Path | None:
    """The TOML file of a collection; None if the path is another kind of file."""
    path = Path(source)
    if path.suffix == ".toml":
        return path
    # unlike `Path.is_file`, this is false for a name that is too long, which readers report
    return path / FILE if os.path.isfile(path / FILE) else None  # noqa: PTH113


def read_collection(path: str | Path) -> Collection:
    """The collection in the table ``[collection]`` of a TOML file.

    Raises:
        InputError: the file cannot be read, has no such table, or has an unknown key or value; the
            message has the line.
    """
    file = TomlFile.read(path, code="invalid-collection")
    if _TABLE not in file.values:
        problem = f"no [{_TABLE}] in it, which names the judgments and other tables."
        raise InputError(problem, source=str(path), line=1, code="invalid-collection")
    return read_collection_table(file)


def read_collection_table(file: TomlFile) -> Collection:
    """Read the table ``[collection]``; the collection is empty if the file has no such table.

    Raises:
        InputError: see `read_collection`.
    """
    folder = Path(file.source).parent
    return _parse_collection(file, rows=False).located(lambda _, text: _join_folder(folder, text))


def parse_collection(values: object, locate: Callable[[str, str], Any]) -> Collection:
    """The collection in a JSON object with the fields of a collection.

    Tables are arrays of rows, or texts that name them; judgments and runs may be
    ``{query: {doc: number}}``.

    Args:
        values: the object.
        locate: a function that returns the table for a kind (one of ``TABLES``) and a text.

    Raises:
        InputError: a field is unknown, or a value has another type.
    """
    file = TomlFile({_TABLE: values}, "request", {}, code="invalid-collection")
    return _parse_collection(file, rows=True).located(locate)


def _parse_collection(file: TomlFile, *, rows: bool) -> Collection:
    """The collection in a file; texts that name tables are unchanged, or replaced by their rows.

    Raises:
        InputError: a key is unknown, or a value has another type; the message has the line.
    """
    values = _parse_fields(file, file.values.get(_TABLE, {}), Collection, (_TABLE,), rows=rows)
    try:
        return Collection(**values)
    except UsageError as error:
        raise file.error(error.problem, _TABLE) from None


def _parse_fields(
    file: TomlFile, table: JsonObject, value: type, path: tuple[str, ...], *, rows: bool
) -> dict[str, Any]:
    """The fields of a value that is a table in the file."""
    kinds = field_kinds(value)
    file.check_keys(table, kinds, *path)
    return {key: _parse_value(file, kinds[key], table[key], (*path, key), rows=rows) for key in table}


def _parse_value(file: TomlFile, kind: str, value: Any, path: tuple[str, ...], *, rows: bool) -> Any:
    """One field of a collection.

    Raises:
        InputError: the value has another type.
    """
    if kind == "items":
        if isinstance(value, dict):
            return Items(**_parse_fields(file, value, Items, path, rows=rows))
        return Items(read_field(file, "table", value, path, rows=rows))
    if kind == "predicted":
        table = value if isinstance(value, dict) else {"judgments": value}
        if "judgments" not in table:
            raise file.error("predicted needs judgments, the file of the model's.", *path)
        return Predicted(**_parse_fields(file, table, Predicted, path, rows=rows))
    return read_field(file, kind, value, path, rows=rows)


def _join_folder(folder: Path, text: str) -> str:
    """The path of a file in a folder, from the current folder; words and patterns are unchanged."""
    if text in _NOT_FILES or text.startswith("ids:") or "://" in text:
        return text
    format_name, path_part = registry.split_prefix(text)
    joined_path = str(folder / path_part)
    return f"{format_name}:{joined_path}" if format_name else joined_path


def collection_schema() -> JsonObject:
    """The JSON schema of the object that `parse_collection` accepts."""
    return json_schema(Collection, {"items": Items, "predicted": Predicted})
