"""Check a judge for a bias towards its own model family, and data for circularity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC
from rankgate.judging.admission.judged_pairs import JUDGE
from rankgate.measurement.stats.mean_intervals import student_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.core.value_types import Json


QUERIES, CORPUS = "queries", "corpus"
"""The members that wrote the queries and the documents."""
_ROLES = frozenset({JUDGE, QUERIES, CORPUS})

FAMILIES = Columns(
    "One row per metric: the judge's advantage for systems of its family over other systems, beyond that of "
    "people; empty without a lineage, and where all systems or none are of the family.",
    METRIC,
    Column("family", pl.String, "the family of the judge"),
    Column("systems", pl.Int64, "systems of this family", unit="systems"),
    Column("others", pl.Int64, "other systems", unit="systems"),
    Column("queries", pl.Int64, "queries judged by both"),
    Column(
        "advantage",
        pl.Float64,
        "the mean advantage of the family by the judge, less that of people on the judge's scale; null with "
        "a single query",
        "signed",
    ),
    Column(
        "low",
        pl.Float64,
        "the low end of its 95 % interval; null with fewer than four systems",
        "signed",
        header="95% interval",
    ),
    Column(
        "high", pl.Float64, "the high end of its 95 % interval; null with fewer than four systems", "signed"
    ),
    Column(
        "needed",
        pl.Int64,
        "queries that find the largest acceptable advantage with a probability of 80 %; null where no "
        "number does "
        "with so few systems",
        unit="queries",
    ),
)

_LEVEL, _POWER = 0.95, 0.8
_PARAMETERS = 3  # two means and a slope
_MIN_QUERIES = 2
_FEW_DEGREES = 5  # degrees of freedom of systems, up to which no noise is taken from their spread


@dataclass(frozen=True)
class Lineage:
    """Model families of the judge, the systems, the queries and the documents.

    Attributes:
        families: the family of each member: ``judge``, ``queries``, ``corpus``, and systems by
            name.
        source: the file.
    """

    families: Mapping[str, str]
    source: str = "lineage"

    @classmethod
    def read(cls, lineage: Lineage | Mapping[str, Sequence[str]] | str | Path) -> Lineage:
        """Read families from a mapping {family: members}, or from ``[families]`` of a TOML file.

        Raises:
            InputError: the file cannot be read; a member has two families; the judge is missing.
        """
        if isinstance(lineage, Lineage):
            return lineage
        if isinstance(lineage, str | Path):
            file = TomlFile.read(lineage, code="invalid-lineage")
            return cls(_read_members(file.values.get("families"), file), file.source)
        return cls(_read_members(lineage, TomlFile({}, "lineage", {}, code="invalid-lineage")))

    def is_relative(self, systems: Sequence[str]) -> NDArray[np.bool_]:
        """(S,) True for systems of the judge's family.

        Raises:
            InputError: a system has no family; a member is not a system.
        """
        if missing := [name for name in systems if name not in self.families]:
            problem = f"{', '.join(missing)}: no family has these systems; add them to one."
            raise InputError(problem, source=self.source, code="missing-input")
        unknown = sorted(set(self.families) - _ROLES - set(systems))
        if unknown:
            problem = (
                f"{', '.join(unknown)}: unknown system; known systems: {', '.join(systems)}, {JUDGE}, "
                f"{QUERIES} and {CORPUS}."
            )
            raise InputError(problem, source=self.source, code="unknown-name")
        judge_family = self.families[JUDGE]
        return np.array([self.families[name] == judge_family for name in systems])

    @property
    def names_writers(self) -> bool:
        """True if the lineage names the writer of the queries or of the documents."""
        return not self.families.keys().isdisjoint({QUERIES, CORPUS})

    def cautions(self, is_own_family: NDArray[np.bool_]) -> list[str]:
        """Cautions that follow from the lineage alone, for any figures.

        Args:
            is_own_family: True for systems of the judge's family; empty without systems.
        """
        judge_family = self.families[JUDGE]
        messages = []
        if is_own_family.size and (is_own_family.all() or not is_own_family.any()):
            subject = "every system is" if is_own_family.all() else "no system is"
            messages.append(
                f"{subject} of the judge's family {judge_family}, so these runs cannot show whether the "
                "judge favours that family"
            )
        if judge_family == self.families.get(QUERIES) == self.families.get(CORPUS):
            messages.append(
                f"circular: the documents, the queries and the grades all come from the family "
                f"{judge_family}; values can be high because all three share strengths and blind spots, "
                "which no figure here shows; have people write queries or judge"
            )
            return messages
        return messages + [self._shared(writer) for writer in (QUERIES, CORPUS) if self._of_others(writer)]

    def _of_others(self, writer: str) -> list[str]:
        """The judge and the systems from the same family as the writer."""
        family = self.families.get(writer)
        members = sorted(self.families, key=lambda name: (name != JUDGE, name))
        return [name for name in members if self.families[name] == family and name not in {QUERIES, CORPUS}]

    def _shared(self, writer: str) -> str:
        texts = {QUERIES: "queries", CORPUS: "documents"}[writer]
        return (
            f"the {texts} were written by the family {self.families[writer]}, which "
            f"{', '.join(self._of_others(writer))} also come from: they may share strengths and blind spots, "
            f"which no figure here shows; {texts} written by people would"
        )


def _read_members(table: object, file: TomlFile) -> dict[str, str]:
    """The family of each member.

    Raises:
        InputError: as in `Lineage.of`.
    """
    if not isinstance(table, Mapping) or not table:
        problem = 'a lineage has a table [families], as in gpt = ["judge", "dense"].'
        raise file.error(problem, "families", code="missing-input")
    family_of_member: dict[str, str] = {}
    for family, members in table.items():
        if not isinstance(members, list | tuple) or any(not isinstance(m, str) for m in members):
            problem = f'{family} is a list of names, as in {family} = ["judge", "dense"].'
            raise file.error(problem, "families", family)
        for member in members:
            if family_of_member.setdefault(member, family) != family:
                problem = (
                    f"{member} is in {family_of_member[member]} and in {family}: a member has one family."
                )
                raise file.error(problem, "families", family, code="contradiction")
    if JUDGE not in family_of_member:
        problem = "no family has the judge; add it by the name judge."
        raise file.error(problem, "families", code="missing-input")
    return family_of_member


def family_bias(
    tables: Mapping[str, tuple[Floats, Floats]],
    lineage: Lineage,
    is_own_family: NDArray[np.bool_],
    limit: float,
) -> pl.DataFrame:
    """`FAMILIES`: the interaction of judge and family, for other queries and other systems.

    A judge that errs shrinks differences: good systems lose and poor ones gain, in every
    family. With means j of systems by the judge and p by people the advantage is that of an
    analysis of covariance,

        A = (j_own − j_others) − b(p_own − p_others),   b = Σxy/Σx²,

    x and y the deviations of p and j from the mean of their group, with the variance

        V = max(R − ac, 0)/(S − 3) · (1/S_own + 1/S_others)
            + R/(S − 3) · (p_own − p_others)²/Σx² + s²/T,   R = Σ(y − bx)²

    of S systems (each judge grades some systems better than others), of the slope, and of T
    queries, with s² the variance of the advantage over queries; c, the sum over systems of the
    variance of y − bx over queries by T, is the amount that T queries add to R by chance. Few
    systems do not determine R so well that c could be taken from it, and intervals covered .91 with
    8 systems (docs/validity.md): a = max(0, 1 − 5/(S − 3)), so that below 9 systems nothing is.
    Degrees of freedom by Welch and Satterthwaite, from the variances with c. Fewer than four
    systems have no interval.

    Args:
        tables: (T, S) values of the systems by people and by the judge, by metric.
        lineage: the families.
        is_own_family: True for systems of the judge's family.
        limit: the advantage that the test should be able to detect.
    """
    rows: list[dict[str, Json]] = []
    for metric, (people, judge) in tables.items():
        if not is_own_family.any() or is_own_family.all():
            continue
        has_values = ~np.isnan(people + judge).any(axis=1)
        row: dict[str, Json] = {
            "metric": metric,
            "family": lineage.families[JUDGE],
            "systems": int(is_own_family.sum()),
            "others": int((~is_own_family).sum()),
            "queries": int(has_values.sum()),
        }
        rows.append(row | _advantage(people[has_values], judge[has_values], is_own_family, limit))
    return pl.DataFrame(rows, schema=FAMILIES)


def _advantage(
    people: Floats, judge: Floats, is_own_family: NDArray[np.bool_], limit: float
) -> dict[str, Json]:
    queries, systems = people.shape
    if queries < _MIN_QUERIES:
        return {}
    x, y = (_deviations_from_group(values.mean(axis=0), is_own_family) for values in (people, judge))
    square = float(x @ x)
    slope = float(x @ y) / square if square > 0 else 1.0
    contrasts = _group_contrast(judge - slope * people, is_own_family)
    value = float(contrasts.mean())
    if systems <= _PARAMETERS:
        return {"advantage": value}
    people_contrast = float(_group_contrast(people, is_own_family).mean())
    free_degrees = systems - _PARAMETERS
    squares = float(((y - slope * x) ** 2).sum())
    noise = (
        float(_deviations_from_group(judge - slope * people, is_own_family).var(axis=0, ddof=1).sum())
        / queries
    )
    inverse_sizes = 1 / is_own_family.sum() + 1 / (~is_own_family).sum()
    slope_variance = squares / free_degrees * (people_contrast**2 / square if square > 0 else 0.0)
    removed_noise = noise * max(0.0, 1 - _FEW_DEGREES / free_degrees)
    system_variance = max(squares - removed_noise, 0.0) / free_degrees * inverse_sizes + slope_variance
    query_variance = float(contrasts.var(ddof=1)) / queries
    observed_variance = (
        squares / free_degrees * inverse_sizes + slope_variance
    )  # includes the estimated noise of queries
    denominator = observed_variance**2 / free_degrees + query_variance**2 / (queries - 1)
    degrees = (observed_variance + query_variance) ** 2 / denominator if denominator > 0 else queries - 1
    quantile = student_quantile(degrees, (1 + _LEVEL) / 2)
    half_width = quantile * np.sqrt(system_variance + query_variance)
    remaining_variance = (limit / (quantile + student_quantile(10**6, _POWER))) ** 2 - system_variance
    needed = (
        queries * query_variance * _variance_limit(queries) / remaining_variance
        if remaining_variance > 0
        else np.inf
    )
    return {
        "advantage": value,
        "low": value - half_width,
        "high": value + half_width,
        "needed": int(max(np.ceil(needed), _MIN_QUERIES)) if np.isfinite(needed) else None,
    }


def _deviations_from_group(values: Floats, is_own_family: NDArray[np.bool_]) -> Floats:
    """Deviations of systems (last axis) from the mean of their group: the family, or the others."""
    own_mean, others_mean = (
        values[..., is_member].mean(axis=-1, keepdims=True) for is_member in (is_own_family, ~is_own_family)
    )
    return np.asarray(values - np.where(is_own_family, own_mean, others_mean), np.float64)


def _group_contrast(table: Floats, is_own_family: NDArray[np.bool_]) -> Floats:
    return np.asarray(
        table[:, is_own_family].mean(axis=1) - table[:, ~is_own_family].mean(axis=1), np.float64
    )


def _variance_limit(n: int) -> float:
    """The upper 80 % limit of a variance that n values have shown to be 1 (Browne 1995)."""
    from rankgate.measurement.stats.special_functions import chdtri

    return (n - 1) / float(chdtri(n - 1, 0.8))
