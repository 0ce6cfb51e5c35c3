"""How the judged queries were drawn from those that matter: probabilities, strata, weights."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.dataframes import polars_frame
from rankgate.data.formats.tags import table_of, tags_from
from rankgate.data.streams.source import source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankgate.data.inputs import TableLike

    Floats = NDArray[np.float64]

RANDOM = "random"
"""Every query had the same chance to be drawn."""

_COLUMNS: dict[str, tuple[str, ...]] = {
    "inclusion": ("query_inclusion", "inclusion", "probability"),
    "stratum": ("query_stratum", "stratum"),
    "share": ("stratum_share", "share"),
    "weight": ("weight", "frequency", "count", "size", "traffic"),
}

_DOCUMENT = ("doc_id", "document", "docid", "docno")
_OF_DOCUMENTS = ("inclusion", "probability")
"""What of these columns is a document's, where a row is one."""

_EXTRA = {"query_inclusion": pl.Float64, "batch": pl.Int64}
"""What else is kept of a row of a document."""


@dataclass(frozen=True)
class Sample:
    """What is known of how queries were drawn.

    Attributes:
        source: the file, or random.
        table: ``query_id``, ``weight`` (how much a query counts), ``inclusion`` (its chance to be
            drawn, null where it is not known), ``stratum`` (null without strata); None where
            every query had the same chance and counts as much as any other.
        population: what all queries that could be drawn count, for Horvitz and Thompson's estimate
            instead of Hájek's; None where it is not said.
        documents: ``query_id``, ``doc_id`` and ``inclusion`` of the documents drawn to be judged,
            where people judged a part of those of each query; the document is null where none of
            a query was drawn. None where they judged all.
    """

    source: str
    table: pl.DataFrame | None = None
    population: float | None = None
    documents: pl.DataFrame | None = None

    @classmethod
    def of(cls, given: Sample | TableLike) -> Sample:
        """From the word random, a table, or its file: CSV, TSV or JSONL, such as a pool's.

        A table has ``query_id`` and some of ``query_inclusion`` (or inclusion, probability),
        ``query_stratum`` (or stratum), ``stratum_share`` (the share of the population that a
        stratum is), ``weight`` (or frequency, count, size, traffic), ``population`` (the sum of
        what all queries count, the same in all rows). Rows of one query agree.

        A table with ``doc_id`` has one row a document that was drawn, with the chance of that
        document in ``inclusion`` (or probability); a query of which none was drawn has one row
        without a document.

        Raises:
            InputError: a table that cannot be read, or that says nothing of how queries were
                drawn; probabilities outside (0, 1], weights or shares below 0.
        """
        if isinstance(given, Sample):
            return given
        if isinstance(given, str) and given == RANDOM:
            return cls(RANDOM)
        label, table = _read(given)
        documents = _documents(table, label)
        if documents is not None:
            if documents["doc_id"].null_count() == 0 and (documents["inclusion"] == 1).all():
                documents = None  # all were drawn
            if len(_queries(table).columns) == 1:
                return cls(label, documents=documents)
        if "doc_id" in table.columns:
            table = _queries(table)
        return cls(label, _checked(table, label), _population(table, label), documents)

    def weights(
        self, query_ids: Sequence[str], *, part: bool = False
    ) -> tuple[Floats | None, NDArray[np.int64] | None]:
        """The weight of each query of the sample, divided by its chance; and its stratum.

        Shares of strata are divided among these queries; where they are a part of the sample, such
        as a slice, among all queries of the table.

        Raises:
            InputError: a query that the table lacks.
        """
        if self.table is None:
            return None, None
        own = self._rows(query_ids)
        v = own["weight"].to_numpy() / own["inclusion"].fill_null(1.0).to_numpy()
        if own["stratum"].null_count() == len(own):
            return v, None
        names = own["stratum"].fill_null("")
        codes = names.rank("dense").to_numpy().astype(np.int64) - 1
        shares = own["share"].to_numpy()
        if not np.isnan(shares).any():  # each stratum counts as its share says
            whole = self.weights(self.table["query_id"].to_list())[0] if part else None
            if whole is not None:
                return whole[self._places(query_ids)], codes
            v = v * shares / np.bincount(codes, v)[codes]
        return v, codes

    def certain(self, query_ids: Sequence[str]) -> NDArray[np.bool_] | None:
        """True for queries that were certain to be drawn; None where all or no queries were."""
        if self.table is None:
            return None
        sure = (self._rows(query_ids)["inclusion"] == 1).fill_null(value=False).to_numpy()
        return None if sure.all() or not sure.any() else sure

    def sizes(self, query_ids: Sequence[str]) -> Floats:
        """How much each query of the population counts.

        Raises:
            InputError: a query of unknown weight, where weights differ.
        """
        if self.table is None or self.table["weight"].n_unique() == 1:
            return np.ones(len(query_ids))
        return self._rows(query_ids)["weight"].to_numpy()

    def _places(self, query_ids: Sequence[str]) -> list[int]:
        assert self.table is not None
        place = {query: row for row, query in enumerate(self.table["query_id"].to_list())}
        return [place[query] for query in query_ids]

    def _rows(self, query_ids: Sequence[str]) -> pl.DataFrame:
        assert self.table is not None
        asked = pl.DataFrame({"query_id": query_ids}, schema={"query_id": pl.String})
        own = asked.join(self.table, on="query_id", how="left", maintain_order="left")
        if own["weight"].null_count():
            query = own.filter(pl.col("weight").is_null())["query_id"][0]
            problem = f"query {query!r} is judged and is not in the sample; add its row."
            raise InputError(problem, source=self.source, code="sample-lacks-query")
        return own


def documents_drawn(given: TableLike) -> tuple[str, pl.DataFrame | None]:
    """The name of a sample, and its documents, ``batch`` by batch; None where it has none.

    Raises:
        InputError: as `Sample.of`.
    """
    label, table = _read(given)
    return label, _documents(table, label)


def _read(given: TableLike) -> tuple[str, pl.DataFrame]:
    if not isinstance(given, str | Path):
        label, table = "sample", polars_frame(given, "sample")
    elif {".jsonl", ".ndjson"} & {*Path(given).suffixes}:
        label, table = str(given), tags_from(given)
    else:
        label, table = str(given), table_of(source(given))
    theirs = next((name for name in _DOCUMENT if name in table.columns), "doc_id")
    return label, table.rename({theirs: "doc_id"}, strict=False)


def _queries(table: pl.DataFrame) -> pl.DataFrame:
    """One row a query, of a table with one a document, whose inclusion is the document's."""
    names = ("query_id", "population", *(name for some in _COLUMNS.values() for name in some))
    own = [name for name in names if name in table.columns and name not in _OF_DOCUMENTS]
    if "query_stratum" in own or "stratum_share" not in own:
        own = [name for name in own if name != "stratum"]  # a pool's, of ranks
    return table.select(own).unique(maintain_order=True)


def _documents(table: pl.DataFrame, source: str) -> pl.DataFrame | None:
    """The documents drawn; None where the table has no documents.

    Raises:
        InputError: a chance outside (0, 1], a document twice.
    """
    chance = next((name for name in _OF_DOCUMENTS if name in table.columns), None)
    if "doc_id" not in table.columns or chance is None:
        return None
    text = pl.col("doc_id").cast(pl.String)
    own = table.select(
        pl.col("query_id").cast(pl.String),
        pl.when(text != "").then(text).alias("doc_id"),
        pl.col(chance).cast(pl.Float64, strict=False).alias("inclusion"),
        *(
            pl.col(name).cast(type_, strict=False)
            for name, type_ in _EXTRA.items()
            if name in table.columns
        ),
    )
    value = pl.col("inclusion").fill_null(float("nan"))
    row = own.with_row_index("row").filter(
        pl.col("doc_id").is_not_null() & ~((value > 0) & (value <= 1))
    )
    if len(row):
        at, query, document, found = row.row(0)
        problem = (
            f"document {document!r} of query {query!r}: {chance} is {found}, not a probability "
            "above 0 and at most 1."
        )
        raise InputError(problem, source=source, line=at + 2, code="out-of-range")
    twice = own.filter(pl.struct("query_id", "doc_id").is_duplicated())
    if len(twice):
        query, document = twice.row(0)[:2]
        problem = f"document {document!r} of query {query!r} has two rows; keep one."
        raise InputError(problem, source=source, code="duplicate-document")
    return own


def _checked(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """The table in our columns.

    Raises:
        InputError: what is missing or wrong.
    """
    found = {ours: next((name for name in names if name in table.columns), None)
             for ours, names in _COLUMNS.items()}  # fmt: skip
    if "query_id" not in table.columns or not any(found.values()):
        problem = (
            "a sample needs query_id and one of query_inclusion, query_stratum with "
            "stratum_share, or weight; see rankgate pool --queries."
        )
        raise InputError(problem, source=source, line=1, code="missing-column")
    if found["stratum"] and not (found["inclusion"] or found["share"]):
        problem = "strata need query_inclusion, or stratum_share: how large each of them is."
        raise InputError(problem, source=source, line=1, code="missing-column")
    columns: list[Any] = [pl.col("query_id").cast(pl.String)]
    for ours in ("inclusion", "share", "weight"):
        theirs, default = found[ours], 1.0 if ours == "weight" else None
        columns.append(
            (pl.col(theirs).cast(pl.Float64, strict=False) if theirs else pl.lit(default))
            .cast(pl.Float64).alias(ours)
        )  # fmt: skip
    stratum = found["stratum"]
    columns.append((pl.col(stratum).cast(pl.String) if stratum else pl.lit(None, dtype=pl.String))
                   .alias("stratum"))  # fmt: skip
    own = table.select(columns)
    _refuse(own, found, source)
    return own


def _population(table: pl.DataFrame, source: str) -> float | None:
    """What all queries count together.

    Raises:
        InputError: rows differ, or it is no number above 0.
    """
    if "population" not in table.columns:
        return None
    sizes = table["population"].cast(pl.Float64, strict=False).unique().to_list()
    if len(sizes) != 1 or sizes[0] is None or not 0 < sizes[0] < float("inf"):
        problem = "population is one number above 0, the same in all rows."
        raise InputError(problem, source=source, line=2, code="out-of-range")
    return float(sizes[0])


def _refuse(own: pl.DataFrame, found: dict[str, str | None], source: str) -> None:
    for ours, low, words in (
        ("inclusion", 0.0, "a probability above 0 and at most 1"),
        ("weight", 0.0, "a number above 0"),
        ("share", 0.0, "a share above 0 and at most 1"),
    ):
        if found[ours] is None:
            continue
        high = float("inf") if ours == "weight" else 1.0
        value = pl.col(ours).fill_null(float("nan"))
        wrong = own.with_row_index("row").filter(~((value > low) & (value <= high)))
        if len(wrong):
            row = wrong.row(0, named=True)
            problem = f"query {row['query_id']!r}: {found[ours]} is {row[ours]}, not {words}."
            raise InputError(problem, source=source, line=row["row"] + 2, code="out-of-range")
    twice = own.filter(pl.col("query_id").is_duplicated())
    if len(twice):
        problem = f"query {twice['query_id'][0]!r} has two rows that differ; keep one."
        raise InputError(problem, source=source, code="duplicate-query")


def refuse_without(predicted: object | None, sample: Sample | None) -> None:
    """Stop where predictions come without a word on the sample, or sampled documents alone.

    Raises:
        UsageError: what is missing.
    """
    if predicted is not None and sample is None:
        raise UsageError(
            "predicted judgments correct nothing unless the queries that people judged are a "
            "random sample; say how it was drawn: --sample random, or --sample FILE with "
            "query_inclusion, as rankgate pool --queries writes it.",
            code="missing-input",
        )
    if predicted is None and sample is not None and sample.documents is not None:
        raise UsageError(
            f"{sample.source}: documents were sampled too, so that most of each list is unjudged; "
            "with judgments of a model (--predicted) people's correct it, in compare and gate; "
            "without one estimate with rankgate eval -m infAP (rankgate pool --rest).",
            code="sampled-documents",
        )
