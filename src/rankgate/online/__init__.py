"""User behaviour: logs as events, their faults, KPIs, judgments from clicks, simulated clicks.

``doctor``, ``ingest``, ``kpi``, ``judgments`` and the other functions do what the commands
``rankgate online …`` do. A name is imported when it is first used.
"""

from __future__ import annotations

from rankgate.core.present.lazy_names import lazy_names

_HOMES = {
    "rankgate.decisions.gating.ramps.watch": ["watch"],
    "rankgate.online.clicks.judge_clicks": ["Grading", "judgments"],
    "rankgate.online.clicks.simulate": ["simulate"],
    "rankgate.online.events.diagnosis": ["doctor"],
    "rankgate.online.events.event_sql": ["Privacy"],
    "rankgate.online.events.events": ["Events"],
    "rankgate.online.events.ingest": ["ingest"],
    "rankgate.online.experiments.compare_arms": ["ab"],
    "rankgate.online.experiments.experiment_design": ["Design", "ExperimentTest"],
    "rankgate.online.experiments.measure_agreement": ["agreement"],
    "rankgate.online.experiments.plan_experiment": ["plan"],
    "rankgate.online.indicators.kpi_table": ["kpi"],
    "rankgate.online.interleaving.interleave": ["interleave"],
    "rankgate.online.interleaving.mixed_lists": ["mix"],
    "rankgate.online.interleaving.score_interleaving": ["preference"],
    "rankgate.online.interleaving.simulate_tests": ["sensitivity"],
    "rankgate.online.off_policy.evaluate_policy": ["ope"],
    "rankgate.online.off_policy.replay": ["replay"],
    "rankgate.online.users.intent_diversity": ["intents"],
    "rankgate.online.users.personalization_impact": ["personalization"],
    "rankgate.online.users.satisfaction": ["weeks"],
    "rankgate.online.users.shown_lists": ["lists"],
}
"""Names by their modules; `tests/typing/make.py` writes them for type checkers."""

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
