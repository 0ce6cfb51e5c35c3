"""The options of all commands, which may be before or behind a command's name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

OPTIONS_WITH_VALUE = ("--plugin",)
FLAGS = ("--quiet", "--verbose", "--no-color")


def move_global_options_first(arguments: Sequence[str]) -> list[str]:
    """Return the words of a call with the options of all commands first.

    >>> move_global_options_first(["eval", "qrels.txt", "--plugin", "mine.py", "a.run"])
    ['--plugin', 'mine.py', 'eval', 'qrels.txt', 'a.run']
    >>> move_global_options_first(["eval", "--", "--plugin", "a.run"])
    ['eval', '--', '--plugin', 'a.run']
    """
    global_options, remaining = [], []
    iterator = iter(arguments)
    for word in iterator:
        if word == "--":
            remaining += [word, *iterator]
        elif word in FLAGS or word.startswith(tuple(f"{name}=" for name in OPTIONS_WITH_VALUE)):
            global_options.append(word)
        elif word in OPTIONS_WITH_VALUE:
            global_options += [word, *_next_word(iterator)]
        else:
            remaining.append(word)
    return global_options + remaining


def _next_word(iterator: Iterator[str]) -> list[str]:
    """The value of an option; without one click reports what is missing."""
    return [word for word in [next(iterator, None)] if word is not None]
