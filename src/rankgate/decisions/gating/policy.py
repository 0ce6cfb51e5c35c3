"""Read a policy from TOML; errors name the line."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from rankgate.core.declare.toml import Toml
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Result
from rankgate.data.collection import Collection, Items, collection_in
from rankgate.data.formats.tags import IDS
from rankgate.decisions.gating.launch import read_launch
from rankgate.decisions.gating.rule import Rule
from rankgate.decisions.gating.rules import RULES
from rankgate.decisions.gating.settings import COMMON, LISTS, SETTINGS

if TYPE_CHECKING:
    from rankgate.data.run import Run


@dataclass(frozen=True)
class Policy(Result):
    """What a gate demands.

    Attributes:
        settings: every setting, defaults filled in.
        rules: the rules, in order.
        source: the file; a sentence where the default policy is used.
        sha256: of what it says.
        folder: where the file lies, for files that it names.
        lists: what metrics of lists need besides judgments and runs, defaults filled in.
        collection: what a call's collection does not state is that of this one.
        experiment: whose KPIs rules look at; empty without an experiment.
        ramp: the steps of a launch.
        budget: by stage the alpha that it may spend; empty without a budget.
        earlier: by stage the file of its result, and the margins of stages.
        stages: of a launch that the policy declares, in order: each must pass.
    """

    kind: ClassVar[str] = "policy"
    document_from: ClassVar[str] = "rankgate.decisions.gating.documents.policy:document"

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

    def completed(self, collection: Collection) -> Collection:
        """A collection, and what the policy states of what the collection does not."""
        lists = self.lists
        sequences = lists["sequences"]
        if sequences and not sequences.startswith(IDS):
            sequences = self.folder / sequences
        stated = Collection(
            training=self._file("train"),
            items=Items(
                self._file("items"),
                features=tuple(lists["features"]),
                **{name: lists[name] for name in ("category", "group", "length", "document")},
            ),
            reference=self._file("obvious"),
            sequences=sequences,
        )
        return collection.filled(self.collection).filled(stated)

    def with_earlier(self, run: Run) -> Run:
        """A run with the earlier lists that the policy names, where it has none itself."""
        earlier = self._file("earlier")
        return run if run.earlier is not None or earlier is None else replace(run, earlier=earlier)

    def _file(self, name: str) -> Path | None:
        path = self.lists[name]
        return self.folder / path if path else None

    def offline(self) -> Policy:
        """The same without rules on KPIs, which are of users.

        Raises:
            InputError: there is no other rule.
        """
        rules = tuple(rule for rule in self.rules if RULES[rule.kind].of_experiment is None)
        if not rules:
            problem = "every rule is on a KPI; rankgate online watch decides them."
            raise InputError(problem, source=self.source, code=_CODE)
        return replace(self, rules=rules) if len(rules) < len(self.rules) else self

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - a number, a word, a list
        return self.settings[name]

    @property
    def metrics(self) -> tuple[str, ...]:
        """Every metric that rules look at, then those that are only reported."""
        named = [rule["metric"] for rule in self.rules if rule.get("metric")]
        return tuple(dict.fromkeys([*named, *self.settings["metrics"]]))

    @property
    def depth(self) -> int:
        """How far lists must be kept for every rule."""
        asked = [rule[name] or 0 for rule in self.rules for name in RULES[rule.kind].depth]
        return max(int(self.settings["depth"]), *map(int, asked), 1)

    @property
    def slices(self) -> tuple[str, ...]:
        """The tags that rules look at."""
        tags = [rule.slice.partition("=")[0] for rule in self.rules if rule.slice]
        return tuple(dict.fromkeys(tags))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **self.head(),
            "source": self.source,
            "sha256": self.sha256,
            "gate": dict(self.settings),
            "lists": dict(self.lists),
            "rules": [
                {name: getattr(rule, name) for name in _OWN} | dict(rule.values)
                for rule in self.rules
            ],
            "experiment": dict(self.experiment),
            "ramp": [dict(step) for step in self.ramp],
            "budget": dict(self.budget),
            "earlier": dict(self.earlier),
            "stages": list(self.stages),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The policy that ``to_dict`` was called on; files that it names have no folder."""
        rules = [
            Rule(
                **{name: rule[name] for name in _OWN},
                values={name: each for name, each in rule.items() if name not in _OWN},
            )
            for rule in values["rules"]
        ]
        return cls(
            values["gate"], tuple(rules), values["source"], values["sha256"],
            lists=values["lists"], experiment=values.get("experiment", {}),
            ramp=tuple(values.get("ramp", ())), budget=values.get("budget", {}),
            earlier=values.get("earlier", {}), stages=tuple(values.get("stages", ())),
        )  # fmt: skip


_OWN = ("id", "kind", "tier", "slice")
"""What every rule has, besides the values of its kind."""

DEFAULT = """\
[gate]
metrics = ["nDCG@10", "RR@10"]

[[rules]]
id = "no-worse"
kind = "noninferiority"
metric = "nDCG@10"
margin = 0.02

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
"""The policy if there is none."""


def default() -> Policy:
    """The policy if there is none: nDCG@10 may lose no more than 0.02."""
    result = parsed(DEFAULT, "the default policy")
    return replace(result, source="the default policy, as there is no rankgate.toml")


def found(folder: Path) -> Path | None:
    """``rankgate.toml`` in a folder, or a ``pyproject.toml`` with ``[tool.rankgate]``."""
    own = folder / "rankgate.toml"
    if own.is_file():
        return own
    project = folder / "pyproject.toml"
    if project.is_file() and "[tool.rankgate" in project.read_text(encoding="utf-8"):
        return project
    return None


def policy(path: str | None = None) -> Policy:
    """The policy of a file; without one that of the current folder, else the default.

    Raises:
        InputError: the file cannot be read, or says what no policy can; with its line.
    """
    place = Path(path) if path else found(Path())
    return read(place) if place else default()


def read(path: str | Path) -> Policy:
    """The policy of a file.

    Raises:
        InputError: the file cannot be read, or says what no policy can; with its line.
    """
    place = Path(path)
    prefix = ("tool", "rankgate") if place.name == "pyproject.toml" else ()
    return replace(_policy(Toml.read(path, prefix, code=_CODE)), folder=place.parent)


def parsed(text: str, source: str) -> Policy:
    """The policy that a text says.

    Raises:
        InputError: no TOML, an unknown key, a value that cannot be; with its line.
    """
    return _policy(Toml.parse(text, source, code=_CODE))


_CODE = "invalid-policy"
_TABLES = (
    *("gate", "lists", "collection", "rules", "experiment", "ramp", "budget", "earlier"),
    *("defaults", "files", "test", "output"),  # of commands: `rankgate.interface.cli.configuration`
)


def _policy(file: Toml) -> Policy:
    whole = file.values
    file.check_keys(whole, _TABLES)
    settings = file.read_values(whole.get("gate", {}), SETTINGS, "gate")
    launch = read_launch(file)
    if launch.budget:
        settings["alpha"] = launch.budget["gate"] or settings["alpha"]
    lists = file.read_values(whole.get("lists", {}), LISTS, "lists")
    if "rules" not in whole and "gate" not in whole:
        return _default_rules(file)
    tables = whole.get("rules", [])
    if not isinstance(tables, list) or not tables:
        raise file.error("a policy needs [[rules]], one or more.")
    rules = [_rule(file, each, str(place)) for place, each in enumerate(tables)]
    names: set[str] = set()
    for place, rule in enumerate(rules):
        if rule.id in names:
            problem = f"two rules are called {rule.id!r}; names are unique."
            raise file.error(problem, "rules", str(place), "id")
        names.add(rule.id)
    launch.check(file, names)
    decided = [RULES[rule.kind].of_experiment is not None for rule in rules]
    stages = {"offline": not all(decided), "online": any(decided)}
    launch.check_budget(file, **stages)
    listed = [sorted(lists.items())] if whole.get("lists") else []
    listed += [sorted(whole["collection"].items(), key=str)] if whole.get("collection") else []
    text = repr((sorted(settings.items(), key=str), rules, *listed, *launch.hashed))
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Policy(
        settings, tuple(rules), file.source, digest, lists=lists, experiment=launch.experiment,
        ramp=launch.ramp, budget=launch.budget, earlier=launch.earlier,
        stages=launch.stages(**stages), collection=collection_in(file),
    )  # fmt: skip


def _default_rules(file: Toml) -> Policy:
    """The default policy with what a file without rules states besides them."""
    usual = parsed(DEFAULT, file.source)
    lists = file.read_values(file.values.get("lists", {}), LISTS, "lists")
    launch = read_launch(file)
    if launch.ramp or launch.experiment or launch.budget:
        raise file.error("a policy needs [[rules]], one or more.")
    source = f"the default policy, as {file.source} has no rules"
    return replace(usual, source=source, lists=lists, collection=collection_in(file))


def _rule(file: Toml, table: Any, place: str) -> Rule:  # noqa: ANN401 - any TOML value
    key = ("rules", place)
    if not isinstance(table, dict):
        raise file.error("a rule is a table: [[rules]].", *key)
    own = {each.name for each in COMMON}
    common = file.read_values({k: v for k, v in table.items() if k in own}, COMMON, *key)
    try:
        kind = RULES.named(common["kind"])
    except UsageError as error:
        raise file.error(error.problem, *key, "kind") from None
    rest = {name: value for name, value in table.items() if name not in own}
    values = file.read_values(rest, kind.takes, *key)
    rule = Rule(
        common["id"] or f"{kind.name}-{int(place) + 1}",
        kind.name,
        common["tier"],
        common["slice"],
        values,
    )
    if problem := kind.problem(values):
        raise file.error(f"{rule.id}: {problem[0]}", *key, problem[1])
    if rule.slice is not None and not all(rule.slice.partition("=")):
        words = "slice is tag=value, as in intent=navigational."
        raise file.error(f"{rule.id}: {words}", *key, "slice")
    if rule.slice is not None and not kind.sliced:
        words = f"{kind.name} cannot have a slice; leave it out."
        raise file.error(f"{rule.id}: {words}", *key, "slice")
    return rule
