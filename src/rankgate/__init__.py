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
from typing import TYPE_CHECKING, Any

from rankgate.core.present.resolve import ABOVE

if TYPE_CHECKING:
    from rankgate.core.errors import InputError, RankgateError, UsageError
    from rankgate.data import read_qrels, read_run
    from rankgate.data.files.conversion import Conversion
    from rankgate.data.files.convert import convert
    from rankgate.data.files.reanchor import reanchor
    from rankgate.data.files.validate import validate
    from rankgate.data.files.validation import Validation
    from rankgate.data.memory.arrays import from_arrays
    from rankgate.data.memory.matrices import Lists, Matrix
    from rankgate.decisions.advice.advice import Advice
    from rankgate.decisions.advice.advise import advise
    from rankgate.decisions.advice.settling.settle import settle
    from rankgate.decisions.advice.settling.settlement import Settlement
    from rankgate.decisions.blind_spots.blindspots import BlindSpots
    from rankgate.decisions.blind_spots.verb import blindspots
    from rankgate.decisions.comparison.audit import audit
    from rankgate.decisions.comparison.compare import compare
    from rankgate.decisions.comparison.comparison import Comparisons
    from rankgate.decisions.comparison.similarity import rank_similarity
    from rankgate.decisions.gating.gate import gate
    from rankgate.decisions.gating.gate_check import GateCheck
    from rankgate.decisions.gating.self_check import self_check
    from rankgate.decisions.gating.verdict import Verdict
    from rankgate.decisions.pipelines.stages import Pipeline
    from rankgate.decisions.pipelines.verb import stages
    from rankgate.decisions.sweeps.sweep import Sweep
    from rankgate.decisions.sweeps.verb import sweep
    from rankgate.decisions.uncertainty.total import TotalError
    from rankgate.decisions.uncertainty.total_error import total_error
    from rankgate.decisions.unjudged.holes import HoleAnalysis, holes
    from rankgate.engines.engine_check import check_engine
    from rankgate.engines.snapshots.compare_engines import compare_engines
    from rankgate.engines.snapshots.engine_comparison import EngineComparison
    from rankgate.engines.snapshots.snapshot import Snapshot
    from rankgate.engines.snapshots.take import snapshot
    from rankgate.judging.admission.admission import JudgeAdmission
    from rankgate.judging.admission.admission_plan import AdmissionPlan
    from rankgate.judging.admission.admit import admit
    from rankgate.judging.admission.admit_plan import admit_plan
    from rankgate.judging.agreement.agree import agree
    from rankgate.judging.agreement.agreement import RaterAgreement
    from rankgate.judging.gold.check import check_gold
    from rankgate.judging.gold.draw import draw_gold
    from rankgate.judging.gold.gold_check import GoldCheck
    from rankgate.judging.llm.costs import Prices
    from rankgate.judging.llm.judge import Judge
    from rankgate.judging.llm.model_ratings import ModelRatings
    from rankgate.judging.llm.rate import rate
    from rankgate.judging.pooling.pool import Pool, pool
    from rankgate.judging.pooling.reusability import Reusability, reusability
    from rankgate.judging.resolution.resolution import ResolvedJudgments
    from rankgate.judging.resolution.resolve import resolve
    from rankgate.judging.sheets.collected import CollectedRatings, collect
    from rankgate.judging.sheets.sheets import Sheets, sheets
    from rankgate.measurement.description.describe import describe
    from rankgate.measurement.description.description import Descriptions
    from rankgate.measurement.evaluation.accumulate import Accumulator
    from rankgate.measurement.evaluation.conventions import Conventions, conventions
    from rankgate.measurement.evaluation.evaluate import evaluate
    from rankgate.measurement.evaluation.evaluation import Evaluation
    from rankgate.measurement.explanation.bridge import Bridge
    from rankgate.measurement.explanation.explain import explain
    from rankgate.measurement.explanation.explanation import Explanation
    from rankgate.measurement.explanation.finding import Finding
    from rankgate.measurement.explanation.reconciliation import Reconciliation
    from rankgate.measurement.explanation.verb import reconcile
    from rankgate.measurement.fusion.fuse import fuse
    from rankgate.measurement.fusion.fusion import Fusion
    from rankgate.measurement.metrics.browsing.declare import user_model
    from rankgate.measurement.metrics.custom import metric
    from rankgate.measurement.scoring.chosen import chosen_convention as convention
    from rankgate.measurement.scoring.convention import Convention
    from rankgate.recommenders.rating_accuracy import RatingAccuracy, rating_accuracy
    from rankgate.recommenders.scorecard import Scorecard, scorecard
    from rankgate.recommenders.split import Split
    from rankgate.recommenders.splitting import split
    from rankgate.store.client import Client
    from rankgate.store.stored_project import StoredProject
    from rankgate.workspace.records.annotate import annotate
    from rankgate.workspace.records.attribute import attribute
    from rankgate.workspace.records.attribution import Attribution
    from rankgate.workspace.records.follow import history
    from rankgate.workspace.records.history import History
    from rankgate.workspace.records.record import record
    from rankgate.workspace.records.recorded import Recorded
    from rankgate.workspace.reports.plot import plot

__all__ = [
    "Accumulator",
    "AdmissionPlan",
    "Advice",
    "Attribution",
    "BlindSpots",
    "Bridge",
    "Client",
    "CollectedRatings",
    "Comparisons",
    "Convention",
    "Conventions",
    "Conversion",
    "Descriptions",
    "EngineComparison",
    "Evaluation",
    "Explanation",
    "Finding",
    "Fusion",
    "GateCheck",
    "GoldCheck",
    "History",
    "HoleAnalysis",
    "InputError",
    "Judge",
    "JudgeAdmission",
    "Lists",
    "Matrix",
    "ModelRatings",
    "Pipeline",
    "Pool",
    "Prices",
    "RankgateError",
    "RaterAgreement",
    "RatingAccuracy",
    "Reconciliation",
    "Recorded",
    "ResolvedJudgments",
    "Reusability",
    "Scorecard",
    "Settlement",
    "Sheets",
    "Snapshot",
    "Split",
    "StoredProject",
    "Sweep",
    "TotalError",
    "UsageError",
    "Validation",
    "Verdict",
    "admit",
    "admit_plan",
    "advise",
    "agree",
    "annotate",
    "attribute",
    "audit",
    "blindspots",
    "check_engine",
    "check_gold",
    "collect",
    "compare",
    "compare_engines",
    "convention",
    "conventions",
    "convert",
    "describe",
    "draw_gold",
    "evaluate",
    "explain",
    "from_arrays",
    "fuse",
    "gate",
    "history",
    "holes",
    "metric",
    "plot",
    "pool",
    "rank_similarity",
    "rate",
    "rating_accuracy",
    "read_qrels",
    "read_run",
    "reanchor",
    "reconcile",
    "record",
    "resolve",
    "reusability",
    "scorecard",
    "self_check",
    "settle",
    "sheets",
    "snapshot",
    "split",
    "stages",
    "sweep",
    "total_error",
    "user_model",
    "validate",
]

_HOMES = {
    "Accumulator": "rankgate.measurement.evaluation.accumulate",
    "AdmissionPlan": "rankgate.judging.admission.admission_plan",
    "Advice": "rankgate.decisions.advice.advice",
    "RaterAgreement": "rankgate.judging.agreement.agreement",
    "BlindSpots": "rankgate.decisions.blind_spots.blindspots",
    "Bridge": "rankgate.measurement.explanation.bridge",
    "Client": "rankgate.store.client",
    "CollectedRatings": "rankgate.judging.sheets.collected",
    "Comparisons": "rankgate.decisions.comparison.comparison",
    "Convention": "rankgate.measurement.scoring.convention",
    "Conventions": "rankgate.measurement.evaluation.conventions",
    "Conversion": "rankgate.data.files.conversion",
    "Descriptions": "rankgate.measurement.description.description",
    "EngineComparison": "rankgate.engines.snapshots.engine_comparison",
    "Evaluation": "rankgate.measurement.evaluation.evaluation",
    "Explanation": "rankgate.measurement.explanation.explanation",
    "Finding": "rankgate.measurement.explanation.finding",
    "Fusion": "rankgate.measurement.fusion.fusion",
    "GateCheck": "rankgate.decisions.gating.gate_check",
    "GoldCheck": "rankgate.judging.gold.gold_check",
    "History": "rankgate.workspace.records.history",
    "HoleAnalysis": "rankgate.decisions.unjudged.holes",
    "InputError": "rankgate.core.errors",
    "Judge": "rankgate.judging.llm.judge",
    "JudgeAdmission": "rankgate.judging.admission.admission",
    "Lists": "rankgate.data.memory.matrices",
    "Matrix": "rankgate.data.memory.matrices",
    "Pipeline": "rankgate.decisions.pipelines.stages",
    "Pool": "rankgate.judging.pooling.pool",
    "ModelRatings": "rankgate.judging.llm.model_ratings",
    "Prices": "rankgate.judging.llm.costs",
    "RankgateError": "rankgate.core.errors",
    "RatingAccuracy": "rankgate.recommenders.rating_accuracy",
    "Reconciliation": "rankgate.measurement.explanation.reconciliation",
    "Recorded": "rankgate.workspace.records.recorded",
    "ResolvedJudgments": "rankgate.judging.resolution.resolution",
    "Reusability": "rankgate.judging.pooling.reusability",
    "Scorecard": "rankgate.recommenders.scorecard",
    "Snapshot": "rankgate.engines.snapshots.snapshot",
    "Split": "rankgate.recommenders.split",
    "StoredProject": "rankgate.store.stored_project",
    "Sweep": "rankgate.decisions.sweeps.sweep",
    "Settlement": "rankgate.decisions.advice.settling.settlement",
    "TotalError": "rankgate.decisions.uncertainty.total",
    "UsageError": "rankgate.core.errors",
    "Validation": "rankgate.data.files.validation",
    "Verdict": "rankgate.decisions.gating.verdict",
    "admit": "rankgate.judging.admission.admit",
    "admit_plan": "rankgate.judging.admission.admit_plan",
    "advise": "rankgate.decisions.advice.advise",
    "agree": "rankgate.judging.agreement.agree",
    "Attribution": "rankgate.workspace.records.attribution",
    "attribute": "rankgate.workspace.records.attribute",
    "audit": "rankgate.decisions.comparison.audit",
    "annotate": "rankgate.workspace.records.annotate",
    "blindspots": "rankgate.decisions.blind_spots.verb",
    "check_engine": "rankgate.engines.engine_check",
    "check_gold": "rankgate.judging.gold.check",
    "collect": "rankgate.judging.sheets.collected",
    "compare": "rankgate.decisions.comparison.compare",
    "compare_engines": "rankgate.engines.snapshots.compare_engines",
    "convention": "rankgate.measurement.scoring.chosen:chosen_convention",
    "conventions": "rankgate.measurement.evaluation.conventions",
    "convert": "rankgate.data.files.convert",
    "describe": "rankgate.measurement.description.describe",
    "draw_gold": "rankgate.judging.gold.draw",
    "evaluate": "rankgate.measurement.evaluation.evaluate",
    "explain": "rankgate.measurement.explanation.explain",
    "from_arrays": "rankgate.data.memory.arrays",
    "fuse": "rankgate.measurement.fusion.fuse",
    "gate": "rankgate.decisions.gating.gate",
    "history": "rankgate.workspace.records.follow",
    "holes": "rankgate.decisions.unjudged.holes",
    "metric": "rankgate.measurement.metrics.custom",
    "user_model": "rankgate.measurement.metrics.browsing.declare",
    "plot": "rankgate.workspace.reports.plot",
    "rank_similarity": "rankgate.decisions.comparison.similarity",
    "pool": "rankgate.judging.pooling.pool",
    "rate": "rankgate.judging.llm.rate",
    "read_qrels": "rankgate.data",
    "rating_accuracy": "rankgate.recommenders.rating_accuracy",
    "read_run": "rankgate.data",
    "reanchor": "rankgate.data.files.reanchor",
    "reconcile": "rankgate.measurement.explanation.verb",
    "record": "rankgate.workspace.records.record",
    "resolve": "rankgate.judging.resolution.resolve",
    "reusability": "rankgate.judging.pooling.reusability",
    "scorecard": "rankgate.recommenders.scorecard",
    "Sheets": "rankgate.judging.sheets.sheets",
    "self_check": "rankgate.decisions.gating.self_check",
    "settle": "rankgate.decisions.advice.settling.settle",
    "sheets": "rankgate.judging.sheets.sheets",
    "snapshot": "rankgate.engines.snapshots.take",
    "split": "rankgate.recommenders.splitting",
    "stages": "rankgate.decisions.pipelines.verb",
    "sweep": "rankgate.decisions.sweeps.verb",
    "total_error": "rankgate.decisions.uncertainty.total_error",
    "validate": "rankgate.data.files.validate",
}


ABOVE.update(
    convention_details="rankgate.measurement.evaluation.convention:convention_details",
    kinds_of_results="rankgate.interface.kinds_of_results:CLASSES",
    path_of_input="rankgate.data.formats.registry:without_format",
    write_report="rankgate.workspace.reports.compose:write",
)


def __getattr__(name: str) -> Any:  # noqa: ANN401 - each name has its own type
    if name == "__version__":
        return import_module("importlib.metadata").version("rankgate")
    if name == "online":
        return import_module("rankgate.online")
    if name not in _HOMES:
        raise AttributeError(f"module 'rankgate' has no attribute '{name}'")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(import_module(module), attribute or name)


def __dir__() -> list[str]:
    return __all__
