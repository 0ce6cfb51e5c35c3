"""Evaluate a run as ndeval and gdeval do, with their reading of files and risk."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import DuplicateError, InputError
from rankgate.data import Qrels, read_qrels, read_run
from rankgate.data.streams.source import open_source
from rankgate.data.text.field_lines import Layout, line_of, read_line_frames
from rankgate.measurement.evaluation.evaluate import evaluate

if TYPE_CHECKING:
    from pathlib import Path

    from rankgate.data import Run
    from rankgate.data.run_scores import RunScores
    from rankgate.data.streams.source import InputFile


PLAIN = r"^(\d+)$"
AFTER_FIRST_HYPHEN = r"^(?:(\d+)|(?:[^\d-][^-]*)?-(\d+))$"
AFTER_LAST_HYPHEN = r"^(?:.*-)?(\d+)$"
"""Patterns of the number of a topic in each program: ``wt09-51`` is topic 51."""

_QRELS = ("query_id", "subtopic", "doc_id", "grade")
_RUN = ("query_id", "q0", "doc_id", "rank", "score", "tag")


def read_judgments(path: str | Path, *, topics: str, subtopics: bool, grades: tuple[int, int]) -> Qrels:
    """Read judgments from a file.

    Args:
        path: the file with topic, subtopic (0 if none), document, grade.
        topics: the pattern of topics.
        subtopics: True if the second field is a subtopic.
        grades: the smallest and the largest grade that the program reads.

    Raises:
        InputError: a topic is not a number, or a grade is outside the scale.
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
    """All rows of a file, after a check that there is at least one row."""
    tables = list(read_line_frames(input_file, layout))
    if not tables:
        problem = "the file is empty; check whether it was written completely."
        raise InputError(problem, source=input_file.label, code="empty-file")
    return pl.concat(tables)


def read_ranking(path: str | Path, *, topics: str, by: str, depth: int | None = None) -> Run:
    """Read a run from a file, ordered by a field.

    Args:
        path: the file.
        topics: the pattern of topics.
        by: ``rank``, or ``score`` (equal scores are ordered by document, descending).
        depth: the number of documents of each topic that count.

    Raises:
        InputError: a topic or rank is not a number.
        DuplicateError: a rank or document is repeated in one topic.
    """
    input_file = open_source(path)
    rows = _number_topics(_rows(input_file, Layout(_RUN, by, _RUN)), topics, input_file)
    keys = ["doc_id", *(["rank"] if by == "rank" else [])]
    for key in keys:
        is_repeat = ~pl.struct("query_id", key).is_first_distinct()
        repeated = rows.with_row_index().filter(is_repeat).select("index", "query_id", key)
        for row, query, value in repeated.iter_rows():
            raise DuplicateError(
                f"{'rank' if key == 'rank' else 'document'} '{value}' appears twice for topic {query}; "
                f"remove one.",
                source=input_file.label,
                line=line_of(input_file, row),
            )
    if by == "rank":
        rows = rows.with_columns(score=-pl.col("rank"))
    if depth:
        rows = rows.sort("score", "doc_id", descending=True)
        rows = rows.group_by("query_id", maintain_order=True).head(depth)
    return read_run(rows.select("query_id", "doc_id", "score"))


def tag(path: str | Path, *, last: bool) -> str:
    """The name of a run, from its first or last line."""
    rows = _rows(open_source(path), Layout(_RUN, "", ("tag",)))
    return str(rows["tag"][-1 if last else 0])


def topic_ids(table: Qrels | Run) -> list[str]:
    """The topics, ordered by number."""
    tables = [table.table] if isinstance(table, Qrels) else list(table.pieces())
    ids = pl.concat([frame.select("query_id") for frame in tables])["query_id"].unique()
    return sorted(ids.to_list(), key=int)


def relevant_topics(qrels: Qrels) -> list[str]:
    """The topics with a relevant document, ordered by number."""
    ids = qrels.table.filter(pl.col("grade") > 0)["query_id"].unique()
    return sorted(ids.to_list(), key=int)


def _number_topics(rows: pl.DataFrame, pattern: str, input_file: InputFile) -> pl.DataFrame:
    """Replace topics by their numbers, which are printed."""
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


Values = Mapping[str, tuple[float, ...]]
"""The values of each topic, topics by number."""


def compare_topics(run: Values, baseline: Values, risk: float, topics: Iterable[str]) -> Values:
    """Differences by topic; a topic that is missing in a run counts 0.

    Args:
        run: the run's values.
        baseline: the baseline's values.
        risk: the additional weight of losses, which count 1 + risk.
        topics: the topics to compare.
    """
    nothing = (0.0,) * len(next(iter(run.values()), ()))
    return {
        topic: tuple(
            new - old if new >= old else (1 + risk) * (new - old)
            for new, old in zip(run.get(topic, nothing), baseline.get(topic, nothing), strict=True)
        )
        for topic in topics
    }


def difference_name(run: str, baseline: str, risk: str, *, separator: str) -> str:
    """The name for the rows of differences."""
    return f"{run} (rel to. {baseline}{separator} rs=1+a{separator} a={risk})"


_HIGHEST_GRADE = 100_000  # approximately the largest number that ndeval reads
_CUTOFFS = (5, 10, 20)
_COLUMNS = {
    **{f"ERR-IA@{k}": f"ERR_IA(alpha={{alpha}})@{k}" for k in _CUTOFFS},
    **{f"nERR-IA@{k}": f"nERR_IA(alpha={{alpha}})@{k}" for k in _CUTOFFS},
    **{f"alpha-DCG@{k}": f"alpha_DCG(alpha={{alpha}})@{k}" for k in _CUTOFFS},
    **{f"alpha-nDCG@{k}": f"alpha_nDCG(alpha={{alpha}})@{k}" for k in _CUTOFFS},
    "NRBP": "NRBP(alpha={alpha},p={beta})",
    "nNRBP": "nNRBP(alpha={alpha},p={beta})",
    "MAP-IA": "AP_IA",
    **{f"P-IA@{k}": f"P_IA@{k}" for k in _CUTOFFS},
    **{f"strec@{k}": f"StRecall@{k}" for k in _CUTOFFS},
}


def ndeval(
    qrels: str | Path,
    run: str | Path,
    *,
    alpha: Annotated[float, Range(0, 1)] = 0.5,
    beta: Annotated[float, Range(0, 1)] = 0.5,
    traditional: bool = False,
    depth: int | None = None,
    complete: bool = False,
    baseline: str | Path | None = None,
    risk: str = "0",
) -> Iterator[str]:
    """The lines that ndeval prints.

    Args:
        qrels: judgments by subtopic.
        run: the run.
        alpha: the factor by which another document on a subtopic is worth less.
        beta: the probability of looking at the next document, for NRBP.
        traditional: order by score and document, not by rank.
        depth: the number of documents of each topic that count.
        complete: True to divide by all judged topics, not only those in the run.
        baseline: print differences from this run, as ndeval does.
        risk: the weight of a loss against the baseline relative to a gain, as written.

    Raises:
        InputError: ndeval does not read a line.
        DuplicateError: a document or rank is repeated in one topic.
    """
    judged = read_judgments(qrels, topics=PLAIN, subtopics=True, grades=(0, _HIGHEST_GRADE))
    metrics = [template.format(alpha=alpha, beta=beta) for template in _COLUMNS.values()]
    sort_field = "score" if traditional else "rank"

    def values(path: str | Path) -> Values:
        ranked = read_ranking(path, topics=AFTER_FIRST_HYPHEN, by=sort_field, depth=depth)
        topics = topic_ids(ranked)
        return _values(judged, evaluate(judged, ranked, metrics).runs[0], metrics, topics)

    run_values, baseline_values = values(run), values(baseline) if baseline else None
    judged_topics = topic_ids(judged)
    count = len(judged_topics) if complete else len(set(judged_topics) & run_values.keys())
    name = tag(run, last=False)
    if baseline and baseline_values:
        topics = sorted({*run_values, *(baseline_values if complete else ())}, key=int)
        rows = compare_topics(run_values, baseline_values, float(risk), topics)
        name = difference_name(name, tag(baseline, last=False), risk, separator=";")
        count = max(count, len(rows))
    else:
        rows = run_values
    yield ",".join(("runid", "topic", *_COLUMNS))
    for topic, row in rows.items():
        yield ",".join((name, topic, *map(_number_text, row)))
    means = (sum(column) / count for column in zip(*rows.values(), strict=True))
    yield ",".join((name, "amean", *map(_number_text, means)))


def _values(judged: Qrels, result: RunScores, metrics: list[str], topics: list[str]) -> Values:
    """The values of each topic of a run; 0 if the topic has no judgments."""
    query_values = [result.per_query(metric) for metric in metrics]
    column, topics_without_relevant = (
        list(_COLUMNS).index("nNRBP"),
        {*topic_ids(judged)} - {*relevant_topics(judged)},
    )
    rows: dict[str, tuple[float, ...]] = {}
    for topic in topics:
        row = [float(by_topic.get(topic) or 0) for by_topic in query_values]
        if topic in topics_without_relevant:
            row[column] = math.nan  # ndeval divides 0 by 0
        rows[topic] = tuple(row)
    return rows


def _number_text(value: float) -> str:
    return "-nan" if math.isnan(value) else f"{value:.6f}"


_GRADES = (-1_000_000, 4)


def gdeval(
    qrels: str | Path,
    run: str | Path,
    *,
    cutoff: Annotated[int, Range(1)] = 20,
    complete: bool = False,
    baseline: str | Path | None = None,
    risk: str = "0",
) -> Iterator[str]:
    """The lines that gdeval prints.

    Args:
        qrels: judgments with grades up to 4.
        run: the run; documents are ordered by score, equal ones by document, descending.
        cutoff: the number of documents of each topic that count.
        complete: True to divide by all topics with a relevant document, not only those in the run.
        baseline: print differences from this run, as gdeval does.
        risk: the weight of a loss against the baseline relative to a gain, as written.

    Raises:
        InputError: gdeval does not read a line.
        DuplicateError: a document is repeated in one topic.
    """
    judged = read_judgments(qrels, topics=AFTER_LAST_HYPHEN, subtopics=False, grades=_GRADES)
    metrics = [f"ndcg@{cutoff}", f"err@{cutoff}"]

    def values(path: str | Path) -> Values:
        ranked = read_ranking(path, topics=AFTER_LAST_HYPHEN, by="score")
        result = evaluate(judged, ranked, metrics, "gdeval").runs[0]
        query_values = [result.per_query(metric) for metric in metrics]
        return {
            topic: tuple(float(by_topic[topic] or 0) for by_topic in query_values)
            for topic in topic_ids(ranked)
            if query_values[0].get(topic) is not None
        }

    rows, name = values(run), tag(run, last=True)
    relevant = relevant_topics(judged)
    count = len(relevant) if complete else len(rows)
    if baseline:
        missing = [topic for topic in relevant if topic not in rows] if complete else []
        rows = compare_topics(rows, values(baseline), float(risk), [*rows, *missing])
        name = difference_name(name, tag(baseline, last=True), risk, separator=",")
    yield ",".join(("runid", "topic", *metrics))
    for topic, row in rows.items():
        yield ",".join((name, topic, *(f"{value:.5f}" for value in row)))
    means = (sum(column) / max(count, 1) for column in zip(*rows.values(), strict=True))
    yield ",".join((name, "amean", *(f"{value:.5f}" for value in means)))
