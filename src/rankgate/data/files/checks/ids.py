"""Checks of ids: those that match only in another spelling, and those that do not match."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import polars as pl

from rankgate.data.files.checks.declare import Found, check, counted, some

if TYPE_CHECKING:
    from rankgate.data.files.checks.subject import Both, RawQrels

    Spelling = Callable[[pl.Expr], pl.Expr]

_SPELLINGS: dict[str, Spelling] = {
    "without blanks around them": lambda text: text.str.strip_chars(),
    "without a guard against formulas": lambda text: text.str.replace(r"^[' ]([-=+@])", "$1"),
    "in one case of letters": lambda text: text.str.to_lowercase(),
    "in one form of Unicode (NFKC)": lambda text: text.str.normalize("NFKC"),
    "without .0 at their end": lambda text: text.str.replace(r"^(\d+)\.0+$", "$1"),
    "without zeros before numbers": lambda text: text.str.replace_all(r"(^|\D)0+(\d)", "$1$2"),
}
"""What ids may have to undergo to match, one step at a time."""

_LITTLE = 0.5


@check("query-twins", "note", "qrels", "Ids of queries differ in spelling only.")
def _twins(found: RawQrels) -> Iterator[Found]:
    """Queries whose ids differ in blanks, case or form of Unicode only."""
    result = pl.col("id").str.strip_chars().str.to_lowercase().str.normalize("NFKC")
    table = pl.DataFrame({"id": found.query_ids}).with_columns(result.alias("key"))
    twins = table.filter(pl.col("key").is_duplicated())
    if len(twins):
        first = twins.filter(pl.col("key") == twins["key"][0])["id"]
        yield Found(
            f"{counted(len(twins), 'query id')} differ from another one only in blanks, case of "
            "letters or form of Unicode",
            len(twins),
            "make one query of them if they are one; each counts as its own query",
            " and ".join(repr(each) for each in first.head(2)),
        )


@check("queries-spelled", "warning", "both", "Ids of queries match only in another spelling.")
def _queries(found: Both) -> Iterator[Found]:
    judged = found.judged.query_ids
    ranked = found.ranked.query_ids
    yield from _near("query ids", judged, ranked)


@check("documents-spelled", "warning", "both", "Ids of documents match only in another spelling.")
def _documents(found: Both) -> Iterator[Found]:
    """Documents of the queries in common; of all queries where there are none."""
    table, graded = found.ranked.table, found.judged.graded
    known = graded["query_id"].unique()
    if found.ranked.query_ids.is_in(known.implode()).any():
        ranked = found.ranked.query_ids
        table = table.filter(pl.col("query_id").is_in(known.implode()))
        graded = graded.filter(pl.col("query_id").is_in(ranked.implode()))
    yield from _near("document ids", graded["doc_id"].unique(), table["doc_id"].unique())


def _near(what: str, judged: pl.Series, ranked: pl.Series) -> Iterator[Found]:
    """Judged ids that are among the ranked ones in another spelling only."""
    exact = judged.is_in(ranked.implode())
    missing = judged.filter(~exact).drop_nulls()
    spare = ranked.filter(~ranked.is_in(judged.implode())).drop_nulls()
    if missing.is_empty() or spare.is_empty():
        return
    for result, spelling in _SPELLINGS.items():
        ours = _spelled(missing, spelling)
        theirs = _spelled(spare, spelling)
        met = ours.join(theirs, on="key").filter(pl.col("id") != pl.col("id_right"))
        met = met.sort("id", "id_right").unique("id", keep="first", maintain_order=True)
        if len(met):
            mine, other = met.select("id", "id_right").row(0)
            yield Found(
                f"{len(met):,} of the judgments' {len(judged):,} {what} match the run's only "
                f"{result}",
                len(met),
                "write ids in the same form in both files; until then these do not match",
                f"{mine!r} in the judgments, {other!r} in the run",
                severity="warning" if exact.any() else "error",
            )
            missing = missing.filter(~missing.is_in(met["id"].implode()))


def _spelled(ids: pl.Series, spelling: Spelling) -> pl.DataFrame:
    return pl.DataFrame({"id": ids}).with_columns(spelling(pl.col("id")).alias("key"))


@check("queries-in-common", "warning", "both", "Judged queries are not in the run.")
def _overlap(found: Both) -> Iterator[Found]:
    judged, ranked = found.judged.query_ids, found.ranked.query_ids
    tasks = found.ranked.tasks
    if tasks is not None and judged.is_in(tasks.implode()).any():  # judged by task
        ranked = tasks
    common = int(judged.is_in(ranked.implode()).sum())
    lacking = judged.filter(~judged.is_in(ranked.implode()))
    if not common:
        yield Found(
            f"none of {counted(len(judged), 'judged query', 'judged queries')} is in the run, so "
            "that nothing can be scored",
            len(judged),
            "see whether both belong together and call the queries by the same ids",
            f"{some(judged.head(3))} in the judgments; {some(ranked.head(3))} in the run",
            severity="error",
        )
    elif len(lacking):
        barely = common < _LITTLE * len(judged)
        yield Found(
            f"{len(lacking):,} of {counted(len(judged), 'judged query', 'judged queries')} "
            f"{'are' if len(lacking) > 1 else 'is'} not in the run"
            + (": the ids barely overlap" if barely else ""),
            len(lacking),
            "see whether they returned nothing, which counts as 0, or were not run",
            f"queries {some(lacking, 3)}",
        )
    extra = len(ranked) - common
    if common and extra:
        yield Found(
            f"{extra:,} of {counted(len(ranked), 'query', 'queries')} of the run without "
            "judgments: they are not scored",
            extra,
            "nothing needs to be done; judge them if they matter",
            f"queries {some(ranked.filter(~ranked.is_in(judged.implode())), 3)}",
            severity="note",
        )


@check("documents-in-common", "error", "both", "No judged document is in the run.")
def _strangers(found: Both) -> Iterator[Found]:
    """No judged document is retrieved for its query."""
    common = found.judged.query_ids.is_in(found.ranked.query_ids.implode())
    if common.any() and found.met.is_empty():
        yield Found(
            "no document among the first 1,000 of any query is judged: all values would be 0",
            int(common.sum()),
            "see whether both are of one collection and call the documents by the same ids",
            f"{found.judged.graded['doc_id'][0]} in the judgments, "
            f"{found.ranked.table['doc_id'][0]} in the run",
        )
