"""Alert rules and message channels, read from TOML; errors name the line."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import field
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rankgate.core.declare import Parameter
from rankgate.core.declare.toml_file import TomlFile, find_key_lines, write_table
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.decisions.gating.policy_settings import COMMON
from rankgate.decisions.gating.rule import Rule
from rankgate.workspace.records.alerts.alert_kinds import ALERTS
from rankgate.workspace.records.cron_times import first_moment_of

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject


ALERTS_CODE = "invalid-alerts"
KEY_VARIABLE_PREFIX = "RANKGATE_WEBHOOK_"
"""The prefix of environment variables with webhook keys; rules cannot name other variables."""

_SETTINGS = (
    Parameter("timezone", "text", "the time zone of quiet hours", "UTC"),
    Parameter(
        "quiet", "text", "hours in which messages wait, except for rules of tier block, as in 22:00-07:00", ""
    ),
)
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
    Parameter(
        "secret_from",
        "text",
        f"the environment variable of the server, {KEY_VARIABLE_PREFIX}…, with the key of the signature",
    ),
)
_EMAIL = (Parameter("to", "texts", "addresses", required=True),)
_HOURS_PATTERN = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")
_ADDRESS_PATTERN = re.compile(r"[^\s@<>,;:\"]+@[^\s@<>,;:\"]+\.[^\s@<>,;:\"]+")


@dataclass(frozen=True)
class Channel:
    """A channel for messages.

    Attributes:
        name: the unique name.
        kind: ``webhook`` or ``email``.
        values: the parameters of the channel.
    """

    name: str
    kind: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class QuietHours:
    """Daily hours in which messages wait; they may include midnight."""

    start: time
    end: time
    zone: ZoneInfo

    def ends_after(self, moment: datetime) -> datetime | None:
        """The end of the quiet hours that include a given time; None outside of quiet hours."""
        local_time = moment.astimezone(self.zone)
        clock = local_time.time()
        if self.start <= self.end:
            is_quiet = self.start <= clock < self.end
        else:
            is_quiet = clock >= self.start or clock < self.end
        if not is_quiet:
            return None
        day = local_time.date() + timedelta(days=int(self.start > self.end and clock >= self.start))
        return first_moment_of(datetime.combine(day, self.end), self.zone)


@dataclass(frozen=True)
class AlertRules:
    """The rules, channels and quiet hours of a project's alerts.

    Attributes:
        rules: the rules in order; the ``values`` of each rule include ``metric``, ``system``,
            ``branch`` and ``channels``.
        channels: the channels by name.
        quiet: the hours in which messages wait.
    """

    rules: tuple[Rule, ...] = ()
    channels: Mapping[str, Channel] = field(default_factory=dict)
    quiet: QuietHours | None = None


def read_rules(text: str, source: str = "alerts") -> AlertRules:
    """Read the rules in a text; an empty text has no rules.

    Raises:
        InputError: the text is not TOML; a key is unknown; a value is invalid. The error has the
            line.
    """
    file = TomlFile.parse(text, source, code=ALERTS_CODE)
    file.check_keys(file.values, ("alerts", "channels", "rules"))
    settings = file.read_values(file.values.get("alerts", {}), _SETTINGS, "alerts")
    channels = _read_channels(file)
    rules = [_read_rule(file, table, position, channels) for position, table in _list_tables(file, "rules")]
    names = [rule.id for rule in rules]
    for position, name in enumerate(names):
        if name in names[:position]:
            problem = f"two rules are called {name!r}; names are unique."
            raise file.error(problem, "rules", str(position), "id")
    return AlertRules(tuple(rules), channels, _read_quiet_hours(file, settings))


def add_rule(text: str, rule: JsonObject, addresses: tuple[str, ...] = ()) -> str:
    """The text of rules with another rule at its end; the rule is checked when the text is read.

    Args:
        text: the rules so far, as TOML.
        rule: the keys of the new rule; None values are left out.
        addresses: e-mail addresses that get its messages, by a channel that is added if none has them.
    """
    present_rules, tables = read_rules(text), []
    if rule.get("id") is None:  # a name by its position would change when another rule is removed
        ids = [present_rule.id for present_rule in present_rules.rules]
        rule = {**rule, "id": _free_name(f"{rule['kind']} {rule['metric']}", ids)}
    if addresses:
        channels = present_rules.channels
        names = {tuple(channel.values.get("to") or ()): name for name, channel in channels.items()}
        name = names.get(addresses) or _free_name("mail", channels)
        if addresses not in names:
            channel = {"name": name, "kind": "email", "to": list(addresses)}
            tables.append(write_table("channels", channel))
        rule = {**rule, "channels": [name]}
    return "\n".join([*([f"{text.rstrip()}\n"] if text.strip() else []), *tables, write_table("rules", rule)])


def _free_name(name: str, names: Collection[str]) -> str:
    numbered = (f"{name} {number}" for number in range(2, len(names) + 3))
    return next(free for free in (name, *numbered) if free not in names)


def remove_rule(text: str, name: str) -> str:
    """The text of rules without one of them; the lines of other tables stay as they are.

    Raises:
        UsageError: no rule has the name, or the rule has no table of its own.
    """
    ids = [rule.id for rule in read_rules(text).rules]
    if name not in ids:
        raise UsageError(f"there is no rule {name!r}.", code="unknown-rule")
    line_of_key = find_key_lines(text)
    start = line_of_key.get(("rules", str(ids.index(name))))
    if start is None:
        raise UsageError(
            f"the rule {name!r} has no [[rules]] of its own; change the text.", code="unknown-rule"
        )
    lines = text.split("\n")
    following = [
        number for number, line in enumerate(lines, 1) if number > start and line.lstrip().startswith("[")
    ]
    end = following[0] - 1 if following else len(lines)
    return "\n".join([*lines[: start - 1], *lines[end:]])


def _list_tables(file: TomlFile, name: str) -> list[tuple[str, dict[str, Any]]]:
    tables = file.values.get(name, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise file.error(f"{name} are tables: [[{name}]].", name)
    return [(str(position), table) for position, table in enumerate(tables)]


def _read_channels(file: TomlFile) -> dict[str, Channel]:
    channels: dict[str, Channel] = {}
    for position, table in _list_tables(file, "channels"):
        key = ("channels", position)
        common_names = {parameter.name for parameter in _CHANNEL}
        common_settings = file.read_values(
            {k: v for k, v in table.items() if k in common_names}, _CHANNEL, *key
        )
        takes = _WEBHOOK if common_settings["kind"] == "webhook" else _EMAIL
        kind_settings = {name: value for name, value in table.items() if name not in common_names}
        values = file.read_values(kind_settings, takes, *key)
        if common_settings["name"] in channels:
            raise file.error(f"two channels are called {common_settings['name']!r}.", *key, "name")
        if problem := _find_channel_problem(values):
            raise file.error(problem[1], *key, problem[0])
        channels[common_settings["name"]] = Channel(common_settings["name"], common_settings["kind"], values)
    return channels


def _find_channel_problem(values: Mapping[str, Any]) -> tuple[str, str] | None:
    """The invalid key of a channel and its problem, or None."""
    if "url" in values:
        if not re.match(r"https?://[^/\s@]+(/\S*)?$", values["url"]):
            return "url", "url is an address such as https://hooks.example.org/rankgate."
        variable = values["secret_from"]
        if variable is not None and not re.fullmatch(KEY_VARIABLE_PREFIX + r"[A-Z0-9_]+", variable):
            return ("secret_from", f"secret_from names a variable that begins with {KEY_VARIABLE_PREFIX}.")
        return None
    invalid = [address for address in values["to"] if not _ADDRESS_PATTERN.fullmatch(str(address))]
    if invalid or not values["to"]:
        return (
            "to",
            (f"to is a list of addresses; {invalid[0] if invalid else 'an empty list'} is not valid."),
        )
    return None


def _read_rule(file: TomlFile, table: JsonObject, position: str, channels: Mapping[str, Channel]) -> Rule:
    key = ("rules", position)
    common_parameters = (*COMMON, *_SERIES)
    common_names = {parameter.name for parameter in common_parameters}
    common_settings = file.read_values(
        {k: v for k, v in table.items() if k in common_names}, common_parameters, *key
    )
    try:
        kind = ALERTS.find(common_settings["kind"])
    except UsageError as error:
        raise file.error(error.problem, *key, "kind") from None
    kind_settings = {name: value for name, value in table.items() if name not in common_names}
    values = file.read_values(kind_settings, kind.takes, *key)
    if problem := kind.problem(values):
        raise file.error(problem, *key)
    for name in common_settings["channels"]:
        if name not in channels:
            raise file.error(f"there is no channel {name!r}.", *key, "channels")
    values |= {parameter.name: common_settings[parameter.name] for parameter in _SERIES}
    name = common_settings["id"] or f"{kind.name}-{int(position) + 1}"
    return Rule(name, kind.name, common_settings["tier"], common_settings["slice"], values)


def _read_quiet_hours(file: TomlFile, settings: Mapping[str, Any]) -> QuietHours | None:
    try:
        zone = ZoneInfo(settings["timezone"])
    except (ZoneInfoNotFoundError, ValueError, OSError):
        problem = "timezone is a name such as Europe/Warsaw."
        raise file.error(problem, "alerts", "timezone") from None
    if not settings["quiet"]:
        return None
    match = _HOURS_PATTERN.fullmatch(settings["quiet"])
    if match is None:
        raise file.error("quiet is hours such as 22:00-07:00.", "alerts", "quiet")
    start_hour, start_minute, end_hour, end_minute = map(int, match.groups())
    return QuietHours(time(start_hour, start_minute), time(end_hour, end_minute), zone)
