"""The declaration of a fusion method: its score for candidates, and its training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from rankgate.core.declare import Declared, Parameter, parameters_of
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rankgate.measurement.fusion.fusion_candidates import Candidates
    from rankgate.measurement.fusion.fusion_training import TrainedValues, TrainingData


Uses = Literal["scores", "ranks"]

_SUPPLIED = frozenset({"weights", "trained"})


@dataclass(frozen=True)
class Method(Declared):
    """A way to make one score of those that several runs gave a document.

    Attributes:
        fuse: from candidates to their fused scores, ``(n,)``. Its keyword-only arguments are the
            parameters; ``weights``, ``(R,)`` or None, makes it a weighted method, and ``trained``
            takes what ``train`` returned.
        uses: scores, which are normalised first, or ranks.
        train: from training data to what each run's ranks are worth; None needs no judgments.
        grid: the values to try of each parameter when it is tuned.
        formula: the formula, for the docs.
    """

    fuse: Callable[..., NDArray[np.float64]]
    uses: Uses
    train: Callable[[TrainingData], TrainedValues] | None = None
    grid: Mapping[str, tuple[Any, ...]] | None = None
    formula: str = ""

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters of its functions, by name."""
        fuse_parameters = parameters_of(self.fuse)
        learned = parameters_of(self.train) if self.train else {}
        return {
            name: parameter
            for name, parameter in {**fuse_parameters, **learned}.items()
            if name not in _SUPPLIED
        }

    @property
    def weighted(self) -> bool:
        """True if runs can have weights."""
        return "weights" in parameters_of(self.fuse)

    def scores(
        self,
        candidates: Candidates,
        parameters: Mapping[str, Any],
        weights: NDArray[np.float64] | None = None,
        trained: TrainedValues | None = None,
    ) -> NDArray[np.float64]:
        """Fused scores of candidates, ``(n,)``, under some parameters."""
        accepted = parameters_of(self.fuse)
        arguments = {name: value for name, value in parameters.items() if name in accepted}
        if self.weighted:
            arguments["weights"] = weights
        if self.train:
            arguments["trained"] = trained
        return self.fuse(candidates, **arguments)

    def learned(self, training: TrainingData, parameters: Mapping[str, Any]) -> TrainedValues:
        """Train the method, under some parameters."""
        assert self.train is not None
        accepted = parameters_of(self.train)
        arguments = {name: value for name, value in parameters.items() if name in accepted}
        return self.train(training, **arguments)
