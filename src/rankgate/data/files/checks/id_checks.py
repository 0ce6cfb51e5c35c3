"""Checks of ids and of the numbering of queries.

The checks report ids that match only in another spelling, and ids that do not match; then queries
with a different numbering, and scales in the reverse direction.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.present.number_formats import count_noun
from rankgate.data.files.checks.check_declarations import Found, check, first_few
from rankgate.data.id_match import IdMatch

if TYPE_CHECKING:
    from rankgate.data.files.checks.check_declarations import RawQueries, ScoredRun, Severity
    from rankgate.data.unchecked_rows import RawQrels


@check("query-twins", "note", "qrels", "Ids of queries differ in spelling only.")
def _find_query_twins(qrels: RawQrels) -> Iterator[Found]:
    """Queries with ids that differ only in blanks, case or form of Unicode."""
    normalized_id = pl.col("id").str.strip_chars().str.to_lowercase().str.normalize("NFKC")
    table = pl.DataFrame({"id": qrels.query_ids}).with_columns(normalized_id.alias("key"))
    same_key = table.filter(pl.col("key").is_duplicated())
    if len(same_key):
        first_group = same_key.filter(pl.col("key") == same_key["key"][0])["id"]
        yield Found(
            f"{count_noun(len(same_key), 'query id')} differ from another one only in blanks, case of "
            "letters or form of Unicode",
            len(same_key),
            "merge them if they are one query; each counts as its own query now",
            " and ".join(repr(query_id) for query_id in first_group.head(2)),
        )


@check("queries-spelled", "warning", "both", "Ids of queries match only in another spelling.")
def _find_spelled_queries(scored_run: ScoredRun) -> Iterator[Found]:
    judged = scored_run.judged.query_ids
    ranked = scored_run.ranked.query_ids
    yield from _find_other_spellings("query", judged, ranked)


@check("documents-spelled", "warning", "both", "Ids of documents match only in another spelling.")
def _find_spelled_documents(scored_run: ScoredRun) -> Iterator[Found]:
    """The documents of the queries in both files; of all queries if no query is in both."""
    table, graded = scored_run.ranked.table, scored_run.judged.graded
    judged_queries = graded["query_id"].unique()
    if scored_run.ranked.query_ids.is_in(judged_queries.implode()).any():
        ranked_queries = scored_run.ranked.query_ids
        table = table.filter(pl.col("query_id").is_in(judged_queries.implode()))
        graded = graded.filter(pl.col("query_id").is_in(ranked_queries.implode()))
    yield from _find_other_spellings("document", graded["doc_id"].unique(), table["doc_id"].unique())


def _find_other_spellings(id_kind: str, judged: pl.Series, ranked: pl.Series) -> Iterator[Found]:
    """Find judged ids that match ranked ids only in another spelling."""
    match = IdMatch.from_ids(judged, ranked)
    if match.near:
        judged_id, ranked_id = match.near_examples[0]
        yield Found(
            f"{match.near:,} of the judgments' {match.left:,} {id_kind} ids match the run's only "
            f"{match.change}",
            match.near,
            match.remedy(id_kind),
            f"{judged_id!r} in the judgments, {ranked_id!r} in the run",
            severity=_severity(match),
        )


@check("queries-in-common", "warning", "both", "Judged queries are not in the run.")
def _find_missing_queries(scored_run: ScoredRun) -> Iterator[Found]:
    judged, ranked = scored_run.judged.query_ids, scored_run.ranked.query_ids
    tasks = scored_run.ranked.tasks
    if tasks is not None and judged.is_in(tasks.implode()).any():  # judged by task
        ranked = tasks
    match = IdMatch.from_ids(judged, ranked)
    message, count, fix, examples = "", match.only_left, "", match.left_examples
    severity: Severity = "warning"
    if match.only_left and match.only_right:
        message, fix = match.sentence("query", "the judgments", "the run"), match.remedy("query")
        severity = _severity(match)
    elif match.only_left:
        noun = count_noun(match.left, "judged query")
        message = f"{count:,} of {noun} {'are' if count > 1 else 'is'} not in the run"
        fix = "check whether they returned nothing, which counts as 0, or were not run"
    elif match.only_right:
        count, examples, severity = match.only_right, match.right_examples, "note"
        noun = count_noun(match.right, "query")
        message = f"{count:,} of {noun} of the run without judgments: they are not scored"
        fix = "judge them if they matter; otherwise ignore this"
    if message:
        yield Found(message, count, fix, f"queries {first_few(pl.Series(examples), 3)}", severity=severity)


def _severity(match: IdMatch) -> Severity:
    return "warning" if match.both and match.verdict != "not" else "error"


@check("documents-in-common", "error", "both", "No judged document is in the run.")
def _find_no_common_document(scored_run: ScoredRun) -> Iterator[Found]:
    """Find runs that retrieve no judged document for its query."""
    is_common = scored_run.judged.query_ids.is_in(scored_run.ranked.query_ids.implode())
    if is_common.any() and scored_run.judged_documents.is_empty():
        yield Found(
            "no document among the first 1,000 of any query is judged: all values would be 0",
            int(is_common.sum()),
            "check whether both are of one collection and use the same document ids",
            f"{scored_run.judged.graded['doc_id'][0]} in the judgments, "
            f"{scored_run.ranked.table['doc_id'][0]} in the run",
        )


_DEPTH = 100
_MIN_GAIN = 2.0  # times the number of documents that match under the current ids
_ENOUGH, _QUERIES = 10, 10
_MAX_CORRELATION = -0.1
_MIN_STANDARD_ERRORS = 3.0


@check("numbering", "warning", "both", "Run and judgments number the queries differently.")
def _find_renumbered_run(scored_run: ScoredRun) -> Iterator[Found]:
    """Find lists that hold relevant documents of another query, and the rule of the numbering.

    Each rule maps the queries of the judgments to those of the run: their order in the files, the
    order of their numbers, or numbers that differ by one. For each rule the relevant documents
    among the first 100 are counted. A rule that finds more than twice as many as the ids is
    reported.
    """
    judged_queries, ranked_queries = scored_run.judged.query_ids, scored_run.ranked.query_ids
    relevant = scored_run.judged.graded.filter(pl.col("grade") > 0)
    relevant = relevant.select("doc_id", ours="query_id")
    top_documents = scored_run.ranked.tops(_DEPTH).select("doc_id", theirs="query_id")
    hits = top_documents.join(relevant, on="doc_id").group_by("ours", "theirs").len()
    hits_by_id = _count_matching_hits(hits, pl.DataFrame({"ours": judged_queries, "theirs": judged_queries}))
    best_count, best_description, best_rule = hits_by_id, "", pl.DataFrame()
    for description, rule in _numbering_rules(judged_queries, ranked_queries):
        count = _count_matching_hits(hits, rule)
        if count > best_count:
            best_count, best_description, best_rule = count, description, rule
    if not best_description or best_count < _ENOUGH or best_count <= _MIN_GAIN * hits_by_id:
        return
    renumbered = best_rule.filter(pl.col("ours") != pl.col("theirs"))
    examples = ", ".join(
        f"{judged_query} = {run_query}" for judged_query, run_query in renumbered.head(5).rows()
    )
    yield Found(
        "the queries are numbered differently: "
        f"{count_noun(best_count, 'relevant document is', 'relevant documents are')} among the first "
        f"{_DEPTH} when queries are matched {best_description}, {hits_by_id:,} when they are matched by id",
        len(renumbered),
        f"renumber the run: judgments = run is {examples}, and so on {best_description}",
        f"query {renumbered['ours'][0]} of the judgments is {renumbered['theirs'][0]} of the run",
    )


def _count_matching_hits(hits: pl.DataFrame, rule: pl.DataFrame) -> int:
    return int(hits.join(rule, on=["ours", "theirs"])["len"].sum())


def _numbering_rules(judged: pl.Series, ranked: pl.Series) -> Iterator[tuple[str, pl.DataFrame]]:
    """Rules that map a query of the judgments to a query of the run."""
    judged_by_number, ranked_by_number = _sort_by_number(judged), _sort_by_number(ranked)
    if len(judged) == len(ranked):
        yield "in the order of the files", pl.DataFrame({"ours": judged, "theirs": ranked})
        if judged_by_number is not None and ranked_by_number is not None:
            yield (
                "in the order of their numbers",
                pl.DataFrame({"ours": judged_by_number, "theirs": ranked_by_number}),
            )
    if judged_by_number is not None and ranked_by_number is not None:
        for step, description in ((1, "one higher"), (-1, "one lower")):
            shifted_ids = (judged_by_number.cast(pl.Int64) + step).cast(pl.String)
            yield (
                f"with the run's number {description}",
                pl.DataFrame({"ours": judged_by_number, "theirs": shifted_ids}),
            )


def _sort_by_number(ids: pl.Series) -> pl.Series | None:
    """The ids in the order of their numbers, if all ids are numbers."""
    numbers = ids.cast(pl.Int64, strict=False)
    return None if numbers.null_count() else ids.gather(numbers.arg_sort())


@check(
    "query-file",
    "warning",
    "queries",
    "Judged queries are not in the file of queries, or numbered differently.",
)
def _find_renumbered_queries(query_file: RawQueries) -> Iterator[Found]:
    """Find judged queries that the file of queries lacks or numbers differently."""
    judged_by_number, queries_by_number = (
        _sort_by_number(query_file.judged.query_ids),
        _sort_by_number(query_file.query_ids),
    )
    missing_queries = query_file.judged.query_ids.filter(
        ~query_file.judged.query_ids.is_in(query_file.query_ids.implode())
    )
    if missing_queries.is_empty():
        return
    message = f"{len(missing_queries):,} of {count_noun(len(query_file.judged.query_ids), 'judged query')} are not in the file of queries"  # noqa: E501
    if (
        judged_by_number is None
        or queries_by_number is None
        or len(judged_by_number) != len(queries_by_number)
        or not _is_consecutive(judged_by_number)
    ):
        yield Found(
            message,
            len(missing_queries),
            "check whether both belong together and use the same query ids",
            f"query {missing_queries[0]}",
        )
        return
    table = pl.DataFrame({"ours": judged_by_number, "theirs": queries_by_number})
    renumbered = table.filter(pl.col("ours") != pl.col("theirs"))
    examples = ", ".join(
        f"{judged_query} = {file_query}" for judged_query, file_query in renumbered.head(5).rows()
    )
    yield Found(
        f"the queries are numbered differently: {message}; the judgments number them from "
        f"{judged_by_number[0]} to {judged_by_number[-1]}, and the file has its own numbers from "
        f"{queries_by_number[0]} to {queries_by_number[-1]}",
        len(renumbered),
        f"use the position in the file as the number: judgments = file is {examples}, and so on",
        f"query {renumbered['ours'][0]} of the judgments is {renumbered['theirs'][0]} of the file",
    )


def _is_consecutive(ids: pl.Series) -> bool:
    numbers = ids.cast(pl.Int64)
    return int(numbers[-1]) - int(numbers[0]) == len(numbers) - 1


@check("grades-against-ranks", "warning", "both", "Higher grades are lower in the lists.")
def _find_reversed_grades(scored_run: ScoredRun) -> Iterator[Found]:
    """Find lists that rank higher grades lower, for most queries.

    The correlation of grade and position is computed within each query. The mean over queries must
    exceed both 0.1 and three standard errors.
    """
    judged_results = scored_run.judged_documents.filter(pl.col("grade") >= 0)
    correlations = judged_results.group_by("query_id", maintain_order=True).agg(
        correlation=pl.corr(pl.col("grade"), -pl.col("position").cast(pl.Float64))
    )["correlation"]
    finite_correlations = correlations.filter(correlations.is_finite()).to_numpy()
    if len(finite_correlations) < _QUERIES:
        return
    mean = float(finite_correlations.mean())
    error = float(finite_correlations.std(ddof=1) / np.sqrt(len(finite_correlations)))
    if mean < _MAX_CORRELATION and mean < -_MIN_STANDARD_ERRORS * error:
        yield Found(
            f"higher grades are lower in the lists (mean correlation {mean:.2f} over "
            f"{count_noun(len(finite_correlations), 'query')}): the scale or the scores look reversed",
            len(finite_correlations),
            "check whether 1 is the best grade, or the scores are distances; reverse one of them",
        )
