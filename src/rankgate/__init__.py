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

if TYPE_CHECKING:
    from rankgate.advice.advice import Advice
    from rankgate.advice.advise import advise
    from rankgate.advice.settling.settle import settle
    from rankgate.advice.settling.settlement import Settlement
    from rankgate.blind_spots.blindspots import BlindSpots
    from rankgate.blind_spots.verb import blindspots
    from rankgate.client import Client
    from rankgate.comparison.audit import audit
    from rankgate.comparison.compare import compare
    from rankgate.comparison.comparison import Comparisons
    from rankgate.comparison.similarity import rank_similarity
    from rankgate.data import read_qrels, read_run
    from rankgate.data.memory.arrays import from_arrays
    from rankgate.data.memory.matrices import Lists, Matrix
    from rankgate.engines.engine_check import check_engine
    from rankgate.engines.snapshots.compare_engines import compare_engines
    from rankgate.engines.snapshots.engine_comparison import EngineComparison
    from rankgate.engines.snapshots.snapshot import Snapshot
    from rankgate.engines.snapshots.take import snapshot
    from rankgate.errors import InputError, RankgateError, UsageError
    from rankgate.evaluation.accumulate import Accumulator
    from rankgate.evaluation.conventions import Conventions, conventions
    from rankgate.evaluation.evaluate import evaluate
    from rankgate.evaluation.evaluation import Evaluation
    from rankgate.explanation.bridge import Bridge
    from rankgate.explanation.explain import explain
    from rankgate.explanation.explanation import Explanation
    from rankgate.explanation.finding import Finding
    from rankgate.explanation.reconciliation import Reconciliation
    from rankgate.explanation.verb import reconcile
    from rankgate.files.conversion import Conversion
    from rankgate.files.convert import convert
    from rankgate.files.describe import describe
    from rankgate.files.description import Descriptions
    from rankgate.files.reanchor import reanchor
    from rankgate.files.validate import validate
    from rankgate.files.validation import Validation
    from rankgate.fusion.fuse import fuse
    from rankgate.fusion.fusion import Fusion
    from rankgate.gating.gate import gate
    from rankgate.gating.gate_check import GateCheck
    from rankgate.gating.self_check import self_check
    from rankgate.gating.verdict import Verdict
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
    from rankgate.metrics.browsing.declare import user_model
    from rankgate.metrics.custom import metric
    from rankgate.pipelines.stages import Pipeline
    from rankgate.pipelines.verb import stages
    from rankgate.recommenders.rating_accuracy import RatingAccuracy, rating_accuracy
    from rankgate.recommenders.scorecard import Scorecard, scorecard
    from rankgate.recommenders.split import Split
    from rankgate.recommenders.splitting import split
    from rankgate.records.annotate import annotate
    from rankgate.records.attribute import attribute
    from rankgate.records.attribution import Attribution
    from rankgate.records.follow import history
    from rankgate.records.history import History
    from rankgate.records.record import record
    from rankgate.records.recorded import Recorded
    from rankgate.reports.plot import plot
    from rankgate.scoring.chosen import chosen_convention as convention
    from rankgate.scoring.convention import Convention
    from rankgate.store.stored_project import StoredProject
    from rankgate.sweeps.sweep import Sweep
    from rankgate.sweeps.verb import sweep
    from rankgate.uncertainty.total import TotalError
    from rankgate.uncertainty.total_error import total_error
    from rankgate.unjudged.holes import HoleAnalysis, holes

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
    "Accumulator": "rankgate.evaluation.accumulate",
    "AdmissionPlan": "rankgate.judging.admission.admission_plan",
    "Advice": "rankgate.advice.advice",
    "RaterAgreement": "rankgate.judging.agreement.agreement",
    "BlindSpots": "rankgate.blind_spots.blindspots",
    "Bridge": "rankgate.explanation.bridge",
    "Client": "rankgate.client",
    "CollectedRatings": "rankgate.judging.sheets.collected",
    "Comparisons": "rankgate.comparison.comparison",
    "Convention": "rankgate.scoring.convention",
    "Conventions": "rankgate.evaluation.conventions",
    "Conversion": "rankgate.files.conversion",
    "Descriptions": "rankgate.files.description",
    "EngineComparison": "rankgate.engines.snapshots.engine_comparison",
    "Evaluation": "rankgate.evaluation.evaluation",
    "Explanation": "rankgate.explanation.explanation",
    "Finding": "rankgate.explanation.finding",
    "Fusion": "rankgate.fusion.fusion",
    "GateCheck": "rankgate.gating.gate_check",
    "GoldCheck": "rankgate.judging.gold.gold_check",
    "History": "rankgate.records.history",
    "HoleAnalysis": "rankgate.unjudged.holes",
    "InputError": "rankgate.errors",
    "Judge": "rankgate.judging.llm.judge",
    "JudgeAdmission": "rankgate.judging.admission.admission",
    "Lists": "rankgate.data.memory.matrices",
    "Matrix": "rankgate.data.memory.matrices",
    "Pipeline": "rankgate.pipelines.stages",
    "Pool": "rankgate.judging.pooling.pool",
    "ModelRatings": "rankgate.judging.llm.model_ratings",
    "Prices": "rankgate.judging.llm.costs",
    "RankgateError": "rankgate.errors",
    "RatingAccuracy": "rankgate.recommenders.rating_accuracy",
    "Reconciliation": "rankgate.explanation.reconciliation",
    "Recorded": "rankgate.records.recorded",
    "ResolvedJudgments": "rankgate.judging.resolution.resolution",
    "Reusability": "rankgate.judging.pooling.reusability",
    "Scorecard": "rankgate.recommenders.scorecard",
    "Snapshot": "rankgate.engines.snapshots.snapshot",
    "Split": "rankgate.recommenders.split",
    "StoredProject": "rankgate.store.stored_project",
    "Sweep": "rankgate.sweeps.sweep",
    "Settlement": "rankgate.advice.settling.settlement",
    "TotalError": "rankgate.uncertainty.total",
    "UsageError": "rankgate.errors",
    "Validation": "rankgate.files.validation",
    "Verdict": "rankgate.gating.verdict",
    "admit": "rankgate.judging.admission.admit",
    "admit_plan": "rankgate.judging.admission.admit_plan",
    "advise": "rankgate.advice.advise",
    "agree": "rankgate.judging.agreement.agree",
    "Attribution": "rankgate.records.attribution",
    "attribute": "rankgate.records.attribute",
    "audit": "rankgate.comparison.audit",
    "annotate": "rankgate.records.annotate",
    "blindspots": "rankgate.blind_spots.verb",
    "check_engine": "rankgate.engines.engine_check",
    "check_gold": "rankgate.judging.gold.check",
    "collect": "rankgate.judging.sheets.collected",
    "compare": "rankgate.comparison.compare",
    "compare_engines": "rankgate.engines.snapshots.compare_engines",
    "convention": "rankgate.scoring.chosen:chosen_convention",
    "conventions": "rankgate.evaluation.conventions",
    "convert": "rankgate.files.convert",
    "describe": "rankgate.files.describe",
    "draw_gold": "rankgate.judging.gold.draw",
    "evaluate": "rankgate.evaluation.evaluate",
    "explain": "rankgate.explanation.explain",
    "from_arrays": "rankgate.data.memory.arrays",
    "fuse": "rankgate.fusion.fuse",
    "gate": "rankgate.gating.gate",
    "history": "rankgate.records.follow",
    "holes": "rankgate.unjudged.holes",
    "metric": "rankgate.metrics.custom",
    "user_model": "rankgate.metrics.browsing.declare",
    "plot": "rankgate.reports.plot",
    "rank_similarity": "rankgate.comparison.similarity",
    "pool": "rankgate.judging.pooling.pool",
    "rate": "rankgate.judging.llm.rate",
    "read_qrels": "rankgate.data",
    "rating_accuracy": "rankgate.recommenders.rating_accuracy",
    "read_run": "rankgate.data",
    "reanchor": "rankgate.files.reanchor",
    "reconcile": "rankgate.explanation.verb",
    "record": "rankgate.records.record",
    "resolve": "rankgate.judging.resolution.resolve",
    "reusability": "rankgate.judging.pooling.reusability",
    "scorecard": "rankgate.recommenders.scorecard",
    "Sheets": "rankgate.judging.sheets.sheets",
    "self_check": "rankgate.gating.self_check",
    "settle": "rankgate.advice.settling.settle",
    "sheets": "rankgate.judging.sheets.sheets",
    "snapshot": "rankgate.engines.snapshots.take",
    "split": "rankgate.recommenders.splitting",
    "stages": "rankgate.pipelines.verb",
    "sweep": "rankgate.sweeps.verb",
    "total_error": "rankgate.uncertainty.total_error",
    "validate": "rankgate.files.validate",
}


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
