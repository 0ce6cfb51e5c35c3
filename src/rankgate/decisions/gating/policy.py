"""Read a policy from TOML; errors name the line.

`Launch` has the parts of a policy that are about a launch: experiment, ramp, error budget.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection as AbstractCollection
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.core.present.document_model import Entries, Entry, PlainRows
from rankgate.core.present.number_formats import format_setting
from rankgate.data.collection import Collection, Items, read_collection_table
from rankgate.data.query_tags import IDS
from rankgate.decisions.comparison.inference import Test, read_test_table
from rankgate.decisions.gating.policy_settings import (
    BUDGET,
    COMMON,
    EARLIER,
    LISTS,
    MIN_ANSWERED,
    RAMP,
    SETTINGS,
    STAGES,
    parse_day,
)
from rankgate.decisions.gating.rule import Rule
from rankgate.decisions.gating.rules import RULES
from rankgate.measurement.evaluation.metric_selection import find_metrics, ranking_metric_names
from rankgate.measurement.scoring.presets import chosen_convention

if TYPE_CHECKING:
    from rankgate.core.present.document_model import Block
    from rankgate.core.value_types import JsonObject
    from rankgate.data.run import Run
    from rankgate.measurement.metrics.metric_declaration import Metric


@dataclass(frozen=True)
class Launch:
    """The tables of a policy that describe a launch.

    Attributes:
        experiment: whose KPIs rules look at; empty without an experiment.
        ramp: the steps.
        budget: the alpha that it may spend, by stage; empty without a budget.
        earlier: the file of the result and the margins of stages, by stage.
        spending: the stages whose share of the budget is written in the policy and above 0.
    """

    experiment: Mapping[str, Any]
    ramp: tuple[Mapping[str, Any], ...]
    budget: Mapping[str, float]
    earlier: Mapping[str, Any]
    spending: frozenset[str]

    def stages(self, *, offline: bool, online: bool) -> tuple[str, ...]:
        """The stages that the policy declares: by a result, a share of the budget, or rules.

        Args:
            offline: True if the gate decides rules.
            online: True if the ramp decides rules.
        """
        by_rules = {"gate": offline, "ramp": online}
        return tuple(
            name for name in STAGES if by_rules.get(name) or name in self.earlier or name in self.spending
        )

    @property
    def hashed(self) -> tuple[str, ...]:
        """The parts that the policy's hash covers: all except the days on which steps began."""
        steps = [sorted((k, v) for k, v in step.items() if k != "since") for step in self.ramp]
        margins = sorted((k, v) for k, v in self.earlier.items() if not isinstance(v, str))
        parts = (sorted(self.experiment.items()), steps, sorted(self.budget.items()), margins)
        return tuple(repr(hashed_value) for hashed_value in parts if hashed_value)

    def check_budget(self, file: TomlFile, *, offline: bool, online: bool) -> None:
        """Check that every stage of the launch has a share of the error budget.

        Args:
            file: the policy.
            offline: True if the gate decides rules.
            online: True if the ramp decides rules.

        Raises:
            InputError: a stage without a share: its errors would be outside of the budget.
        """
        used_stages = {name for name, value in self.earlier.items() if isinstance(value, str)}
        used_stages |= ({"gate"} if offline else set()) | ({"ramp"} if online else set())
        for name in STAGES:
            if self.budget and name in used_stages and not self.budget[name]:
                problem = f"the {name} is a stage of this launch: give it a share of the budget."
                raise file.error(problem, "budget", name)

    def check(self, file: TomlFile, rules: AbstractCollection[str]) -> None:
        """Check the steps against each other and against the rules.

        Raises:
            InputError: shares or days that do not ascend, a step that began before the step above
                it, an unknown rule.
        """
        previous_step: tuple[float, date | None] = (0.0, None)
        for index, step in enumerate(self.ramp):
            key = ("ramp", str(index))
            if step["share"] <= previous_step[0]:
                raise file.error("shares of steps ascend.", *key, "share")
            start_day = parse_day(file, step["since"], *key, "since")
            if start_day and index and (previous_step[1] is None or start_day <= previous_step[1]):
                problem = "a step begins after the one above it has begun."
                raise file.error(problem, *key, "since")
            for name in step["passes"]:
                if name not in rules:
                    problem = f"unknown rule {name!r}; known: {', '.join(sorted(rules))}."
                    raise file.error(problem, *key, "passes")
            previous_step = (step["share"], start_day)


def read_launch(file: TomlFile) -> Launch:
    """Read the tables of a policy that describe a launch.

    Raises:
        InputError: an unknown key, a value that cannot be, a budget of more than all; with its
            line.
    """
    policy_tables = file.values
    experiment: JsonObject = {}
    if "experiment" in policy_tables:
        from rankgate.decisions.gating.policy_experiment import read_experiment  # few have one

        experiment = read_experiment(file)
    steps = policy_tables.get("ramp", [])
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise file.error("steps are tables: [[ramp]].", "ramp")
    if steps and not experiment:
        raise file.error("a ramp needs an [experiment].", "ramp", "0")
    ramp = tuple(file.read_values(step, RAMP, "ramp", str(n)) for n, step in enumerate(steps))
    earlier = file.read_values(policy_tables.get("earlier", {}), EARLIER, "earlier")
    earlier_values = {name: value for name, value in earlier.items() if value is not None}
    has_earlier_result = any(isinstance(value, str) for value in earlier_values.values())
    budget = _budget(file, policy_tables)
    spending = frozenset(name for name in STAGES if name in policy_tables.get("budget", {}) and budget[name])
    return Launch(experiment, ramp, budget, earlier_values if has_earlier_result else {}, spending)


def _budget(file: TomlFile, policy_tables: Mapping[str, Any]) -> dict[str, float]:
    if "budget" not in policy_tables:
        return {}
    values = file.read_values(policy_tables["budget"], BUDGET, "budget")
    if "alpha" in policy_tables.get("gate", {}):
        problem = "alpha is set in [budget], for all stages; remove it from [gate]."
        raise file.error(problem, "gate", "alpha")
    if sum(values[name] for name in STAGES) > 1 + 1e-9:
        raise file.error("the shares of the stages add up to more than 1.", "budget")
    return {name: values["alpha"] * values[name] for name in STAGES}


def _demands(policy: Policy) -> Iterator[Block]:
    """The tables of a policy, and its rules, with their values."""
    names_files = any(policy.lists[name] for name in _FILES)
    tables = {
        "[lists]": policy.lists if names_files else {},
        "[experiment]": policy.experiment,
        "[budget]": policy.budget,
        "[earlier]": policy.earlier,
    }
    entries = [Entry(label, (_settings_text(values),)) for label, values in tables.items() if values]
    entries += [Entry("[[ramp]]", (_settings_text(step),)) for step in policy.ramp]
    for rule in policy.rules:
        slice_label = f" where {rule.slice}" if rule.slice else ""
        lines = (f"{rule.id} ({rule.tier}){slice_label}", _settings_text(rule.values))
        entries.append(Entry(rule.kind, tuple(filter(None, lines))))
    yield Entries(tuple(entries))


def _settings_text(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {format_setting(value)}"
        for name, value in values.items()
        if value is not None and value not in ((), [])
    )


@dataclass(frozen=True)
class Policy(Result):
    """The demands of a gate.

    Attributes:
        settings: every setting, defaults filled in.
        rules: the rules, in order.
        source: the file; a sentence where the default policy is used.
        sha256: the SHA-256 of its content.
        folder: the folder of the file, for files that it names.
        lists: inputs of metrics of lists besides judgments and runs, defaults filled in.
        collection: the values that a call's collection does not state.
        experiment: whose KPIs rules look at; empty without an experiment.
        ramp: the steps of a launch.
        budget: the alpha that it may spend, by stage; empty without a budget.
        earlier: the file of the result and the margins of stages, by stage.
        stages: the stages of a launch that the policy declares, in order: each must pass.
    """

    kind = "policy"
    headline_text = "{rule_count:n rule} of {source}"
    layout = (_demands,)
    WRITTEN: ClassVar[tuple[str, ...]] = (
        "source",
        "sha256",
        "settings",
        "lists",
        "rules",
        "experiment",
        "ramp",
        "budget",
        "earlier",
        "stages",
    )
    KEYS: ClassVar[Mapping[str, str]] = {"settings": "gate"}

    settings: Mapping[str, Any]
    rules: tuple[Rule, ...]
    source: str
    sha256: str
    folder: Path = Path()
    lists: Mapping[str, Any] = field(default_factory=lambda: {p.name: p.default for p in LISTS})
    experiment: Mapping[str, Any] = field(default_factory=dict)
    ramp: tuple[Mapping[str, Any], ...] = ()
    budget: Mapping[str, float] = field(default_factory=dict)
    earlier: Mapping[str, Any] = field(default_factory=dict)
    stages: tuple[str, ...] = ()
    collection: Collection = Collection()

    @property
    def rule_count(self) -> int:
        """The number of rules."""
        return len(self.rules)

    def csv_rows(self) -> PlainRows:
        """The values of the rules."""
        rows = [
            (rule.id, rule.kind, rule.tier, rule.slice, name, format_setting(value))
            for rule in self.rules
            for name, value in rule.values.items()
            if value is not None
        ]
        return PlainRows(("rule", "kind", "tier", "slice", "key", "value"), rows)

    def completed(self, collection: Collection) -> Collection:
        """The collection, completed by values that the policy states."""
        lists = self.lists
        policy_collection = Collection(
            tags=self.tags,
            training=self._located(lists["train"]),
            items=Items(
                self._located(lists["items"]),
                features=tuple(lists["features"]),
                **{name: lists[name] for name in ("category", "group", "length", "document")},
            ),
            reference=self._located(lists["obvious"]),
            sequences=self._located(lists["sequences"]),
        )
        return collection.filled(self.collection).filled(policy_collection)

    @property
    def tags(self) -> str | Path | None:
        """The tags that the policy names."""
        return self._located(self["tags"])

    def with_earlier(self, run: Run) -> Run:
        """The run with the earlier lists that the policy names, unless the run has its own."""
        earlier = self._located(self.lists["earlier"])
        return run if run.earlier is not None or earlier is None else replace(run, earlier=earlier)

    def _located(self, path: str | None) -> str | Path | None:
        """A path next to the policy; a pattern of ids as it is."""
        return self.folder / path if path and not path.startswith(IDS) else path or None

    def offline(self) -> Policy:
        """The policy without rules on KPIs, which need users.

        Raises:
            InputError: the policy has only rules on KPIs.
        """
        rules = tuple(rule for rule in self.rules if RULES[rule.kind].of_experiment is None)
        if not rules:
            problem = "every rule is on a KPI; rankgate online watch decides them."
            raise InputError(problem, source=self.source, code=_CODE)
        return replace(self, rules=rules) if len(rules) < len(self.rules) else self

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - a number, a word, a list
        return self.settings[name]

    @property
    def test(self) -> Test:
        """The test of the comparison that rules read; they compute their own guaranteed bounds."""
        interval = self["interval"]
        return Test(
            interval="t" if interval == "guaranteed" else interval,
            level=1 - self["alpha"],
            power=self["power"],
            seed=self["seed"],
            unequal=self["unequal"],
        )

    @property
    def metrics(self) -> tuple[str, ...]:
        """Every metric of a rule, then the metrics that are only reported."""
        return tuple(dict.fromkeys([*self.ruled_metrics, *self.settings["metrics"]]))

    @property
    def ranking_metrics(self) -> Sequence[str]:
        """The metrics of rankings; empty if all are of lists."""
        return ranking_metric_names(self.metrics, chosen_convention(self["convention"]))

    @property
    def ruled_metrics(self) -> tuple[str, ...]:
        """Every metric of a rule."""
        return tuple(dict.fromkeys(rule["metric"] for rule in self.rules if rule.get("metric")))

    @property
    def depth(self) -> int:
        """The number of ranks that the lists need for all rules."""
        depths = [rule[name] or 0 for rule in self.rules for name in RULES[rule.kind].depth]
        return max(int(self.settings["depth"]), *map(int, depths), 1)

    @property
    def files_of_rules(self) -> list[str]:
        """The files that rules name, as written in the policy."""
        return [rule[name] for rule in self.rules for name in RULES[rule.kind].files]

    @property
    def slices(self) -> tuple[str, ...]:
        """The tags of the rules' slices."""
        tags = [rule.slice.partition("=")[0] for rule in self.rules if rule.slice]
        return tuple(dict.fromkeys(tags))


_FILES = ("train", "items", "obvious", "earlier")
_NO_WORSE = """
[[rules]]
id = "{}"
kind = "noninferiority"
metric = {}
margin = 0.02
"""

DEFAULT_WARNINGS = """
[[rules]]
id = "sees-the-change"
kind = "unseen"
tier = "warn"

[[rules]]
id = "judged"
kind = "judged"
at_least = 0.8
tier = "warn"
"""
"""The rules of the default policy on what the metrics do not see, as TOML."""

DEFAULT_POLICY = (
    '[gate]\nmetrics = ["nDCG@10", "RR@10"]\n' + _NO_WORSE.format("no-worse", '"nDCG@10"') + DEFAULT_WARNINGS
)
"""The default policy, as TOML."""


def load_default_policy() -> Policy:
    """The default policy: nDCG@10 may lose no more than 0.02."""
    result = parse_policy(DEFAULT_POLICY, "the default policy")
    return replace(result, source="the default policy, because no rankgate.toml exists")


def metric_policy(
    metrics: Sequence[str | Metric], convention: str | None = None, *, of_values: bool = False
) -> Policy:
    """The default policy for other metrics: the first blocks, the others warn.

    Lists are compared to the cutoff of the first metric, by default 10.

    Args:
        metrics: names or metrics.
        convention: the name of their convention; by default that of a policy.
        of_values: true if the values of the metrics are given, so that any name may be one.

    Raises:
        UsageError: a metric is unknown.
    """
    if of_values:
        first_label, *other_labels = map(str, metrics)
        depth = None
    else:
        (first_label, first_metric), *warning_metrics = find_metrics(metrics)
        other_labels, depth = [label for label, _ in warning_metrics], first_metric.depth()
    text = f"[gate]\ndepth = {depth or 10}\n"
    text += f"convention = {json.dumps(convention)}\n" if convention else ""
    text += _NO_WORSE.format("no-worse", json.dumps(first_label))
    for label in other_labels:
        rule = _NO_WORSE.format(label.replace('"', "'"), json.dumps(label))
        text += f'{rule}tier = "warn"\n'
    result = parse_policy(text + DEFAULT_WARNINGS, "the metrics")
    source = f"{first_label} may lose no more than 0.02" + "; the other metrics warn" * bool(other_labels)
    return replace(result, source=source)


def find_policy(folder: Path) -> Path | None:
    """``rankgate.toml`` in a folder, or a ``pyproject.toml`` with ``[tool.rankgate]``."""
    path = folder / "rankgate.toml"
    if path.is_file():
        return path
    project = folder / "pyproject.toml"
    if project.is_file() and "[tool.rankgate" in project.read_text(encoding="utf-8"):
        return project
    return None


def policy(path: str | None = None) -> Policy:
    """The policy of a file; by default the policy of the current folder, else the default policy.

    Raises:
        InputError: the file cannot be read, or is not a valid policy; with its line.
    """
    policy_path = Path(path) if path else find_policy(Path())
    return read(policy_path) if policy_path else load_default_policy()


def read(path: str | Path) -> Policy:
    """The policy of a file.

    Raises:
        InputError: the file cannot be read, or is not a valid policy; with its line.
    """
    policy_path = Path(path)
    prefix = ("tool", "rankgate") if policy_path.name == "pyproject.toml" else ()
    toml = TomlFile.read(path, prefix, code=_CODE)
    _declare_kpis(toml.values.get("experiment"), policy_path.parent)
    return replace(_policy(toml), folder=policy_path.parent)


def _declare_kpis(experiment: object, folder: Path) -> None:
    """Make the KPIs known that the mapping of an experiment's log declares, so that rules can name them."""
    if not isinstance(experiment, dict):
        return
    events, mapping = (str(experiment.get(name) or "") for name in ("events", "mapping"))
    if (mapping and (folder / mapping).is_file()) or (events and (folder / events).is_dir()):
        from rankgate.online.events.events import Events
        from rankgate.online.indicators.own_kpis import declare_kpis

        declare_kpis(Events(folder / (events or "events"), folder / mapping if mapping else None))


def parse_policy(text: str, source: str) -> Policy:
    """The policy of a text.

    Raises:
        InputError: no TOML, an unknown key, a value that cannot be; with its line.
    """
    return _policy(TomlFile.parse(text, source, code=_CODE))


_CODE = "invalid-policy"
_TABLES = (
    *("gate", "lists", "collection", "rules", "experiment", "ramp", "budget", "earlier"),
    *("defaults", "files", "test", "output"),  # of commands: `rankgate.interface.cli.project_file`
)


def _policy(file: TomlFile) -> Policy:
    policy_tables = file.values
    file.check_keys(policy_tables, _TABLES)
    read_test_table(file)  # of commands; a mistake is an error here too
    settings = file.read_values(policy_tables.get("gate", {}), SETTINGS, "gate")
    launch = read_launch(file)
    if launch.budget:
        settings["alpha"] = launch.budget["gate"] or settings["alpha"]
    lists = file.read_values(policy_tables.get("lists", {}), LISTS, "lists")
    if "rules" not in policy_tables and "gate" not in policy_tables:
        return _default_rules(file)
    tables = policy_tables.get("rules", [])
    if not isinstance(tables, list) or not tables:
        raise file.error("a policy needs [[rules]], one or more.")
    rules = [_rule(file, table, str(position)) for position, table in enumerate(tables)]
    names: set[str] = set()
    for position, rule in enumerate(rules):
        if rule.id in names:
            problem = f"two rules are called {rule.id!r}; names are unique."
            raise file.error(problem, "rules", str(position), "id")
        names.add(rule.id)
    launch.check(file, names)
    is_of_experiment = [RULES[rule.kind].of_experiment is not None for rule in rules]
    stages = {"offline": not all(is_of_experiment), "online": any(is_of_experiment)}
    launch.check_budget(file, **stages)
    hashed_tables = [sorted(lists.items())] if policy_tables.get("lists") else []
    hashed_tables += (
        [sorted(policy_tables["collection"].items(), key=str)] if policy_tables.get("collection") else []
    )
    # a younger setting counts only where it is not the default, so that older policies keep their hash
    hashed_settings = {k: v for k, v in settings.items() if (k, v) != ("min_answered", MIN_ANSWERED)}
    if hashed_settings["looks"] == "auto":  # the name of the default in earlier versions
        hashed_settings["looks"] = "warn"
    text = repr((sorted(hashed_settings.items(), key=str), rules, *hashed_tables, *launch.hashed))
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Policy(
        settings,
        tuple(rules),
        file.source,
        digest,
        lists=lists,
        experiment=launch.experiment,
        ramp=launch.ramp,
        budget=launch.budget,
        earlier=launch.earlier,
        stages=launch.stages(**stages),
        collection=read_collection_table(file),
    )


def _default_rules(file: TomlFile) -> Policy:
    """The default policy with the settings of a file without rules."""
    default_policy = parse_policy(DEFAULT_POLICY, file.source)
    lists = file.read_values(file.values.get("lists", {}), LISTS, "lists")
    launch = read_launch(file)
    if launch.ramp or launch.experiment or launch.budget:
        raise file.error("a policy needs [[rules]], one or more.")
    source = f"the default policy, as {file.source} has no rules"
    return replace(default_policy, source=source, lists=lists, collection=read_collection_table(file))


def _rule(file: TomlFile, table: object, position: str) -> Rule:
    key = ("rules", position)
    if not isinstance(table, dict):
        raise file.error("a rule is a table: [[rules]].", *key)
    common_keys = {parameter.name for parameter in COMMON}
    common = file.read_values({k: v for k, v in table.items() if k in common_keys}, COMMON, *key)
    try:
        kind = RULES.find(common["kind"])
    except UsageError as error:
        raise file.error(error.problem, *key, "kind") from None
    kind_values = {name: value for name, value in table.items() if name not in common_keys}
    values = file.read_values(kind_values, kind.takes, *key)
    rule = Rule(
        common["id"] or f"{kind.name}-{int(position) + 1}", kind.name, common["tier"], common["slice"], values
    )
    if problem := kind.problem(values):
        raise file.error(f"{rule.id}: {problem[0]}", *key, problem[1])
    if rule.slice is not None and not all(rule.slice.partition("=")):
        problem_text = "slice is tag=value, as in intent=navigational."
        raise file.error(f"{rule.id}: {problem_text}", *key, "slice")
    if rule.slice is not None and not kind.sliced:
        problem_text = f"{kind.name} cannot have a slice; leave it out."
        raise file.error(f"{rule.id}: {problem_text}", *key, "slice")
    return rule
