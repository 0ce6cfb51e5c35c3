"""A fusion of runs that is swept: its method, parameters and weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import fields_of
from rankgate.core.errors import UsageError
from rankgate.core.progress import progress
from rankgate.decisions.sweeps.settings import Fuse
from rankgate.decisions.sweeps.targets.target import UNSET, Taken, Target
from rankgate.engines.requests.template import filled, names
from rankgate.measurement.fusion.fuse import fuse

if TYPE_CHECKING:
    from rankgate.data import Run
    from rankgate.decisions.sweeps.dials import Dial, Point

_KEYS = ("method", "norm", "depth", "keep")


@dataclass
class FusionTarget(Target):
    """A fusion.

    Attributes:
        fusion: how runs are fused, with names of dials.
        runs: the runs, by name.
    """

    fusion: Fuse
    runs: Mapping[str, Run]
    kind: str = "fusion"

    @property
    def name(self) -> str:  # type: ignore[override]
        """The method and the runs."""
        return f"{self.fusion.method} of {', '.join(self.runs)}"

    @property
    def names(self) -> set[str]:
        """The names in double braces of parameters and weights."""
        return {*names([self.fusion.parameters, self.fusion.weights])}

    def refuse(self, dial: Dial, values: tuple[Any, ...], *, elsewhere: bool) -> str:
        """Why a dial or one of its values cannot be."""
        if elsewhere or dial.name in self.names:
            return ""
        if dial.name not in _KEYS:
            return (
                f"{dial.name} is not in the parameters or weights of [fuse] in double braces, nor "
                f"one of its keys {', '.join(_KEYS)}"
            )
        declared = fields_of(Fuse)[dial.name]
        for value in values:
            try:
                declared.read(value)
            except ValueError as error:
                return f"{dial.name} = {value!r} {str(error).rstrip('.')}"
        return ""

    def current(self, name: str) -> Any:
        """The value that a dial has now."""
        value = getattr(self.fusion, name) if name in _KEYS else None
        return UNSET if value is None else value

    def identity(self, point: Point) -> Mapping[str, Any]:
        """What the run of a point depends on."""
        chosen = self._at(point)
        return {each.name: getattr(chosen, each.name) for each in fields(chosen)}

    def take(self, point: Point, place: Path, watch: Callable[[], None]) -> Taken:  # noqa: ARG002 - as every target
        """The run of a point."""
        watch()
        chosen = self._at(point)
        try:
            with progress(None):
                fused = fuse(
                    self.runs,
                    chosen.method,
                    chosen.parameters,
                    weights=chosen.weights or None,
                    norm=chosen.norm,
                    depth=chosen.depth,
                    keep=chosen.keep,
                )
        except UsageError as error:
            return Taken(None, error.problem.rstrip("."))
        return Taken(fused.run)

    def _at(self, point: Point) -> Fuse:
        keys = {name: value for name, value in point.items() if name in _KEYS}
        return replace(
            self.fusion,
            parameters=filled(self.fusion.parameters, point),
            weights=filled(self.fusion.weights, point),
            **keys,
        )
