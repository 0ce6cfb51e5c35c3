"""What users did: logs as events, their faults, KPIs, judgments from clicks, simulated clicks.

``rankgate.online.doctor("log.ndjson")``, ``ingest``, ``kpi``, ``judgments`` and the others are the
commands ``rankgate online …``; everything is imported when it is first used.
"""

from __future__ import annotations

from rankgate.core.present.resolve import lazy_names

_HOMES = {
    "rankgate.decisions.gating.ramps.watch": ["watch"],
    "rankgate.online.clicks.grades": ["Grading"],
    "rankgate.online.clicks.judge": ["judgments"],
    "rankgate.online.counterfactual.replay": ["replay"],
    "rankgate.online.events.events": ["Events"],
    "rankgate.online.events.ingest": ["ingest"],
    "rankgate.online.events.privacy": ["Privacy"],
    "rankgate.online.experiments.ab": ["ab"],
    "rankgate.online.experiments.design": ["Design", "ExperimentTest"],
    "rankgate.online.experiments.plan": ["plan"],
    "rankgate.online.faults.diagnose": ["doctor"],
    "rankgate.online.indicators.compute": ["kpi"],
    "rankgate.online.interleaving.interleave": ["interleave"],
    "rankgate.online.interleaving.mix": ["mix"],
    "rankgate.online.interleaving.score": ["preference"],
    "rankgate.online.interleaving.simulate_tests": ["sensitivity"],
    "rankgate.online.off_policy.evaluate": ["ope"],
    "rankgate.online.offline_online.agreement": ["agreement"],
    "rankgate.online.shown.lists": ["lists"],
    "rankgate.online.simulation.simulate": ["simulate"],
    "rankgate.online.users.intents": ["intents"],
    "rankgate.online.users.personalization": ["personalization"],
    "rankgate.online.users.weeks": ["weeks"],
}
"""Names by their modules; `tests/typing/make.py` writes them for type checkers."""

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
