"""rankgate says whether a ranking got better, with a number you can defend.

>>> import rankgate
>>> qrels = {"jaguar speed": {"cat": 3, "car": 1, "boat": 0}}
>>> run = {"jaguar speed": {"car": 9.1, "cat": 7.4, "boat": 2.2}}
>>> rankgate.evaluate(qrels, run, ["nDCG@10", "RR"]).means.row(0)
('run1', 0.7967075809905066, 1.0)

The verbs have the names of the commands: ``evaluate``, ``explain``, ``reconcile``, ``compare``,
``gate``, ``fuse`` and more. ``read_qrels``, ``read_run`` and ``from_arrays`` read what they take;
``metric`` makes a metric of a function, ``convention`` a convention of your own. Metrics are in
``rankgate.metrics`` by name: ``nDCG(gain="exp") @ 10``. Everything is imported when it is first
used, so that a command loads only what it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rankgate.core.present.resolve import ON_SPARK, UPPER_NAMES, lazy_names

_HOMES = {
    "rankgate.core.errors": ["InputError", "RankgateError", "UsageError"],
    "rankgate.core.progress": ["progress"],
    "rankgate.data": ["read_qrels", "read_run"],
    "rankgate.data.collection": ["Collection", "Items", "Predicted"],
    "rankgate.data.files.conversion": ["Conversion"],
    "rankgate.data.files.convert": ["convert"],
    "rankgate.data.files.reanchor": ["reanchor"],
    "rankgate.data.files.validate": ["validate"],
    "rankgate.data.files.validation": ["Validation"],
    "rankgate.data.logs.relevance": ["Truth"],
    "rankgate.data.logs.splits": ["SplitPlan"],
    "rankgate.data.arrays": ["from_arrays"],
    "rankgate.data.memory.matrices": ["Lists", "Matrix"],
    "rankgate.decisions.advice.advice": ["Advice"],
    "rankgate.decisions.advice.advise": ["advise"],
    "rankgate.decisions.advice.facts": ["PlannedJudgments"],
    "rankgate.decisions.advice.settling.settle": ["settle"],
    "rankgate.decisions.advice.settling.settlement": ["Settlement"],
    "rankgate.decisions.blind_spots.blindspots": ["BlindSpots"],
    "rankgate.decisions.blind_spots.verb": ["blindspots"],
    "rankgate.decisions.comparison.audit": ["audit"],
    "rankgate.decisions.comparison.compare": ["compare"],
    "rankgate.decisions.comparison.comparison": ["Comparisons"],
    "rankgate.decisions.comparison.inference": ["Test"],
    "rankgate.decisions.comparison.scores.systems": ["read_scores"],
    "rankgate.decisions.comparison.similarity": ["rank_similarity"],
    "rankgate.decisions.gating.gate": ["gate"],
    "rankgate.decisions.gating.gate_check": ["GateCheck"],
    "rankgate.decisions.gating.policy": ["Policy", "read as read_policy"],
    "rankgate.decisions.gating.self_check": ["self_check"],
    "rankgate.decisions.gating.verdict": ["Verdict"],
    "rankgate.decisions.pipelines.live": ["LivePipeline"],
    "rankgate.decisions.pipelines.stages": ["Pipeline"],
    "rankgate.decisions.pipelines.verb": ["stages"],
    "rankgate.decisions.sweeps.sweep": ["Sweep"],
    "rankgate.decisions.sweeps.verb": ["sweep"],
    "rankgate.decisions.uncertainty.total": ["TotalError"],
    "rankgate.decisions.uncertainty.total_error": ["total_error"],
    "rankgate.decisions.unjudged.holes": ["HoleAnalysis", "holes"],
    "rankgate.engines.engine_check": ["check_engine"],
    "rankgate.engines.snapshots.compare_engines": ["compare_engines"],
    "rankgate.engines.snapshots.engine_comparison": ["EngineComparison"],
    "rankgate.engines.snapshots.snapshot": ["Snapshot"],
    "rankgate.engines.snapshots.take": ["snapshot"],
    "rankgate.judging.admission.admission": ["JudgeAdmission"],
    "rankgate.judging.admission.admission_plan": ["AdmissionPlan"],
    "rankgate.judging.admission.admit": ["admit"],
    "rankgate.judging.admission.admit_plan": ["admit_plan"],
    "rankgate.judging.admission.judge_grades": ["JudgeGrades"],
    "rankgate.judging.agreement.agree": ["agree"],
    "rankgate.judging.agreement.agreement": ["RaterAgreement"],
    "rankgate.judging.gold.check": ["check_gold"],
    "rankgate.judging.gold.draw": ["draw_gold"],
    "rankgate.judging.gold.gold_check": ["GoldCheck"],
    "rankgate.judging.llm.costs": ["Prices"],
    "rankgate.judging.llm.judge": ["Judge"],
    "rankgate.judging.llm.model_ratings": ["ModelRatings"],
    "rankgate.judging.llm.rate": ["rate"],
    "rankgate.judging.pooling.pool": ["Pool", "pool"],
    "rankgate.judging.pooling.pool_design": ["PoolDesign"],
    "rankgate.judging.pooling.reusability": ["Reusability", "reusability"],
    "rankgate.judging.resolution.resolution": ["ResolvedJudgments"],
    "rankgate.judging.resolution.resolve": ["resolve"],
    "rankgate.judging.sheets.collected": ["CollectedRatings", "collect"],
    "rankgate.judging.sheets.sheets": ["Sheets", "sheets"],
    "rankgate.measurement.description.describe": ["describe"],
    "rankgate.measurement.description.description": ["Descriptions"],
    "rankgate.measurement.evaluation.accumulate": ["Accumulator"],
    "rankgate.measurement.evaluation.conventions": ["Conventions", "conventions"],
    "rankgate.measurement.evaluation.evaluate": ["evaluate"],
    "rankgate.measurement.evaluation.scores": ["Scores"],
    "rankgate.measurement.explanation.bridge": ["Bridge"],
    "rankgate.measurement.explanation.explain": ["explain"],
    "rankgate.measurement.explanation.explanation": ["Explanation"],
    "rankgate.measurement.explanation.finding": ["Finding"],
    "rankgate.measurement.explanation.reconciliation": ["Reconciliation"],
    "rankgate.measurement.explanation.verb": ["reconcile"],
    "rankgate.measurement.fusion.fuse": ["fuse"],
    "rankgate.measurement.fusion.fusion": ["Fusion"],
    "rankgate.measurement.fusion.lesson": ["FusionLearning"],
    "rankgate.measurement.metrics.browsing.declare": ["user_model"],
    "rankgate.measurement.metrics.custom": ["metric"],
    "rankgate.measurement.scoring.chosen": ["chosen_convention as convention"],
    "rankgate.measurement.scoring.convention": ["Convention"],
    "rankgate.recommenders.rating_accuracy": ["RatingAccuracy", "rating_accuracy"],
    "rankgate.recommenders.scorecard": ["Scorecard", "scorecard"],
    "rankgate.recommenders.split": ["Split"],
    "rankgate.recommenders.splitting": ["split"],
    "rankgate.store.client": ["Client"],
    "rankgate.store.stored_project": ["StoredProject"],
    "rankgate.workspace.records.annotate": ["annotate"],
    "rankgate.workspace.records.attribute": ["attribute"],
    "rankgate.workspace.records.attribution": ["Attribution"],
    "rankgate.workspace.records.follow": ["history"],
    "rankgate.workspace.records.history": ["History"],
    "rankgate.workspace.records.provenance": ["Provenance"],
    "rankgate.workspace.records.record": ["record"],
    "rankgate.workspace.records.recorded": ["Recorded"],
    "rankgate.workspace.reports.plot": ["plot"],
}
"""Public names by their modules; `tests/typing/make.py` writes them for type checkers."""

_load, __dir__, __all__ = lazy_names(__name__, _HOMES)

UPPER_NAMES.update(
    completed_names="rankgate.interface.cli.completed_names:NAMES",
    convention_details="rankgate.measurement.evaluation.convention:convention_details",
    kinds_of_results="rankgate.interface.kinds_of_results:CLASSES",
    path_of_input="rankgate.data.formats.registry:without_format",
    judgments_of_log="rankgate.data.logs.relevance:judgments_of_log",
    paths_in_format="rankgate.data.formats.registry:in_format",
    write_report="rankgate.workspace.reports.compose:write",
)

ON_SPARK.update(
    evaluate="rankgate.spark.evaluation:evaluate",
    compare="rankgate.spark.comparison:compare",
    scorecard="rankgate.spark.scorecards:scorecard",
    split="rankgate.spark.splitting.verb:split",
    kpi="rankgate.spark.indicators:kpi",
    click_counts="rankgate.spark.clicks:collect_click_counts",
)


def __getattr__(name: str) -> Any:  # noqa: ANN401 - every name has its own type
    if name == "__version__":
        return import_module("importlib.metadata").version("rankgate")
    if name == "online":
        return import_module("rankgate.online")
    return _load(name)
