"""Admit a model of a store by evidence: its grades compared with people's independent grades."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.data import read_qrels
from rankgate.judging.admission.admit import DEMANDS, METRICS, admit
from rankgate.judging.admission.judged_pairs import JudgeGrades
from rankgate.judging.resolution.resolve import resolve
from rankgate.store.blobs import stored_results, stored_runs
from rankgate.store.material import projects
from rankgate.store.models import model_admissions
from rankgate.store.people import users
from rankgate.store.rating import ratings

if TYPE_CHECKING:
    from rankgate.data.qrels import Ratings
    from rankgate.judging.admission.admit import JudgeAdmission
    from rankgate.judging.admission.requirements import Demands
    from rankgate.store.database import Connection
    from rankgate.store.models.model_admissions import Admission
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
    """Compare a model with people on the pairs that both rated, and store the evidence.

    Only independent grades of people count: final decisions are left out, because people have seen
    the model's grade before a final decision.

    Args:
        store: an open store.
        project: the project of the ratings.
        rater: the number of the model.
        demands: the requirements for the judge.
        rule: the rule that makes one grade of several people's grades.
        with_runs: also compare the order of the project's runs.
        user: who asks.

    Raises:
        InputError: people or the model have rated nothing; no pair in common.
    """
    with store.read() as connection:
        name = next(
            known_rater.name for known_rater in users.list_raters(connection) if known_rater.id == rater
        )
        people = _person_ratings(ratings.read_ratings(connection, project, kind="person", name="people"))
        model_ratings = ratings.read_ratings(connection, project, only=[rater], name=name)
        project_runs = [
            stored_runs.rankings(run, store.blobs) for run in stored_runs.list_runs(connection, project)
        ]
    people_judgments = resolve(people, rule).judgments("people")
    model_judgments = resolve(model_ratings, "latest").judgments(name)
    pairs = model_ratings.table.select("query_id", "doc_id").unique(maintain_order=True)
    compared_runs = project_runs if with_runs and len(project_runs) >= _FEWEST_RUNS else []
    admission = admit(
        read_qrels(people_judgments, scale=_scale_text(people)),
        JudgeGrades(replace(model_judgments, name=name), asked=pairs.with_columns(pl.lit(1).alias("batch"))),
        compared_runs,
        METRICS,
        demands=demands,
    )
    with store.write() as connection:
        projects.refuse_archived(connection, project)
        saved_result = stored_results.add_result(
            connection,
            store.blobs,
            project,
            admission.to_dict(),
            name=name,
            summary={"verdict": admission.verdict, "rater": rater, "pairs": admission.pairs},
            created_by=user,
        )
        record = model_admissions.record_admission(
            connection, project, rater, admission.verdict, result=saved_result.id, user=user
        )
    return admission, record


def _person_ratings(people_ratings: Ratings) -> Ratings:
    person_ratings = people_ratings.table.filter(pl.col("rater") != ratings.FINAL)
    if person_ratings["grade"].null_count() == len(person_ratings):
        problem = "no person has graded anything; an admission needs pairs that people graded."
        raise InputError(problem, source="people", code="no-judgments")
    return replace(people_ratings, table=person_ratings)


def _scale_text(people_ratings: Ratings) -> str | None:
    """The grades of the project, in the form of a scale for ``admit``."""
    if people_ratings.scale is None:
        return None
    return ",".join(f"{grade:g}" for grade, _ in people_ratings.scale.labels)


def evidence(store: Store, admission: Admission) -> JudgeAdmission | None:
    """The evidence of an admission; None if a manager withdrew the admission."""
    from rankgate.judging.admission.admit import JudgeAdmission

    if admission.result is None:
        return None
    with store.read() as connection:
        saved_result = stored_results.get_result(connection, admission.result)
    return JudgeAdmission.from_dict(stored_results.read_result(saved_result, store.blobs))


def withdraw_model(store: Store, project: int, rater: int, user: int | None = None) -> None:
    """Stop counting the ratings of a model."""
    with store.write() as connection:
        projects.refuse_archived(connection, project)
        model_admissions.record_admission(connection, project, rater, "withdrawn", user=user)


def find_model(connection: Connection, name: str) -> int:
    """The number of a model with a given name.

    Raises:
        UsageError: the model does not exist; the message lists the names.
    """
    model_ids = {rater.name: rater.id for rater in users.list_raters(connection) if rater.kind == users.MODEL}
    if name not in model_ids:
        hint = f"; known: {', '.join(sorted(model_ids)[:10])}" if model_ids else ""
        raise UsageError(f"there is no model {name!r}{hint}.", code="unknown-model")
    return model_ids[name]
