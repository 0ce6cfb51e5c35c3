"""Admit a model of a store by evidence: its grades against those that people gave alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.data import read_qrels
from rankgate.judging.admission.admit import DEMANDS, METRICS, admit
from rankgate.judging.resolution.resolve import resolve
from rankgate.store.kept import results, runs
from rankgate.store.material import projects
from rankgate.store.models import admissions
from rankgate.store.people import raters
from rankgate.store.rating import ratings

if TYPE_CHECKING:
    from rankgate.data.ratings import Ratings
    from rankgate.judging.admission.admission import JudgeAdmission
    from rankgate.judging.admission.demands import Demands
    from rankgate.store.database import Connection
    from rankgate.store.models.admissions import Admission
    from rankgate.store.store import Store

_FEWEST_RUNS = 3


def admit_model(
    store: Store,
    project: int,
    rater: int,
    *,
    demands: Demands = DEMANDS,
    rule: str = "majority",
    with_runs: bool = False,
    user: int | None = None,
) -> tuple[JudgeAdmission, Admission]:
    """Compare a model with people on the pairs that both rated, and keep the evidence.

    People's grades are those that they gave by themselves: final words are left out, as people
    who give one have seen the model's grade.

    Args:
        store: an open store.
        project: whose ratings.
        rater: the number of the model.
        demands: what it must show.
        rule: how several people's grades become one.
        with_runs: also compare the order of the project's runs, if there are three or more.
        user: who asks.

    Raises:
        InputError: people or the model have rated nothing; no pair in common.
    """
    with store.read() as connection:
        name = _named(connection, rater)
        people = _people(ratings.table(connection, project, kind="person", name="people"))
        said = ratings.table(connection, project, only=[rater], name=name)
        stored = [runs.rankings(each, store.blobs) for each in runs.listed(connection, project)]
    ours = resolve(people, rule).judgments("people")
    theirs = resolve(said, "latest").judgments(name)
    pairs = said.table.select("query_id", "doc_id").unique(maintain_order=True)
    compared = stored if with_runs and len(stored) >= _FEWEST_RUNS else []
    found = admit(
        read_qrels(ours, scale=_scale(people)), replace(theirs, name=name), compared, METRICS,
        demands=demands, asked=pairs.with_columns(pl.lit(1).alias("batch")),
    )  # fmt: skip
    with store.write() as connection:
        projects.refuse_archived(connection, project)
        kept = results.add(
            connection, store.blobs, project, found.to_dict(), name=name,
            summary={"verdict": found.verdict, "rater": rater, "pairs": found.pairs},
            created_by=user,
        )  # fmt: skip
        made = admissions.record(
            connection, project, rater, found.verdict, result=kept.id, user=user
        )
    return found, made


def _named(connection: Connection, rater: int) -> str:
    return next(each.name for each in raters.listed(connection) if each.id == rater)


def _people(said: Ratings) -> Ratings:
    alone = said.table.filter(pl.col("rater") != ratings.FINAL)
    if alone["grade"].null_count() == len(alone):
        problem = "no person has graded anything; an admission needs pairs that people graded."
        raise InputError(problem, source="people", code="no-judgments")
    return replace(said, table=alone)


def _scale(said: Ratings) -> str | None:
    """The grades of the project, as ``admit`` names a scale."""
    if said.scale is None:
        return None
    return ",".join(f"{grade:g}" for grade, _ in said.scale.labels)


def evidence(store: Store, found: Admission) -> JudgeAdmission | None:
    """The evidence of an admission; None where a manager withdrew it."""
    from rankgate.judging.admission.admission import JudgeAdmission

    if found.result is None:
        return None
    with store.read() as connection:
        kept = results.get(connection, found.result)
    return JudgeAdmission.from_dict(results.read(kept, store.blobs))


def withdraw_model(store: Store, project: int, rater: int, user: int | None = None) -> None:
    """Let the ratings of a model not count any more."""
    with store.write() as connection:
        projects.refuse_archived(connection, project)
        admissions.record(connection, project, rater, "withdrawn", user=user)


def model_named(connection: Connection, name: str) -> int:
    """The number of a model by its name.

    Raises:
        UsageError: there is none; the names that there are.
    """
    known = {each.name: each.id for each in raters.listed(connection) if each.kind == raters.MODEL}
    if name not in known:
        listed = f"; there are {', '.join(sorted(known)[:10])}" if known else ""
        raise UsageError(f"no model rates as {name!r}{listed}.", code="unknown-model")
    return known[name]
