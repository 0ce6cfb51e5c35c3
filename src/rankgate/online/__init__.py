"""What users did: logs as events, their faults, KPIs, judgments from clicks, simulated clicks.

``rankgate.online.doctor("log.ndjson")``, ``ingest``, ``kpi``, ``judgments`` and the others are the
commands ``rankgate online …``; everything is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankgate.online.clicks.judge import judgments
    from rankgate.online.counterfactual.replay import replay
    from rankgate.online.events.ingest import ingest
    from rankgate.online.experiments.ab import ab
    from rankgate.online.experiments.plan import plan
    from rankgate.online.faults.diagnose import doctor
    from rankgate.online.indicators.compute import kpi
    from rankgate.online.interleaving.interleave import interleave
    from rankgate.online.interleaving.mix import mix
    from rankgate.online.interleaving.score import preference
    from rankgate.online.interleaving.simulate_tests import sensitivity
    from rankgate.online.off_policy.evaluate import ope
    from rankgate.online.offline_online.agreement import agreement
    from rankgate.online.shown.lists import lists
    from rankgate.online.simulation.simulate import simulate
    from rankgate.online.users.intents import intents
    from rankgate.online.users.personalization import personalization
    from rankgate.online.users.weeks import weeks

    watch: Callable[..., Any]  # of rankgate.decisions.gating, which is built on this package

__all__ = [
    "ab", "agreement", "doctor", "ingest", "intents", "interleave", "judgments", "kpi", "lists",
    "mix", "ope",
    "personalization", "plan", "preference", "replay", "sensitivity", "simulate", "watch", "weeks",
]  # fmt: skip

_HOMES = {
    "ab": "rankgate.online.experiments.ab",
    "agreement": "rankgate.online.offline_online.agreement",
    "doctor": "rankgate.online.faults.diagnose",
    "judgments": "rankgate.online.clicks.judge",
    "interleave": "rankgate.online.interleaving.interleave",
    "kpi": "rankgate.online.indicators.compute",
    "mix": "rankgate.online.interleaving.mix",
    "ope": "rankgate.online.off_policy.evaluate",
    "preference": "rankgate.online.interleaving.score",
    "replay": "rankgate.online.counterfactual.replay",
    "sensitivity": "rankgate.online.interleaving.simulate_tests",
    "plan": "rankgate.online.experiments.plan",
    "lists": "rankgate.online.shown.lists",
    "watch": "rankgate.decisions.gating.ramps.watch",
    "simulate": "rankgate.online.simulation.simulate",
    "intents": "rankgate.online.users.intents",
    "personalization": "rankgate.online.users.personalization",
    "weeks": "rankgate.online.users.weeks",
    "ingest": "rankgate.online.events.ingest",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any verb
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
