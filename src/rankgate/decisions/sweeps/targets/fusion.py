"""A fusion of runs as the target of a sweep: its method, parameters and weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import fields_of
from rankgate.core.errors import UsageError
from rankgate.core.progress import progress
from rankgate.decisions.sweeps.settings import Fuse
from rankgate.decisions.sweeps.targets.target import UNSET, PointRun, Target
from rankgate.engines.requests.template import fill, template_names
from rankgate.measurement.fusion.fuse import fuse

if TYPE_CHECKING:
    from rankgate.data import Run
    from rankgate.decisions.sweeps.dials import Dial, Point

_KEYS = ("method", "norm", "depth", "keep")


@dataclass
class FusionTarget(Target):
    """A fusion.

    Attributes:
        fusion: the keys of the fusion, with names of dials.
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
        return {*template_names([self.fusion.parameters, self.fusion.weights])}

    def refuse(self, dial: Dial, values: tuple[Any, ...], *, elsewhere: bool) -> str:
        """The problem of a dial or of one of its values."""
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
        """The values that the run of a point depends on."""
        fusion = self._at(point)
        return {field_.name: getattr(fusion, field_.name) for field_ in fields(fusion)}

    def take(self, point: Point, path: Path, watch: Callable[[], None]) -> PointRun:  # noqa: ARG002 - the signature of targets
        """The run of a point."""
        watch()
        fusion = self._at(point)
        try:
            with progress(None):
                fused = fuse(
                    self.runs,
                    fusion.method,
                    fusion.parameters,
                    weights=fusion.weights or None,
                    norm=fusion.norm,
                    depth=fusion.depth,
                    keep=fusion.keep,
                )
        except UsageError as error:
            return PointRun(None, error.problem.rstrip("."))
        return PointRun(fused.run)

    def _at(self, point: Point) -> Fuse:
        keys = {name: value for name, value in point.items() if name in _KEYS}
        return replace(
            self.fusion,
            parameters=fill(self.fusion.parameters, point),
            weights=fill(self.fusion.weights, point),
            **keys,
        )
