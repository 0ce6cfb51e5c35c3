"""Evaluate, compare and gate search and recommendation rankings.

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

from rankgate.core.present.lazy_names import ON_SPARK, UPPER_NAMES, lazy_names

_HOMES = {
    "rankgate.core.errors": ["InputError", "RankgateError", "UsageError"],
    "rankgate.core.progress": ["progress"],
    "rankgate.data": ["read_qrels", "read_run"],
    "rankgate.data.collection": ["Collection", "Items", "Predicted"],
    "rankgate.data.files.conversion": ["Conversion", "convert"],
    "rankgate.data.files.reanchor": ["reanchor"],
    "rankgate.data.files.validate": ["validate", "Validation"],
    "rankgate.data.logs.log_judgments": ["Truth"],
    "rankgate.data.logs.splits": ["SplitPlan"],
    "rankgate.data.memory.matrices": ["Lists", "Matrix"],
    "rankgate.data.formats.tables.memory_tables": ["from_arrays"],
    "rankgate.decisions.advice.advice_inputs": ["PlannedJudgments"],
    "rankgate.decisions.advice.advise": ["Advice", "advise"],
    "rankgate.decisions.advice.blind_spots": ["BlindSpots", "blindspots"],
    "rankgate.decisions.advice.settle": ["settle"],
    "rankgate.decisions.advice.settlement": ["Settlement"],
    "rankgate.decisions.comparison.compare": ["compare"],
    "rankgate.decisions.comparison.comparison": ["Comparisons"],
    "rankgate.decisions.comparison.data_sets": ["compare_data_sets", "DataSetComparison"],
    "rankgate.decisions.comparison.inference": ["Test"],
    "rankgate.decisions.comparison.reported_systems": ["read_scores"],
    "rankgate.decisions.cutoffs.cutoff": ["CutoffAnalysis", "cutoff"],
    "rankgate.decisions.gating.gate": ["gate"],
    "rankgate.decisions.gating.policy": ["Policy", "read as read_policy"],
    "rankgate.decisions.gating.saved.holdout_account": ["AccountSummary", "open_account"],
    "rankgate.decisions.gating.self_check": ["self_check"],
    "rankgate.decisions.gating.verdict": ["GateCheck", "Verdict"],
    "rankgate.decisions.migration.migrate": ["migrate"],
    "rankgate.decisions.migration.migration": ["Migration"],
    "rankgate.decisions.pipelines.stage_runner": ["LivePipeline"],
    "rankgate.decisions.pipelines.stages": ["Pipeline"],
    "rankgate.decisions.pipelines.stages_verb": ["stages"],
    "rankgate.decisions.reproduction.audit": ["audit"],
    "rankgate.decisions.reproduction.rank_similarity": ["rank_similarity"],
    "rankgate.decisions.sweeps.sweep": ["Sweep"],
    "rankgate.decisions.sweeps.sweep_verb": ["sweep"],
    "rankgate.decisions.unjudged.holes": ["HoleAnalysis", "holes"],
    "rankgate.decisions.unjudged.total_error": ["TotalError", "total_error"],
    "rankgate.engines.engine_checks": ["check_engine"],
    "rankgate.engines.snapshots.compare_engines": ["compare_engines"],
    "rankgate.engines.snapshots.snapshot": ["EngineComparison", "Snapshot"],
    "rankgate.engines.snapshots.snapshot_verb": ["snapshot"],
    "rankgate.judging.admission.admit": ["JudgeAdmission", "admit"],
    "rankgate.judging.admission.admit_plan": ["AdmissionPlan", "admit_plan"],
    "rankgate.judging.admission.judged_pairs": ["JudgeGrades"],
    "rankgate.judging.agreement.agree": ["agree", "RaterAgreement"],
    "rankgate.judging.gold_check": ["check_gold", "draw_gold", "GoldCheck"],
    "rankgate.judging.llm.judge": ["Prices", "Judge"],
    "rankgate.judging.llm.rate": ["ModelRatings", "rate"],
    "rankgate.judging.pooling.pool": ["Pool", "pool"],
    "rankgate.judging.pooling.pool_sampling": ["PoolDesign"],
    "rankgate.judging.pooling.reusability": ["Reusability", "reusability"],
    "rankgate.judging.resolution.resolution": ["ResolvedJudgments"],
    "rankgate.judging.resolution.resolve": ["resolve"],
    "rankgate.judging.sheets": ["CollectedRatings", "collect", "Sheets", "sheets"],
    "rankgate.measurement.description.describe": ["describe"],
    "rankgate.measurement.description.description": ["Descriptions"],
    "rankgate.measurement.evaluation.accumulator": ["Accumulator"],
    "rankgate.measurement.evaluation.convention_details": ["Conventions", "conventions"],
    "rankgate.measurement.evaluation.evaluate": ["evaluate"],
    "rankgate.measurement.evaluation.scores": ["Scores"],
    "rankgate.measurement.explanation.explain": ["explain"],
    "rankgate.measurement.explanation.explanation_results": [
        "Bridge",
        "Explanation",
        "Finding",
        "Reconciliation",
    ],
    "rankgate.measurement.explanation.reconcile": ["reconcile"],
    "rankgate.measurement.fusion.fuse": ["fuse", "FusionLearning"],
    "rankgate.measurement.fusion.fusion": ["Fusion"],
    "rankgate.measurement.metrics.browsing.browsing_model": ["user_model"],
    "rankgate.measurement.metrics.custom": ["metric"],
    "rankgate.measurement.scoring.presets": ["chosen_convention as convention"],
    "rankgate.measurement.scoring.convention": ["Convention"],
    "rankgate.recommenders.rating_accuracy": ["RatingAccuracy", "rating_accuracy"],
    "rankgate.recommenders.scorecard": ["Scorecard", "scorecard"],
    "rankgate.recommenders.split": ["Split"],
    "rankgate.recommenders.splitting": ["split"],
    "rankgate.store.client": ["Client"],
    "rankgate.store.stored_project": ["StoredProject"],
    "rankgate.workspace.records.attribution": ["attribute", "Attribution"],
    "rankgate.workspace.records.history": ["history", "History"],
    "rankgate.workspace.records.provenance": ["Provenance"],
    "rankgate.workspace.records.record": ["annotate", "record", "Recorded"],
    "rankgate.workspace.reports.chart_results": ["plot"],
}
"""Public names by their modules; `tests/typing/make.py` writes them for type checkers."""

_load, __dir__, __all__ = lazy_names(__name__, _HOMES, values={"collection": "Collection", "test": "Test"})

UPPER_NAMES.update(
    completed_names="rankgate.interface.cli.completed_names:NAMES",
    convention_details="rankgate.measurement.evaluation.convention_details:convention_details",
    kinds_of_results="rankgate.interface.kinds_of_results:CLASSES",
    path_of_input="rankgate.data.formats.registry:without_format",
    judgments_of_log="rankgate.data.logs.log_judgments:judgments_of_log",
    paths_in_format="rankgate.data.formats.registry:in_format",
    on_spark="rankgate.spark.backend_tables:on_spark",
    record="rankgate.workspace.records.record:record_command_result",
    score_ratings="rankgate.judging.resolution.rated_evaluation:score_ratings",
    send_figures="rankgate.workspace.records.telemetry:send_figures",
    set_power="rankgate.decisions.advice.advice_inputs:set_power",
    write_report="rankgate.workspace.reports.report:write",
)

ON_SPARK.update(
    evaluate="rankgate.spark.spark_evaluation:make_scores",
    compare="rankgate.spark.spark_comparison:make_comparisons",
    scorecard="rankgate.spark.spark_scorecards:measure_systems",
    rating_accuracy="rankgate.spark.rating_pairs:pair_ratings",
    split="rankgate.spark.splitting.spark_split:split",
    kpi="rankgate.spark.spark_events:open_log",
    click_counts="rankgate.spark.spark_events:collect_click_counts",
)


def __getattr__(name: str) -> Any:  # noqa: ANN401 - every name has its own type
    if name == "__version__":
        return import_module("importlib.metadata").version("rankgate")
    if name == "online":
        return import_module("rankgate.online")
    return _load(name)
