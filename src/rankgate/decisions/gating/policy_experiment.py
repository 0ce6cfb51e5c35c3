"""The experiment of a policy: its design, its test, and its log.

Policies without an experiment do not load this module, which imports the modules of experiments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import Parameter, fields_of
from rankgate.core.frozen import dataclass
from rankgate.decisions.gating.policy_settings import parse_day
from rankgate.online.events.events import Events
from rankgate.online.experiments.experiment_design import Design, ExperimentTest
from rankgate.online.experiments.units import UNIT_COLUMNS

if TYPE_CHECKING:
    from rankgate.core.declare.toml_file import TomlFile


def experiment_keys() -> tuple[Parameter, ...]:
    """The keys of ``[experiment]``: the arms, the fields of a design and a test, and the log."""
    design, test, events = map(fields_of, (Design, ExperimentTest, Events))
    keys = (
        Parameter("events", "text", "the folder or file of events, next to the policy"),
        replace(
            events["mapping"], kind="text", help="the file that maps the columns of a log, next to the policy"
        ),
        replace(
            design["unit"],
            choices=tuple(UNIT_COLUMNS),
            default="user",
            help="the unit that is assigned to arms",
        ),
        Parameter("control", "text", "the arm of the baseline", required=True),
        Parameter("treatment", "text", "the arm of the candidate", required=True),
        replace(
            design["start"],
            default=None,
            help="the first day, as in 2026-03-01; by default of the first step, else of the log",
        ),
        design["cuped"],
        replace(test["tuned_to"], help="the number of units at which intervals for every look are narrowest"),
        replace(design["crossed"], kind="number"),
        events["without_bots"],
    )
    return tuple(replace(key, help=_policy_help(key.help)) for key in keys)


def _policy_help(help_: str) -> str:
    """The help of a field, in the style of the help of policy keys."""
    return (help_[:1].lower() + help_[1:]).rstrip(".").replace("`", "")


@dataclass(frozen=True)
class PolicyExperiment:
    """The experiment whose KPIs the rules of a policy check.

    Attributes:
        design: unit, control, first day, CUPED, the tolerated share of units in several arms.
        test: intervals that hold at every look, and the units at which they are narrowest.
        treatment: the arm of the candidate.
        events: the folder or file of events, next to the policy.
        mapping: the file that maps columns of a log to fields, next to the policy.
        without_bots: True if sessions of bots are left out.
    """

    design: Design
    test: ExperimentTest
    treatment: str
    events: str | None = None
    mapping: str | None = None
    without_bots: bool = False

    @property
    def arms(self) -> tuple[str, str]:
        """Control and treatment."""
        return self.design.control, self.treatment


def experiment_from(values: Mapping[str, Any]) -> PolicyExperiment:
    """The experiment from the values of all keys."""
    design = Design(
        unit=values["unit"],
        control=values["control"],
        start=values["start"] or "",
        cuped=values["cuped"],
        crossed=values["crossed"],
    )
    test = ExperimentTest(sequential=True, tuned_to=values["tuned_to"])
    other_keys = ("treatment", "events", "mapping", "without_bots")
    return PolicyExperiment(design, test, **{name: values[name] for name in other_keys})


def read_experiment(file: TomlFile) -> dict[str, Any]:
    """Read the values of all keys of ``[experiment]``.

    Raises:
        InputError: an unknown key, a value that cannot be; with its line.
    """
    values = file.read_values(file.values["experiment"], experiment_keys(), "experiment")
    if values["control"] == values["treatment"]:
        raise file.error("control and treatment are two arms.", "experiment", "treatment")
    parse_day(file, values["start"], "experiment", "start")
    experiment_from(values)
    return values
