"""The options of all commands, which may be before or behind a command's name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

WITH_VALUE = ("--plugin",)
FLAGS = ("--quiet", "--verbose", "--no-color")


def global_first(words: Sequence[str]) -> list[str]:
    """Return the words of a call with the options of all commands first.

    >>> global_first(["eval", "qrels.txt", "--plugin", "mine.py", "a.run"])
    ['--plugin', 'mine.py', 'eval', 'qrels.txt', 'a.run']
    >>> global_first(["eval", "--", "--plugin", "a.run"])
    ['eval', '--', '--plugin', 'a.run']
    """
    first, others = [], []
    rest = iter(words)
    for word in rest:
        if word == "--":
            others += [word, *rest]
        elif word in FLAGS or word.startswith(tuple(f"{name}=" for name in WITH_VALUE)):
            first.append(word)
        elif word in WITH_VALUE:
            first += [word, *_next(rest)]
        else:
            others.append(word)
    return first + others


def _next(rest: Iterator[str]) -> list[str]:
    """The value of an option; without one click reports what is missing."""
    return [word for word in [next(rest, None)] if word is not None]
