"""The policy: what a gate demands, from a TOML file, every error with its line."""

from __future__ import annotations

import hashlib
import math
import tomllib
from dataclasses import dataclass, field, replace
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.errors import InputError
from rankgate.gating.declare import REQUIRED, Parameter, Rule
from rankgate.gating.rules import RULES
from rankgate.gating.settings import COMMON, LISTS, SETTINGS
from rankgate.gating.toml_lines import lines_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_TYPES: dict[str, Any] = {
    "number": (int, float),
    "whole": int,
    "text": str,
    "flag": bool,
    "list": list,
}
_WORDS = {"number": "a number", "whole": "a whole number", "text": "a text in quotes",
          "flag": "true or false", "list": "a list in brackets"}  # fmt: skip


@dataclass(frozen=True)
class Policy:
    """What a gate demands.

    Attributes:
        settings: every setting, defaults filled in.
        rules: the rules, in order.
        source: the file; a sentence where the default policy is used.
        sha256: of what it says.
        folder: where the file lies, for files that it names.
        lists: what metrics of lists need beside judgments and runs, defaults filled in.
    """

    settings: Mapping[str, Any]
    rules: tuple[Rule, ...]
    source: str
    sha256: str
    folder: Path = Path()
    lists: Mapping[str, Any] = field(default_factory=lambda: {p.name: p.default for p in LISTS})

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
        asked = [rule.get(name) or 0 for rule in self.rules for name in ("within", "k")]
        return max(int(self.settings["depth"]), *map(int, asked), 1)

    @property
    def slices(self) -> tuple[str, ...]:
        """The tags that rules look at."""
        tags = [rule.slice.partition("=")[0] for rule in self.rules if rule.slice]
        return tuple(dict.fromkeys(tags))


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
"""The policy where there is none."""


def default() -> Policy:
    """The policy where there is none: nDCG@10 may lose no more than 0.02."""
    told = parsed(DEFAULT, "the default policy")
    return replace(told, source="the default policy, as there is no rankgate.toml")


def found(folder: Path) -> Path | None:
    """``rankgate.toml`` in a folder, or a ``pyproject.toml`` with ``[tool.rankgate]``."""
    own = folder / "rankgate.toml"
    if own.is_file():
        return own
    project = folder / "pyproject.toml"
    if project.is_file() and "[tool.rankgate" in project.read_text(encoding="utf-8"):
        return project
    return None


def read(path: str | Path) -> Policy:
    """The policy of a file.

    Raises:
        InputError: the file cannot be read, or says what no policy can; with its line.
    """
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot be read as a policy: {error}.", source=str(path), code="invalid-policy"
        ) from None
    prefix = ("tool", "rankgate") if place.name == "pyproject.toml" else ()
    return replace(parsed(text, str(path), prefix), folder=place.parent)


def parsed(text: str, source: str, prefix: tuple[str, ...] = ()) -> Policy:
    """The policy that a text says.

    Raises:
        InputError: no TOML, an unknown key, a value that cannot be; with its line.
    """
    try:
        whole: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        words, _, place = str(error).partition(" (at line ")
        line = int(place.split(",")[0]) if place[:1].isdigit() else None
        raise InputError(
            f"not TOML: {words}.", source=source, line=line, code="invalid-toml"
        ) from None
    for part in prefix:
        whole = whole.get(part, {})
    at = _Lines(lines_of(text), source, prefix)
    _refuse_unknown(whole, {"gate", "lists", "rules"}, (), at)
    gate = whole.get("gate", {})
    settings = _checked(gate, SETTINGS, ("gate",), at)
    lists = _checked(whole.get("lists", {}), LISTS, ("lists",), at)
    rules = whole.get("rules", [])
    if not isinstance(rules, list) or not rules:
        raise InputError(
            "a policy needs [[rules]], one or more.", source=source, code="invalid-policy"
        )
    told = [_rule(each, i, at) for i, each in enumerate(rules)]
    names: dict[str, int] = {}
    for i, rule in enumerate(told):
        if rule.id in names:
            raise at.error(f"two rules are called {rule.id!r}; names are unique.",
                           ("rules", str(i), "id"))  # fmt: skip
        names[rule.id] = i
    beside = [sorted(lists.items())] if whole.get("lists") else []
    said = repr((sorted(settings.items(), key=str), told, *beside))
    digest = hashlib.sha256(said.encode()).hexdigest()
    return Policy(settings, tuple(told), source, digest, lists=lists)


@dataclass(frozen=True)
class _Lines:
    """Finds the line of a key."""

    lines: Mapping[tuple[str, ...], int]
    source: str
    prefix: tuple[str, ...]

    def error(self, problem: str, key: tuple[str, ...]) -> InputError:
        path = (*self.prefix, *key)
        while path and path not in self.lines:
            path = path[:-1]
        return InputError(
            problem, source=self.source, line=self.lines.get(path), code="invalid-policy"
        )


def _rule(said: Any, place: int, at: _Lines) -> Rule:  # noqa: ANN401 - whatever TOML holds
    key = ("rules", str(place))
    if not isinstance(said, dict):
        raise at.error("a rule is a table: [[rules]].", key)
    own = {each.name for each in COMMON}
    common = _checked({k: v for k, v in said.items() if k in own}, COMMON, key, at)
    kind = RULES[common["kind"]]
    values = _checked({k: v for k, v in said.items() if k not in own}, kind.parameters, key, at)
    rule = Rule(common["id"] or f"{kind.name}-{place + 1}", kind.name, common["tier"],
                common["slice"], values)  # fmt: skip
    _refuse_odd(rule, key, at)
    return rule


def _refuse_odd(rule: Rule, key: tuple[str, ...], at: _Lines) -> None:
    """What single values cannot tell."""
    if rule.kind == "noninferiority" and (rule["margin"] is None) == (rule["relative"] is None):
        raise at.error(f"{rule.id}: say margin or relative, one of them.", key)
    if rule.kind == "floor" and (rule["at_least"] is None) == (rule["at_most"] is None):
        raise at.error(f"{rule.id}: say at_least or at_most, one of them.", key)
    if rule.kind == "states" and rule["at_most"] is None and rule["more"] is None:
        raise at.error(f"{rule.id}: say at_most or more.", key)
    if rule.kind == "latency" and rule["max_ms"] is None and rule["max_ratio"] is None:
        raise at.error(f"{rule.id}: say max_ms or max_ratio.", key)
    if rule.slice is not None and not all(rule.slice.partition("=")):
        raise at.error(f"{rule.id}: slice is tag=value, as in intent=navigational.",
                       (*key, "slice"))  # fmt: skip
    if rule.slice is not None and not RULES[rule.kind].sliced:
        raise at.error(f"{rule.id}: {rule.kind} looks at no slice; leave it out.",
                       (*key, "slice"))  # fmt: skip
    for each in rule.get("allow") or []:
        if not (isinstance(each, str) or _is_exception(each)):
            words = 'an exception is a query id or {query = "q7", until = "2026-12-31"}.'
            raise at.error(f"{rule.id}: {words}", (*key, "allow"))


def _is_exception(each: Any) -> bool:  # noqa: ANN401 - whatever TOML holds
    """Whether it names a query and a day."""
    if not isinstance(each, dict) or set(each) != {"query", "until"}:
        return False
    try:
        date.fromisoformat(str(each["until"]))
    except ValueError:
        return False
    return isinstance(each["query"], str)


def _checked(
    said: Any,  # noqa: ANN401 - whatever TOML holds
    parameters: tuple[Parameter, ...],
    key: tuple[str, ...],
    at: _Lines,
) -> dict[str, Any]:
    """Every parameter, with its default where nothing is said."""
    if not isinstance(said, dict):
        raise at.error(f"[{'.'.join(key)}] is a table.", key)
    _refuse_unknown(said, {each.name for each in parameters}, key, at)
    told = {}
    for each in parameters:
        if each.name in said:
            told[each.name] = _value(said[each.name], each, key, at)
        elif each.default is REQUIRED:
            raise at.error(f"{each.name} is missing: {each.about}.", key)
        else:
            told[each.name] = each.default
    return told


def _value(value: Any, each: Parameter, key: tuple[str, ...], at: _Lines) -> Any:  # noqa: ANN401
    place = (*key, each.name)
    fits = isinstance(value, _TYPES[each.type]) and (
        each.type == "flag" or not isinstance(value, bool)
    )
    if not fits:
        raise at.error(f"{each.name} is {_WORDS[each.type]}, not {value!r}.", place)
    if each.choices and value not in each.choices:
        near = get_close_matches(str(value), each.choices, 1)
        hint = f"did you mean {near[0]}?" if near else f"it is {', '.join(each.choices)}."
        raise at.error(f"{each.name} cannot be {value!r}; {hint}", place)
    if each.type in {"number", "whole"}:
        low, high = each.low, each.high
        outside = (low is not None and value < low) or (high is not None and value > high)
        if outside or not math.isfinite(value):
            ends = f"at least {low:g}" if high is None else f"between {low or 0:g} and {high:g}"
            raise at.error(f"{each.name} = {value} is impossible; it is {ends}.", place)
    return value


def _refuse_unknown(said: Any, known: set[str], key: tuple[str, ...], at: _Lines) -> None:  # noqa: ANN401
    for name in said:
        if name not in known:
            near = get_close_matches(name, sorted(known), 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))}."
            raise at.error(f"unknown key {name!r}; {hint}", (*key, name))
