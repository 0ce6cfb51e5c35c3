"""The frame around the commands: exit codes and output streams."""

import json
import signal
import subprocess
import sys

import pytest

from rankgate.interface.cli import COMMANDS
from support.command import assert_refused
from support.waiting import PATIENCE
from support.wording import assert_wording


def test_the_real_command(start, small):
    process = start("eval", *small, "-m", "nDCG@10", "-m", "AP")
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert out.splitlines()[1].split() == [b"bm25", b"0.4263", b"0.3125"]
    assert err == b""


def test_words_go_to_the_other_stream(start, small):
    process = start("eval", *small, "-m", "nDGC@10")
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert out == b""
    assert err.decode().splitlines() == ["rankgate: unknown metric 'nDGC'; did you mean nDCG?"]


def test_a_reader_who_goes_away_is_no_failed_gate(start, tmp_path):
    queries = range(20_000)
    qrels, path = tmp_path / "q", tmp_path / "r"
    qrels.write_text("".join(f"{q} 0 a 1\n" for q in queries))
    path.write_text("".join(f"{q} Q0 a 1 1 t\n" for q in queries))
    process = start("eval", qrels, path, "--per-query", "--format", "csv")
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=PATIENCE) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


def test_an_interrupt_ends_with_130(start, small):
    process = start("eval", small[0], "-", stdin=subprocess.PIPE)
    # more than a pipe holds: once all of it is written, the command is reading
    process.stdin.write(b"1 Q0 a 1 1 t\n" * 100_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert b"interrupted" in err
    assert b"Traceback" not in err


def test_our_own_fault_is_one_line(run, small, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr("rankgate.measurement.evaluation.commands.evaluate", broken)
    result = run("eval", *small)
    assert result.code == 70
    assert result.err.count("\n") == 1
    assert_wording(result.err)


@pytest.mark.parametrize(
    ("words", "code", "source"),
    [
        (["eval"], "missing-parameter", "qrels"),
        (["eval", "q"], "missing-parameter", "runs"),
        (["eval", "q", "r", "--format", "xml"], "bad-parameter", "--format"),
        (["eval", "q", "r", "--metrik", "x"], "no-such-option", "--metrik"),
        (["evla"], "usage-error", None),
        (["explain", "q", "r", "-m", "AP"], "missing-parameter", "--query"),
        (["explain", "q", "r", "--query", "1"], "missing-parameter", "--metric"),
        (["explain", "q", "r", "--query", "1", "-m", "AP", "--depth", "0"], "bad-parameter", "--depth"),
    ],
)
def test_usage_is_one_line_and_2(run, words, code, source):
    assert_refused(run(*words), code, source)


def test_nothing_to_do_shows_what_there_is(run):
    result = run()
    assert result.code == 0
    assert all(name in result.out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(run, name):
    result = run(name, "--help")
    assert result.code == 0
    assert f"rankgate {name}" in result.out


@pytest.mark.parametrize(
    ("words", "unneeded"),
    [
        (["eval"], {"scipy", "pandas", "pyarrow", "matplotlib", "sqlite3", "zstandard"}),
        (["metrics"], {"scipy", "pandas", "pyarrow", "polars"}),
        (
            ["online", "doctor", "--help"],
            {
                "rankgate.online.commands.experiment_commands",
                "rankgate.online.experiments",
                "rankgate.decisions.gating",
            },
        ),
    ],
    ids=["eval", "metrics", "online"],
)
def test_a_command_loads_nothing_that_it_does_not_need(small, words, unneeded):
    assert not loaded_by(words, small) & unneeded


def test_eval_loads_the_named_metrics_alone(small):
    modules = {name for name in loaded_by(["eval"], small) if name.startswith("rankgate.")}
    packages = {name.rpartition(".")[0] for name in modules}
    assert len(modules - packages) <= 124
    kernels = {name for name in modules if name.startswith("rankgate.measurement.metrics.ranking.")}
    assert {name.rpartition(".")[2] for name in kernels} == {
        "average_precision",
        "precision_recall_metrics",
        "reciprocal_rank",
    }


def loaded_by(words, small):
    """The modules that a command of its own process loads."""
    script = (
        "import sys; sys.argv = ['rankgate', *sys.argv[1:]]\n"
        "from rankgate.interface.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n"
        "    import json; print(json.dumps(sorted(sys.modules)))"
    )
    files = small if words == ["eval"] else ()
    command = [sys.executable, "-c", script, *words, *map(str, files)]
    out = subprocess.run(command, capture_output=True, check=True).stdout
    return set(json.loads(out.splitlines()[-1]))


def test_progress_is_silent_where_nobody_watches(run, small):
    assert run("eval", *small, small[1], small[1]).err == ""


def test_two_words_name_a_command_that_joins_them(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "llm.txt").write_text("".join(f"q{i} 0 d {i % 2}\n" for i in range(40)))
    assert run("admit", "plan", "llm.txt", "--width", "0.2").code == 0
    (tmp_path / "plan").write_text("q0 0 d 1\n")  # a file of this name is an argument
    assert run("admit", "plan", "--width", "0.2").code == 2
