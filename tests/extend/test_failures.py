"""Plug-ins that do not work: each is named, and nothing else stops."""

from __future__ import annotations

import json

import pytest

from support.command import assert_refused

FILES = ("qrels.txt", "old.run")


@pytest.fixture(autouse=True)
def folder(tmp_path):
    """Judgments and a run."""
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n1 0 b 0\n")
    (tmp_path / "old.run").write_text("1 Q0 b 1 2 t\n1 Q0 a 2 1 t\n")
    return tmp_path


def test_other_commands_work_as_before(call, broken):
    assert "RR" in call("eval", *FILES, "-m", "RR", sites=[broken]).stdout
    assert "plugins" in call("--help", sites=[broken]).stdout
    assert "nDCG" in call("metrics", sites=[broken]).stdout


def test_the_list_says_what_is_wrong_with_each(call, broken):
    listing = json.loads(call("plugins", "--format", "json", sites=[broken]).stdout)
    assert {(plugin["plugin"], plugin["status"]) for plugin in listing["plugins"]} == {
        ("wrong-raises 2.0", "fails"),
        ("wrong-future 2.0", "incompatible"),
        ("wrong-empty 2.0", "adds nothing"),
    }
    assert all(plugin["plugin"] in plugin["problem"] for plugin in listing["plugins"])
    assert any("r = wrong_raises" in plugin["problem"] for plugin in listing["plugins"])


@pytest.mark.separate
def test_a_good_plug_in_works_next_to_broken_ones(call, installed, broken):
    arguments = ("eval", *FILES, "-m", "TimedGain")
    assert "TimedGain" in call(*arguments, sites=[installed, broken]).stdout


def test_an_unknown_name_says_which_plug_in_failed(call, broken):
    process = call("eval", *FILES, "-m", "Nothing", sites=[broken], check=False)
    assert (process.returncode, process.stdout) == (2, "")
    assert "wrong-raises 2.0 (m = wrong_raises)" in process.stderr
    assert "wrong-future 2.0" in process.stderr
    assert "imported all the same" not in process.stderr


def test_what_fails_while_it_works_is_named(run, folder, monkeypatch):
    """A rule that raises: the message has the file and the line, not a fault of ours."""
    monkeypatch.chdir(folder)
    plugin_file = folder / "mine.py"
    plugin_file.write_text(
        "from rankgate.extend import RuleKind\n"
        "def decide(rule, evidence):\n"
        "    return 1 / 0\n"
        "KIND = RuleKind('mine', (), decide, title='mine')\n"
    )
    (folder / "p.toml").write_text('[[rules]]\nkind = "mine"\n')
    (folder / "new.run").write_text("1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n")
    arguments = ("gate", *FILES, "new.run", "--policy", "p.toml")
    result = run(*arguments, "--plugin", plugin_file)
    assert_refused(result, "plugin-failed")
    assert f"{plugin_file}:3" in result.err


def test_a_block_that_fails_is_named(run, folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "mine.py").write_text(
        "from rankgate.extend import ReportBlock\n"
        "B = ReportBlock('mine', ('evaluation',), lambda result: result.nothing, title='mine')\n"
    )
    arguments = ("report", *FILES, "-m", "RR", "--add", "mine", "-o", "r.html")
    assert_refused(run(*arguments, "--plugin", "mine.py"), "invalid-plugin")
    assert_refused(run(*arguments), "unknown-report-block")


def test_a_block_that_is_about_nothing_in_the_report_is_refused(run, folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "mine.py").write_text(
        "from rankgate.extend import ReportBlock\n"
        "B = ReportBlock('mine', ('comparison',), lambda result: ['x'], title='mine')\n"
    )
    arguments = ("report", *FILES, "-m", "RR", "--add", "mine", "-o", "r.html", "--plugin", "mine.py")
    assert_refused(run(*arguments), "nothing-to-show")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("RANKGATE_API = 99\n", "incompatible-plugin"),
        ("x = = 1\n", "invalid-plugin"),
        ("raise SystemExit(0)\n", "invalid-plugin"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(run, folder, text, code):
    (folder / "mine.py").write_text(text)
    arguments = ("eval", folder / "qrels.txt", folder / "old.run", "-m", "Mine")
    assert_refused(run(*arguments, "--plugin", folder / "mine.py"), code)


def test_a_file_that_is_not_there_is_refused(run):
    assert_refused(run("--plugin", "none.py", "plugins"), "cannot-read")
