"""Mix lists for one request of a live service: no files, no tables, some microseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from rankgate.online.interleaving.interleaving_method import Assignment, refuse_lists
from rankgate.online.interleaving.interleaving_methods import METHODS


def interleave(
    lists: Mapping[str, Sequence[str]] | Sequence[Sequence[str]],
    request: str,
    *,
    method: str = "team_draft",
    length: int = 10,
    seed: int = 0,
    query: str = "",
) -> Assignment:
    """Mix the lists of two or more systems for one request.

    A pure function: the same lists, request and seed give the same list, so that the next page of
    a request is a longer list cut (but not of optimised interleaving, which needs the length of
    all pages at once). Show ``docs`` and log ``to_dict()``.

    Args:
        lists: documents by system, best first; without names they are called 1, 2, ….
        request: the id of the request; clicks are logged with it.
        method: the interleaving method, such as team_draft.
        length: the number of documents of the mixed list, all pages together.
        seed: the seed of the experiment: another one gives another draw.
        query: the words or id of the query, for the log.

    Raises:
        InputError: lists that cannot be mixed.
        UsageError: no such method.

    >>> made = interleave({"old": ["a", "b", "c"], "new": ["b", "d", "a"]}, "r1", length=3)
    >>> len(made.docs), made == interleave([["a", "b", "c"], ["b", "d", "a"]], "r1", length=3)
    (3, False)
    """
    lists_by_name = (
        lists
        if isinstance(lists, Mapping)
        else {str(number): documents for number, documents in enumerate(lists, 1)}
    )
    ranked = list(lists_by_name.values())
    interleaving = METHODS.find(method)
    refuse_lists(ranked, interleaving.most, method)
    docs, teams = interleaving.draw(ranked, length, Random(f"{seed}/{request}"))  # noqa: S311 - repeatable
    ranks_of_systems = [{doc: rank for rank, doc in enumerate(system_docs, 1)} for system_docs in ranked]
    return Assignment(
        request,
        method,
        tuple(lists_by_name),
        tuple(docs),
        tuple(teams),
        tuple(tuple(system_ranks.get(doc) for system_ranks in ranks_of_systems) for doc in docs),
        tuple(map(len, ranked)),
        seed,
        query,
    )
