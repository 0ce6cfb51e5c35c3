"""Inputs of recorded evaluations, what differs between them, and mixtures of both."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.qrels import Qrels
from rankgate.measurement.scoring.chosen import chosen_convention

if TYPE_CHECKING:
    from rankgate.data.run import Run
    from rankgate.measurement.scoring.convention import Convention
    from rankgate.store.records.series import Point
    from rankgate.workspace.records.places.place import Place

_PAIR = ["query_id", "doc_id"]
_SHARED = 0.05  # documents that runs of the same ids share at least
_DOUBTFUL = 0.2  # with fewer, and most of the value lost, ids may have changed
_LOST = 0.1  # share of the value that is left where ids may have changed
JUDGE, CORPUS = "judge", "corpus"
"""Labels that say who judged, and what was searched."""


OF_RUN = frozenset({"system", "ids", "corpus"})
"""Causes that rankings show."""


@dataclass(frozen=True)
class Inputs:
    """What an evaluation was made of.

    Attributes:
        point: of the evaluation.
        run_sha256: of the run; empty where it is not known.
        run, qrels: where they are kept.
    """

    point: Point
    run_sha256: str
    run: Run | None
    qrels: Qrels | None


def inputs_of(place: Place, point: Point) -> Inputs:
    """The inputs of a point's record."""
    digest = str(place.details(point)["inputs"].get("runs", {}).get(point.system, ""))
    return Inputs(
        point, digest, place.run(digest) if digest else None,
        place.qrels(point.qrels_sha256) if point.qrels_sha256 else None,
    )  # fmt: skip


def differing(old: Inputs, new: Inputs) -> Mapping[str, str]:
    """By cause what speaks for it; empty words where it did not change."""
    found: dict[str, str] = {}
    if not old.run_sha256 or old.run_sha256 != new.run_sha256:
        found |= _of_runs(old, new)
    if old.point.qrels_sha256 != new.point.qrels_sha256 or not old.point.qrels_sha256:
        found |= _of_judgments(old, new)
    if old.point.convention_hash != new.point.convention_hash:
        found["convention"] = f"{old.point.convention} and {new.point.convention}"
    return found


def _of_runs(old: Inputs, new: Inputs) -> Mapping[str, str]:
    shared = _shared(old, new)
    lost = (new.point.value or 0) < _LOST * (old.point.value or 0)
    few = f"the runs share {shared:.0%} of their documents"
    if shared < _SHARED:
        return {"ids": few}
    mine, theirs = old.point.labels.get(CORPUS), new.point.labels.get(CORPUS)
    revisions = old.point.revision, new.point.revision
    if lost and shared < _DOUBTFUL and mine == theirs and revisions[0] == revisions[1] != "":
        return {"ids": f"{few}, same revision, most of the value is lost"}
    found = {}
    if mine != theirs:
        found["corpus"] = f"{mine or ''} and {theirs or ''}"
    if mine == theirs or revisions[0] != revisions[1]:
        words = [e.point.revision[:10] or e.run_sha256[:10] or "a run" for e in (old, new)]
        found["system"] = f"{words[0]} and {words[1]}"
    elif found:
        found["corpus"] += ", same revision"
    if lost and math.isnan(shared):
        found["ids"] = "most of the value is lost, and the runs are not kept"
    elif lost and shared < _DOUBTFUL:
        found["ids"] = f"{few}, and most of the value is lost"
    return found


def _shared(old: Inputs, new: Inputs) -> float:
    """The share of the documents of the shorter run that both have; NaN where one is not kept."""
    if old.run is None or new.run is None:
        return math.nan
    first, second = (set(each.table["doc_id"].unique()) for each in (old.run, new.run))
    return len(first & second) / max(1, min(len(first), len(second)))


def _of_judgments(old: Inputs, new: Inputs) -> Mapping[str, str]:
    who = "judge" if old.point.labels.get(JUDGE) != new.point.labels.get(JUDGE) else "judgments"
    if old.qrels is None or new.qrels is None:
        other = old.point.queries_sha256 != new.point.queries_sha256
        lost = "other judgments, which are not kept"
        return {who: lost, "queries": lost} if other else {who: lost}
    mine, theirs = old.qrels.table, new.qrels.table
    both = mine.join(theirs, on=_PAIR, suffix="_new")
    moved = both.filter(pl.col("grade") != pl.col("grade_new")).height
    queries = set(mine["query_id"]) ^ set(theirs["query_id"])
    shared = set(mine["query_id"]) & set(theirs["query_id"])
    others = sum(
        each.filter(pl.col("query_id").is_in(list(shared))).join(both, on=_PAIR, how="anti").height
        for each in (mine, theirs)
    )
    found = {}
    if moved and who == "judge":
        labels = [each.point.labels.get(JUDGE, "unknown") for each in (old, new)]
        found["judge"] = f"{moved} of {both.height} common pairs: {labels[0]} and {labels[1]}"
    words = [f"{moved} of {both.height} common pairs graded otherwise"] if moved else []
    if who == "judge":
        words = []
    words += [f"{others} pairs in one only"] if others else []
    if words:
        found["judgments"] = ", ".join(words)
    if queries:
        found["queries"] = f"{len(queries)} queries in one only"
    return found


def mixed(old: Inputs, new: Inputs, chosen: frozenset[str]) -> tuple[Run, Qrels, Convention]:
    """Run, judgments and convention with the new side of some causes, and the old of the others.

    Raises:
        UsageError: one that is needed is not kept.
    """
    side = new if chosen & OF_RUN else old
    if side.run is None:
        raise _lost("run", side)
    rules = (new if "convention" in chosen else old).point
    convention = chosen_convention(rules.convention)
    if convention.hash != rules.convention_hash:
        problem = f"the changes of the convention {rules.convention} are not kept."
        raise UsageError(problem, code="unknown-convention")
    return side.run, _judgments(old, new, chosen), convention


def _judgments(old: Inputs, new: Inputs, chosen: frozenset[str]) -> Qrels:
    if old.point.qrels_sha256 == new.point.qrels_sha256 and old.point.qrels_sha256:
        kept = old.qrels or new.qrels
        if kept is None:
            raise _lost("judgments", old)
        return kept
    if old.qrels is None or new.qrels is None:
        raise _lost("judgments", old if old.qrels is None else new)
    mine, theirs = (each.table.select(*_PAIR, "grade") for each in (old.qrels, new.qrels))
    shared = list(set(mine["query_id"]) & set(theirs["query_id"]))
    same = pl.col("query_id").is_in(shared)
    common = mine.join(theirs, on=_PAIR, suffix="_new")
    by_judge = old.point.labels.get(JUDGE) != new.point.labels.get(JUDGE)
    grade = "grade_new" if ("judge" if by_judge else "judgments") in chosen else "grade"
    parts = [common.select(*_PAIR, pl.col(grade).alias("grade"))]
    pairs = theirs if "judgments" in chosen else mine
    parts.append(pairs.filter(same).join(common, on=_PAIR, how="anti"))
    queries = theirs if "queries" in chosen else mine
    parts.append(queries.filter(~same))
    return Qrels(pl.concat(parts).sort(_PAIR), "mixed")


def _lost(what: str, side: Inputs) -> UsageError:
    problem = f"the {what} of {side.point.evaluated_at:%Y-%m-%d} are not kept."
    return UsageError(problem.replace("run of", "rankings of"), code="missing-input")
