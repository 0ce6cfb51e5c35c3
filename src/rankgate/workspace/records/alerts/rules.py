"""Rules of alerts and channels of messages, read from TOML; errors name the line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rankgate.core.declare import Parameter
from rankgate.core.declare.toml import Toml
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.decisions.gating.rule import Rule
from rankgate.decisions.gating.settings import COMMON
from rankgate.workspace.records.alerts.kinds import ALERTS
from rankgate.workspace.records.moment import first_shown

CODE = "invalid-alerts"
ENVIRONMENT = "RANKGATE_WEBHOOK_"
"""How environment variables with keys of webhooks begin: rules can name no others."""

_SETTINGS = (
    Parameter("timezone", "text", "the time zone of quiet hours", "UTC"),
    Parameter("quiet", "text", "hours in which messages wait, but for rules of tier block, as in "
              "22:00-07:00", ""),
)  # fmt: skip
_SERIES = (
    Parameter("metric", "text", "the metric or KPI, as history names it", required=True),
    Parameter("system", "text", "only this system; left out: each for itself"),
    Parameter("branch", "text", "only evaluations of this branch"),
    Parameter("channels", "texts", "the channels that get messages; left out: all", ()),
)
_CHANNEL = (
    Parameter("name", "text", "its name, unique", required=True),
    Parameter("kind", "text", "webhook or email", required=True, choices=("webhook", "email")),
)
_WEBHOOK = (
    Parameter("url", "text", "where messages are posted", required=True),
    Parameter("secret_from", "text", f"the environment variable of the server, {ENVIRONMENT}…, "
              "with the key of the signature"),
)  # fmt: skip
_EMAIL = (Parameter("to", "texts", "addresses", required=True),)
_HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")
_ADDRESS = re.compile(r"[^\s@<>,;:\"]+@[^\s@<>,;:\"]+\.[^\s@<>,;:\"]+")


@dataclass(frozen=True)
class Channel:
    """Where messages go.

    Attributes:
        name: unique.
        kind: ``webhook`` or ``email``.
        values: its parameters.
    """

    name: str
    kind: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Quiet:
    """Hours of every day in which messages wait; they may pass midnight."""

    start: time
    end: time
    zone: ZoneInfo

    def ends_after(self, moment: datetime) -> datetime | None:
        """When the quiet hours end that a moment lies in; None outside of them."""
        here = moment.astimezone(self.zone)
        clock = here.time()
        if self.start <= self.end:
            inside = self.start <= clock < self.end
        else:
            inside = clock >= self.start or clock < self.end
        if not inside:
            return None
        day = here.date() + timedelta(days=int(self.start > self.end and clock >= self.start))
        return first_shown(datetime.combine(day, self.end), self.zone)


@dataclass(frozen=True)
class AlertRules:
    """What a project is alerted of, and how.

    Attributes:
        rules: in order; ``values`` of each has ``metric``, ``system``, ``branch`` and ``channels``.
        channels: by name.
        quiet: hours in which messages wait.
    """

    rules: tuple[Rule, ...] = ()
    channels: Mapping[str, Channel] = field(default_factory=dict)
    quiet: Quiet | None = None


def read_rules(text: str, source: str = "alerts") -> AlertRules:
    """The rules that a text says; an empty text has none.

    Raises:
        InputError: no TOML, an unknown key, a value that cannot be; with its line.
    """
    file = Toml.parse(text, source, code=CODE)
    file.check_keys(file.values, ("alerts", "channels", "rules"))
    settings = file.read_values(file.values.get("alerts", {}), _SETTINGS, "alerts")
    channels = _channels(file)
    rules = [_rule(file, each, place, channels) for place, each in _tables(file, "rules")]
    names = [each.id for each in rules]
    for place, name in enumerate(names):
        if name in names[:place]:
            problem = f"two rules are called {name!r}; names are unique."
            raise file.error(problem, "rules", str(place), "id")
    return AlertRules(tuple(rules), channels, _quiet(file, settings))


def _tables(file: Toml, name: str) -> list[tuple[str, dict[str, Any]]]:
    found = file.values.get(name, [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise file.error(f"{name} are tables: [[{name}]].", name)
    return [(str(place), each) for place, each in enumerate(found)]


def _channels(file: Toml) -> dict[str, Channel]:
    found: dict[str, Channel] = {}
    for place, table in _tables(file, "channels"):
        key = ("channels", place)
        own = {each.name for each in _CHANNEL}
        common = file.read_values({k: v for k, v in table.items() if k in own}, _CHANNEL, *key)
        takes = _WEBHOOK if common["kind"] == "webhook" else _EMAIL
        rest = {name: value for name, value in table.items() if name not in own}
        values = file.read_values(rest, takes, *key)
        if common["name"] in found:
            raise file.error(f"two channels are called {common['name']!r}.", *key, "name")
        if problem := _channel_problem(values):
            raise file.error(problem[1], *key, problem[0])
        found[common["name"]] = Channel(common["name"], common["kind"], values)
    return found


def _channel_problem(values: Mapping[str, Any]) -> tuple[str, str] | None:
    """The key and what is wrong with it."""
    if "url" in values:
        if not re.match(r"https?://[^/\s@]+(/\S*)?$", values["url"]):
            return "url", "url is an address such as https://hooks.example.org/rankgate."
        named = values["secret_from"]
        if named is not None and not re.fullmatch(ENVIRONMENT + r"[A-Z0-9_]+", named):
            return "secret_from", f"secret_from names a variable that begins with {ENVIRONMENT}."
        return None
    wrong = [each for each in values["to"] if not _ADDRESS.fullmatch(str(each))]
    if wrong or not values["to"]:
        return "to", f"to is a list of addresses; {wrong[0] if wrong else 'an empty list'} is none."
    return None


def _rule(file: Toml, table: dict[str, Any], place: str, channels: Mapping[str, Channel]) -> Rule:
    key = ("rules", place)
    shared = (*COMMON, *_SERIES)
    own = {each.name for each in shared}
    common = file.read_values({k: v for k, v in table.items() if k in own}, shared, *key)
    try:
        kind = ALERTS.named(common["kind"])
    except UsageError as error:
        raise file.error(error.problem, *key, "kind") from None
    rest = {name: value for name, value in table.items() if name not in own}
    values = file.read_values(rest, kind.takes, *key)
    if problem := kind.problem(values):
        raise file.error(problem, *key)
    for name in common["channels"]:
        if name not in channels:
            raise file.error(f"there is no channel {name!r}.", *key, "channels")
    values |= {each.name: common[each.name] for each in _SERIES}
    name = common["id"] or f"{kind.name}-{int(place) + 1}"
    return Rule(name, kind.name, common["tier"], common["slice"], values)


def _quiet(file: Toml, settings: Mapping[str, Any]) -> Quiet | None:
    try:
        zone = ZoneInfo(settings["timezone"])
    except (ZoneInfoNotFoundError, ValueError, OSError):
        problem = "timezone is a name such as Europe/Warsaw."
        raise file.error(problem, "alerts", "timezone") from None
    if not settings["quiet"]:
        return None
    found = _HOURS.fullmatch(settings["quiet"])
    if found is None:
        raise file.error("quiet is hours such as 22:00-07:00.", "alerts", "quiet")
    start, begin, end, last = map(int, found.groups())
    return Quiet(time(start, begin), time(end, last), zone)
