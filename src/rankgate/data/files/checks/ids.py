"""Checks of ids: ids that match only in another spelling, and ids that do not match."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import polars as pl

from rankgate.data.files.checks.declare import Found, check, count_noun, first_few

if TYPE_CHECKING:
    from rankgate.data.files.checks.subject import RawQrels, ScoredRun

    Spelling = Callable[[pl.Expr], pl.Expr]

_SPELLINGS: dict[str, Spelling] = {
    "without blanks around them": lambda text: text.str.strip_chars(),
    "without a guard against formulas": lambda text: text.str.replace(r"^[' ]([-=+@])", "$1"),
    "in one case of letters": lambda text: text.str.to_lowercase(),
    "in one form of Unicode (NFKC)": lambda text: text.str.normalize("NFKC"),
    "without .0 at their end": lambda text: text.str.replace(r"^(\d+)\.0+$", "$1"),
    "without zeros before numbers": lambda text: text.str.replace_all(r"(^|\D)0+(\d)", "$1$2"),
}
"""The changes that ids may need to match, one step at a time."""

_MIN_COMMON_SHARE = 0.5


@check("query-twins", "note", "qrels", "Ids of queries differ in spelling only.")
def _find_query_twins(qrels: RawQrels) -> Iterator[Found]:
    """Queries whose ids differ in blanks, case or form of Unicode only."""
    normalized_id = pl.col("id").str.strip_chars().str.to_lowercase().str.normalize("NFKC")
    table = pl.DataFrame({"id": qrels.query_ids}).with_columns(normalized_id.alias("key"))
    same_key = table.filter(pl.col("key").is_duplicated())
    if len(same_key):
        first_group = same_key.filter(pl.col("key") == same_key["key"][0])["id"]
        yield Found(
            f"{count_noun(len(same_key), 'query id')} differ from another one only in blanks, "
            "case of "
            "letters or form of Unicode",
            len(same_key),
            "make one query of them if they are one; each counts as its own query",
            " and ".join(repr(query_id) for query_id in first_group.head(2)),
        )


@check("queries-spelled", "warning", "both", "Ids of queries match only in another spelling.")
def _find_spelled_queries(scored_run: ScoredRun) -> Iterator[Found]:
    judged = scored_run.judged.query_ids
    ranked = scored_run.ranked.query_ids
    yield from _find_other_spellings("query ids", judged, ranked)


@check("documents-spelled", "warning", "both", "Ids of documents match only in another spelling.")
def _find_spelled_documents(scored_run: ScoredRun) -> Iterator[Found]:
    """Documents of the common queries; of all queries if none is common."""
    table, graded = scored_run.ranked.table, scored_run.judged.graded
    judged_queries = graded["query_id"].unique()
    if scored_run.ranked.query_ids.is_in(judged_queries.implode()).any():
        ranked_queries = scored_run.ranked.query_ids
        table = table.filter(pl.col("query_id").is_in(judged_queries.implode()))
        graded = graded.filter(pl.col("query_id").is_in(ranked_queries.implode()))
    yield from _find_other_spellings(
        "document ids", graded["doc_id"].unique(), table["doc_id"].unique()
    )


def _find_other_spellings(id_kind: str, judged: pl.Series, ranked: pl.Series) -> Iterator[Found]:
    """Judged ids that match ranked ids in another spelling only."""
    is_exact = judged.is_in(ranked.implode())
    unmatched_judged = judged.filter(~is_exact).drop_nulls()
    unmatched_ranked = ranked.filter(~ranked.is_in(judged.implode())).drop_nulls()
    if unmatched_judged.is_empty() or unmatched_ranked.is_empty():
        return
    for change, spelling in _SPELLINGS.items():
        judged_keys = _apply_spelling(unmatched_judged, spelling)
        ranked_keys = _apply_spelling(unmatched_ranked, spelling)
        matches = judged_keys.join(ranked_keys, on="key").filter(pl.col("id") != pl.col("id_right"))
        matches = matches.sort("id", "id_right").unique("id", keep="first", maintain_order=True)
        if len(matches):
            judged_id, ranked_id = matches.select("id", "id_right").row(0)
            yield Found(
                f"{len(matches):,} of the judgments' {len(judged):,} {id_kind} match the run's "
                f"only {change}",
                len(matches),
                "write ids in the same form in both files; until then these do not match",
                f"{judged_id!r} in the judgments, {ranked_id!r} in the run",
                severity="warning" if is_exact.any() else "error",
            )
            unmatched_judged = unmatched_judged.filter(
                ~unmatched_judged.is_in(matches["id"].implode())
            )


def _apply_spelling(ids: pl.Series, spelling: Spelling) -> pl.DataFrame:
    return pl.DataFrame({"id": ids}).with_columns(spelling(pl.col("id")).alias("key"))


@check("queries-in-common", "warning", "both", "Judged queries are not in the run.")
def _find_missing_queries(scored_run: ScoredRun) -> Iterator[Found]:
    judged, ranked = scored_run.judged.query_ids, scored_run.ranked.query_ids
    tasks = scored_run.ranked.tasks
    if tasks is not None and judged.is_in(tasks.implode()).any():  # judged by task
        ranked = tasks
    common_count = int(judged.is_in(ranked.implode()).sum())
    missing_queries = judged.filter(~judged.is_in(ranked.implode()))
    if not common_count:
        yield Found(
            f"none of {count_noun(len(judged), 'judged query', 'judged queries')} is in the run, "
            "so that nothing can be scored",
            len(judged),
            "see whether both belong together and call the queries by the same ids",
            f"{first_few(judged.head(3))} in the judgments; {first_few(ranked.head(3))} in the run",
            severity="error",
        )
    elif len(missing_queries):
        barely_overlaps = common_count < _MIN_COMMON_SHARE * len(judged)
        yield Found(
            f"{len(missing_queries):,} of "
            f"{count_noun(len(judged), 'judged query', 'judged queries')} "
            f"{'are' if len(missing_queries) > 1 else 'is'} not in the run"
            + (": the ids barely overlap" if barely_overlaps else ""),
            len(missing_queries),
            "see whether they returned nothing, which counts as 0, or were not run",
            f"queries {first_few(missing_queries, 3)}",
        )
    unjudged_count = len(ranked) - common_count
    if common_count and unjudged_count:
        yield Found(
            f"{unjudged_count:,} of {count_noun(len(ranked), 'query', 'queries')} of the run "
            "without judgments: they are not scored",
            unjudged_count,
            "nothing needs to be done; judge them if they matter",
            f"queries {first_few(ranked.filter(~ranked.is_in(judged.implode())), 3)}",
            severity="note",
        )


@check("documents-in-common", "error", "both", "No judged document is in the run.")
def _find_no_common_document(scored_run: ScoredRun) -> Iterator[Found]:
    """No judged document is retrieved for its query."""
    is_common = scored_run.judged.query_ids.is_in(scored_run.ranked.query_ids.implode())
    if is_common.any() and scored_run.met.is_empty():
        yield Found(
            "no document among the first 1,000 of any query is judged: all values would be 0",
            int(is_common.sum()),
            "see whether both are of one collection and call the documents by the same ids",
            f"{scored_run.judged.graded['doc_id'][0]} in the judgments, "
            f"{scored_run.ranked.table['doc_id'][0]} in the run",
        )
