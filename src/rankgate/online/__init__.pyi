# The names of this module, for type checkers; written by tests/typing/make.py.

from rankgate.decisions.gating.ramps.watch import watch as watch
from rankgate.online.clicks.judge_clicks import Grading as Grading
from rankgate.online.clicks.judge_clicks import judgments as judgments
from rankgate.online.clicks.simulate import simulate as simulate
from rankgate.online.events.diagnosis import doctor as doctor
from rankgate.online.events.event_sql import Privacy as Privacy
from rankgate.online.events.events import Events as Events
from rankgate.online.events.ingest import ingest as ingest
from rankgate.online.experiments.compare_arms import ab as ab
from rankgate.online.experiments.experiment_design import Design as Design
from rankgate.online.experiments.experiment_design import ExperimentTest as ExperimentTest
from rankgate.online.experiments.measure_agreement import agreement as agreement
from rankgate.online.experiments.plan_experiment import plan as plan
from rankgate.online.indicators.kpi_table import kpi as kpi
from rankgate.online.interleaving.interleave import interleave as interleave
from rankgate.online.interleaving.mixed_lists import mix as mix
from rankgate.online.interleaving.score_interleaving import preference as preference
from rankgate.online.interleaving.simulate_tests import sensitivity as sensitivity
from rankgate.online.off_policy.evaluate_policy import ope as ope
from rankgate.online.off_policy.replay import replay as replay
from rankgate.online.users.intent_diversity import intents as intents
from rankgate.online.users.personalization_impact import personalization as personalization
from rankgate.online.users.satisfaction import weeks as weeks
from rankgate.online.users.shown_lists import lists as lists

__all__ = [
    "Design",
    "Events",
    "ExperimentTest",
    "Grading",
    "Privacy",
    "ab",
    "agreement",
    "doctor",
    "ingest",
    "intents",
    "interleave",
    "judgments",
    "kpi",
    "lists",
    "mix",
    "ope",
    "personalization",
    "plan",
    "preference",
    "replay",
    "sensitivity",
    "simulate",
    "watch",
    "weeks",
]
