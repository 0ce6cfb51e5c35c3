"""Steps of long work go to the reporter of the context."""

from __future__ import annotations

import contextvars
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from rankgate.core.progress import progress, step


def test_the_innermost_reporter_gets_the_steps():
    outer, inner = [], []
    with progress(outer.append):
        step("first")
        with progress(inner.append):
            step("second")
        with progress(None):
            step("third")
        step("fourth")
    step("fifth")
    assert (outer, inner) == (["first", "fourth"], ["second"])


def test_the_outer_reporter_is_back_after_an_error():
    steps = []
    with progress(steps.append):
        with pytest.raises(KeyError), progress(None):
            raise KeyError
        step("afterwards")
    assert steps == ["afterwards"]


def test_threads_report_to_their_own_reporters():
    def work(name):
        steps = []
        with progress(steps.append):
            for i in range(100):
                step(f"{name} {i}")
        return steps

    outer = []
    with progress(outer.append), ThreadPoolExecutor(4) as threads:
        results = list(threads.map(work, "abcd"))
        threads.submit(step, "without a context").result()
        threads.submit(contextvars.copy_context().run, step, "with a copy").result()
    assert results == [[f"{name} {i}" for i in range(100)] for name in "abcd"]
    assert outer == ["with a copy"]


def test_the_last_step_is_in_one_line_that_disappears(capsys):
    with progress():
        step("scoring the first run")
        step("done")
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", f"\rscoring the first run\r{'done':<21}\r    \r")
    with progress():
        pass
    assert capsys.readouterr().err == ""


def test_the_last_step_is_in_an_output_of_a_notebook(monkeypatch, capsys):
    outputs = []

    class Handle:
        def update(self, data, *, raw):
            outputs.append((data["text/plain"], raw))

    shell = SimpleNamespace(kernel=object())
    display = SimpleNamespace(display=lambda *_, **options: Handle() if options["display_id"] else 0)
    notebook = SimpleNamespace(get_ipython=lambda: shell, display=display)
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with progress():
        step("scoring")
    assert outputs == [("scoring", True), ("", True)]
    assert capsys.readouterr().err == ""
