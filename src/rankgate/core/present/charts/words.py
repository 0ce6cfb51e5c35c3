"""Text in charts: names that fit, and labels without overlap."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.core.present.grid import make_printable


def shorten_name(text: str, max_length: int = 32) -> str:
    """A name in one line; a long one without its middle.

    >>> shorten_name("covidex.r1.t5.automatic.reranked.with.a.long.name", 20)
    'covidex.r1…long.name'
    """
    line = make_printable(text)
    if len(line) <= max_length:
        return line
    tail = (max_length - 1) // 2
    return f"{line[: max_length - 1 - tail]}…{line[-tail:]}"


def count_queries(*counts: int, users: bool = False) -> str:
    """The number of queries in words; several counts where metrics or runs differ.

    >>> (count_queries(1), count_queries(10000), count_queries(30, 29, 30),
    ...  count_queries(7, users=True))
    ('1 query', '10,000 queries', '29 or 30 queries', '7 users')
    """
    distinct = sorted(set(counts))
    singular, plural = ("user", "users") if users else ("query", "queries")
    return f"{' or '.join(f'{n:,}' for n in distinct)} {singular if distinct == [1] else plural}"


def no_interval_reason(n: int) -> str:
    """The reason why the differences of n queries have no interval.

    >>> no_interval_reason(1), no_interval_reason(40)
    ('no interval: 1 query', 'no interval: equal differences')
    """
    return f"no interval: {count_queries(n) if n < 2 else 'equal differences'}"


def shorten_names(names: Sequence[str], max_length: int = 32) -> list[str]:
    """The names cut to fit; equal ones get a number.

    >>> shorten_names(["a-long-name-1", "a-long-name-2", "b"], 8)
    ['a-lo…e-1', 'a-lo…e-2', 'b']
    >>> shorten_names(["aaaaXaaaa", "aaaaYaaaa"], 7)
    ['aaa…aaa', 'aaa…aaa (2)']
    """
    labels: list[str] = []
    for name in names:
        base = label = shorten_name(name, max_length)
        number = 1
        while label in labels:
            number += 1
            label = f"{base} ({number})"
        labels.append(label)
    return labels


def separate_positions(
    positions: Sequence[float], gap: float, low: float, high: float
) -> list[float]:
    """Move positions apart until neighbours keep the gap, and as little as possible.

    Args:
        positions: those of labels before they are moved.
        gap: the smallest distance of two.
        low: the smallest position.
        high: the largest position.

    >>> separate_positions([0.5, 0.5, 0.9], 0.1, 0, 1)
    [0.45, 0.55, 0.9]
    """
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    blocks: list[tuple[float, int]] = []  # centre and count, lowest first
    for i in order:
        block = (positions[i], 1)
        while (
            blocks
            and _block_top(blocks[-1], gap) + gap > block[0] - gap * (block[1] - 1) / 2 + 1e-12
        ):
            previous = blocks.pop()
            count = previous[1] + block[1]
            block = ((previous[0] * previous[1] + block[0] * block[1]) / count, count)
        blocks.append(block)
    moved_positions = [
        centre + gap * (j - (count - 1) / 2) for centre, count in blocks for j in range(count)
    ]
    moved_positions = _clip_positions(moved_positions, gap, low, high)
    spread_positions = [0.0] * len(positions)
    for position, i in zip(moved_positions, order, strict=True):
        spread_positions[i] = round(position, 12)
    return spread_positions


def _block_top(block: tuple[float, int], gap: float) -> float:
    return block[0] + gap * (block[1] - 1) / 2


def _clip_positions(positions: list[float], gap: float, low: float, high: float) -> list[float]:
    """Keep positions inside the limits, first from the top, then from the bottom."""
    limit = high
    for i in reversed(range(len(positions))):
        positions[i] = min(positions[i], limit)
        limit = positions[i] - gap
    limit = low
    for i, position in enumerate(positions):
        positions[i] = max(position, limit)
        limit = positions[i] + gap
    return positions
