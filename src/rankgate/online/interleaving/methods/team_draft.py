"""Team draft: in each round every system, in random order, adds its best document left."""

from __future__ import annotations

from random import Random

from rankgate.online.interleaving.method import (
    Drawn,
    Interleaving,
    Lists,
    additive,
    team_credits,
)


def draw(lists: Lists, length: int, random: Random) -> Drawn:
    """Mix the lists; a round that is unfair because a list runs out counts for nobody.

    Without that rule a user who clicks at random would prefer the longer list.
    """
    docs: list[str] = []
    teams: list[int | None] = []
    taken: set[str] = set()
    at = [0] * len(lists)
    order = list(range(len(lists)))
    while len(docs) < length:
        begin = len(docs)
        fair = _fair(lists, taken)
        random.shuffle(order)
        for system in order:
            ranked, place = lists[system], at[system]
            while place < len(ranked) and ranked[place] in taken:
                place += 1
            if place < len(ranked) and len(docs) < length:
                docs.append(ranked[place])
                taken.add(ranked[place])
                teams.append(system if fair else None)
            at[system] = place
        if len(docs) == begin:
            break
    return docs, teams


def _fair(lists: Lists, taken: set[str]) -> bool:
    """Whether every system adds equally often in the next round, over all orders.

    So it is if each can always add one, or if all have the same documents left.
    """
    count = len(lists)
    if all(len(each) - len(taken) >= count for each in lists):
        return True
    left = [[doc for doc in each if doc not in taken] for each in lists]
    if len({frozenset(each) for each in left}) == 1:
        return True
    tops = [set(each[: count - 1]) for each in left]
    return all(
        len(each) >= count
        or set(each) - set().union(*(top for other, top in enumerate(tops) if other != system))
        for system, each in enumerate(left)
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
    score=additive(team_credits),
)
