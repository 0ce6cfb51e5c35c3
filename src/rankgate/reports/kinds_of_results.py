"""Every kind of result and its class: a saved result is read by the kind in its JSON.

The class itself names its document, its charts and its page (`rankgate.present.result`). A kind is
never renamed, as saved results, baselines, records and stores hold it; its class may move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.errors import UsageError
from rankgate.present.resolve import resolved

if TYPE_CHECKING:
    from rankgate.present.result import Result

CLASSES = {
    "admission": "judging.admission.admission:JudgeAdmission",
    "admission_plan": "judging.admission.admission_plan:AdmissionPlan",
    "advice": "advice.advice:Advice",
    "agreement": "judging.agreement.agreement:RaterAgreement",
    "alert_check": "records.alerts.alert_check:AlertCheck",
    "attribution": "records.attribution:Attribution",
    "axes": "evaluation.axes:Axes",
    "baselines": "gating.saved.baselines:SavedBaselines",
    "blindspots": "blind_spots.blindspots:BlindSpots",
    "bridge": "explanation.bridge:Bridge",
    "calibration": "unjudged.calibration:Calibration",
    "checklist": "files.checklist:Checklist",
    "click_judgments": "online.clicks.click_judgments:ClickJudgments",
    "collected": "judging.sheets.collected:CollectedRatings",
    "comparison": "comparison.comparison:Comparisons",
    "convention": "evaluation.convention:ConventionDetails",
    "conventions": "evaluation.conventions:Conventions",
    "conversion": "files.conversion:Conversion",
    "counterfactual_replay": "online.counterfactual.counterfactual_replay:CounterfactualReplay",
    "description": "files.description:Descriptions",
    "diagnosis": "online.faults.diagnosis:Diagnosis",
    "doctor_report": "cli.doctor.doctor_report:DoctorReport",
    "engine_check": "engines.engine_check:EngineCheck",
    "engine_comparison": "engines.snapshots.engine_comparison:EngineComparison",
    "engine_kinds": "engines.engine_kinds:EngineKinds",
    "evaluation": "evaluation.evaluation:Evaluation",
    "event_log": "online.events.event_log:EventLog",
    "experiment": "online.experiments.experiment:Experiment",
    "experiment_plan": "online.experiments.experiment_plan:ExperimentPlan",
    "explanation": "explanation.explanation:Explanation",
    "finding": "explanation.finding:Finding",
    "format": "files.format:FormatDetails",
    "formats": "files.formats:Formats",
    "fusion": "fusion.fusion:Fusion",
    "gate_check": "gating.gate_check:GateCheck",
    "gold_check": "judging.gold.gold_check:GoldCheck",
    "history": "records.history:History",
    "holes": "unjudged.holes:HoleAnalysis",
    "installed_plugins": "cli.plugins.installed_plugins:InstalledPlugins",
    "intent_diversity": "online.users.intent_diversity:IntentDiversity",
    "kpi_table": "online.indicators.kpi_table:KpiTable",
    "metric": "evaluation.metric:MetricDetails",
    "metrics": "evaluation.metrics:Metrics",
    "mixed_lists": "online.interleaving.mixed_lists:MixedLists",
    "model_ratings": "judging.llm.model_ratings:ModelRatings",
    "off_policy_estimate": "online.off_policy.off_policy_estimate:OffPolicyEstimate",
    "online_agreement": "online.offline_online.online_agreement:OnlineAgreement",
    "personalization_impact": "online.users.personalization_impact:PersonalizationImpact",
    "policies": "gating.policies:PolicyKeys",
    "policy": "gating.policy:Policy",
    "pool": "judging.pooling.pool:Pool",
    "preference": "online.interleaving.preference:Preference",
    "project_settings": "cli.configuration.project_settings:ProjectSettings",
    "ramp_verdict": "gating.ramps.ramp_verdict:RampVerdict",
    "rank_similarity": "comparison.rank_similarity:RankSimilarity",
    "ranks": "pipelines.ranks:GradesByRank",
    "rated": "judging.resolution.rated:RatedEvaluation",
    "rating_accuracy": "recommenders.rating_accuracy:RatingAccuracy",
    "reanchored": "files.reanchored:Reanchored",
    "reconciliation": "explanation.reconciliation:Reconciliation",
    "recorded": "records.recorded:Recorded",
    "resolution": "judging.resolution.resolution:ResolvedJudgments",
    "reusability": "judging.pooling.reusability:Reusability",
    "satisfaction": "online.users.satisfaction:Satisfaction",
    "scorecard": "recommenders.scorecard:Scorecard",
    "sensitivity": "online.interleaving.sensitivity:Sensitivity",
    "settlement": "advice.settling.settlement:Settlement",
    "sheets": "judging.sheets.sheets:Sheets",
    "shown_lists": "online.shown.shown_lists:ShownLists",
    "simulation": "online.simulation.simulation:Simulation",
    "snapshot": "engines.snapshots.snapshot:Snapshot",
    "split": "recommenders.split:Split",
    "stages": "pipelines.stages:Pipeline",
    "started_folder": "cli.start.started_folder:StartedFolder",
    "store_check": "judging.store.store_check:StoreCheck",
    "store_hashes": "judging.store.store_hashes:StoreHashes",
    "store_listing": "judging.store.store_listing:StoreListing",
    "sweep": "sweeps.sweep:Sweep",
    "table_audit": "comparison.table_audit:TableAudit",
    "total_error": "uncertainty.total:TotalError",
    "tradeoff": "recommenders.tradeoff:Tradeoff",
    "validation": "files.validation:Validation",
    "verdict": "gating.verdict:Verdict",
}
"""By kind ``module:class``, below ``rankgate``."""


def result_class(kind: str) -> type[Result]:
    """The class of the results of a kind.

    Raises:
        UsageError: there is no such kind.
    """
    if kind not in CLASSES:
        raise UsageError(f"no result is of kind {kind!r}.", code="unknown-kind")
    result: type[Result] = resolved(f"rankgate.{CLASSES[kind]}")
    return result
