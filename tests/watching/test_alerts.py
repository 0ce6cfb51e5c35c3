"""Rules over the history: alerts fire once and end."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from rankgate.store.records import alerts
from rankgate.workspace.records.alerts.alert_check import check_alerts, read_rules_text, set_rules_from_file
from rankgate.workspace.records.alerts.alert_kinds import ALERTS
from rankgate.workspace.records.alerts.alert_rules import read_rules
from support.stores import mostly_sqlite  # noqa: F401 - new_store
from support.wording import raises

LOW = '[[rules]]\nid = "low"\nkind = "absolute"\nmetric = "nDCG@10"\nat_least = 0.5\n'
HOOK = '[[channels]]\nname = "team"\nkind = "webhook"\nurl = "https://hooks.example.org/x"\n'


def changes(history, moment=None):
    alert_check = check_alerts(history.store, history.name, moment or history.moment)
    return [(state.rule, state.system, state.status, state.change) for state in alert_check.states]


def waiting(history, moment):
    with history.store.read() as connection:
        notifications = alerts.find_due(connection, moment, project=history.project)
    return [(notification.event, notification.channel) for notification in notifications]


def test_an_alert_fires_once_and_is_over_when_the_value_is_back(history):
    history.rules(HOOK + LOW)
    history.add(0.6)
    assert changes(history) == [("low", "new", "pass", "")]
    history.add(0.4)
    assert changes(history) == [("low", "new", "fail", "fired")]
    assert changes(history) == [("low", "new", "fail", "")]
    history.add(0.3)
    assert changes(history) == [("low", "new", "fail", "again")]
    with history.store.read() as connection:
        [alert] = alerts.list_alerts(connection, history.project)
    assert (alert.count, alert.state, alert.evidence["value"]) == (2, "open", 0.3)
    history.add(0.7)
    assert changes(history) == [("low", "new", "pass", "resolved")]
    assert changes(history) == [("low", "new", "pass", "")]
    assert waiting(history, history.moment) == [("fired", "team"), ("resolved", "team")]
    history.add(0.1)
    assert changes(history) == [("low", "new", "fail", "fired")]


def test_each_system_has_its_own_alert(history):
    history.rules(LOW)
    history.add(0.4, system="old")
    history.add(0.4, system="new")
    assert [change[3] for change in changes(history)] == ["fired", "fired"]
    history.rules(LOW + 'system = "new"\n')
    history.add(0.2, system="new")
    assert changes(history) == [("low", "new", "fail", "again")]
    with history.store.read() as connection:  # the series of "old" is no longer looked at
        states = {alert.system: alert.state for alert in alerts.list_alerts(connection, history.project)}
    assert states == {"old": "resolved", "new": "open"}


def test_rules_count_points_in_a_row_and_intervals(history):
    history.rules(LOW + "points = 2\n" + LOW.replace('"low"', '"sure"') + "certain = true\n")
    history.add(0.48)
    assert [(name, status) for name, _, status, _ in changes(history)] == [
        ("low", "inconclusive"),
        ("sure", "pass"),
    ]
    history.add(0.44)
    assert [(name, status) for name, _, status, _ in changes(history)] == [("low", "fail"), ("sure", "fail")]


@pytest.mark.parametrize("better", [True, False])
def test_a_fall_is_measured_against_comparable_evaluations(history, better):
    sign = 1 if better else -1
    history.rules(
        '[[rules]]\nid = "fall"\nkind = "relative"\nmetric = "nDCG@10"\nmargin = 0.1\nwindow = 3\nleast = 2\n'
    )
    history.add(sign * 0.9, sign * 0.5, better=better)
    assert changes(history)[0][2] == "inconclusive"
    history.add(sign * 0.6, sign * 0.6, better=better)
    assert changes(history)[0][2] == "pass"
    history.add(sign * 0.49, better=better)  # the median of 0.5, 0.6, 0.6 less 0.11
    assert changes(history)[0][2:] == ("fail", "fired")
    history.add(sign * 0.3, qrels="others", better=better)
    assert changes(history)[0][2:] == ("inconclusive", "")


@pytest.mark.parametrize("better", [True, False])
def test_a_lasting_fall_stays_open_until_the_value_is_back(history, better):
    """Without the kept reference the fall is the median itself on its third night."""
    sign = 1 if better else -1
    history.rules('[[rules]]\nid = "fall"\nkind = "relative"\nmetric = "nDCG@10"\nmargin = 0.1\nwindow = 3\n')
    history.add(sign * 0.8, sign * 0.8, sign * 0.8, better=better)
    assert changes(history)[0][2] == "pass"
    nights = []
    for _ in range(8):
        history.add(sign * 0.5, better=better)
        nights.append(changes(history)[0][2:])
    assert nights == [("fail", "fired"), *[("fail", "again")] * 7]
    history.add(sign * 0.75, better=better)
    assert changes(history)[0][2:] == ("pass", "resolved")
    history.add(sign * 0.5, better=better)  # a new alert has a reference of its own: 0.5, 0.5, 0.75
    assert changes(history)[0][2:] == ("pass", "")


def test_shares_verdicts_and_days(history):
    history.rules(
        '[[rules]]\nid = "share"\nkind = "relative"\nmetric = "nDCG@10"\ndrop = 0.1\n'
        '[[rules]]\nid = "gate"\nkind = "verdict"\nmetric = "nDCG@10"\n'
        '[[rules]]\nid = "old"\nkind = "stale"\nmetric = "nDCG@10"\ndays = 2\n'
    )
    assert [change[2] for change in changes(history, history.moment)] == [
        "inconclusive",
        "inconclusive",
        "fail",
    ]
    history.add(0.5, 0.46, verdict="pass")
    assert [change[2] for change in changes(history)] == ["pass", "pass", "pass"]
    history.add(0.42, verdict="fail")  # less than 90 % of the median of 0.5 and 0.46
    assert [change[2] for change in changes(history)] == ["fail", "fail", "pass"]
    late = history.moment + timedelta(days=2)
    assert [change[2:] for change in changes(history, late)][2] == ("fail", "fired")
    assert [change[2:] for change in changes(history, late + timedelta(days=1))][2] == ("fail", "")


def test_a_change_point_fires_and_is_over_with_new_judgments_or_the_way_back(history):
    history.rules('[[rules]]\nid = "step"\nkind = "change"\nmetric = "nDCG@10"\ndays = 400\n')
    steady = [0.6, 0.61, 0.59, 0.6, 0.605, 0.6, 0.595, 0.6]
    history.add(*steady)
    assert changes(history)[0][2] == "pass"
    history.add(*(score - 0.2 for score in steady))
    assert changes(history)[0][2:] == ("fail", "fired")
    with history.store.read() as connection:
        [alert] = alerts.list_alerts(connection, history.project)
    assert alert.evidence["value"] == pytest.approx(-0.2, abs=0.01)
    history.add(*steady)
    assert changes(history)[0][2:] == ("pass", "resolved")
    history.add(*(score - 0.2 for score in steady))
    assert changes(history)[0][2:] == ("fail", "fired")
    assert changes(history, history.moment + timedelta(days=500))[0][2:] == ("pass", "resolved")
    history.add(0.3, qrels="others")
    assert changes(history)[0][2] == "pass"


def test_quiet_hours_hold_messages_back_unless_a_rule_blocks(history):
    quiet = '[alerts]\ntimezone = "Europe/Warsaw"\nquiet = "22:00-07:00"\n'
    history.rules(quiet + HOOK + LOW + 'tier = "warn"\n')
    history.add(0.1)
    night = datetime(2026, 7, 1, 21, 30, tzinfo=UTC)  # 23:30 in Warsaw, in summer
    assert changes(history, night)[0][3] == "fired"
    assert waiting(history, night) == []
    assert waiting(history, datetime(2026, 7, 2, 4, 59, tzinfo=UTC)) == []
    assert waiting(history, datetime(2026, 7, 2, 5, 0, tzinfo=UTC)) == [("fired", "team")]
    history.rules(quiet + HOOK + LOW.replace("low", "other"))
    assert changes(history, night)[0][3] == "fired"
    assert len(waiting(history, night)) == 1


def test_hours_end_on_the_right_day():
    rules = read_rules('[alerts]\nquiet = "22:00-07:00"\n')
    moments = [datetime(2026, 5, 1, hour, tzinfo=UTC) for hour in (21, 22, 23)]
    next_day = datetime(2026, 5, 2, 7, tzinfo=UTC)
    assert [rules.quiet.ends_after(moment) for moment in moments] == [None, next_day, next_day]
    assert rules.quiet.ends_after(datetime(2026, 5, 2, 6, 59, tzinfo=UTC)) == next_day
    assert rules.quiet.ends_after(next_day) is None


def test_two_checks_at_once_fire_once(history):
    history.rules(HOOK + LOW)
    history.add(0.1)
    with ThreadPoolExecutor(4) as pool:
        all_changes = list(pool.map(lambda _: changes(history), range(8)))
    assert sorted(change_list[0][3] for change_list in all_changes) == [""] * 7 + ["fired"]
    assert waiting(history, history.moment) == [("fired", "team")]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[[rules]]\nkind = 'none'\nmetric = 'P@5'\n", 2),
        ("[[rules]]\nkind = 'absolute'\n", 1),
        ("[[rules]]\nkind = 'absolute'\nmetric = 'P@5'\n", 1),
        ("[[rules]]\nkind = 'stale'\nmetric = 'P@5'\ndays = 0\n", 4),
        ("[[rules]]\nkind = 'relative'\nmetric = 'P@5'\ndrop = 0.1\nmargin = 1\n", 1),
        (LOW + LOW, 7),
        (LOW + "channels = ['x']\n", 6),
        ("[alerts]\nquiet = '9-17'\n", 2),
        ("[alerts]\ntimezone = 'Mars'\n", 2),
        ("[alerts]\nquiet_hours = '9-17'\n", 2),
        (HOOK.replace("https", "file"), 4),
        (HOOK.replace("//", "//user:word@"), 4),
        (HOOK + "secret_from = 'HOME'\n", 5),
        ("[[channels]]\nname = 'a'\nkind = 'email'\nto = ['x']\n", 4),
        ("[[channels]]\nname = 'a'\nkind = 'email'\nto = ['a@b.c\\nBcc: d@e.f']\n", 4),
    ],
)
def test_rules_that_cannot_be_name_their_line(text, line):
    with raises("invalid-alerts") as error:
        read_rules(text, "alerts.toml")
    assert (error.value.source, error.value.line) == ("alerts.toml", line)


def test_rules_of_a_file_replace_those_of_a_project(history, tmp_path):
    history.rules(HOOK)
    file = tmp_path / "alerts.toml"
    file.write_text(LOW)
    rules = set_rules_from_file(history.store, history.name, file)
    assert ([rule.id for rule in rules.rules], rules.channels) == (["low"], {})
    assert read_rules_text(history.store, history.name) == LOW
    file.write_text(LOW + LOW)
    with raises("invalid-alerts") as error:
        set_rules_from_file(history.store, history.name, file)
    assert (error.value.source, error.value.line) == (str(file), 7)
    assert read_rules_text(history.store, history.name) == LOW


def test_every_kind_is_declared_with_help():
    assert set(ALERTS) >= {"absolute", "change", "relative", "stale", "verdict"}
    for kind in ALERTS.values():
        assert kind.title
        assert all(parameter.help for parameter in kind.takes)
