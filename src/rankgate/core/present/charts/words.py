"""Text in charts: names that fit, and labels without overlap."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.core.present.grid import printable


def short(text: str, most: int = 32) -> str:
    """A name in one line; of a long one the middle is left out.

    >>> short("covidex.r1.t5.automatic.reranked.with.a.long.name", 20)
    'covidex.r1…long.name'
    """
    line = printable(text)
    if len(line) <= most:
        return line
    tail = (most - 1) // 2
    return f"{line[: most - 1 - tail]}…{line[-tail:]}"


def queries(*counts: int, users: bool = False) -> str:
    """How many, in words; several counts where metrics or runs differ.

    >>> queries(1), queries(10000), queries(30, 29, 30), queries(7, users=True)
    ('1 query', '10,000 queries', '29 or 30 queries', '7 users')
    """
    distinct = sorted(set(counts))
    one, more = ("user", "users") if users else ("query", "queries")
    return f"{' or '.join(f'{n:,}' for n in distinct)} {one if distinct == [1] else more}"


def no_interval(n: int) -> str:
    """Why the differences of n queries have no interval.

    >>> no_interval(1), no_interval(40)
    ('no interval: 1 query', 'no interval: equal differences')
    """
    return f"no interval: {queries(n) if n < 2 else 'equal differences'}"


def shorts(names: Sequence[str], most: int = 32) -> list[str]:
    """The names cut to fit, and still apart: equal ones get their number.

    >>> shorts(["a-long-name-1", "a-long-name-2", "b"], 8)
    ['a-lo…e-1', 'a-lo…e-2', 'b']
    >>> shorts(["aaaaXaaaa", "aaaaYaaaa"], 7)
    ['aaa…aaa', 'aaa…aaa (2)']
    """
    found: list[str] = []
    for name in names:
        cut = each = short(name, most)
        number = 1
        while each in found:
            number += 1
            each = f"{cut} ({number})"
        found.append(each)
    return found


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places moved apart until neighbours keep the gap, as near to their own as that allows.

    Args:
        places: where labels would be.
        gap: the least distance of two.
        low: the least place.
        high: the greatest place.

    >>> spread([0.5, 0.5, 0.9], 0.1, 0, 1)
    [0.45, 0.55, 0.9]
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    blocks: list[tuple[float, int]] = []  # centre and count, lowest first
    for i in order:
        block = (places[i], 1)
        while blocks and _top(blocks[-1], gap) + gap > block[0] - gap * (block[1] - 1) / 2 + 1e-12:
            other = blocks.pop()
            count = other[1] + block[1]
            block = ((other[0] * other[1] + block[0] * block[1]) / count, count)
        blocks.append(block)
    moved = [centre + gap * (j - (count - 1) / 2) for centre, count in blocks for j in range(count)]
    moved = _within(moved, gap, low, high)
    found = [0.0] * len(places)
    for place, i in zip(moved, order, strict=True):
        found[i] = round(place, 12)
    return found


def _top(block: tuple[float, int], gap: float) -> float:
    return block[0] + gap * (block[1] - 1) / 2


def _within(places: list[float], gap: float, low: float, high: float) -> list[float]:
    """Pushed down from the top, then up from the bottom."""
    limit = high
    for i in reversed(range(len(places))):
        places[i] = min(places[i], limit)
        limit = places[i] - gap
    limit = low
    for i, place in enumerate(places):
        places[i] = max(place, limit)
        limit = places[i] + gap
    return places
