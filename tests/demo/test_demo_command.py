"""``rankgate demo``: every step is shown, and the commands it proposes work."""

import shlex
from pathlib import Path

from rankgate.interface.demo import demo_command


def test_the_demo_and_what_it_proposes(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("demo")
    assert (result.code, result.err) == (0, "")
    assert "nDCG@10" in result.out
    assert (tmp_path / "demo" / "qrels.txt").exists()
    proposed = [line for line in result.out.splitlines() if line.startswith("  rankgate ")]
    assert len(proposed) >= 2
    for line in proposed:
        if line == "  rankgate init":  # for the user's own project
            continue
        proposed_result = run(*shlex.split(line)[1:])
        assert (proposed_result.code, proposed_result.err) == (0, "")


def test_a_folder_of_ones_own(run, tmp_path, monkeypatch):
    folders = []
    monkeypatch.setattr(demo_command, "print_demo", lambda folder, _: folders.append(Path(folder)))
    assert run("demo", tmp_path / "mine").code == 0
    assert folders == [tmp_path / "mine"]


def test_a_file_is_no_folder(run, tmp_path):
    (tmp_path / "taken").write_text("")
    result = run("demo", tmp_path / "taken")
    assert (result.code, result.out) == (2, "")
