"""Every kind of result and its class: a saved result is read by the kind in its JSON.

The class itself names its document, its charts and its page (`rankgate.core.present.result`). A
kind is never renamed, as saved results, baselines, records and stores hold it; its class may move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.core.present.resolve import resolved

if TYPE_CHECKING:
    from rankgate.core.present.result import Result

CLASSES = {
    "admission": "judging.admission.admission:JudgeAdmission",
    "admission_plan": "judging.admission.admission_plan:AdmissionPlan",
    "advice": "decisions.advice.advice:Advice",
    "agreement": "judging.agreement.agreement:RaterAgreement",
    "alert_check": "workspace.records.alerts.alert_check:AlertCheck",
    "attribution": "workspace.records.attribution:Attribution",
    "axes": "measurement.evaluation.axes:Axes",
    "baselines": "decisions.gating.saved.baselines:SavedBaselines",
    "blindspots": "decisions.blind_spots.blindspots:BlindSpots",
    "bridge": "measurement.explanation.bridge:Bridge",
    "calibration": "decisions.unjudged.calibration:Calibration",
    "checklist": "data.files.checklist:Checklist",
    "click_judgments": "online.clicks.click_judgments:ClickJudgments",
    "collected": "judging.sheets.collected:CollectedRatings",
    "comparison": "decisions.comparison.comparison:Comparisons",
    "convention": "measurement.evaluation.convention:ConventionDetails",
    "conventions": "measurement.evaluation.conventions:Conventions",
    "conversion": "data.files.conversion:Conversion",
    "counterfactual_replay": "online.counterfactual.counterfactual_replay:CounterfactualReplay",
    "description": "measurement.description.description:Descriptions",
    "diagnosis": "online.faults.diagnosis:Diagnosis",
    "doctor_report": "interface.cli.doctor.doctor_report:DoctorReport",
    "engine_check": "engines.engine_check:EngineCheck",
    "engine_comparison": "engines.snapshots.engine_comparison:EngineComparison",
    "engine_kinds": "engines.engine_kinds:EngineKinds",
    "evaluation": "measurement.evaluation.evaluation:Evaluation",
    "event_log": "online.events.event_log:EventLog",
    "experiment": "online.experiments.experiment:Experiment",
    "experiment_plan": "online.experiments.experiment_plan:ExperimentPlan",
    "explanation": "measurement.explanation.explanation:Explanation",
    "finding": "measurement.explanation.finding:Finding",
    "format": "data.files.format:FormatDetails",
    "formats": "data.files.formats:Formats",
    "fusion": "measurement.fusion.fusion:Fusion",
    "gate_check": "decisions.gating.gate_check:GateCheck",
    "gold_check": "judging.gold.gold_check:GoldCheck",
    "history": "workspace.records.history:History",
    "holes": "decisions.unjudged.holes:HoleAnalysis",
    "installed_plugins": "interface.cli.plugins.installed_plugins:InstalledPlugins",
    "intent_diversity": "online.users.intent_diversity:IntentDiversity",
    "kpi_table": "online.indicators.kpi_table:KpiTable",
    "metric": "measurement.evaluation.metric:MetricDetails",
    "metrics": "measurement.evaluation.metrics:Metrics",
    "mixed_lists": "online.interleaving.mixed_lists:MixedLists",
    "model_ratings": "judging.llm.model_ratings:ModelRatings",
    "off_policy_estimate": "online.off_policy.off_policy_estimate:OffPolicyEstimate",
    "online_agreement": "online.offline_online.online_agreement:OnlineAgreement",
    "personalization_impact": "online.users.personalization_impact:PersonalizationImpact",
    "policies": "decisions.gating.policies:PolicyKeys",
    "policy": "decisions.gating.policy:Policy",
    "pool": "judging.pooling.pool:Pool",
    "preference": "online.interleaving.preference:Preference",
    "project_settings": "interface.cli.configuration.project_settings:ProjectSettings",
    "ramp_verdict": "decisions.gating.ramps.ramp_verdict:RampVerdict",
    "rank_similarity": "decisions.comparison.rank_similarity:RankSimilarity",
    "ranks": "decisions.comparison.ranks:GradesByRank",
    "rated": "judging.resolution.rated:RatedEvaluation",
    "rating_accuracy": "recommenders.rating_accuracy:RatingAccuracy",
    "reanchored": "data.files.reanchored:Reanchored",
    "reconciliation": "measurement.explanation.reconciliation:Reconciliation",
    "recorded": "workspace.records.recorded:Recorded",
    "resolution": "judging.resolution.resolution:ResolvedJudgments",
    "reusability": "judging.pooling.reusability:Reusability",
    "satisfaction": "online.users.satisfaction:Satisfaction",
    "scorecard": "recommenders.scorecard:Scorecard",
    "sensitivity": "online.interleaving.sensitivity:Sensitivity",
    "settlement": "decisions.advice.settling.settlement:Settlement",
    "sheets": "judging.sheets.sheets:Sheets",
    "shown_lists": "online.shown.shown_lists:ShownLists",
    "simulation": "online.simulation.simulation:Simulation",
    "snapshot": "engines.snapshots.snapshot:Snapshot",
    "split": "recommenders.split:Split",
    "stages": "decisions.pipelines.stages:Pipeline",
    "started_folder": "interface.cli.start.started_folder:StartedFolder",
    "store_check": "judging.store.store_check:StoreCheck",
    "store_hashes": "judging.store.store_hashes:StoreHashes",
    "store_listing": "judging.store.store_listing:StoreListing",
    "sweep": "decisions.sweeps.sweep:Sweep",
    "table_audit": "decisions.comparison.table_audit:TableAudit",
    "total_error": "decisions.uncertainty.total:TotalError",
    "tradeoff": "measurement.evaluation.tradeoff:Tradeoff",
    "validation": "data.files.validation:Validation",
    "verdict": "decisions.gating.verdict:Verdict",
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
