"""Events, designs and tests as values: checks, comparison, and the verbs that take them."""

import inspect
import json
from dataclasses import FrozenInstanceError, replace

import polars as pl
import pytest
from click.testing import CliRunner

from online.arms import log as arms
from online.logs import event, honest, search, written
from rankgate import online
from rankgate.core.errors import InputError, UsageError
from rankgate.interface.cli import rankgate as program
from rankgate.interface.cli.online_group import online_command as group
from support.wording import assert_wording, raises

VERBS = [name for name in online.__all__ if inspect.isfunction(getattr(online, name))]
READ = ("mapping", "without_bots", "without_duplicates", "memory", "threads")
"""How a log is read, in every command on logs."""


@pytest.fixture
def with_bots(tmp_path):
    """A log with a session of a bot that clicks on nothing but d9."""
    bot = [search(1000 + n, n, session_id="bot") for n in range(60)]
    bot += [event("impression", 1000 + n, n, 1, "d9", session_id="bot") for n in range(60)]
    bot += [event("click", 1000 + n, n, 1, "d9", session_id="bot") for n in range(60)]
    return written(tmp_path / "log.ndjson", [*honest(), *bot])


def test_events_are_shown_as_they_were_made():
    events = online.Events("ubi.ndjson", without_bots=True, success=["dwell>=30"])
    assert repr(events) == "Events('ubi.ndjson', without_bots=True, success=['dwell>=30'])"
    assert repr(online.Events(arms(users=50))).startswith("Events(<table of ")
    assert repr(online.Events(["a.csv", "b.csv"])) == "Events(['a.csv', 'b.csv'])"
    with pytest.raises(FrozenInstanceError):
        events.despite = True


def test_events_are_equal_by_content():
    frame = pl.DataFrame({"kind": ["click"]})
    assert online.Events(frame) == online.Events(frame.clone())
    assert online.Events(frame) != online.Events(pl.DataFrame({"kind": ["search"]}))
    assert online.Events("log", memory="1GB", threads=2) == online.Events("log")
    assert online.Events("log", without_bots=True) != online.Events("log")
    assert hash(online.Events(frame)) == hash(online.Events(frame.clone()))
    assert online.Events.of(events := online.Events("log")) is events


def test_what_events_declare_is_checked_at_once(tmp_path):
    with raises("missing-input", UsageError):
        online.Events([])
    with raises("invalid-goal", UsageError):
        online.Events("log", success=["a >= b"])
    with raises("invalid-size", UsageError):
        online.Events("log", memory="much")
    with raises("invalid-parameter", UsageError):
        online.Events("log", threads=0)
    (tmp_path / "map.toml").write_text('[columns]\nnothing = "x"\n')
    with raises("invalid-mapping", InputError):
        online.Events("log", tmp_path / "map.toml")
    assert online.Events("not there")  # the log itself is read when a verb needs it
    with raises("cannot-read", InputError):
        online.doctor("not there")


def test_bots_are_left_out_of_every_verb(with_bots):
    events = online.Events(with_bots, without_bots=True)
    for verb in (online.lists, lambda given: online.judgments(given, held_out=0, resamples=0)):
        result = verb(with_bots)
        fewer = verb(events)
        assert result.searches - fewer.searches == 60
    assert "d9" in online.lists(with_bots, choose="average").run.table["doc_id"].to_list()
    assert "d9" not in online.lists(events, choose="average").run.table["doc_id"].to_list()
    assert "bots" not in {finding.code for finding in online.doctor(events).findings}


def test_what_was_ingested_is_a_log(tmp_path):
    log = written(tmp_path / "log.ndjson", honest())
    ingested = online.ingest(log, tmp_path / "events")
    assert online.kpi(ingested, ["search_ctr"]) == online.kpi(log, ["search_ctr"])
    assert repr(online.Events(ingested)) == f"Events({str(tmp_path / 'events')!r})"


def test_a_plan_despite_a_fault(tmp_path):
    log = written(tmp_path / "log.ndjson", honest())
    log.write_text(log.read_text() + "{broken\n" * 50)
    reason = online.plan(log, ["search_ctr"]).kpis["why"][0]
    assert_wording(reason)
    despite = online.plan(online.Events(log, despite=True), ["search_ctr"]).kpis["why"][0]
    assert_wording(despite)


def test_verbs_report_faults_of_a_log_in_the_same_words(tmp_path):
    """A fault is reported before missing events, because it may be their cause."""
    rows = honest()
    for row in rows:
        attributes = row.setdefault("event_attributes", {})
        attributes["variant"] = ("old", "new")[int(row["client_id"][1:]) % 2]
    log = written(tmp_path / "log.ndjson", rows)
    names = ["search_ctr", "conversion_rate"]
    log.write_text(log.read_text() + "{broken\n" * 500)
    planned = dict(online.plan(log, names).kpis.select("kpi", "why").rows())
    design = online.Design(control="old")
    result = online.ab(online.Events(log), names, design=design)
    compared = result.metrics.select("metric", "why").rows()
    assert dict(compared) == planned
    assert planned == dict.fromkeys(names, "a fault of the log forbids it: invalid-json")


DESIGN = """[design]
variant = "arm"
control = "old"
split = {old = 0.9, new = 0.1}
segments = ["os"]
crossed = 0.01
"""


def test_a_design_from_a_file(run, tmp_path):
    path = tmp_path / "design.toml"
    path.write_text(DESIGN)
    design = online.Design.read(path)
    assert design == online.Design(
        variant="arm", control="old", split={"old": 0.9, "new": 0.1}, segments=["os"], crossed=0.01
    )
    data = pl.DataFrame({"arm": ["old"] * 900 + ["new"] * 100, "os": ["a", "b"] * 500, "y": range(1000)})
    by_file, by_value = (online.ab(data, ["y"], design=design_input) for design_input in (path, design))
    assert by_file == by_value
    assert by_file.variants["planned"].to_list() == [0.9, 0.1]
    data.write_csv(tmp_path / "data.csv")
    command = ["ab", str(tmp_path / "data.csv"), "-m", "y", "--format", "json"]
    for options, control in ([], "old"), (["--control", "new"], "new"):
        result = run("online", *command, "--design", str(path), *options)
        assert (result.code, json.loads(result.out)["control"]) == (0, control)
    path.write_text(DESIGN + "arms = 2\n")
    with raises("invalid-design", InputError, source=str(path), line=7):
        online.Design.read(path)
    path.write_text(DESIGN.replace("0.01", "1.5"))
    with raises("invalid-design", InputError, source=str(path), line=6):
        online.Design.read(path)


def test_what_a_design_declares_is_checked_at_once():
    with raises("unknown-unit", UsageError):
        online.Design(unit="browser")
    assert online.Design(variant="arm", unit="browser").unit == "browser"  # a column of a table
    with raises("invalid-day", UsageError):
        online.Design(start="March")
    with raises("invalid-day", UsageError):
        online.Design(start="2026-03-09", end="2026-03-01")
    with raises("invalid-share", UsageError):
        online.Design(split={"old": 1, "new": 0})
    with raises("unknown-arm", UsageError):
        online.Design(split={"old": 1, "new": 1}, control="third")
    with raises("conflicting-options", UsageError):
        online.Design(variant="arm", cuped=True)
    with raises("invalid-parameter", UsageError):
        online.Design(crossed=2)
    with raises("unknown-unit", UsageError):
        online.plan(arms(users=50), design=online.Design(variant="arm", unit="browser"))


def test_what_a_test_declares_is_checked_at_once():
    assert online.ExperimentTest().looks is None
    assert online.ExperimentTest(sequential=True, tuned_to=500).looks == 500
    test = online.ExperimentTest(level=0.9)
    assert test == replace(online.ExperimentTest(), level=0.9)
    assert hash(test) != hash(online.ExperimentTest())
    for wrong in ({"level": 0.3}, {"winsorise": 1.0}, {"prior": 0}, {"relative": "linear"}):
        with raises("invalid-parameter", UsageError):
            online.ExperimentTest(**wrong)


def test_other_values_are_checked_at_once():
    with raises("invalid-parameter", UsageError):
        online.Privacy(queries="shred")
    with raises("invalid-parameter", UsageError):
        online.Grading(grades="stars")
    with raises("unknown-column", UsageError):  # before the file is looked for
        online.ope("log.csv", "uniform", columns="context=x")
    assert online.Grading("value").to_dict() == {"rule": "value", "min_examined": 10.0}


@pytest.mark.parametrize("name", VERBS)
def test_verbs_are_short(name):
    parameters = inspect.signature(getattr(online, name)).parameters.values()
    assert len(parameters) <= (8 if name in {"ab", "kpi", "ope", "plan"} else 12)
    assert all(parameter.kind is not inspect.Parameter.VAR_KEYWORD for parameter in parameters)


def on_logs():
    """The commands that read a log, by name."""
    names = group.list_commands(None)
    commands = {name: group.get_command(None, name) for name in names}
    commands |= {f"interleave {name}": command for name, command in commands["interleave"].commands.items()}
    return {
        name: command
        for name, command in commands.items()
        if "without_bots" in {option.name for option in command.params}
    }


def test_the_options_of_events_are_the_same_everywhere():
    commands = on_logs()
    assert len(commands) == 13
    texts = {
        name: {
            option.help for command in commands.values() for option in command.params if option.name == name
        }
        for name in (*READ, "success", "despite")
    }
    assert all(len(helps) == 1 for helps in texts.values()), texts
    for name, command in commands.items():
        assert set(READ) <= {option.name for option in command.params}, name


def test_a_command_leaves_bots_out(with_bots):
    arguments = ["online", "lists", str(with_bots), "-o", str(with_bots.parent / "run.csv")]
    counts = [
        json.loads(CliRunner().invoke(program, [*arguments, *options, "--format", "json"]).stdout)
        for options in ([], ["--without-bots"])
    ]
    assert counts[0]["searches"] - counts[1]["searches"] == 60


def test_a_command_needs_experiments_or_a_log_with_judgments(run, tmp_path):
    arms(users=50).write_parquet(tmp_path / "log.parquet")
    log = str(tmp_path / "log.parquet")
    for arguments in ([], ["--events", log], [log, "--qrels", "qrels.txt"], [log, "--events", log]):
        result = run("online", "agreement", *arguments)
        assert result.code == 2, result.out
        assert_wording(result.err)


def test_spark_says_what_it_does_not_have():
    from rankgate.spark.spark_events import refuse_preparation

    refuse_preparation(online.Events("table:events", success=["click"]))
    with raises("unused-option", UsageError):
        refuse_preparation(online.Events("table:events", without_bots=True))
    with raises("unused-option", UsageError):
        refuse_preparation(online.Events("table:events", success=["click"]), success=False)
