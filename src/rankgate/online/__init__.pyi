# The names of this module, for type checkers; written by tests/typing/make.py.

from rankgate.decisions.gating.ramps.watch import watch as watch
from rankgate.online.clicks.grades import Grading as Grading
from rankgate.online.clicks.judge import judgments as judgments
from rankgate.online.counterfactual.replay import replay as replay
from rankgate.online.events.events import Events as Events
from rankgate.online.events.ingest import ingest as ingest
from rankgate.online.events.privacy import Privacy as Privacy
from rankgate.online.experiments.ab import ab as ab
from rankgate.online.experiments.design import Design as Design
from rankgate.online.experiments.design import ExperimentTest as ExperimentTest
from rankgate.online.experiments.plan import plan as plan
from rankgate.online.faults.diagnose import doctor as doctor
from rankgate.online.indicators.compute import kpi as kpi
from rankgate.online.interleaving.interleave import interleave as interleave
from rankgate.online.interleaving.mix import mix as mix
from rankgate.online.interleaving.score import preference as preference
from rankgate.online.interleaving.simulate_tests import sensitivity as sensitivity
from rankgate.online.off_policy.evaluate import ope as ope
from rankgate.online.offline_online.agreement import agreement as agreement
from rankgate.online.shown.lists import lists as lists
from rankgate.online.simulation.simulate import simulate as simulate
from rankgate.online.users.intents import intents as intents
from rankgate.online.users.personalization import personalization as personalization
from rankgate.online.users.weeks import weeks as weeks

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
