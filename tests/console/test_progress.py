"""Progress is one line at a terminal, and nothing elsewhere."""

import sys

import pytest

from rankgate.core.console.terminal_output import TerminalProgress
from rankgate.core.progress import progress, step


@pytest.fixture
def terminal(monkeypatch, capsys):
    """Standard error as if somebody watched; click leaves escapes in for a terminal only."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda _: True)
    return capsys


def steps(total):
    with TerminalProgress(total):
        for i in range(total):
            step(f"run{i}")


def test_a_terminal_sees_each_run_and_then_a_clean_line(terminal):
    steps(2)
    result = terminal.readouterr()
    assert result.err == "\r\x1b[K1/2 run0\r\x1b[K2/2 run1\r\x1b[K"
    assert result.out == ""


def test_a_single_run_is_not_worth_a_line(terminal):
    steps(1)
    assert terminal.readouterr().err == ""


def test_elsewhere_nothing_is_printed(capsys):
    steps(3)
    assert capsys.readouterr().err == ""


def test_a_dumb_terminal_gets_no_escapes(terminal, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    steps(2)
    assert terminal.readouterr().err == ""


def test_a_command_reports_to_its_line_alone(terminal):
    messages = []
    with progress(messages.append):
        steps(2)
        step("after it")
    assert messages == ["after it"]
    assert terminal.readouterr().err == "\r\x1b[K1/2 run0\r\x1b[K2/2 run1\r\x1b[K"


def test_an_error_inside_ends_the_line_and_the_context(terminal):
    with pytest.raises(KeyError), TerminalProgress(2):
        raise KeyError
    step("after it")
    assert terminal.readouterr().err == ""
