"""What changed between runs without judgments, and the commands that lead to a verdict.

`changes_document` has the lists that changed most and the commands to copy; `lists_document` is the
page with the lists of all runs side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from shlex import join
from typing import TYPE_CHECKING
from urllib.parse import quote

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.document_model import (
    Code,
    Document,
    ListedDocument,
    ListPair,
    QueryLists,
    Section,
    make_document,
)
from rankgate.core.present.layout import NOTICES, View
from rankgate.core.present.number_formats import count_noun
from rankgate.core.present.pages.page import Links, document_page
from rankgate.data.collection import Collection
from rankgate.data.files.own_files import find_files, known_texts, match_ids
from rankgate.data.id_match import DO_NOT_FIT
from rankgate.decisions.reproduction.rank_similarity import rank_similarity
from rankgate.measurement.scoring.alignment.top_documents import rank_run
from rankgate.measurement.scoring.presets import chosen_convention

if TYPE_CHECKING:
    from rankgate.data import Qrels, Run
    from rankgate.decisions.reproduction.rank_similarity_result import RankSimilarity

    Lists = Mapping[str, Sequence[str]]


PAIRS_TO_JUDGE = 30
"""About how many pairs of a query and a document are judged first, or those of `MIN_QUERIES`."""

MIN_QUERIES = 10
"""Queries without which no interval decides; a gate states the same."""

_DEPTHS = (3, 10, 100)
_SHOWN_DEPTH = 10
_SHOWN_QUERIES = 200  # of all pairs of runs together
_MOVES = "Moved: ranks from the first list to the second; +2 is two ranks higher in the second list."


@dataclass(frozen=True)
class JudgingPlan:
    """The pairs to judge first: the first documents of queries drawn among those that changed.

    Attributes:
        depth: the number of first documents of both lists.
        changed: the number of queries whose first documents changed.
        queries: the number of queries to draw.
        pairs: about how many pairs of a query and a document these have.
    """

    depth: int
    changed: int
    queries: int
    pairs: int

    @classmethod
    def from_changes(cls, changes: pl.DataFrame) -> JudgingPlan | None:
        """The plan for the changes between two runs; None if no list changed."""
        for depth in _DEPTHS:
            changed = changes.filter(pl.col("first_change") <= depth)
            if len(changed):
                new = changed["new_in_3" if depth == _DEPTHS[0] else "new_in_10"].to_numpy().mean()
                pairs_of_query = depth + float(new)
                drawn = min(len(changed), max(MIN_QUERIES, round(PAIRS_TO_JUDGE / pairs_of_query)))
                return cls(depth, len(changed), drawn, round(drawn * pairs_of_query))
        return None

    def commands(self, runs: Sequence[str], verb: str = "gate") -> list[str]:
        """The commands from the runs to a verdict, for the terminal."""
        pool = ["--depth", str(self.depth), "--queries", str(self.queries), "--query-sampling", "changed"]
        return [
            *_rating_commands(runs, pool),
            join(["rankgate", verb, "judgments.csv", *runs, "-m", f"nDCG@{self.depth}"]),
        ]


def _rating_commands(runs: Sequence[str], pool_options: Sequence[str]) -> list[str]:
    return [
        join(["rankgate", "pool", *runs, *pool_options, "-o", "pool.csv"]),
        "rankgate rate pool.csv -o ratings.jsonl",
        "rankgate resolve ratings.jsonl -o judgments.csv",
    ]


BROWSER_COMMANDS = (
    "rankgate store init --store judging.db",
    "rankgate store import pool.csv --project judging --batch first --store judging.db",
    "rankgate serve --store judging.db",
    "rankgate resolve all --project judging --store judging.db -o judgments.csv",
)
"""What replaces ``rate`` and ``resolve`` for raters with a browser."""


def changes_document(result: RankSimilarity, runs: Sequence[str], verb: str) -> Document:
    """What changed, what that can and cannot tell, and the commands that lead to a verdict.

    Args:
        result: the similarity of the two runs.
        runs: their paths, the baseline first.
        verb: the last command, ``gate`` or ``compare``.
    """
    plan = JudgingPlan.from_changes(result.changes)
    status = "inconclusive" if verb == "gate" else ""
    title = f"no judgments yet; how {result.second} differs from {result.first}"
    title = title if status else title[0].upper() + title[1:]
    notices = NOTICES.blocks(result)
    if plan is None:
        same = f"All {count_noun(result.queries, 'list')} are the same: no judgment can separate these runs."
        return make_document(title, *notices, lead=(same,), status=status)
    changed = View("changes", "largest changes", row_filter=pl.col("first_change").is_not_null(), first=5)
    return make_document(
        title,
        *changed.blocks(result),
        *notices,
        "This shows where the lists differ, and how far. It cannot show which list is better: that takes "
        "judgments of the documents in which they differ.",
        f"Judge about {plan.pairs} pairs first: the first {count_noun(plan.depth, 'document')} of "
        f"{plan.queries:,} of the {count_noun(plan.changed, 'query')} that changed there, drawn at random. "
        "The verdict is then about the queries that changed; the others gain and lose nothing there.",
        Code("\n".join(plan.commands(runs, verb))),
        "In a browser instead of the second and third line (needs pip install 'rankgate[serve]'):",
        Code("\n".join(BROWSER_COMMANDS)),
        _more_sentence(plan),
        f"Both lists side by side: {join(['rankgate', 'open', *runs])}",
        lead=(result.change_sentence,),
        status=status,
    )


def _more_sentence(plan: JudgingPlan) -> str:
    if plan.queries == plan.changed:
        few = f"Fewer than {MIN_QUERIES} queries decide nothing. " if plan.queries < MIN_QUERIES else ""
        return f"{few}These are all queries that changed; if they do not settle it, add queries to both runs."
    return (
        f"If these do not settle it, the verdict says how much is missing. Make --queries larger, at most "
        f"{plan.changed:,}: the new pool contains the old one, and rate asks only for what is new. Choose "
        "the number once, and gate again when all are judged: looking after every few pairs makes a chance "
        "result more likely than the verdict states."
    )


def one_run_document(run: Run, path: str) -> Document:
    """What one set of answers needs for its first number, and for a later verdict."""
    depth = _DEPTHS[0]
    queries = run.table["query_id"].n_unique()
    drawn = min(queries, PAIRS_TO_JUDGE // depth)
    metric = ["-m", f"nDCG@{depth}"]
    pool = ["--depth", str(depth), "--queries", str(drawn)]
    commands = [
        *_rating_commands([path], pool),
        join(["rankgate", "eval", "judgments.csv", path, *metric]),
        join(["rankgate", "baseline", "save", "today", "judgments.csv", path, *metric]),
    ]
    return make_document(
        f"One set of answers, {path}: {count_noun(queries, 'query')}, no judgments yet",
        f"Judge about {PAIRS_TO_JUDGE} pairs for the first number: the first {depth} documents of {drawn} "
        "queries, drawn at random. The last line keeps it as the baseline of later gates.",
        Code("\n".join(commands)),
        "With the answers of the changed system in a second file, see what changed, then gate:",
        Code(join(["rankgate", "gate", path, "NEW_RUN"])),
        status="inconclusive",
    )


@dataclass(frozen=True)
class _Known:
    """What is known of queries and documents, for the lists of a page.

    Attributes:
        grades: the judgments, by query and document.
        texts: the texts of queries, by id.
        documents: the texts of documents, by id.
    """

    grades: Mapping[tuple[str, str], float]
    texts: Mapping[str, str]
    documents: Mapping[str, str]


def lists_document(
    runs: Sequence[Run],
    qrels: Qrels | None = None,
    texts: Mapping[str, str] | None = None,
    documents: Mapping[str, str] | None = None,
) -> Document:
    """The lists of all queries, those of each further run beside those of the first one.

    Args:
        runs: one run or more, the baseline first; one alone is shown beside the judged documents,
            the best first.
        qrels: judgments, for grades.
        texts: the texts of queries, by id.
        documents: the texts of documents, by id.
    """
    rows = () if qrels is None else qrels.table.select("query_id", "doc_id", "grade").iter_rows()
    known = _Known(
        {(query, document): grade for query, document, grade in rows}, texts or {}, documents or {}
    )
    (name, first), *others = [(run.name, _first_documents(run)) for run in runs]
    sections = []
    for position, (other_name, second) in enumerate(others):
        order = _query_order(runs[0], runs[position + 1])
        shown = order[: max(1, _SHOWN_QUERIES // len(others))]
        names = (name, other_name)
        pairs = [_list_pair(f"q{position}", query, names, first, second, known) for query in shown]
        heading = f"{len(pairs):,} of {count_noun(len(order), 'query')}, the largest change first"
        blocks = (_MOVES, QueryLists(heading, tuple(pairs)))
        title = f"{other_name} beside {name}"
        sections.append(Section(f"lists-{position}", title, blocks, other_name))
    if not others:
        best = _best_documents(known.grades)
        names = (name, "judgments, best first" if best else "")
        shown = sorted(first)[:_SHOWN_QUERIES]
        pairs = [_list_pair("q", query, names, first, best, known, moving=False) for query in shown]
        heading = f"{len(pairs):,} of {count_noun(len(first), 'query')}"
        sections = [Section("lists", name, (QueryLists(heading, tuple(pairs)),), "Lists")]
    lead = [rank_similarity(*runs).change_sentence] if len(runs) == 2 else []
    lead.append(
        "A grade – is unjudged." if known.grades else "There are no judgments, so there are no grades."
    )
    title = " and ".join(run.name for run in runs) if len(runs) < 3 else count_noun(len(runs), "run")
    return Document(f"Lists of {title}", "", tuple(lead), tuple(sections))


def lists_page(paths: Sequence[str], collection: Collection) -> str:
    """The page of the lists in files, with the grades and texts that the files have.

    Args:
        paths: files and folders with runs, judgments, texts.
        collection: how judgments and runs are read: columns, grades, ids.

    Raises:
        InputError: a file that cannot be read; ids of judgments and runs that do not meet.
        UsageError: no file has a run.
    """
    files = find_files(paths)
    runs = [file.path for file in files if file.has_run]
    if not runs:
        raise UsageError(
            f"no run in {', '.join(paths)}; rankgate describe FILE shows what a file holds.",
            code="missing-input",
        )
    judged = [file for file in files if file.has_judgments]
    judgments = next((file for file in judged if not file.has_run), next(iter(judged), None))
    qrels = None
    if judgments is not None:
        collection = collection.filled(Collection(judgments.path))
        if ids := match_ids(collection, runs):
            raise InputError(
                f"{ids.question}; match them with --ids {ids.rules}.", source=judgments.path, code=DO_NOT_FIT
            )
        qrels = collection.qrels()
    texts, documents = known_texts(files)
    document = lists_document([collection.run(path) for path in runs], qrels, texts, documents)
    return document_page(document, Links(query_text=lambda query: texts.get(query, "")))


def _query_order(first: Run, second: Run) -> list[str]:
    """The queries of both runs, the largest change first; those of one run alone come last."""
    changed = rank_similarity(first, second).changes["query_id"].to_list()
    return [*changed, *sorted({*first.table["query_id"], *second.table["query_id"]} - {*changed})]


def _first_documents(run: Run) -> Lists:
    queries = run.table["query_id"].unique()
    table = rank_run(run, queries, _SHOWN_DEPTH, chosen_convention("trec")).sort("query_id", "rank")
    return dict(table.group_by("query_id", maintain_order=True).agg("doc_id").iter_rows())


def _best_documents(grades: Mapping[tuple[str, str], float]) -> Lists:
    lists: dict[str, list[str]] = {}
    for query, document in sorted(grades, key=lambda pair: (-grades[pair], pair)):
        lists.setdefault(query, []).append(document)
    return {query: documents[:_SHOWN_DEPTH] for query, documents in lists.items()}


def _list_pair(
    prefix: str,
    query: str,
    names: tuple[str, str],
    first_lists: Lists,
    second_lists: Lists,
    known: _Known,
    *,
    moving: bool = True,
) -> ListPair:
    """Both lists of a query; `moving` ones with the ranks that documents rise in the second."""
    first, second = first_lists.get(query, ()), second_lists.get(query, ())
    moves = dict.fromkeys(first, "gone") | dict.fromkeys(second, "new") if moving and first and second else {}
    for document in moves.keys() & {*first} & {*second}:
        rise = first.index(document) - second.index(document)
        moves[document] = f"{rise:+d}" if rise else ""
    columns = [
        [
            ListedDocument(
                document,
                known.grades.get((query, document)),
                moves.get(document, ""),
                known.documents.get(document, ""),
            )
            for document in documents
        ]
        for documents in (first, second)
    ]
    pairs = enumerate(zip_longest(*columns), 1)
    new = count_noun(len({*second} - {*first}), "new document") if moves else ""
    return ListPair(
        f"{prefix}-{quote(query, safe='')}",
        query,
        known.texts.get(query, ""),
        new,
        names,
        tuple((rank, left, right) for rank, (left, right) in pairs),
        max(known.grades.values(), default=0.0),
    )
