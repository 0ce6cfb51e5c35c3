"""Does a judge favour systems of the same model family, and are the data circular?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.declare.toml import Toml
from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.judging.admission.judged_pairs import JUDGE
from rankgate.measurement.stats.interval import student_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

QUERIES, CORPUS = "queries", "corpus"
"""The members of a family that wrote the queries, and the documents."""
_ROLES = frozenset({JUDGE, QUERIES, CORPUS})

FAMILIES: dict[str, Any] = {
    "metric": pl.String, "family": pl.String, "systems": pl.Int64, "others": pl.Int64,
    "queries": pl.Int64, "advantage": pl.Float64, "low": pl.Float64, "high": pl.Float64,
    "needed": pl.Int64,
}  # fmt: skip
"""A row a metric: by how much more than people the judge puts systems of the same family above the
others, with its 95 % interval; queries that find the largest acceptable advantage, null where no
number does with so few systems."""

_LEVEL, _POWER = 0.95, 0.8
_PARAMETERS = 3  # two means and a slope
_FEWEST = 2
_UNDETERMINED = 5  # degrees of freedom of systems, up to which no noise is taken from their spread


@dataclass(frozen=True)
class Lineage:
    """Which judge, systems, queries and documents come from the same model family.

    Attributes:
        families: the family of each member: ``judge``, ``queries``, ``corpus``, and systems by
            name.
        source: the file.
    """

    families: Mapping[str, str]
    source: str = "lineage"

    @classmethod
    def of(cls, given: Lineage | Mapping[str, Sequence[str]] | str | Path) -> Lineage:
        """From members by family, or a TOML file with them in ``[families]``.

        Raises:
            InputError: a file that cannot be read, a member of two families, no judge.
        """
        if isinstance(given, Lineage):
            return given
        if isinstance(given, str | Path):
            file = Toml.read(given, code="invalid-lineage")
            return cls(_members(file.values.get("families"), file), file.source)
        return cls(_members(given, Toml({}, "lineage", {}, code="invalid-lineage")))

    def own(self, systems: Sequence[str]) -> NDArray[np.bool_]:
        """Which systems are of the judge's family.

        Raises:
            InputError: a system without a family, a member that is no system.
        """
        if lacking := [name for name in systems if name not in self.families]:
            problem = f"{', '.join(lacking)}: no family has these systems; add them to one."
            raise InputError(problem, source=self.source, code="missing-input")
        strange = sorted(set(self.families) - _ROLES - set(systems))
        if strange:
            problem = (
                f"{', '.join(strange)}: there is no such system; there are {', '.join(systems)}, "
                f"{JUDGE}, {QUERIES} and {CORPUS}."
            )
            raise InputError(problem, source=self.source, code="unknown-name")
        mine = self.families[JUDGE]
        return np.array([self.families[name] == mine for name in systems])

    @property
    def names_writers(self) -> bool:
        """Whether it says who wrote the queries or the documents."""
        return not self.families.keys().isdisjoint({QUERIES, CORPUS})

    def cautions(self, own: NDArray[np.bool_]) -> list[str]:
        """What the lineage says against the comparison, whatever the figures.

        Args:
            own: which systems are of the judge's family; empty without systems.
        """
        mine = self.families[JUDGE]
        found = []
        if own.size and (own.all() or not own.any()):
            which = "every system is" if own.all() else "no system is"
            found.append(
                f"{which} of the judge's family {mine}, so these runs cannot show whether the "
                "judge favours that family"
            )
        if mine == self.families.get(QUERIES) == self.families.get(CORPUS):
            found.append(
                f"circular: the documents, the queries and the grades all come from the family "
                f"{mine}; values can be high because all three share what they see and what they "
                "miss, which no figure here shows; have people write queries or judge"
            )
            return found
        return found + [self._shared(each) for each in (QUERIES, CORPUS) if self._of_others(each)]

    def _of_others(self, writer: str) -> list[str]:
        """The judge and the systems of the same family as the writer."""
        family = self.families.get(writer)
        members = sorted(self.families, key=lambda each: (each != JUDGE, each))
        return [each for each in members
                if self.families[each] == family and each not in {QUERIES, CORPUS}]  # fmt: skip

    def _shared(self, writer: str) -> str:
        what = {QUERIES: "queries", CORPUS: "documents"}[writer]
        return (
            f"the {what} were written by the family {self.families[writer]}, which "
            f"{', '.join(self._of_others(writer))} also come from: they may share what they see "
            f"and what they miss, which no figure here shows; {what} written by people would"
        )


def _members(table: object, file: Toml) -> dict[str, str]:
    """The family of each member.

    Raises:
        InputError: as `Lineage.of`.
    """
    if not isinstance(table, Mapping) or not table:
        problem = 'a lineage has a table [families], as in gpt = ["judge", "dense"].'
        raise file.error(problem, "families", code="missing-input")
    found: dict[str, str] = {}
    for family, members in table.items():
        if not isinstance(members, list | tuple) or any(not isinstance(m, str) for m in members):
            problem = f'{family} is a list of names, as in {family} = ["judge", "dense"].'
            raise file.error(problem, "families", family)
        for member in members:
            if found.setdefault(member, family) != family:
                problem = (
                    f"{member} is in {found[member]} and in {family}: a member has one family."
                )
                raise file.error(problem, "families", family, code="contradiction")
    if JUDGE not in found:
        problem = "no family has the judge; add it by the name judge."
        raise file.error(problem, "families", code="missing-input")
    return found


def family_bias(
    tables: Mapping[str, tuple[Floats, Floats]], lineage: Lineage, own: NDArray[np.bool_],
    limit: float,
) -> pl.DataFrame:  # fmt: skip
    """`FAMILIES`: the interaction of judge and family, for other queries and other systems.

    A judge that errs shrinks differences: good systems lose and poor ones gain, whatever their
    family. With means j of systems by the judge and p by people the advantage is that of an
    analysis of covariance,

        A = (j_own − j_others) − b(p_own − p_others),   b = Σxy/Σx²,

    x and y the deviations of p and j from the mean of their group, with the variance

        V = max(R − ac, 0)/(S − 3) · (1/S_own + 1/S_others)
            + R/(S − 3) · (p_own − p_others)²/Σx² + s²/T,   R = Σ(y − bx)²

    of S systems, as each judge sees some better than others, of the slope, and of T queries with s²
    the variance of the advantage over queries; c, the sum over systems of the variance of y − bx
    over queries by T, is what so few queries add to R by chance. Few systems do not determine R so
    well that c could be taken from it, and intervals covered .91 with 8 systems (docs/validity.md):
    a = max(0, 1 − 5/(S − 3)), so that below 9 systems nothing is. Degrees of freedom by Welch and
    Satterthwaite, from the variances with c. Fewer than four systems have no interval.

    Args:
        tables: by metric (T, S) values of the systems by people and by the judge.
        lineage: the families.
        own: which systems are of the judge's.
        limit: the advantage that should be found.
    """
    rows: list[dict[str, Any]] = []
    for metric, (people, judge) in tables.items():
        if not own.any() or own.all():
            continue
        known_ = ~np.isnan(people + judge).any(axis=1)
        row: dict[str, Any] = {
            "metric": metric, "family": lineage.families[JUDGE], "systems": int(own.sum()),
            "others": int((~own).sum()), "queries": int(known_.sum()),
        }  # fmt: skip
        rows.append(row | _advantage(people[known_], judge[known_], own, limit))
    return pl.DataFrame(rows, schema=FAMILIES)


def _advantage(
    people: Floats, judge: Floats, own: NDArray[np.bool_], limit: float
) -> dict[str, Any]:
    queries, systems = people.shape
    if queries < _FEWEST:
        return {}
    x, y = (_within(each.mean(axis=0), own) for each in (people, judge))
    square = float(x @ x)
    slope = float(x @ y) / square if square > 0 else 1.0
    each = _contrast(judge - slope * people, own)
    value = float(each.mean())
    if systems <= _PARAMETERS:
        return {"advantage": value}
    apart = float(_contrast(people, own).mean())
    free = systems - _PARAMETERS
    squares = float(((y - slope * x) ** 2).sum())
    noise = float(_within(judge - slope * people, own).var(axis=0, ddof=1).sum()) / queries
    spread = 1 / own.sum() + 1 / (~own).sum()
    of_slope = squares / free * (apart**2 / square if square > 0 else 0.0)
    taken = noise * max(0.0, 1 - _UNDETERMINED / free)
    of_systems = max(squares - taken, 0.0) / free * spread + of_slope
    of_queries = float(each.var(ddof=1)) / queries
    seen = squares / free * spread + of_slope  # with the noise of queries, as it was estimated
    below = seen**2 / free + of_queries**2 / (queries - 1)
    degrees = (seen + of_queries) ** 2 / below if below > 0 else queries - 1
    reach = student_quantile(degrees, (1 + _LEVEL) / 2)
    wide = reach * np.sqrt(of_systems + of_queries)
    room = (limit / (reach + student_quantile(10**6, _POWER))) ** 2 - of_systems
    needed = queries * of_queries * _largest(queries) / room if room > 0 else np.inf
    return {
        "advantage": value, "low": value - wide, "high": value + wide,
        "needed": int(max(np.ceil(needed), _FEWEST)) if np.isfinite(needed) else None,
    }  # fmt: skip


def _within(values: Floats, own: NDArray[np.bool_]) -> Floats:
    """Deviations of systems (last axis) from the mean of the family, or of the others."""
    mine, others = (values[..., each].mean(axis=-1, keepdims=True) for each in (own, ~own))
    return np.asarray(values - np.where(own, mine, others), np.float64)


def _contrast(table: Floats, own: NDArray[np.bool_]) -> Floats:
    return np.asarray(table[:, own].mean(axis=1) - table[:, ~own].mean(axis=1), np.float64)


def _largest(n: int) -> float:
    """The upper 80 % limit of a variance that n values have shown to be 1 (Browne 1995)."""
    from scipy.special import chdtri

    return (n - 1) / float(chdtri(n - 1, 0.8))
