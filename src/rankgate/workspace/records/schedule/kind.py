"""Declare a kind of job: its parameters, and the commands that it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import Declared
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.core.declare import Parameter


@dataclass(frozen=True)
class JobKind(Declared):
    """A kind of job: all that a run knows about it is declared here.

    Attributes:
        name: how jobs call it.
        title: what it does, in a sentence.
        takes: its parameters.
        commands: the name of the project and the values to commands of rankgate, each as its words.
        files: the parameters that name files, which lie in the folder of jobs.
        good: exit codes of the last command that are no failure.
    """

    takes: tuple[Parameter, ...]
    commands: Callable[[str, Mapping[str, Any]], list[list[str]]]
    files: frozenset[str] = frozenset()
    good: frozenset[int] = frozenset({0})

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Its own parameters by name."""
        return {parameter.name: parameter for parameter in self.takes}


def repeat_option(name: str, values: Iterable[object]) -> list[str]:
    """One option for each value, as ``--name=value``."""
    return [f"--{name}={value}" for value in values]
