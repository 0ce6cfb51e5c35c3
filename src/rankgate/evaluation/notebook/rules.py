"""The verbs ``conventions`` and ``convention``, whose results show themselves as tables."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import polars as pl

from rankgate.evaluation.conventions import ConventionFacts, convention_facts
from rankgate.evaluation.conventions import conventions as service_conventions
from rankgate.evaluation.documents import conventions as report
from rankgate.present.forms import as_html
from rankgate.scoring import Convention as BaseConvention
from rankgate.scoring.chosen import chosen_convention

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rankgate.scoring.overrides import Overrides


@dataclass(frozen=True)
class Convention(BaseConvention):
    """What a tool chooses on every axis; shows itself as tables, and ``evaluate`` takes it."""

    @property
    def facts(self) -> ConventionFacts:
        """Every choice with its words."""
        return convention_facts(self)

    @property
    def table(self) -> pl.DataFrame:
        """Every choice: ``axis``, ``value``, ``usual``, ``about``."""
        facts = self.facts
        rows = [
            (each.axis, each.value, each.usual, each.about)
            for each in (*facts.choices, *facts.parameters, *facts.special)
        ]
        schema = {"axis": pl.String, "value": pl.String, "usual": pl.Boolean, "about": pl.String}
        return pl.DataFrame(rows, schema, orient="row")

    def __str__(self) -> str:
        return report.render(self.facts, "text")

    def _repr_html_(self) -> str:
        facts = self.facts
        words = [f"{facts.name} ({facts.hash}): {facts.title}", facts.source, *facts.defects]
        head = "".join(as_html.paragraph(line) for line in words if line)
        return head + "".join(map(as_html.table, report.grids(facts)))


@dataclass(frozen=True)
class Conventions:
    """Every named convention; one of them by its name."""

    every: tuple[Convention, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, in the order of the list."""
        return tuple(each.name for each in self.every)

    @property
    def table(self) -> pl.DataFrame:
        """One row a convention: ``name``, ``title``, ``source``, ``hash``."""
        rows = [(each.name, each.title, each.source, each.hash) for each in self.every]
        return pl.DataFrame(rows, ["name", "title", "source", "hash"], orient="row")

    def __len__(self) -> int:
        return len(self.every)

    def __iter__(self) -> Iterator[Convention]:
        return iter(self.every)

    def __getitem__(self, name: str) -> Convention:
        return convention(name)

    def _repr_html_(self) -> str:
        return as_html.table(report.listed([each.facts for each in self.every]))


def conventions() -> Conventions:
    """Every named convention.

    >>> every = conventions()
    >>> every.names[:2], every["trec"].ties
    (('trec', 'trec9'), 'doc_id_desc')
    """
    return Conventions(tuple(convention(facts.name) for facts in service_conventions()))


def convention(name: str | BaseConvention, overrides: Overrides | Sequence[str] = ()) -> Convention:
    """One convention, with some axes chosen otherwise if that is asked for.

    Args:
        name: the name of a convention, a TOML file that says one, or a convention.
        overrides: axes that are chosen otherwise: ``{"ties": "doc_id_asc", "nDCG.gain": "exp"}``,
            or as words, ``["nDCG.gain=exp"]``.

    Raises:
        UsageError: an unknown name, axis or choice; the message suggests the nearest.
        InputError: a file that does not say a convention.

    >>> mine = convention("trec", {"ties": "doc_id_asc"})
    >>> mine.name, mine.ties, mine.hash == convention("trec").hash
    ('trec+', 'doc_id_asc', False)
    """
    result = chosen_convention(name, overrides)
    return Convention(**{each.name: getattr(result, each.name) for each in fields(result)})
