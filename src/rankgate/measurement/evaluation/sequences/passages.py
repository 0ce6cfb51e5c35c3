"""Passages: their lengths, and the documents that they are parts of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.logs.items import read_described_table

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Duplicates, Run

_BEST = ["query_id", "doc_id"]


@dataclass(frozen=True)
class Passages:
    """The lengths of passages, and the documents that they are parts of.

    Attributes:
        table: ``doc_id``, ``source`` (the document that it is a part of; itself if unknown), and
            ``tokens`` where a column of lengths is named.
        label: the source of the table, for errors.
        whole: True if judgments are of documents, not of passages.
    """

    table: pl.DataFrame
    label: str
    whole: bool = False

    @classmethod
    def of(cls, collection: Collection, judged: Qrels) -> Passages | None:
        """The passages of a collection; None where it names no column of them.

        Raises:
            InputError: a table that cannot be read; a length that is not a number of 0 or more.
            UsageError: a column that is not there, or no table.
        """
        if collection.items.length is None and collection.items.document is None:
            return None
        if collection.items.table is None:
            raise UsageError(
                "length and document name columns of a table; give it, as --items passages.csv.",
                code="missing-input",
            )
        item_table = read_described_table(collection.items.table)
        ids = item_table.ids.alias("doc_id")
        columns = [ids, ids.alias("source")]
        if collection.items.document is not None:
            documents = item_table.words(collection.items.document).cast(pl.String)
            columns[1] = documents.fill_null(ids).alias("source")
        if collection.items.length is not None:
            lengths = item_table.numbers(collection.items.length)
            if (lengths < 0).any():
                row = int((lengths < 0).fill_null(value=False).arg_max() or 0)
                problem = (
                    f"{collection.items.length} {lengths[row]} of '{ids[row]}' is less than 0."
                )
                raise InputError(
                    problem,
                    source=item_table.place.file(row),
                    line=item_table.place.line(row),
                    code="not-a-number",
                )
            columns.append(lengths.alias("tokens"))
        table = pl.DataFrame(columns)
        parts = table.filter(pl.col("source") != pl.col("doc_id"))["source"]
        judges_documents = bool(judged.table["doc_id"].is_in(parts.implode()).any())
        return cls(table, item_table.place.label, judges_documents)

    def judged(self, qrels: Qrels) -> Qrels:
        """Map judgments to documents if they are of documents: the best grade of its passages."""
        if not self.whole:
            return qrels
        table = self._sources(qrels.table).group_by(_BEST, maintain_order=True)
        return replace(qrels, table=table.agg(pl.col("grade").max()))

    def ranked(self, run: Run, duplicates: Duplicates) -> Run:
        """Map rankings to documents if judgments are of documents: each at its best passage.

        Args:
            run: rankings of passages.
            duplicates: the rule for a passage that is ranked twice.
        """
        if not self.whole:
            return run
        table = self._sources(run.whole(duplicates).frame)
        best = table.group_by(_BEST, maintain_order=True).agg(pl.col("score").max())
        return replace(run, pieces=lambda: iter([best]), rankings=None)

    def described(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with ``source`` and, where lengths are known, ``tokens``.

        Raises:
            InputError: a document that was retrieved has no length.
        """
        described_rows = rows.join(self.table, on="doc_id", how="left", maintain_order="left")
        described_rows = described_rows.with_columns(pl.coalesce("source", "doc_id"))
        if "tokens" in described_rows.columns and described_rows["tokens"].null_count():
            doc = described_rows.filter(pl.col("tokens").is_null())["doc_id"][0]
            problem = f"no length of '{doc}', which was retrieved; a budget needs every length."
            raise InputError(problem, source=self.label, code="missing-lengths")
        return described_rows

    def _sources(self, table: pl.DataFrame) -> pl.DataFrame:
        document_of = self.table.select("doc_id", "source")
        joined = table.join(document_of, on="doc_id", how="left", maintain_order="left")
        return joined.with_columns(pl.coalesce("source", "doc_id").alias("doc_id")).drop("source")
