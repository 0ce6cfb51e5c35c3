"""Read judgments and runs as ndeval and gdeval do: topics are whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import DuplicateError, InputError
from rankgate.data import Qrels, read_qrels, read_run
from rankgate.data.streams.source import open_source
from rankgate.data.text.lines import Layout, line_of, read_line_frames

if TYPE_CHECKING:
    from pathlib import Path

    from rankgate.data import Run
    from rankgate.data.streams.source import InputFile

PLAIN = r"^(\d+)$"
AFTER_FIRST_HYPHEN = r"^(?:(\d+)|(?:[^\d-][^-]*)?-(\d+))$"
AFTER_LAST_HYPHEN = r"^(?:.*-)?(\d+)$"
"""Patterns of the number of a topic in each program: ``wt09-51`` is topic 51."""

_QRELS = ("query_id", "subtopic", "doc_id", "grade")
_RUN = ("query_id", "q0", "doc_id", "rank", "score", "tag")


def read_judgments(
    path: str | Path, *, topics: str, subtopics: bool, grades: tuple[int, int]
) -> Qrels:
    """Judgments of a file.

    Args:
        path: the file: topic, subtopic (0 without), document, grade.
        topics: the pattern of topics.
        subtopics: whether the second field is a subtopic.
        grades: the least and the greatest grade that the program reads.

    Raises:
        InputError: a topic that is not a number, or a grade outside the scale.
    """
    input_file = open_source(path)
    rows = _rows(input_file, Layout(_QRELS, "grade", _QRELS))
    outside = ~pl.col("grade").is_between(*grades) | (pl.col("grade") % 1 != 0)
    for row, grade in rows.with_row_index().filter(outside).select("index", "grade").iter_rows():
        lowest, highest = grades
        fault = f"below {lowest}" if grade < lowest else f"above {highest}"
        fault = "not a whole number" if lowest <= grade <= highest else fault
        raise InputError(
            f"grade {grade:g} is {fault}, which the program does not read; map the grades.",
            source=input_file.label,
            line=line_of(input_file, row),
            code="grade-outside-scale",
        )
    columns = ["query_id", "doc_id", "grade", *(["subtopic"] if subtopics else [])]
    return read_qrels(_number_topics(rows, topics, input_file).select(columns))


def _rows(input_file: InputFile, layout: Layout) -> pl.DataFrame:
    """All rows of a file, which must have one."""
    tables = list(read_line_frames(input_file, layout))
    if not tables:
        problem = "the file is empty; check whether it was written completely."
        raise InputError(problem, source=input_file.label, code="empty-file")
    return pl.concat(tables)


def read_ranking(path: str | Path, *, topics: str, by: str, depth: int | None = None) -> Run:
    """A run of a file, in the order of a field.

    Args:
        path: the file.
        topics: the pattern of topics.
        by: ``rank``, or ``score``: equal scores by document, descending.
        depth: how many documents of each topic count.

    Raises:
        InputError: a topic or rank that is not a number.
        DuplicateError: a rank or document twice for one topic.
    """
    input_file = open_source(path)
    rows = _number_topics(_rows(input_file, Layout(_RUN, by, _RUN)), topics, input_file)
    keys = ["doc_id", *(["rank"] if by == "rank" else [])]
    for key in keys:
        is_repeat = ~pl.struct("query_id", key).is_first_distinct()
        repeated = rows.with_row_index().filter(is_repeat).select("index", "query_id", key)
        for row, query, value in repeated.iter_rows():
            raise DuplicateError(
                f"{'rank' if key == 'rank' else 'document'} '{value}' appears twice for topic "
                f"{query}; remove one.",
                source=input_file.label,
                line=line_of(input_file, row),
            )
    if by == "rank":
        rows = rows.with_columns(score=-pl.col("rank"))
    if depth:
        rows = rows.sort("score", "doc_id", descending=True).group_by("query_id").head(depth)
    return read_run(rows.select("query_id", "doc_id", "score"))


def tag(path: str | Path, *, last: bool) -> str:
    """The name of a run: that of its first line, or of its last."""
    rows = _rows(open_source(path), Layout(_RUN, "", ("tag",)))
    return str(rows["tag"][-1 if last else 0])


def topic_ids(table: Qrels | Run) -> list[str]:
    """The topics by number."""
    tables = [table.table] if isinstance(table, Qrels) else list(table.pieces())
    ids = pl.concat([frame.select("query_id") for frame in tables])["query_id"].unique()
    return sorted(ids.to_list(), key=int)


def relevant_topics(qrels: Qrels) -> list[str]:
    """The topics with a relevant document, by number."""
    ids = qrels.table.filter(pl.col("grade") > 0)["query_id"].unique()
    return sorted(ids.to_list(), key=int)


def _number_topics(rows: pl.DataFrame, pattern: str, input_file: InputFile) -> pl.DataFrame:
    """Replace topics by their numbers, as they are printed."""
    groups = range(1, pattern.count(r"(\d+)") + 1)
    number = pl.coalesce([pl.col("query_id").str.extract(pattern, i) for i in groups])
    invalid_rows = rows.with_row_index().filter(number.is_null()).select("index", "query_id")
    for row, query in invalid_rows.iter_rows():
        raise InputError(
            f"topic '{query}' is not a number, which the program needs.",
            source=input_file.label,
            line=line_of(input_file, row),
            code="not-a-number",
        )
    return rows.with_columns(query_id=number.cast(pl.Int64).cast(pl.String))
