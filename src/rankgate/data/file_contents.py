"""The contents of a file: judgments, runs, ratings, queries, documents and values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any, Self

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.qrels import Qrels, Ratings, Scale
    from rankgate.data.run import Run


STATES = "states of queries"
"""The loss of the data next to a run; a writer of files can put it next to the new one."""

_MAX_EXAMPLES = 3


@dataclass(frozen=True)
class Note:
    """A change that a reader made to a file's content, or a fact that it found.

    Attributes:
        what: text after a number: ``rows without a grade, left unrated``.
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
        return (cls(text, len(case_texts), tuple(case_texts[:_MAX_EXAMPLES])),) if case_texts else ()


@dataclass(frozen=True)
class Loss(Note):
    """Content that a writer could not put into its format; ``what`` as in ``texts of queries``."""

    @classmethod
    def of_scale(cls, scale: Scale | None) -> tuple[Self, ...]:
        """The loss of a scale of grades, if there is one."""
        if scale is None:
            return ()
        return (cls("scale of grades", 1, (f"{scale.lowest:g} to {scale.highest:g}",)),)


PARTS = ("qrels", "runs", "ratings", "queries", "documents", "values", "extra")
"""The parts of contents, in the order in which a format that holds one of them chooses."""

PART_LABELS = {
    "qrels": "judgments",
    "runs": "runs",
    "ratings": "ratings",
    "queries": "queries with their texts",
    "documents": "documents with their fields",
    "values": "metric values",
}
"""Texts for the parts, as in losses."""


@dataclass(frozen=True)
class FileContents:
    """Everything a file holds; missing data are None or empty.

    Attributes:
        qrels: judgments.
        runs: rankings, lazy where the file is read row by row.
        ratings: the grades of single raters.
        queries: ``query_id`` and ``text``, then anything else that is known of a query, as strings:
            ``information_need``, ``notes``, tags.
        documents: ``doc_id`` and the document's fields as strings; with a ``query_id`` before
            them where fields differ by query.
        values: values of metrics: ``run``, ``query_id``, ``metric``, ``value``, ``at``.
        extra: fields that only one format has (templates, index names), by the format's name,
            so that a file comes back as it was.
        notes: notes of the reader about the file.
    """

    qrels: Qrels | None = None
    runs: tuple[Run, ...] = ()
    ratings: Ratings | None = None
    queries: pl.DataFrame | None = None
    documents: pl.DataFrame | None = None
    values: pl.DataFrame | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts that hold something."""
        return tuple(name for name in PARTS if _is_filled(getattr(self, name)))

    def only(self, *parts: str) -> FileContents:
        """The same contents with only the named parts; notes stay."""
        empty_contents = FileContents()
        empty_parts = {
            field_.name: getattr(empty_contents, field_.name)
            for field_ in fields(self)
            if field_.name not in {*parts, "notes"}
        }
        return replace(self, **empty_parts)

    def losses(self, *kept_parts: str, runs: int | None = None) -> tuple[Loss, ...]:
        """The losses if only some parts are written.

        Args:
            kept_parts: the parts that are written whole.
            runs: the number of runs that are written, the first ones; all of them if not given.
        """
        lost: list[Loss] = []
        for name in self.parts:
            if name == "runs":
                first_lost = 0 if name not in kept_parts else len(self.runs) if runs is None else runs
                lost += Loss.of("runs", [run.name for run in self.runs[first_lost:]])
            elif name == "extra" and name not in kept_parts:
                for owner, value in self.extra.items():
                    keys = list(value) if isinstance(value, Mapping) else [owner]
                    lost += Loss.of(f"fields that only {owner} uses", keys)
            elif name not in kept_parts:
                lost += self._lost(name)
        if self.qrels and self.qrels.made_by and "qrels" in kept_parts:
            rule = str(self.qrels.made_by.get("rule", ""))
            lost.append(Loss("record of how judgments were made", 1, (rule,)))
        return tuple(lost)

    def _lost(self, name: str) -> tuple[Loss, ...]:
        part_content = getattr(self, name)
        table: pl.DataFrame = getattr(part_content, "table", part_content)
        if name == "qrels" and table.is_empty():
            return Loss.of("queries without judgments", part_content.unjudged)
        ids = [column for column in ("query_id", "doc_id", "metric") if column in table.columns]
        examples = tuple(" ".join(map(str, row)) for row in table.select(ids).head(3).rows())
        return (Loss(PART_LABELS[name], len(table), examples),)

    def judgments(self, label: str) -> Qrels:
        """The judgments.

        Raises:
            InputError: the file has no judgments.
        """
        if self.qrels is None:
            raise InputError(self._lacks("judgments"), source=label, code="no-judgments")
        return self.qrels

    def ranking(self, label: str) -> Run:
        """The only run.

        Raises:
            InputError: the file has no run, or several.
        """
        if not self.runs:
            raise InputError(self._lacks("rankings"), source=label, code="no-rankings")
        if len(self.runs) > 1:
            names = ", ".join(run.name for run in self.runs[:5])
            problem = (
                f"{count_noun(len(self.runs), 'run')} ({names}), where one is needed; convert one of them."
            )
            raise InputError(problem, source=label, code="several-candidates")
        return self.runs[0]

    def _lacks(self, noun: str) -> str:
        content = [PART_LABELS.get(name, name) for name in self.parts if name != "extra"]
        hint = "; resolve them into judgments first" if content[:1] == ["ratings"] else ""
        return f"no {noun} in it, but {' and '.join(content) or 'nothing'}{hint}."


def _is_filled(part_content: object) -> bool:
    if part_content is None:
        return False
    if isinstance(part_content, tuple | Mapping):
        return bool(part_content)
    return True
