"""Mix the lists of run files for every query, for a service that reads lists from a file.

`MixedLists` is the result of ``mix``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rankgate.core.declare import Count, Range
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.output_files import replace_file
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.layout import NOTICES, Sentence
from rankgate.data.read import read_run
from rankgate.online.interleaving.interleave import interleave
from rankgate.online.interleaving.interleaving_method import Assignment
from rankgate.online.interleaving.interleaving_methods import METHODS
from rankgate.online.interleaving.simulate_tests import top_documents

if TYPE_CHECKING:
    from rankgate.data.input_types import RunLike


@dataclass(frozen=True)
class MixedLists(Result):
    """Interleaved lists of the queries of runs.

    Attributes:
        method: the method of mixing.
        systems: names of the runs.
        queries: the queries that all runs have.
        left_out: queries that a run does not have.
        lists: the number of lists that were drawn.
        slots: the slots of all lists.
        competitive: the share of slots whose document the runs rank differently.
        seed: the seed of the draws.
        output: the file of the assignments, or None.
        assignments: the lists; empty in a result that was read from JSON.
    """

    kind = "mixed_lists"
    label = "Interleaved lists"
    order = 64
    headline_text = "{lists:n list} of {queries:n query}, mixed by {method}"
    layout = (
        Sentence(
            "The runs {systems} rank {competitive:.1%} of {slots:n slot} differently; only clicks on these "
            "distinguish them."
        ),
        NOTICES,
        Sentence("Written to {output}.", "output"),
    )
    notice_texts = (
        NoticeText(
            "queries-left-out",
            "{left_out:n query is/queries are} not in every run and {left_out:v has/have} no list",
            "left_out",
        ),
        NoticeText(
            "same-lists",
            "the runs rank all shown documents equally: clicks cannot distinguish the runs",
            lambda lists: lists.competitive == 0,
        ),
    )

    method: str
    systems: tuple[str, ...]
    queries: int
    left_out: int
    lists: int
    slots: int
    competitive: float
    seed: int
    output: str | None = None
    assignments: tuple[Assignment, ...] = field(
        default=(), compare=False, repr=False, metadata={"stored": False}
    )


def mix(
    runs: Sequence[RunLike],
    output: str | Path | None = None,
    *,
    method: str = "team_draft",
    length: Count = 10,
    lists: Count = 1,
    depth: Count = 100,
    seed: Annotated[int, Range(0)] = 0,
) -> MixedLists:
    """Mix the lists of runs, for every query that all of them have.

    Args:
        runs: two or more runs.
        output: a file for the assignments, one in a line of JSON.
        method: the interleaving method, such as team_draft.
        length: the number of documents of a mixed list.
        lists: the number of lists for each query; their requests are QUERY/1, QUERY/2, ….
        depth: the number of documents of each run that are read.
        seed: the seed of the draws.

    Raises:
        InputError: files that cannot be read; runs without a common query.
        UsageError: no such method; runs of the same name.
    """
    METHODS.find(method)
    read_runs = [read_run(run, f"run{number}") for number, run in enumerate(runs, 1)]
    names = [run.name for run in read_runs]
    if len(set(names)) != len(names):
        raise UsageError("two runs have the same name.", code="same-name")
    tops = {run.name: top_documents(run, depth) for run in read_runs}
    queries = sorted(
        set.intersection(*(set(lists_by_query) for lists_by_query in tops.values())) if tops else ()
    )
    if not queries:
        raise InputError("the runs have no query in common.", code="no-common-queries")

    def drawn() -> Iterator[Assignment]:
        for query in queries:
            query_lists = {name: lists_by_query[query] for name, lists_by_query in tops.items()}
            for number in range(1, lists + 1):
                yield interleave(
                    query_lists, f"{query}/{number}", method=method, length=length, seed=seed, query=query
                )

    assignments = list(drawn())
    if output is not None:
        with replace_file(output) as stream:
            for assignment in assignments:
                stream.write(json.dumps(assignment.to_dict(), ensure_ascii=False).encode() + b"\n")
    slots = [ranks for assignment in assignments for ranks in assignment.ranks]
    left_out = len(set.union(*(set(lists_by_query) for lists_by_query in tops.values()))) - len(queries)
    return MixedLists(
        method,
        tuple(names),
        len(queries),
        left_out,
        len(assignments),
        len(slots),
        sum(len(set(ranks)) > 1 for ranks in slots) / max(len(slots), 1),
        seed,
        None if output is None else str(output),
        tuple(assignments),
    )
