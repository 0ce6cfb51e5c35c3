"""Team draft: in each round every system, in random order, adds its best document left."""

from __future__ import annotations

from random import Random

from rankgate.online.interleaving.method import (
    Drawn,
    Interleaving,
    Lists,
    additive_score,
    team_credits,
)


def draw(lists: Lists, length: int, random: Random) -> Drawn:
    """Mix the lists; a round that is unfair because a list runs out counts for nobody.

    Without that rule a user who clicks at random would prefer the longer list.
    """
    docs: list[str] = []
    teams: list[int | None] = []
    mixed_docs: set[str] = set()
    positions = [0] * len(lists)
    order = list(range(len(lists)))
    while len(docs) < length:
        docs_before = len(docs)
        is_fair = _is_fair_round(lists, mixed_docs)
        random.shuffle(order)
        for system in order:
            ranked, position = lists[system], positions[system]
            while position < len(ranked) and ranked[position] in mixed_docs:
                position += 1
            if position < len(ranked) and len(docs) < length:
                docs.append(ranked[position])
                mixed_docs.add(ranked[position])
                teams.append(system if is_fair else None)
            positions[system] = position
        if len(docs) == docs_before:
            break
    return docs, teams


def _is_fair_round(lists: Lists, mixed_docs: set[str]) -> bool:
    """True if every system adds equally often in the next round, over all orders.

    That holds if each can always add one, or if all have the same documents left.
    """
    count = len(lists)
    if all(len(ranked) - len(mixed_docs) >= count for ranked in lists):
        return True
    remaining = [[doc for doc in ranked if doc not in mixed_docs] for ranked in lists]
    if len({frozenset(docs) for docs in remaining}) == 1:
        return True
    tops = [set(docs[: count - 1]) for docs in remaining]
    return all(
        len(docs) >= count
        or set(docs)
        - set().union(
            *(top_docs for other_system, top_docs in enumerate(tops) if other_system != system)
        )
        for system, docs in enumerate(remaining)
    )


METHOD = Interleaving(
    "team_draft",
    title="Team draft, for two systems or more",
    formula="every round each system, in random order, adds its best document that is not yet in "
    "the list; a click counts for the system that added it",
    source="Radlinski, Kurup and Joachims 2008; Schuth and others 2014",
    bias="cannot see some differences: with a b c against b c a and clicks on c alone, both "
    "systems are credited equally often",
    draw=draw,
    score=additive_score(team_credits),
)
