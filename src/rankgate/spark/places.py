"""Where rows that are wrong are: file and line, row of a Parquet file, or partition."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rankgate.core import errors
from rankgate.core.errors import DuplicateError, InputError, RankgateError
from rankgate.spark.failures import translated
from rankgate.spark.files import local_path

if TYPE_CHECKING:
    from pyspark.sql import Column

    from rankgate.spark.tables import Rows


def refuse_placed(found: Sequence[str], tables: Sequence[Rows]) -> None:
    """Raise the first of the errors of partitions, with the places of its rows.

    Args:
        found: errors as executors send them.
        tables: the judgments, and the runs.

    Raises:
        RankgateError: the first by what it is about, whichever partition was first.
    """
    if not found:
        return
    sent = min((json.loads(each)["error"] for each in found), key=json.dumps)
    table = next((each for each in tables if each.label == sent["source"]), tables[-1])
    kind: Any = getattr(errors, sent["class"], RankgateError)
    if not sent["at"]:
        if not issubclass(kind, InputError):
            raise _plain(kind, sent)
        raise kind(sent["problem"], source=sent["source"], code=sent["code"])
    with translated(table.label):  # Spark reads the files now, and may find more
        places = _places(table, sent["at"])
    wrong = -1 if kind is DuplicateError else 0
    file, line = places[wrong] if places else (table.label, None)
    query, document = sent["at"]
    if kind is not DuplicateError:
        problem = sent["problem"]
        if sent["code"] == "not-a-number":
            number = "grade" if table is tables[0] else "score"
            problem = f"{number} of document '{document}' for query '{query}' is not a number."
        raise InputError(problem, source=file or table.label, line=line, code=sent["code"])
    word = "judged" if table is tables[0] else "ranked"
    first = _words(*places[0]) if len(places) > 1 else ""
    problem = (
        f"document '{document}' is {word} twice for query '{query}'"
        f"{f' (first in {first})' if first else ''}; remove one of the two rows."
    )
    raise DuplicateError(problem, source=file or table.label, line=line)


def _plain(kind: Any, sent: dict[str, Any]) -> RankgateError:  # noqa: ANN401 - an error class
    if issubclass(kind, errors.FunctionError):
        return errors.FunctionError(sent["problem"], code=sent["code"])
    found: RankgateError = kind(sent["problem"], source=sent["source"], code=sent["code"])
    return found


def _words(file: str, line: int | None) -> str:
    return file if line is None else f"{file}:{line}"


def _places(table: Rows, pair: Sequence[str | None]) -> list[tuple[str, int | None]]:
    """The places of the rows of a query and document, in their order."""
    from pyspark.sql import functions as F

    query, document = pair
    same = F.col("query_id").eqNullSafe(F.lit(query)) & F.col("doc_id").eqNullSafe(F.lit(document))
    return places_where(table, same)


def places_where(table: Rows, same: Column) -> list[tuple[str, int | None]]:
    """The places of the first two rows for which something holds, in their order."""
    from pyspark.sql import functions as F

    if not table.place:
        numbered = table.frame.select("*", F.spark_partition_id().alias("p"))
        rows = numbered.where(same).orderBy("p").limit(2).collect()
        return [(f"{table.label}, partition {each.p}", None) for each in rows]
    own = F.col("at") if table.lines is not None else F.monotonically_increasing_id()
    numbered = table.frame.select("*", *_columns(own))
    rows = numbered.where(same).orderBy("file", "block", "id").limit(2).collect()
    files = {each.file for each in rows}
    every = table.lines
    marked = numbered if every is None else every.select(*_columns(F.monotonically_increasing_id()))
    blocks = (
        marked.where(F.col("file").isin(*files))
        .groupBy("file", "block")
        .agg(F.min("id").alias("first"), F.count(F.lit(1)).alias("n"))
        .collect()
    )
    found = []
    for each in rows:
        mine = next(b for b in blocks if (b.file, b.block) == (each.file, each.block))
        before = sum(b.n for b in blocks if b.file == each.file and b.block < each.block)
        line = before + (each.id - mine.first) + 1 + (table.header or 0)
        found.append((local_path(each.file), line))
    return found


def _columns(own: Column) -> tuple[Column, ...]:
    """The columns that say where a row is: its file, the block of it, and its place in there."""
    from pyspark.sql import functions as F

    return (
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.file_block_start").alias("block"),
        own.alias("id"),
    )
