"""Check whether a judge agrees with people well enough: the result of ``admit``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.charts.chart_views import Axis, ChartView, Mark, Panel, Rows
from rankgate.core.present.codec import InputHash
from rankgate.core.present.document_model import SIGNS, Entries, Entry
from rankgate.core.present.layout import NOTICES, CrossView, Sentence, ShownChart, View
from rankgate.core.present.number_formats import format_grade
from rankgate.core.progress import step
from rankgate.core.value_types import JsonObject
from rankgate.data.collection import Collection
from rankgate.judging.admission.judged_pairs import (
    ANSWERS,
    ATTACKS,
    COMPONENTS,
    AnsweredShare,
    Bias,
    JudgeGrades,
    as_ratings,
    asked_pairs_caution,
    attacks_on,
    bias_of,
    grade_components,
    judged_pairs,
)
from rankgate.judging.admission.lineage import FAMILIES, Lineage, family_bias
from rankgate.judging.admission.requirements import (
    AGREEMENT,
    Answer,
    Demand,
    Demands,
    check_attack,
    check_demands,
    check_family,
)
from rankgate.judging.admission.system_order import ORDERS, SYSTEMS, TOP, SystemOrder, order_systems
from rankgate.judging.agreement.agreement_alarms import few_difference_alarms, stray_alarms
from rankgate.judging.agreement.agreement_coefficients import (
    COEFFICIENT_VALUES,
    agreements,
    coefficient_table,
)
from rankgate.judging.agreement.rated_pairs import rated_pairs
from rankgate.measurement.stats.rater_agreement import Agreement

if TYPE_CHECKING:
    from pathlib import Path

    from rankgate.data.input_types import QrelsLike
    from rankgate.judging.admission.judged_pairs import JudgeGradesLike
    from rankgate.judging.admission.system_order import OrderedSystems
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention


_LEVEL = 0.95


def _requirements(result: JudgeAdmission) -> Iterator[Entries]:
    """The requirements, each with a sign and its reason."""
    yield Entries(
        tuple(Entry(f"{SIGNS[demand.status]} {demand.name}", (demand.reason,)) for demand in result.demands)
    )


def _grade_bars(result: JudgeAdmission) -> pl.DataFrame:
    """People's grades for each grade of the judge, the best first."""
    pairs, people = pl.col("pairs"), pl.col("people")
    judge_text, people_text = (
        pl.col(name).map_elements(format_grade, pl.String) for name in ("judge", "people")
    )
    return result.bias.confusion.sort("judge", "people", descending=True).select(
        "judge",
        pl.format("judge: {}", judge_text).alias("name"),
        people.alias("grade"),
        pl.format("grade {}", people_text).alias("label"),
        pairs.alias("count"),
        (pairs / pairs.sum().over("judge")).alias("share"),
        pairs.sum().over("judge"),
        ((people * pairs).sum().over("judge") / pairs.sum().over("judge")).alias("mean"),
    )


def _bars(rows: Rows, _result: object) -> Rows:
    """A row for each bar."""
    return list({row["name"]: row for row in rows}.values())


@dataclass(frozen=True)
class JudgeAdmission(Result):
    """The admission check of a judge, a language model or clicks: its agreement with people.

    Attributes:
        people, judge: name and hash of both sets of judgments.
        pairs, queries: judged by both.
        answers: the share of the requested pairs that the judge answered.
        demands: the result of every requirement.
        coefficients: the agreement of people and judge, by name; intervals leave out one query at a
            time.
        bias: the judge's bias.
        systems: the columns of `SYSTEMS`; no rows without runs.
        orders: one per metric; empty with fewer than three runs.
        asked: the requirements.
        convention: by which systems were scored; None without runs.
        cautions: remarks to read before the verdict is used.
        attacks: the columns of `ATTACKS`.
        families: the columns of `FAMILIES`.
        components: the columns of `COMPONENTS`.
    """

    kind = "admission"
    DERIVED: ClassVar[tuple[str, ...]] = ("verdict",)
    main_table = "bias.confusion"
    label = "Does the judge agree with people?"
    charts: ClassVar = {
        "admission": ChartView(
            "Grades of {people.name:short} for each grade of {judge.name:short}",
            "Each bar: the pairs to which the judge gave one grade, by the grade that people gave. Right of "
            "it: the number of pairs and the mean of people's grades. If judge and people always agree, each "
            "bar has one colour.",
            "{pairs:n pair} of {queries:n query}",
            (
                Panel(
                    _grade_bars,
                    Axis("share", "share of the pairs, by people's grade", form=".0%", domain=(0, 1)),
                    Axis("name", scale="names"),
                    (
                        Mark("stack", "share"),
                        Mark("words", "{pairs:n pair}, people's mean {mean:.2f}", rows=_bars),
                    ),
                    series="label",
                    legend="people:",
                    by_grade=True,
                    width=420,
                    height=34,
                    tooltip=("count",),
                ),
            ),
            convention=None,
        )
    }

    SCHEMAS: ClassVar = {
        "systems": SYSTEMS,
        "attacks": ATTACKS,
        "families": FAMILIES,
        "components": COMPONENTS,
    }
    headline_text = "{decision}: {judge.name} compared with {people.name}"
    layout = (
        _requirements,
        NOTICES,
        ShownChart("admission"),
        View(
            "coefficient_table",
            "agreement over {pairs:n pair} of {queries:n query}",
            ("coefficient", "value", ("low", "high")),
            COEFFICIENT_VALUES,
        ),
        View("incomplete_answers", "answered, by people's grade", columns=ANSWERS),
        View(
            "bias.grades", "by people's grade", ("grade", "pairs", "mean", "bias", ("low", "high"), "equal")
        ),
        CrossView(
            "bias.confusion",
            "people's grades (rows) and the judge's (columns)",
            ("people",),
            column_key="judge",
            value="pairs",
            empty="0",
        ),
        View("systems", "systems by these pairs alone", keys=2),
        View(
            "orders",
            "the order of systems",
            (
                "metric",
                ("tau", " ", ("tau_low", "tau_high")),
                ("spearman", " ", ("spearman_low", "spearman_high")),
                *("tau_ap", "pairs", "flips", "lost", "reversed"),
                ("agreed", " of ", "significant"),
                "tau_top",
            ),
            ORDERS,
            {"tau_top": "tau@{orders[0].top}"},
        ),
        View(
            "families",
            "systems of the judge's family",
            (*("metric", "family", "systems", "others", "queries", "advantage"), ("low", "high"), "needed"),
            headers={"needed": "queries to\nfind {asked.family:g}"},
            keys=2,
        ),
        View("components", "variance of the judge's grades"),
        View(
            "attacks",
            "documents changed in ways that must not change their grade",
            ("attack", "pairs", "raised", ("low", "high"), "lowered", "shift"),
        ),
        Sentence(
            "Results on the pairs that both judged may not hold elsewhere: take the pairs from the queries "
            "and the ranks that will be judged, and repeat this when judge, prompt or collection change. "
            "Intervals leave out one query at a time, as grades of one query resemble each other."
        ),
    )
    notice_texts = (NoticeText("stray-grade", "{row}", source="cautions", subject="{judge[0]}"),)
    csv_table = "demands"
    csv_columns: ClassVar = {
        "requirement": "name",
        "status": "status",
        "value": "value",
        "low": "low",
        "high": "high",
        "required": "asked",
    }

    people: InputHash
    judge: InputHash
    pairs: int
    queries: int
    answers: AnsweredShare
    demands: tuple[Demand, ...]
    coefficients: Mapping[str, Agreement]
    bias: Bias
    systems: pl.DataFrame
    orders: tuple[SystemOrder, ...]
    asked: Demands
    convention: JsonObject | None
    cautions: tuple[str, ...] = ()
    attacks: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=ATTACKS))
    families: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=FAMILIES))
    components: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=COMPONENTS))

    @property
    def verdict(self) -> Answer:
        """Fail if a requirement failed; else inconclusive if one is; else pass."""
        statuses = {demand.status for demand in self.demands}
        return "fail" if "fail" in statuses else "inconclusive" if "inconclusive" in statuses else "pass"

    @property
    def status(self) -> int:
        """The exit code: 0 admitted, 1 refused, 3 inconclusive."""
        return {"pass": 0, "fail": 1, "inconclusive": 3}[self.verdict]

    @property
    def decision(self) -> str:
        """The verdict about the judge in capitals."""
        return {"pass": "ADMITTED", "fail": "REFUSED", "inconclusive": "INCONCLUSIVE"}[self.verdict]

    @property
    def coefficient_table(self) -> pl.DataFrame:
        """The coefficients: the columns of `COEFFICIENT_VALUES`."""
        return coefficient_table(self.coefficients)

    @property
    def incomplete_answers(self) -> pl.DataFrame:
        """The answers by people's grade; no rows if the judge answered every pair."""
        answers = self.answers
        return answers.grades if answers.answered < answers.asked else answers.grades.clear()


METRICS = ("nDCG@10",)
"""The default metrics for comparing the order of systems."""

DEMANDS = Demands()
"""The default requirements of a judge."""


def admit(
    people: Collection | QrelsLike,
    judge: JudgeGradesLike,
    runs: Sequence[Any] = (),
    metrics: str | Metric | Sequence[str | Metric] = METRICS,
    convention: str | Convention = "trec",
    *,
    demands: Demands = DEMANDS,
    lineage: Lineage | Mapping[str, Sequence[str]] | str | Path | None = None,
    top: Annotated[int, Range(2)] = TOP,
) -> JudgeAdmission:
    """Check whether a judge, a language model or clicks, agrees with people well enough.

    The comparison uses the pairs that both people and the judge graded. A pair that people graded
    and the judge did not grade counts as unanswered. A judge with too few answers is refused. Runs
    are scored by the common pairs alone, once with people's grades and once with the judge's, so
    that nothing but the grades differs. Pairs of one query are not independent: intervals leave out
    one query at a time, and fewer than 15 queries decide nothing.

    Args:
        people: judgments by people, or a `Collection` of them; its columns are used for runs too:
            a path, a frame, ``{query: {doc: grade}}``. A grade of the judge outside of their scale,
            as ``read_qrels(path, scale="0..4")`` states it, is not an answer.
        judge: judgments by the judge, or `JudgeGrades`, which list the requested pairs, and
            have its grades under attack and its repetitions.
        runs: systems whose order is compared; three or more.
        metrics: the metrics of that comparison.
        convention: the convention of the metrics.
        demands: the requirements for the judge.
        lineage: the model family of the judge, of the systems, and of the writers of queries and
            documents: a TOML file with [families], or {family: [members]}; members are judge,
            queries, corpus and names of runs.
        top: the number of people's best systems for which tau@k is also computed; without more
            systems than that, tau@k equals tau and is left out.

    Raises:
        InputError: data that cannot be read; no pair that both judged; a lineage that contradicts
            itself, or lacks a system.
        UsageError: unknown names; repetitions of one set of grades.

    >>> people = {f"q{i}": {"a": i % 3, "b": i % 2} for i in range(60)}
    >>> admit(people, people).verdict
    'pass'
    """
    collection = Collection.of(people)
    grades = JudgeGrades.of(judge)
    parsed_lineage = None if lineage is None else Lineage.read(lineage)
    people_qrels, judge_qrels = collection.qrels(), grades.qrels()
    graded_on = people_qrels.scale
    common_pairs, answers = judged_pairs(people_qrels, judge_qrels, graded_on, grades.pool())
    step("agreement")
    figures = agreements(rated_pairs(as_ratings(common_pairs), graded_on))
    systems = order_systems(common_pairs, collection.run_source(list(runs)), metrics, convention, top)
    families, cautions = _families(parsed_lineage, systems, demands.family)
    bias, queries = bias_of(common_pairs), common_pairs["query_id"].n_unique()
    coefficient = figures.coefficients[AGREEMENT]
    attacks = attacks_on(judge_qrels, grades.attacked)
    return JudgeAdmission(
        people=InputHash(people_qrels.name, people_qrels.sha256),
        judge=InputHash(judge_qrels.name, judge_qrels.sha256),
        pairs=len(common_pairs),
        queries=queries,
        answers=answers,
        demands=(
            *check_demands(answers, queries, coefficient, bias, orders=systems.orders, asked=demands),
            *(check_attack(row, demands.raised) for row in attacks.iter_rows(named=True)),
            *(check_family(row, demands.family) for row in families.iter_rows(named=True)),
        ),
        coefficients=figures.coefficients,
        bias=bias,
        systems=systems.table,
        orders=systems.orders,
        asked=demands,
        convention=systems.convention,
        cautions=(
            *systems.cautions,
            *(alarm.what for alarm in (*stray_alarms(figures), *few_difference_alarms(figures))),
            *cautions,
            *asked_pairs_caution(people_qrels, answers),
        ),
        attacks=attacks,
        families=families,
        components=grade_components(grades.repeated),
    )


def _families(
    lineage: Lineage | None, systems: OrderedSystems, limit: float
) -> tuple[pl.DataFrame, list[str]]:
    """The judge's advantage for systems of its own family, and cautions.

    Raises:
        InputError: the lineage lacks a system.
        UsageError: there are no runs, and no writer of queries or documents.
    """
    if lineage is None:
        return pl.DataFrame(schema=FAMILIES), []
    if not systems.names and lineage.names_writers:
        return pl.DataFrame(schema=FAMILIES), lineage.cautions(np.zeros(0, np.bool_))
    if not systems.names:
        problem = "a lineage needs runs, some of them of the judge's family; name them."
        raise UsageError(problem, code="missing-input")
    is_own_family = lineage.is_relative(systems.names)
    return family_bias(systems.values, lineage, is_own_family, limit), lineage.cautions(is_own_family)
