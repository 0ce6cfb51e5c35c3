"""Off-policy estimates: how often their intervals hold the truth, and how many logs have one.

Logs with known propensities and rewards whose truth is a closed form; `rankgate online ope` on
each, beside Student's interval of the same estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.measurement.stats.mean_intervals import student_quantile
from rankgate.online.off_policy.evaluate_policy import ope

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LOGS = 400
LEVEL = 0.95
RARE = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.62])
NEAR = np.array([0.05, 0.05, 0.1, 0.2, 0.3, 0.3])
REVERSED = np.array([0.3, 0.2, 0.2, 0.1, 0.1, 0.1])
OFFERS = np.array([0.55, 0.25, 0.15, 0.05])
NEW_OFFERS = np.array([0.1, 0.3, 0.6, 0.0])
OFFER_RATES = np.array([0.05, 0.08, 0.15, 0.02])


@dataclass(frozen=True)
class Cell:
    """How often intervals hold the truth in one kind of log.

    Attributes:
        world: the log and the target.
        estimator: that is reported; ``default`` where rankgate chooses.
        rows: of a log.
        logs: how many.
        answered: share of the logs with an interval.
        covered: share of these whose interval holds the truth.
        student: the same of Student's interval of the same estimate and error.
        width: median width.
        student_width: of Student's.
        reported: the estimators that were reported, with their share of the logs.
    """

    world: str
    estimator: str
    rows: int
    logs: int
    answered: float
    covered: float
    student: float
    width: float
    student_width: float
    reported: str

    @property
    def holds(self) -> bool | None:
        """True if no fewer are covered than the level says, within two standard errors."""
        if not self.answered:
            return None
        count = self.answered * self.logs
        return bool(self.covered >= LEVEL - 2 * np.sqrt(LEVEL * (1 - LEVEL) / count))


@dataclass(frozen=True)
class World:
    """A kind of log.

    Attributes:
        name: of the log and the target.
        rows: decisions.
        draw: from a generator the log's table.
        target: probability of each action, or a column of the log.
        truth: what the target earns.
        estimators: that are named in the call.
    """

    name: str
    rows: int
    draw: Callable[[np.random.Generator], pl.DataFrame]
    target: Any
    truth: float
    estimators: tuple[str, ...] = ()


def decisions(
    name: str,
    rows: int,
    logged: Floats,
    target: Floats,
    rates: Floats,
    *,
    estimators: tuple[str, ...] = (),
    spread: float | None = None,
    by_action: bool = False,
) -> World:
    """Logs of single decisions with rewards of 0 and 1, or lognormal amounts with this spread."""

    def draw(random: np.random.Generator) -> pl.DataFrame:
        action = random.choice(len(logged), rows, p=logged)
        if by_action:
            action = np.sort(action)
        reward = (random.random(rows) < rates[action]).astype(float)
        if spread is not None:
            reward *= random.lognormal(-(spread**2) / 2, spread, rows)
        return pl.DataFrame({"action": action, "reward": reward, "propensity": logged[action]})

    table = pl.DataFrame({"action": np.arange(len(target)), "probability": target})
    return World(name, rows, draw, table, float(target @ rates), estimators)


def slates(
    name: str, rows: int, slots: int, lowered: float, estimators: tuple[str, ...] = (), scale: float = 1.0
) -> World:
    """Lists of independent actions; a click lowers the rates of the slots below by a factor."""
    logged, target = np.array([0.5, 0.3, 0.2]), np.array([0.3, 0.3, 0.4])
    rates = scale * np.array([0.1, 0.3, 0.6])

    def draw(random: np.random.Generator) -> pl.DataFrame:
        action = random.choice(3, (rows, slots), p=logged)
        reward, factor = np.zeros((rows, slots)), np.ones(rows)
        for slot in range(slots):
            reward[:, slot] = random.random(rows) < factor * rates[action[:, slot]]
            factor = np.where(reward[:, slot] > 0, lowered, factor)
        return pl.DataFrame(
            {
                "slate": np.repeat(np.arange(rows), slots),
                "position": np.tile(np.arange(slots), rows),
                "action": action.ravel(),
                "reward": reward.ravel(),
                "propensity": logged[action].ravel(),
            }
        )

    # chance that no slot above was clicked, and mean reward
    mean, clean, truth = float(target @ rates), 1.0, 0.0
    for _ in range(slots):
        truth += mean * (clean + (1 - clean) * lowered)
        clean *= 1 - mean
    table = pl.DataFrame({"action": np.arange(3), "probability": target})
    return World(name, rows, draw, table, truth, estimators)


def weights(name: str, rows: int, rate: float, sd: float) -> World:
    """Lognormal weights, as of logging that depends on the context; the target is a column."""

    def draw(random: np.random.Generator) -> pl.DataFrame:
        weight = np.exp(random.normal(-(sd**2) / 2, sd, rows))
        propensity = np.minimum(1.0, 1 / (1 + weight))
        reward = (random.random(rows) < rate).astype(float)
        return pl.DataFrame(
            {
                "action": np.zeros(rows, int),
                "reward": reward,
                "propensity": propensity,
                "new": weight * propensity,
            }
        )

    return World(name, rows, draw, "new", rate)


UNIFORM = np.full(6, 1 / 6)
FLAT = np.full(6, 0.007)
WORLDS = (
    decisions("rewards of .7 %, smallest propensity .01", 2000, RARE, UNIFORM, FLAT),
    decisions("the same, target mostly the rarest", 2000, RARE, REVERSED, FLAT),
    decisions(
        "the same, rewards mostly of the rarest",
        2000,
        RARE,
        UNIFORM,
        np.array([0.05, 0.02, 0.01, 0.007, 0.005, 0.005]),
    ),
    decisions("the same, target near the log", 2000, RARE, NEAR, FLAT),
    decisions("rewards of .7 %, uniform target", 10_000, RARE, UNIFORM, FLAT),
    decisions("rewards of 30 to 80 %, uniform target", 2000, RARE, UNIFORM, np.arange(3, 9) / 10),
    decisions("amounts (lognormal, sd 1) of 10 %", 2000, RARE, NEAR, np.full(6, 0.1), spread=1.0),
    decisions("amounts (lognormal, sd 2) of 10 %", 2000, RARE, NEAR, np.full(6, 0.1), spread=2.0),
    weights("lognormal weights, rewards of 2 %", 2000, 0.02, 1.0),
    decisions("four offers of the manual", 5000, OFFERS, NEW_OFFERS, OFFER_RATES),
    decisions("the same, sorted by action", 5000, OFFERS, NEW_OFFERS, OFFER_RATES, by_action=True),
    decisions("four offers of the manual", 5000, OFFERS, NEW_OFFERS, OFFER_RATES, estimators=("dm",)),
    decisions("four offers, few rows", 1000, OFFERS, NEW_OFFERS, OFFER_RATES, estimators=("dm",)),
    decisions("rewards of .7 %, smallest propensity .01", 10_000, RARE, NEAR, FLAT, estimators=("dm",)),
    *(
        slates("lists of 3, a click halves later rates", 3000, 3, 0.5, names)
        for names in ((), ("snips",), ("ips",), ("rips",), ("cascade_dr",), ("iips",))
    ),
    *(slates("lists of 3, half the clicks", 1500, 3, 0.5, names, 0.5) for names in ((), ("iips",))),
    slates("lists of 3, independent", 3000, 3, 1.0),
    slates("lists of 3, few clicks, a click halves later rates", 2000, 3, 0.5, (), 0.03),
)


def run(logs: int = LOGS, seed: int = 0) -> list[Cell]:
    """All kinds of logs."""
    return [_cell(world, logs, np.random.default_rng([seed, index])) for index, world in enumerate(WORLDS)]


def _cell(world: World, logs: int, random: np.random.Generator) -> Cell:
    rows, names = [], []
    for _ in range(logs):
        result = ope(world.draw(random), world.target, estimators=world.estimators, level=LEVEL)
        names.append(result.estimator or "none")
        if (row := result.estimate) and row["low"] is not None:
            reach = student_quantile(world.rows - 1, (1 + LEVEL) / 2) * row["error"]
            rows.append((row["value"], row["low"], row["high"], reach))
    value, low, high, reach = np.array(rows).T if rows else np.full((4, 0), np.nan)
    shares = {name: names.count(name) / logs for name in sorted(set(names))}
    return Cell(
        world.name,
        " ".join(world.estimators) or "default",
        world.rows,
        logs,
        len(rows) / logs,
        _mean((low <= world.truth) & (world.truth <= high)),
        _mean(np.abs(value - world.truth) <= reach),
        _median(high - low),
        _median(2 * reach),
        ", ".join(f"{name} {share:.0%}" for name, share in shares.items()),
    )


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else 0.0


def _median(values: Floats) -> float:
    return float(np.median(values)) if len(values) else 0.0


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page: every kind of log."""
    from tables import marked, percent, table

    rows = [
        (
            c.world,
            c.estimator,
            f"{c.rows:,}",
            percent(c.answered),
            *(
                (marked(c.covered, c.holds), percent(c.student), f"{c.width:.4f}", f"{c.student_width:.4f}")
                if c.answered
                else ("",) * 4
            ),
            c.reported,
        )
        for c in cells
    ]
    error = percent(np.sqrt(LEVEL * (1 - LEVEL) / cells[0].logs))
    text = (
        f"{cells[0].logs:,} logs of each kind; `rankgate online ope` with a target whose true value is "
        "known, intervals of 95 %, beside Student's interval of the same estimate and error (standard error "
        f"of a share of 95 % over all logs {error}). `iips` has an assumption that is wrong if a click "
        "lowers later rates, and its test rejects it only in a share of these logs: the estimate is reported "
        "only if it is requested by name. `dm` with too few rows of the target's actions has a value and no "
        "interval."
    )
    heads = (
        "log",
        "estimator",
        "rows",
        "with an interval",
        "covered",
        "Student's",
        "width",
        "Student's width",
        "reported",
    )
    return f"## Off-policy estimates\n\n{text}\n\n{table(heads, rows)}"
