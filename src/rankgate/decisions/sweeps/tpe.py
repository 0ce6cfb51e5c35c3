"""Points that Optuna's tree-structured Parzen estimator proposes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankgate.core.extras import require

if TYPE_CHECKING:
    from rankgate.decisions.sweeps.dials import Dial, Point


class Proposals:
    """Proposes points; the same seed and values give the same points.

    Args:
        dials: the settings to change.
        seed: of the sampler.
        maximise: True if higher values are better.
        several: True to propose points before the values of others are known.

    Raises:
        MissingExtraError: Optuna is not installed.
    """

    def __init__(self, dials: Sequence[Dial], seed: int, *, maximise: bool, several: bool) -> None:
        require("search = 'optuna' needs Optuna", "optuna")
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._optuna: Any = optuna
        self._space = {dial.name: _distribution(optuna, dial) for dial in dials}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=several)
        self._study = optuna.create_study(
            sampler=sampler, direction="maximize" if maximise else "minimize"
        )
        self._open: list[Any] = []

    def know(self, point: Point, value: float) -> None:
        """Add a point that was measured earlier, such as the baseline."""
        self._study.add_trial(
            self._optuna.trial.create_trial(
                params=dict(point), distributions=self._space, value=value
            )
        )

    def ask(self, count: int) -> list[Mapping[str, Any]]:
        """The next points."""
        self._open = [self._study.ask(self._space) for _ in range(count)]
        return [dict(trial.params) for trial in self._open]

    def tell(self, values: Sequence[float | None]) -> None:
        """Give the values of the latest points; None for a point that failed."""
        failed = self._optuna.trial.TrialState.FAIL
        for trial, value in zip(self._open, values, strict=True):
            if value is None:
                self._study.tell(trial, state=failed)
            else:
                self._study.tell(trial, value)


def _distribution(optuna: Any, dial: Dial) -> Any:
    kinds = optuna.distributions
    if dial.low is None or dial.high is None:
        return kinds.CategoricalDistribution(dial.values)
    if dial.integer:
        return kinds.IntDistribution(int(dial.low), int(dial.high), log=dial.log)
    return kinds.FloatDistribution(dial.low, dial.high, log=dial.log)
