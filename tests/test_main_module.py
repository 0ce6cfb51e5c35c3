"""``python -m rankgate``: exit code and remaining files if Python itself is interrupted."""

import gc
import sys
from types import SimpleNamespace

import pytest

from rankgate import __main__ as module


@pytest.fixture
def start(monkeypatch):
    """Run main() with these two steps in place of the command line; the process stays as it is."""
    from rankgate.interface import cli
    from rankgate.interface.cli import startup

    def start(run_watched, run=lambda: None):
        monkeypatch.setattr(startup, "run_watched", run_watched)
        monkeypatch.setattr(cli, "main", run)
        monkeypatch.setenv("OPENBLAS_THREAD_TIMEOUT", "4")
        monkeypatch.setattr("atexit.register", lambda _: None)
        monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
        threshold = gc.get_threshold()
        try:
            module.main()
        finally:
            gc.set_threshold(*threshold)

    return start


def interrupted():
    raise KeyboardInterrupt


def interrupted_while_a_class_was_made():
    """As Python 3.11 reports it, see test_an_interrupt_while_starting_has_no_traceback."""
    raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()


@pytest.mark.parametrize("run", [interrupted, interrupted_while_a_class_was_made])
def test_an_interrupt_while_modules_are_imported_ends_quietly(run, start, capsys):
    with pytest.raises(SystemExit) as exit_info:
        start(lambda: None, run)
    assert exit_info.value.code == 130
    assert capsys.readouterr().err == "rankgate: interrupted.\n"


def test_another_error_while_modules_are_imported_is_not_taken_for_an_interrupt(start, capsys, monkeypatch):
    def broken():
        raise RuntimeError("Error calling __set_name__") from ValueError("of the class")

    with pytest.raises(SystemExit) as exit_info:
        start(lambda: None, broken)
    assert exit_info.value.code == 70  # 1 means that a gate failed
    assert "__set_name__" in capsys.readouterr().err
    monkeypatch.setenv("RANKGATE_DEBUG", "1")
    with pytest.raises(RuntimeError, match="__set_name__"):
        start(lambda: None, broken)


@pytest.mark.parametrize("error", [OSError(24, "Too many open files"), MemoryError(), OSError(13, "no", "x")])
def test_an_import_for_which_the_machine_lacks_something_is_2(error, start, capsys):
    def broken():
        raise error

    with pytest.raises(SystemExit) as exit_info:
        start(lambda: None, broken)
    assert exit_info.value.code == 2
    assert capsys.readouterr().err.startswith("rankgate: ")


def test_a_command_that_another_process_ended_has_its_status(start):
    with pytest.raises(SystemExit) as exit_info:
        start(lambda: 3)
    assert exit_info.value.code == 3


@pytest.mark.parametrize(
    ("status", "words", "code"),
    [
        (0, "MemoryError", 0),
        (101, "", 1),  # a failed gate
        (1, "", 2),  # OpenBLAS without memory
        (2, "there is no such file", 2),
        (3, "MemoryError", 2),
        (70, "KeyError", 70),
        (-9, "", 2),
    ],
)
def test_the_status_of_a_process_that_is_limited(status, words, code, tmp_path, monkeypatch, capfdbinary):
    from rankgate.interface.cli import startup

    end = "kill -9 $$" if status < 0 else f"exit {status}"
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\necho {words} >&2\n{end}\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(startup, "_address_limit", lambda: 1 << 30)
    assert startup.run_watched() == code
    is_replaced = b"1,024 MB are allowed" in capfdbinary.readouterr().err
    assert is_replaced is (code == 2 and status != 2)


@pytest.mark.parametrize(("error", "reported"), [(KeyboardInterrupt, False), (ValueError, True)])
def test_an_exception_without_a_caller_is_reported_unless_an_interrupt(error, reported, monkeypatch):
    reports = []
    monkeypatch.setattr(sys, "__unraisablehook__", reports.append)
    unraisable = SimpleNamespace(exc_type=error)
    module._report_unraisable(unraisable)
    assert reports == [unraisable] * reported


def test_an_object_of_another_version_names_what_it_has():
    from rankgate.core.errors import InputError, is_from_module, version_error

    class Points:
        def __init__(self):
            self.items, self._hidden = [], 1

    error = version_error(Points(), "points", "a search answer", "polars", "1.2.3")
    assert isinstance(error, InputError)
    assert error.code == "unsupported-version"
    assert "expected a Points with 'points', as polars 1.2.3 has" in str(error)
    assert "has items." in str(error)
    unknown = version_error(Points(), "points", "a search answer", "no-such-package", "1.2.3")
    assert "no-such-package of an unknown version" in str(unknown)
    assert is_from_module(InputError, "rankgate.core")
    assert not is_from_module(InputError, "rankgate.co")


def test_what_a_model_saw_needs_its_judgments(run, tmp_path):
    paths = [tmp_path / "qrels.txt", tmp_path / "new.run"]
    paths[0].write_text("q 0 a 1\n")
    paths[1].write_text("q Q0 a 1 1 new\n")
    result = run("eval", *map(str, paths), "--predicted-saw", "none")
    assert result.code == 2
    assert "--predicted-saw names the queries that the model" in result.err
    second_result = run("eval", *map(str, paths), "--earlier", "old=none.run", "-m", "RR")
    assert second_result.code == 2
    assert "--earlier" in second_result.err
