"""Notes of readers and losses of writers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from rankgate.core.frozen import dataclass

STATES = "states of queries"
"""The loss of the data next to a run; a writer of files can put it next to the new one."""

_EXAMPLES = 3


@dataclass(frozen=True)
class Note:
    """What a reader did to a file's content, or saw in it.

    Attributes:
        what: the thing, in words that follow a number: ``rows without a grade, left unrated``.
        count: how many times.
        examples: some of them, with their lines where they are known.
    """

    what: str
    count: int
    examples: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The count, the thing and the examples, in a line."""
        more = ", …" if self.count > len(self.examples) else ""
        shown = ", ".join(self.examples)
        return f"{self.count:,} {self.what}" + (f": {shown}{more}" if shown else "")

    @classmethod
    def of(cls, what: str, found: Iterable[object]) -> tuple[Self, ...]:
        """One of everything found, with the first few as examples; none if there is none.

        >>> Note.of("queries without ratings", ["a", "b", "c", "d"])
        (Note(what='queries without ratings', count=4, examples=('a', 'b', 'c')),)
        >>> Note.of("queries without ratings", [])
        ()
        """
        listed = [str(each) for each in found]
        return (cls(what, len(listed), tuple(listed[:_EXAMPLES])),) if listed else ()


@dataclass(frozen=True)
class Loss(Note):
    """What a writer could not put into its format; ``what`` as in ``texts of queries``."""
