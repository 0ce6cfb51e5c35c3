# The names of this module, for type checkers; written by tests/typing/make.py.

from rankgate.core.errors import InputError as InputError
from rankgate.core.errors import RankgateError as RankgateError
from rankgate.core.errors import UsageError as UsageError
from rankgate.core.progress import progress as progress
from rankgate.data import read_qrels as read_qrels
from rankgate.data import read_run as read_run
from rankgate.data.collection import Collection as Collection
from rankgate.data.collection import Items as Items
from rankgate.data.collection import Predicted as Predicted
from rankgate.data.files.conversion import Conversion as Conversion
from rankgate.data.files.conversion import convert as convert
from rankgate.data.files.reanchor import reanchor as reanchor
from rankgate.data.files.validate import Validation as Validation
from rankgate.data.files.validate import validate as validate
from rankgate.data.formats.tables.memory_tables import from_arrays as from_arrays
from rankgate.data.logs.log_judgments import Truth as Truth
from rankgate.data.logs.splits import SplitPlan as SplitPlan
from rankgate.data.memory.matrices import Lists as Lists
from rankgate.data.memory.matrices import Matrix as Matrix
from rankgate.decisions.advice.advice_inputs import PlannedJudgments as PlannedJudgments
from rankgate.decisions.advice.advise import Advice as Advice
from rankgate.decisions.advice.advise import advise as advise
from rankgate.decisions.advice.blind_spots import BlindSpots as BlindSpots
from rankgate.decisions.advice.blind_spots import blindspots as blindspots
from rankgate.decisions.advice.settle import settle as settle
from rankgate.decisions.advice.settlement import Settlement as Settlement
from rankgate.decisions.comparison.compare import compare as compare
from rankgate.decisions.comparison.comparison import Comparisons as Comparisons
from rankgate.decisions.comparison.data_sets import DataSetComparison as DataSetComparison
from rankgate.decisions.comparison.data_sets import compare_data_sets as compare_data_sets
from rankgate.decisions.comparison.inference import Test as Test
from rankgate.decisions.comparison.reported_systems import read_scores as read_scores
from rankgate.decisions.cutoffs.cutoff import CutoffAnalysis as CutoffAnalysis
from rankgate.decisions.cutoffs.cutoff import cutoff as cutoff
from rankgate.decisions.gating.gate import gate as gate
from rankgate.decisions.gating.policy import Policy as Policy
from rankgate.decisions.gating.policy import read as read_policy
from rankgate.decisions.gating.saved.holdout_account import AccountSummary as AccountSummary
from rankgate.decisions.gating.saved.holdout_account import open_account as open_account
from rankgate.decisions.gating.self_check import self_check as self_check
from rankgate.decisions.gating.verdict import GateCheck as GateCheck
from rankgate.decisions.gating.verdict import Verdict as Verdict
from rankgate.decisions.migration.migrate import migrate as migrate
from rankgate.decisions.migration.migration import Migration as Migration
from rankgate.decisions.pipelines.stage_runner import LivePipeline as LivePipeline
from rankgate.decisions.pipelines.stages import Pipeline as Pipeline
from rankgate.decisions.pipelines.stages_verb import stages as stages
from rankgate.decisions.reproduction.audit import audit as audit
from rankgate.decisions.reproduction.rank_similarity import rank_similarity as rank_similarity
from rankgate.decisions.sweeps.sweep import Sweep as Sweep
from rankgate.decisions.sweeps.sweep_verb import sweep as sweep
from rankgate.decisions.unjudged.holes import HoleAnalysis as HoleAnalysis
from rankgate.decisions.unjudged.holes import holes as holes
from rankgate.decisions.unjudged.total_error import TotalError as TotalError
from rankgate.decisions.unjudged.total_error import total_error as total_error
from rankgate.engines.engine_checks import check_engine as check_engine
from rankgate.engines.snapshots.compare_engines import compare_engines as compare_engines
from rankgate.engines.snapshots.snapshot import EngineComparison as EngineComparison
from rankgate.engines.snapshots.snapshot import Snapshot as Snapshot
from rankgate.engines.snapshots.snapshot_verb import snapshot as snapshot
from rankgate.judging.admission.admit import JudgeAdmission as JudgeAdmission
from rankgate.judging.admission.admit import admit as admit
from rankgate.judging.admission.admit_plan import AdmissionPlan as AdmissionPlan
from rankgate.judging.admission.admit_plan import admit_plan as admit_plan
from rankgate.judging.admission.judged_pairs import JudgeGrades as JudgeGrades
from rankgate.judging.agreement.agree import RaterAgreement as RaterAgreement
from rankgate.judging.agreement.agree import agree as agree
from rankgate.judging.gold_check import GoldCheck as GoldCheck
from rankgate.judging.gold_check import check_gold as check_gold
from rankgate.judging.gold_check import draw_gold as draw_gold
from rankgate.judging.llm.judge import Judge as Judge
from rankgate.judging.llm.judge import Prices as Prices
from rankgate.judging.llm.rate import ModelRatings as ModelRatings
from rankgate.judging.llm.rate import rate as rate
from rankgate.judging.pooling.pool import Pool as Pool
from rankgate.judging.pooling.pool import pool as pool
from rankgate.judging.pooling.pool_sampling import PoolDesign as PoolDesign
from rankgate.judging.pooling.reusability import Reusability as Reusability
from rankgate.judging.pooling.reusability import reusability as reusability
from rankgate.judging.resolution.resolution import ResolvedJudgments as ResolvedJudgments
from rankgate.judging.resolution.resolve import resolve as resolve
from rankgate.judging.sheets import CollectedRatings as CollectedRatings
from rankgate.judging.sheets import Sheets as Sheets
from rankgate.judging.sheets import collect as collect
from rankgate.judging.sheets import sheets as sheets
from rankgate.measurement.description.describe import describe as describe
from rankgate.measurement.description.description import Descriptions as Descriptions
from rankgate.measurement.evaluation.accumulator import Accumulator as Accumulator
from rankgate.measurement.evaluation.convention_details import Conventions as Conventions
from rankgate.measurement.evaluation.convention_details import conventions as conventions
from rankgate.measurement.evaluation.evaluate import evaluate as evaluate
from rankgate.measurement.evaluation.scores import Scores as Scores
from rankgate.measurement.explanation.explain import explain as explain
from rankgate.measurement.explanation.explanation_results import Bridge as Bridge
from rankgate.measurement.explanation.explanation_results import Explanation as Explanation
from rankgate.measurement.explanation.explanation_results import Finding as Finding
from rankgate.measurement.explanation.explanation_results import Reconciliation as Reconciliation
from rankgate.measurement.explanation.reconcile import reconcile as reconcile
from rankgate.measurement.fusion.fuse import FusionLearning as FusionLearning
from rankgate.measurement.fusion.fuse import fuse as fuse
from rankgate.measurement.fusion.fusion import Fusion as Fusion
from rankgate.measurement.metrics.browsing.browsing_model import user_model as user_model
from rankgate.measurement.metrics.custom import metric as metric
from rankgate.measurement.scoring.convention import Convention as Convention
from rankgate.measurement.scoring.presets import chosen_convention as convention
from rankgate.recommenders.rating_accuracy import RatingAccuracy as RatingAccuracy
from rankgate.recommenders.rating_accuracy import rating_accuracy as rating_accuracy
from rankgate.recommenders.scorecard import Scorecard as Scorecard
from rankgate.recommenders.scorecard import scorecard as scorecard
from rankgate.recommenders.split import Split as Split
from rankgate.recommenders.splitting import split as split
from rankgate.store.client import Client as Client
from rankgate.store.stored_project import StoredProject as StoredProject
from rankgate.workspace.records.attribution import Attribution as Attribution
from rankgate.workspace.records.attribution import attribute as attribute
from rankgate.workspace.records.history import History as History
from rankgate.workspace.records.history import history as history
from rankgate.workspace.records.provenance import Provenance as Provenance
from rankgate.workspace.records.record import Recorded as Recorded
from rankgate.workspace.records.record import annotate as annotate
from rankgate.workspace.records.record import record as record
from rankgate.workspace.reports.chart_results import plot as plot
from rankgate import online as online

__version__: str

__all__ = [
    "AccountSummary",
    "Accumulator",
    "AdmissionPlan",
    "Advice",
    "Attribution",
    "BlindSpots",
    "Bridge",
    "Client",
    "CollectedRatings",
    "Collection",
    "Comparisons",
    "Convention",
    "Conventions",
    "Conversion",
    "CutoffAnalysis",
    "DataSetComparison",
    "Descriptions",
    "EngineComparison",
    "Explanation",
    "Finding",
    "Fusion",
    "FusionLearning",
    "GateCheck",
    "GoldCheck",
    "History",
    "HoleAnalysis",
    "InputError",
    "Items",
    "Judge",
    "JudgeAdmission",
    "JudgeGrades",
    "Lists",
    "LivePipeline",
    "Matrix",
    "Migration",
    "ModelRatings",
    "Pipeline",
    "PlannedJudgments",
    "Policy",
    "Pool",
    "PoolDesign",
    "Predicted",
    "Prices",
    "Provenance",
    "RankgateError",
    "RaterAgreement",
    "RatingAccuracy",
    "Reconciliation",
    "Recorded",
    "ResolvedJudgments",
    "Reusability",
    "Scorecard",
    "Scores",
    "Settlement",
    "Sheets",
    "Snapshot",
    "Split",
    "SplitPlan",
    "StoredProject",
    "Sweep",
    "Test",
    "TotalError",
    "Truth",
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
    "compare_data_sets",
    "compare_engines",
    "convention",
    "conventions",
    "convert",
    "cutoff",
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
    "migrate",
    "open_account",
    "plot",
    "pool",
    "progress",
    "rank_similarity",
    "rate",
    "rating_accuracy",
    "read_policy",
    "read_qrels",
    "read_run",
    "read_scores",
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
