"""Notes of readers and losses of writers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from rankgate.core.frozen import dataclass

STATES = "states of queries"
"""The loss of the data next to a run; a writer of files can put it next to the new one."""

_MAX_EXAMPLES = 3


@dataclass(frozen=True)
class Note:
    """A change that a reader made to a file's content, or a fact that it found.

    Attributes:
        what: words that follow a number: ``rows without a grade, left unrated``.
        count: the number of times.
        examples: some of them, with their lines if known.
    """

    what: str
    count: int
    examples: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The count, the text and the examples, in a line."""
        more = ", …" if self.count > len(self.examples) else ""
        example_text = ", ".join(self.examples)
        return f"{self.count:,} {self.what}" + (f": {example_text}{more}" if example_text else "")

    @classmethod
    def of(cls, text: str, cases: Iterable[object]) -> tuple[Self, ...]:
        """A note on all cases found, with the first few as examples; none if there are none.

        >>> Note.of("queries without ratings", ["a", "b", "c", "d"])
        (Note(what='queries without ratings', count=4, examples=('a', 'b', 'c')),)
        >>> Note.of("queries without ratings", [])
        ()
        """
        case_texts = [str(case) for case in cases]
        return (
            (cls(text, len(case_texts), tuple(case_texts[:_MAX_EXAMPLES])),) if case_texts else ()
        )


@dataclass(frozen=True)
class Loss(Note):
    """Content that a writer could not put into its format; ``what`` as in ``texts of queries``."""
