"""The design of a sample of judged queries: probabilities, strata, weights."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.foreign_frames import polars_frame
from rankgate.data.id_match import DO_NOT_FIT, IdMatch, IdRules
from rankgate.data.query_tags import read_tag_table, read_tags_file
from rankgate.data.streams.source import open_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.data.input_types import TableLike


RANDOM = "random"
"""The word for a sample in which every query was equally likely."""

_COLUMNS: dict[str, tuple[str, ...]] = {
    "inclusion": ("query_inclusion", "inclusion", "probability"),
    "stratum": ("query_stratum", "stratum"),
    "share": ("stratum_share", "share"),
    "weight": ("weight", "frequency", "count", "size", "traffic"),
}

_DOC_COLUMNS = ("doc_id", "document", "docid", "docno")
_DOCUMENT_INCLUSION = ("inclusion", "probability")
"""Columns that belong to a document, if rows are documents."""

_EXTRA_COLUMNS = {"query_inclusion": pl.Float64, "batch": pl.Int64}
"""Further columns that are kept for a row of a document."""


@dataclass(frozen=True)
class Sample:
    """The design by which queries were sampled.

    Attributes:
        source: the file, or random.
        table: ``query_id``, ``weight`` (how much a query counts), ``inclusion`` (its chance to be
            drawn, null where it is not known), ``stratum`` (null without strata); None where
            every query was equally likely and counts as much as any other.
        population: the total weight of all queries that could be drawn, for Horvitz and Thompson's
            estimate instead of Hájek's; None if not given.
        documents: ``query_id``, ``doc_id`` and ``inclusion`` of the documents drawn to be judged,
            where people judged a part of those of each query; the document is null where none of
            a query was drawn. None where they judged all.
    """

    source: str
    table: pl.DataFrame | None = None
    population: float | None = None
    documents: pl.DataFrame | None = None

    @classmethod
    def read(cls, source: Sample | TableLike, ids: str | None = None) -> Sample:
        """Read the word random, a table, or its file: CSV, TSV or JSONL, such as a pool's.

        A table has ``query_id`` and some of these columns: ``query_inclusion`` (or inclusion,
        probability), ``query_stratum`` (or stratum), ``stratum_share`` (the share of the stratum in
        the population), ``weight`` (or frequency, count, size, traffic), ``population`` (the total
        weight of all queries, equal in all rows). Rows of one query have equal values.

        A table with ``doc_id`` has one row per drawn document, with the probability of that
        document in ``inclusion`` (or probability); a query without drawn documents has one row
        without a document.

        Args:
            source: the word, the table or its file.
            ids: the spellings of its ids, as in ``Collection.ids``.

        Raises:
            InputError: a table cannot be read, or does not describe the sampling of queries;
                probabilities are outside (0, 1], or weights or shares are below 0.
        """
        if isinstance(source, Sample):
            return source
        if isinstance(source, str) and source == RANDOM:
            return cls(RANDOM)
        label, table = _read_table(source)
        if ids and "query_id" in table.columns:
            table = IdRules.read(ids).table(table.cast({"query_id": pl.String}))
        documents = _document_rows(table, label)
        if documents is not None:
            if documents["doc_id"].null_count() == 0 and (documents["inclusion"] == 1).all():
                documents = None  # all documents were drawn
            if len(_query_rows(table).columns) == 1:
                return cls(label, documents=documents)
        if "doc_id" in table.columns:
            table = _query_rows(table)
        return cls(label, _check_table(table, label), _read_population(table, label), documents)

    def weights(
        self, query_ids: Sequence[str], *, part: bool = False
    ) -> tuple[Floats | None, NDArray[np.int64] | None]:
        """The weight of each query of the sample divided by its probability, and its stratum.

        The share of a stratum is divided among these queries. If they are a part of the sample,
        such as a slice, it is divided among all queries of the table.

        Raises:
            InputError: a query is not in the table.
        """
        if self.table is None:
            return None, None
        sampled_rows = self._rows(query_ids)
        v = sampled_rows["weight"].to_numpy() / sampled_rows["inclusion"].fill_null(1.0).to_numpy()
        if sampled_rows["stratum"].null_count() == len(sampled_rows):
            return v, None
        names = sampled_rows["stratum"].fill_null("")
        codes = names.rank("dense").to_numpy().astype(np.int64) - 1
        stratum_shares = sampled_rows["share"].to_numpy()
        if not np.isnan(stratum_shares).any():  # each stratum counts with its share
            all_weights = self.weights(self.table["query_id"].to_list())[0] if part else None
            if all_weights is not None:
                assert self.table is not None
                row_of_query = {query: row for row, query in enumerate(self.table["query_id"].to_list())}
                return all_weights[[row_of_query[query] for query in query_ids]], codes
            v = v * stratum_shares / np.bincount(codes, v)[codes]
        return v, codes

    def certain(self, query_ids: Sequence[str]) -> NDArray[np.bool_] | None:
        """True for queries with probability 1; None if this is true for all or no queries."""
        if self.table is None:
            return None
        is_certain = (self._rows(query_ids)["inclusion"] == 1).fill_null(value=False).to_numpy()
        return None if is_certain.all() or not is_certain.any() else is_certain

    def sizes(self, query_ids: Sequence[str]) -> Floats:
        """The weight of each query in the population.

        Raises:
            InputError: the weight of a query is unknown, and weights differ.
        """
        if self.table is None or self.table["weight"].n_unique() == 1:
            return np.ones(len(query_ids))
        return self._rows(query_ids)["weight"].to_numpy()

    def _rows(self, query_ids: Sequence[str]) -> pl.DataFrame:
        assert self.table is not None
        requested = pl.DataFrame({"query_id": query_ids}, schema={"query_id": pl.String})
        sampled_rows = requested.join(self.table, on="query_id", how="left", maintain_order="left")
        if sampled_rows["weight"].null_count():
            match = IdMatch.from_ids(requested["query_id"], self.table["query_id"])
            if match.nearly_fits:
                problem = (
                    f"{match.sentence('query', 'the judgments', 'the sample')}; {match.remedy('query')}."
                )
                raise InputError(problem, source=self.source, code=DO_NOT_FIT)
            query = sampled_rows.filter(pl.col("weight").is_null())["query_id"][0]
            problem = f"query {query!r} is judged and is not in the sample; add its row."
            raise InputError(problem, source=self.source, code="sample-lacks-query")
        return sampled_rows


def sampled_documents(source: TableLike) -> tuple[str, pl.DataFrame | None]:
    """The name of a sample, and its documents in batches; None if it has no documents.

    Raises:
        InputError: see `Sample.of`.
    """
    label, table = _read_table(source)
    return label, _document_rows(table, label)


def _read_table(source_table: TableLike) -> tuple[str, pl.DataFrame]:
    if not isinstance(source_table, str | Path):
        label, table = "sample", polars_frame(source_table, "sample")
    elif {".jsonl", ".ndjson"} & {*Path(source_table).suffixes}:
        label, table = str(source_table), read_tags_file(source_table)
    else:
        label, table = str(source_table), read_tag_table(open_source(source_table))
    doc_column = next((name for name in _DOC_COLUMNS if name in table.columns), "doc_id")
    return label, table.rename({doc_column: "doc_id"}, strict=False)


def _query_rows(table: pl.DataFrame) -> pl.DataFrame:
    """One row per query, from a table of documents with the probability of each document."""
    names = ("query_id", "population", *(name for alternatives in _COLUMNS.values() for name in alternatives))
    query_columns = [name for name in names if name in table.columns and name not in _DOCUMENT_INCLUSION]
    if "query_stratum" in query_columns or "stratum_share" not in query_columns:
        query_columns = [name for name in query_columns if name != "stratum"]  # in a pool: of ranks
    return table.select(query_columns).unique(maintain_order=True)


def _document_rows(table: pl.DataFrame, source: str) -> pl.DataFrame | None:
    """The sampled documents; None if the table has no documents.

    Raises:
        InputError: a probability is outside (0, 1], or a document is repeated.
    """
    inclusion_column = next((name for name in _DOCUMENT_INCLUSION if name in table.columns), None)
    if "doc_id" not in table.columns or inclusion_column is None:
        return None
    text = pl.col("doc_id").cast(pl.String)
    documents = table.select(
        pl.col("query_id").cast(pl.String),
        pl.when(text != "").then(text).alias("doc_id"),
        pl.col(inclusion_column).cast(pl.Float64, strict=False).alias("inclusion"),
        *(
            pl.col(name).cast(type_, strict=False)
            for name, type_ in _EXTRA_COLUMNS.items()
            if name in table.columns
        ),
    )
    value = pl.col("inclusion").fill_null(float("nan"))
    wrong_rows = documents.with_row_index("row").filter(
        pl.col("doc_id").is_not_null() & ~((value > 0) & (value <= 1))
    )
    if len(wrong_rows):
        row_number, query, document, inclusion = wrong_rows.row(0)[:4]
        problem = (
            f"document {document!r} of query {query!r}: {inclusion_column} is {inclusion}, not a probability "
            "above 0 and at most 1."
        )
        raise InputError(problem, source=source, line=row_number + 2, code="out-of-range")
    repeated = documents.filter(pl.struct("query_id", "doc_id").is_duplicated())
    if len(repeated):
        query, document = repeated.row(0)[:2]
        problem = f"document {document!r} of query {query!r} has two rows; keep one."
        raise InputError(problem, source=source, code="duplicate-document")
    return documents


def _check_table(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """The table with our column names.

    Raises:
        InputError: a column is missing or wrong.
    """
    source_columns = {
        column: next((name for name in names if name in table.columns), None)
        for column, names in _COLUMNS.items()
    }
    if "query_id" not in table.columns or not any(source_columns.values()):
        problem = (
            "a sample needs query_id and one of query_inclusion, query_stratum with stratum_share, or "
            "weight; see rankgate pool --queries."
        )
        raise InputError(problem, source=source, line=1, code="missing-column")
    if source_columns["stratum"] and not (source_columns["inclusion"] or source_columns["share"]):
        problem = "strata need query_inclusion, or stratum_share: how large each of them is."
        raise InputError(problem, source=source, line=1, code="missing-column")
    columns: list[Any] = [pl.col("query_id").cast(pl.String)]
    for column in ("inclusion", "share", "weight"):
        source_column, default = source_columns[column], 1.0 if column == "weight" else None
        columns.append(
            (pl.col(source_column).cast(pl.Float64, strict=False) if source_column else pl.lit(default))
            .cast(pl.Float64)
            .alias(column)
        )
    stratum = source_columns["stratum"]
    columns.append(
        (pl.col(stratum).cast(pl.String) if stratum else pl.lit(None, dtype=pl.String)).alias("stratum")
    )
    sample_table = table.select(columns)
    _check_values(sample_table, source_columns, source)
    return sample_table


def _read_population(table: pl.DataFrame, source: str) -> float | None:
    """The total weight of all queries.

    Raises:
        InputError: the rows differ, or the value is not a number above 0.
    """
    if "population" not in table.columns:
        return None
    sizes = table["population"].cast(pl.Float64, strict=False).unique().to_list()
    if len(sizes) != 1 or sizes[0] is None or not 0 < sizes[0] < float("inf"):
        problem = "population is one number above 0, the same in all rows."
        raise InputError(problem, source=source, line=2, code="out-of-range")
    return float(sizes[0])


def _check_values(sample_table: pl.DataFrame, source_columns: dict[str, str | None], source: str) -> None:
    for column, low, expectation in (
        ("inclusion", 0.0, "a probability above 0 and at most 1"),
        ("weight", 0.0, "a number above 0"),
        ("share", 0.0, "a share above 0 and at most 1"),
    ):
        if source_columns[column] is None:
            continue
        high = sys.float_info.max if column == "weight" else 1.0
        value = pl.col(column).fill_null(float("nan"))
        wrong_rows = sample_table.with_row_index("row").filter(~((value > low) & (value <= high)))
        if len(wrong_rows):
            row = wrong_rows.row(0, named=True)
            problem = (
                f"query {row['query_id']!r}: {source_columns[column]} is {row[column]}, not {expectation}."
            )
            raise InputError(problem, source=source, line=row["row"] + 2, code="out-of-range")
    repeated = sample_table.filter(pl.col("query_id").is_duplicated())
    if len(repeated):
        problem = f"query {repeated['query_id'][0]!r} has two rows that differ; keep one."
        raise InputError(problem, source=source, code="duplicate-query")


def check_predicted_sample(predicted: object | None, sample: Sample | None) -> None:
    """Check that predictions come with a sample, and sampled documents with predictions.

    Raises:
        UsageError: an input is missing; the message names it.
    """
    if predicted is not None and sample is None:
        raise UsageError(
            "predicted judgments help only if the queries that people judged are a random sample; state how "
            "it was drawn: --sample random, or --sample FILE with query_inclusion, as rankgate pool "
            "--queries writes it.",
            code="missing-input",
        )
    if predicted is None and sample is not None and sample.documents is not None:
        raise UsageError(
            f"{sample.source}: documents were sampled too, so that most of each list is unjudged; with a "
            "model's judgments (--predicted), people's judgments correct it in compare and gate; without a "
            "model, estimate with rankgate eval -m infAP (rankgate pool --rest).",
            code="sampled-documents",
        )
