"""Declare a metric on sequences of rankings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from rankgate.core.declare import Parameter, Range
from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.views import SEQUENCES, View

Tokens = Annotated[int, Range(1)]
"""A budget of tokens."""


@dataclass(frozen=True, repr=False)
class SequenceMetric(Metric):
    """A metric whose kernel takes `Sequences`; everything else is inherited from `Metric`.

    Attributes:
        undefined: whether a task without a value never counts, whatever the convention says: of
            an answered question a precision of refusals says nothing.
    """

    view: View = SEQUENCES
    scenarios: bool = False
    undefined: bool = False

    @property
    def accepted(self) -> Mapping[str, Parameter]:
        """The parameters; unjudged documents stay where they are, as they are read too."""
        return {
            name: parameter for name, parameter in super().accepted.items() if name != "judged_only"
        }
