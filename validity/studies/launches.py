"""Launches through every stage of a policy, and what each stage costs and prevents.

The policy is that of `examples/engine-migration`: 150 judged queries, a replay on logged clicks,
4,000 interleaved lists, and a ramp of four steps on 3,000 users a day, which is looked at daily.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.decisions.gating.bounds import decide_statuses
from rankgate.decisions.gating.rule import Terms
from rankgate.measurement.stats.mean_intervals import student_quantile, wilson_interval
from rankgate.online.interleaving.score_interleaving import wins_preference
from rankgate.online.off_policy.bandit_log import BanditLog
from rankgate.online.off_policy.estimators import SNIPS, EstimatorSettings
from studies.launch_ramp import Ramp, ramp_results

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]

WORLDS = 2000
ALPHA = 0.05
POLICY = Path(__file__).resolve().parents[2] / "examples" / "engine-migration" / "launch.toml"
QUERIES, TIED, SPREAD = 150, 0.4, 0.2  # of nDCG differences; ties are 0
SEARCHES, SHOWN = 12_000, 0.25  # of the replayed log; the share that had the new lists
LISTS, DECIDED = 4000, 0.45  # interleaved; the share whose clicks prefer one engine
USERS, HORIZON = 3000, 60  # that come on a day; days

GOOD = {"relevance": 0.01, "reward": 0.03, "preference": 0.025, "clicks": 0.03, "waiting": -0.02}
"""The true gains of an engine that should be launched: nDCG, relative reward, preference, relative
search_ctr, and relative latency, where a loss is negative."""


@dataclass(frozen=True)
class Cell:
    """An engine before a policy of which a part may be left out.

    Attributes:
        engine: what is true of it.
        bad: whether it loses what the policy does not accept.
        without: the stage that is left out; empty for the whole policy.
        worlds: how many.
        launched: the share of them in which every stage passes.
        low, high: Wilson's 95 % interval of it.
        stopped: by stage the share that it stopped: failed, or never passed.
        exposed: users who meet the engine in 60 days, mean, in thousands.
        days: of the ramp until it is launched, mean; None where it never is.
        judged: queries that people judge.
    """

    engine: str
    bad: bool
    without: str
    worlds: int
    launched: float
    low: float
    high: float
    stopped: Mapping[str, float]
    exposed: float
    days: float | None
    judged: int

    @property
    def holds(self) -> bool | None:
        """Whether the whole policy launches a bad engine in at most 5 % of the worlds."""
        return self.launched <= ALPHA if self.bad and not self.without else None


def engines(policy: Mapping[str, Any]) -> dict[str, tuple[bool, dict[str, float]]]:
    """By name whether an engine is bad, and its true gains."""
    edge = _edge(policy)
    bad: dict[str, dict[str, float]] = {}
    for name, margin in edge.items():
        bad[f"{name} at the margin, else good"] = GOOD | {name: margin}
    for name in ("relevance", "reward", "clicks", "waiting"):
        bad[f"{name} at twice the margin, else good"] = GOOD | {name: 2 * edge[name]}
    bad["preference at -2%, else good"] = GOOD | {"preference": -0.02}
    bad["all at the margin"] = edge
    bad["all at twice the margin"] = {k: 2 * v for k, v in edge.items()} | {"preference": -0.02}
    bad["clicks at ten times the margin, else good"] = GOOD | {"clicks": 10 * edge["clicks"]}
    bad["waiting at five times the margin, else good"] = GOOD | {"waiting": 5 * edge["waiting"]}
    unchanged = dict.fromkeys(GOOD, 0.0)
    better = {"relevance": 0.03, "reward": 0.06, "preference": 0.035, "clicks": 0.06, "waiting": -0.02}
    return {
        **{name: (True, gains) for name, gains in bad.items()},
        "no better, no worse": (False, unchanged),
        "a little better": (False, GOOD),
        "clearly better": (False, better),
    }


def run(worlds: int = WORLDS, seed: int = 0) -> list[Cell]:
    """Every engine before the whole policy and before each part of it."""
    policy = tomllib.loads(POLICY.read_text())
    engine_gains = engines(policy)
    stages = _Stages(policy, worlds, seed, [gains for _, gains in engine_gains.values()])
    cells = []
    for name, (bad, gains) in engine_gains.items():
        for omitted, plan in _plans(len(policy["ramp"])).items():
            cells.append(_cell(name, bad, omitted, plan, stages, gains))
    return cells


def _plans(steps: int) -> dict[str, tuple[tuple[str, ...], tuple[int, ...]]]:
    """By what is left out the stages before the ramp and the steps that are kept."""
    early_stages, ramp = ("gate", "replay", "interleaving"), tuple(range(steps))
    return {
        "": (early_stages, ramp),
        **{stage: (tuple(name for name in early_stages if name != stage), ramp) for stage in early_stages},
        "all before the ramp": ((), ramp),
        "steps of 1% and 5%": (early_stages, ramp[2:]),
        "all steps but the last": (early_stages, ramp[-1:]),
        "the ramp": (early_stages, ()),
    }


def _edge(policy: Mapping[str, Any]) -> dict[str, float]:
    """The gains of an engine that loses exactly what the policy accepts."""
    rules = {rule["id"]: rule for rule in policy["rules"]}
    return {
        "relevance": -rules["relevance"]["margin"],
        "reward": -policy["earlier"]["replay_margin"],
        "preference": -policy["earlier"].get("interleaving_margin", 0.0),
        "clicks": -rules["clicks"]["relative"],
        "waiting": -rules["waiting"]["relative"],
    }


class _Stages:
    """How each stage ends in each world; engines with equal gains share their worlds."""

    def __init__(
        self, policy: Mapping[str, Any], worlds: int, seed: int, gains: Sequence[Mapping[str, float]]
    ) -> None:
        budget = {
            name: policy["budget"]["alpha"] * policy["budget"][name]
            for name in ("gate", "replay", "interleaving", "ramp")
        }
        edge = _edge(policy)
        self.worlds, self.steps = worlds, policy["ramp"]

        def each(name: str) -> Iterator[tuple[float, np.random.Generator]]:
            for value in sorted({engine[name] for engine in gains}):
                yield value, np.random.default_rng([seed, len(name)])

        self.gate = {
            value: _gate(random, worlds, value, edge["relevance"], budget["gate"])
            for value, random in each("relevance")
        }
        self.replay = {
            value: _replay(random, worlds, value, edge["reward"], budget["replay"])
            for value, random in each("reward")
        }
        self.interleaving = {
            value: _interleaving(random, worlds, value, edge["preference"], budget["interleaving"])
            for value, random in each("preference")
        }
        ramp = Ramp(
            policy["ramp"],
            budget["ramp"] / len(self.steps),
            -edge["clicks"],
            -edge["waiting"],
            policy["experiment"]["tuned_to"],
            USERS,
        )
        pairs = sorted({(engine["clicks"], engine["waiting"]) for engine in gains})
        self.ramp = ramp_results(ramp, pairs, worlds, seed)

    def passed(self, stage: str, gains: Mapping[str, float]) -> Bools:
        """(W,) whether a stage before the ramp passes."""
        key = {"gate": "relevance", "replay": "reward", "interleaving": "preference"}[stage]
        return getattr(self, stage)[gains[key]]


def _cell(
    engine: str,
    bad: bool,  # noqa: FBT001 - a column of the table
    without: str,
    kept: tuple[tuple[str, ...], tuple[int, ...]],
    stages: _Stages,
    gains: Mapping[str, float],
) -> Cell:
    """Go through the stages that are kept, in all worlds at once."""
    alive = np.ones(stages.worlds, bool)
    exposed_users, days = np.zeros(stages.worlds), np.zeros(stages.worlds)
    stopped = {}
    for stage in kept[0]:
        if stage == "interleaving":
            exposed_users[alive] += LISTS / 2  # half of each list
        passed = stages.passed(stage, gains)
        stopped[stage] = float(np.mean(alive & ~passed))
        alive &= passed
    for step_index in kept[1]:
        step = stages.ramp[gains["clicks"], gains["waiting"]][step_index]
        exposed_users[alive] += step.days[alive] * stages.steps[step_index]["share"] * USERS
        days[alive] += step.days[alive]
        stopped[f"{stages.steps[step_index]['share']:.0%}"] = float(np.mean(alive & ~step.passed))
        alive &= step.passed
    exposed_users[alive] += (HORIZON - days[alive]) * USERS
    count = float(alive.sum())
    low, high = (float(end[0]) for end in wilson_interval(np.array([count]), np.array([stages.worlds])))
    return Cell(
        engine,
        bad,
        without,
        stages.worlds,
        count / stages.worlds,
        low,
        high,
        stopped,
        float(exposed_users.mean()) / 1000,
        float(days[alive].mean()) if count else None,
        QUERIES if "gate" in kept[0] else 0,
    )


def _gate(random: np.random.Generator, worlds: int, gain: float, bound: float, alpha: float) -> Bools:
    """The rule on nDCG; most queries gain or lose, some are ties."""
    tied = random.random((QUERIES, worlds)) < TIED
    values = np.where(tied, 0.0, random.normal(gain / (1 - TIED), SPREAD, tied.shape))
    return decide_statuses(values, np.full(worlds, bound), Terms(alpha), (-1.0, 1.0)) == "pass"


def _replay(random: np.random.Generator, worlds: int, gain: float, bound: float, alpha: float) -> Bools:
    """Clicks of logged searches, of which some had the new lists with a known chance."""
    passed = np.zeros(worlds, bool)
    old_rate = (1 - SHOWN * (1 + gain)) / (1 - SHOWN)
    reach = student_quantile(SEARCHES - 1, 1 - alpha)
    ones = np.ones((SEARCHES, 1), bool)
    none = np.zeros((SEARCHES, 1), np.int64)
    for world in range(worlds):
        new = random.random((SEARCHES, 1)) < SHOWN
        clicks = random.poisson(0.9 * np.where(new, 1 + gain, old_rate)).astype(float)
        log = BanditLog(clicks, new / SHOWN, ones, none, none, None, 0.0)
        estimate = SNIPS.estimate(log, EstimatorSettings())
        logged = float(log.total.mean())
        error = float((estimate.parts - log.total).std(ddof=1)) / SEARCHES**0.5
        passed[world] = (estimate.value - logged - reach * error) / logged > bound
    return passed


def _interleaving(random: np.random.Generator, worlds: int, gain: float, bound: float, alpha: float) -> Bools:
    """Wins and losses of lists whose clicks prefer an engine."""
    chances = [DECIDED / 2 - gain, 1 - DECIDED, DECIDED / 2 + gain]
    counts = random.multinomial(LISTS, chances, worlds)
    lows = [wins_preference(*row, 1 - 2 * alpha)[1] for row in counts.tolist()]
    return np.array(lows) > bound


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    from tables import table

    full = [cell for cell in cells if not cell.without]
    heads = (
        "true of the new engine",
        "launched",
        "95 % interval",
        *full[0].stopped,
        "days",
        "thousand users see it",
    )
    rows = [
        (
            cell.engine,
            f"{cell.launched:.2%}",
            f"{cell.low:.2%} to {cell.high:.2%}",
            *(f"{share:.1%}" for share in cell.stopped.values()),
            _days(cell),
            f"{cell.exposed:.1f}",
        )
        for cell in full
    ]
    worst = max(cell.launched for cell in full if cell.bad)
    text = f"""\
{full[0].worlds:,} worlds for each engine go through the policy of `examples/engine-migration`: \
{QUERIES} judged queries (the gate), a replay of {SEARCHES:,} logged searches, {LISTS:,} \
interleaved lists, and a ramp with {USERS:,} users a day, looked at every day. A step that has \
not passed after three times its days ends the launch. Bad engines lose more than the policy \
accepts; the hardest case is an engine that loses exactly the margin in one respect and is good in \
all others. A bad engine may be launched in at most 5 % of the worlds: the largest share is \
{worst:.2%}. A launch needs every stage, so that one which is bad in several respects must deceive \
several of them. Columns with names of stages and shares of the ramp: worlds in which \
that stage ended the launch. Users are the users who see the engine within {HORIZON} days: all \
users after a launch, and {LISTS / 2:,.0f} users of interleaving, who see the engine in half of \
each list."""
    return (
        f"## False launches\n\n{text}\n\n{table(heads, rows)}\n"
        f"The benefit and cost of a stage, measured by leaving it out:\n\n{_without(cells)}"
    )


def _without(cells: Sequence[Any]) -> str:
    """A table of the policy without each stage."""
    from tables import table

    rows = []
    for name in dict.fromkeys(cell.without for cell in cells):
        plan_cells = [cell for cell in cells if cell.without == name]
        bad = [cell for cell in plan_cells if cell.bad]
        worst = max(bad, key=lambda cell: cell.launched)
        by_name = {cell.engine: cell for cell in plan_cells}
        little, clear = by_name["a little better"], by_name["clearly better"]
        broken = by_name["clicks at ten times the margin, else good"]
        rows.append(
            (
                f"without {name}" if name else "the whole policy",
                f"{worst.launched:.1%}",
                worst.engine,
                f"{np.mean([cell.launched for cell in bad]):.1%}",
                f"{np.mean([cell.exposed for cell in bad]):.1f}",
                f"{broken.exposed:.1f}",
                f"{1 - little.launched:.1%}",
                f"{1 - clear.launched:.1%}",
                _days(clear),
                str(worst.judged),
            )
        )
    heads = (
        "policy",
        "most false launches",
        "by the engine",
        "mean of bad engines",
        "thousand users see a bad engine",
        "that loses 20% of clicks",
        "lost: a little better",
        "lost: clearly better",
        "days to launch",
        "queries to judge",
    )
    return table(heads, rows)


def _days(cell: Any) -> str:  # noqa: ANN401 - read from JSON
    return "–" if cell.days is None else f"{cell.days:.1f}"
