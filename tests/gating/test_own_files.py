"""A gate in a folder of one's own files: what it finds, what it asks, and the lines to copy."""

import csv
import json
import os
import pty
import random
import subprocess
import sys
import tomllib

import pytest

from rankgate.data.files.own_files import find_files, known_texts
from rankgate.decisions.gating import question_commands
from support.pasting import paste, printed_lines
from support.wording import assert_wording

LABELS = {3: "Exact", 2: "Substitute", 1: "Complement", 0: "Irrelevant"}
TERMS = [f"{colour} {thing}" for colour in ("red", "old", "big", "dry") for thing in ("mug", "hat", "bed")]


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """Labels with columns of their own and another spelling of queries, and two folders of answers."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(2)
    with (tmp_path / "labels.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["search_term", "sku", "label"])
        for term in TERMS:
            grades = {f"SKU-{term[:3]}-{term[4:]}-{n}": rng.choice([0, 0, 1, 2, 3]) for n in range(9)}
            table.writerows((term.replace(" ", "_"), sku, LABELS[grade]) for sku, grade in grades.items())
            for name, noise in (("old", 3.0), ("new", 0.1)):
                ranked = sorted(grades, key=lambda sku: -grades[sku] + rng.gauss(0, noise))
                hits = [{"_id": sku, "_score": 9.5 - rank, "_source": {}} for rank, sku in enumerate(ranked)]
                folder = tmp_path / name
                folder.mkdir(exist_ok=True)
                answer = {"took": 3, "timed_out": False, "hits": {"total": {"value": 9}, "hits": hits}}
                (folder / f"{term}.json").write_text(json.dumps(answer))
    (tmp_path / "README.md").write_text("about the shop\n")
    return tmp_path


@pytest.mark.usefixtures("shop")
def test_without_a_terminal_the_lines_to_copy_work(run):
    refused = run("gate")
    assert (refused.code, refused.out, refused.error.code) == (2, "", "missing-input")
    lines = printed_lines(refused.err)
    assert {tuple(line.split()[2:5]) for line in lines} == {
        ("labels.csv", "old", "new"),
        ("labels.csv", "new", "old"),
    }
    codes = {line.split()[3]: paste(run, line).code for line in lines}
    assert codes == {"old": 0, "new": 1}


def test_answers_on_a_terminal_are_kept_in_a_collection(shop, run, monkeypatch):
    monkeypatch.setattr(question_commands, "is_terminal", lambda: True)
    passed = run("gate", stdin=b"2\ny\ny\n")
    assert passed.code == 0, passed.err
    assert passed.out.startswith("PASS: new may replace old")
    table = tomllib.loads((shop / "collection.toml").read_text())["collection"]
    assert table == {
        "judgments": "labels.csv",
        "columns": "query=search_term,doc=sku,grade=label",
        "grades": {label: grade for grade, label in LABELS.items()},
        "ids": "underscore",
    }
    (line,) = [line for line in passed.err.splitlines() if line.startswith("next time: ")]
    assert paste(run, line.removeprefix("next time: ")).code == 0
    again = run("gate", stdin=b"1\n")  # the collection is there: only the baseline is asked for
    assert again.code == 1
    refused = run("gate", stdin=b"")
    assert refused.code != 0


def test_a_refused_guess_writes_nothing(shop, run, monkeypatch):
    monkeypatch.setattr(question_commands, "is_terminal", lambda: True)
    refused = run("gate", stdin=b"2\nn\n")
    assert (refused.code, refused.error.code) == (2, "missing-column")
    assert not (shop / "collection.toml").exists()


def test_questions_and_the_page_on_a_real_terminal(shop):
    browser = shop / "browser.sh"
    browser.write_text('#!/bin/sh\ncp "${1#file://}" opened.html\n')
    browser.chmod(0o755)
    terminal, its_end = pty.openpty()
    command = [sys.executable, "-m", "rankgate", "gate", "--open"]
    environment = {**os.environ, "BROWSER": f"{browser} %s", "TMPDIR": str(shop)}
    process = subprocess.Popen(command, stdin=its_end, stdout=its_end, stderr=its_end, env=environment)
    os.close(its_end)
    printed, answers = b"", [b"2\n", b"y\n", b"y\n"]
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the command has ended
            break
        if not piece:
            break
        printed += piece
        if answers and printed.rstrip(b" ").endswith((b"?", b"]:")):
            os.write(terminal, answers.pop(0))
    os.close(terminal)
    assert process.wait() == 0, printed.decode()
    assert b"Which is the baseline" in printed
    assert "new may replace old" in (shop / "opened.html").read_text()


def test_a_saved_baseline_and_one_run_leave_nothing_to_ask(shop, run):
    (shop / "collection.toml").write_text(
        '[collection]\njudgments = "labels.csv"\nids = "underscore"\n'
        'columns = "query=search_term,doc=sku,grade=label"\n'
        "grades = { Exact = 3, Substitute = 2, Complement = 1, Irrelevant = 0 }\n"
    )
    assert run("baseline", "save", "today", ".", "old").code == 0
    for path in (shop / "old").iterdir():
        path.unlink()
    (shop / "old").rmdir()
    passed = run("gate")
    assert passed.code == 0, passed.err
    assert passed.out.startswith("PASS: new may replace")


def test_a_folder_without_runs_names_what_is_missing(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("nothing to rank here\n")
    refused = run("gate")
    assert (refused.code, refused.error.code) == (2, "missing-input")


def test_numbers_tell_judgments_from_runs(tmp_path):
    (tmp_path / "a.csv").write_text("search,product,ann\nx,1,3\nx,2,0\ny,3,2\ny,4,1\n")
    (tmp_path / "b.csv").write_text("search,product,score\nx,1,2.5\nx,2,1.25\ny,3,9.5\ny,4,0.5\n")
    judged, ranked = find_files([tmp_path])
    assert (judged.has_judgments, judged.has_run) == (True, False)
    assert (ranked.has_judgments, ranked.has_run) == (False, True)


def test_texts_come_from_files_and_from_companions(tmp_path):
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 2 a\nq1 Q0 d2 2 1 a\n")
    (tmp_path / "a.run.docs.jsonl").write_text('{"doc_id": "d1", "title": "one", "text": "first"}\n')
    (tmp_path / "queries.csv").write_text("query_id,text\nq1,red mug\n")
    queries, documents = known_texts(find_files([tmp_path]))
    assert queries == {"q1": "red mug"}
    assert documents == {"d1": "one · first"}


@pytest.mark.usefixtures("shop")
def test_open_shows_lists_with_grades_side_by_side(shop, run):
    refused = run("open", "labels.csv", "old", "new")
    assert refused.code == 2  # its columns are a guess
    options = [
        *("--columns", "query=search_term,doc=sku,grade=label", "--ids", "underscore"),
        *("--grades", "Exact=3,Substitute=2,Complement=1,Irrelevant=0"),
    ]
    opened = run("open", "labels.csv", "old", "new", *options, "-o", "lists.html")
    assert opened.code == 0, opened.err
    page = (shop / "lists.html").read_text()
    assert page.count('<table class="lists">') == len(TERMS)
    assert 'class="g g' in page
    assert "http-equiv" not in page or "Content-Security-Policy" in page
    mismatched = run("open", "labels.csv", "old", *options[:2], *options[4:])
    assert (mismatched.code, mismatched.error.code) == (2, "ids-do-not-fit")
    alone = run("open", "old", "-o", "-")
    assert alone.code == 0
    assert alone.out.count('<th scope="col">moved</th>') == len(TERMS)
    assert run("open", "labels.csv", *options).error.code == "missing-input"


def test_hostile_ids_stay_text(tmp_path, run):
    (tmp_path / "a.run").write_text("<b>q Q0 <script>x</script> 1 2 a\nq2 Q0 d 1 1 a\n")
    page = run("open", tmp_path / "a.run", "-o", "-").out
    assert "<script>x" not in page
    assert "&lt;script&gt;x" in page


def test_a_folder_can_be_named_from_outside(shop, run, monkeypatch):
    outside = shop / "old"
    monkeypatch.chdir(outside)
    refused = run("gate", "..")
    assert (refused.code, refused.error.code) == (2, "missing-input")
    lines = printed_lines(refused.err)
    assert all(line.startswith("rankgate gate ../labels.csv ../") for line in lines)
    assert {paste(run, line).code for line in lines} == {0, 1}
    monkeypatch.setattr(question_commands, "is_terminal", lambda: True)
    assert run("gate", "..", stdin=b"2\ny\ny\n").code == 0
    assert tomllib.loads((shop / "collection.toml").read_text())["collection"]["judgments"] == "labels.csv"


def test_known_answers_are_asked_for_and_kept(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold.jsonl").write_text(
        "".join(f'{{"query_id": "q{n}", "gold": ["d{n}"]}}\n' for n in range(12))
    )
    for name, rank in (("a", 1), ("b", 0)):
        found = [[f"x{n}", f"d{n}"] if rank else [f"d{n}", f"x{n}"] for n in range(12)]
        lines = (json.dumps({"query_id": f"q{n}", "retrieved": ids}) + "\n" for n, ids in enumerate(found))
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    refused = run("gate")
    assert "--selection sparse" in refused.err
    (line,) = [line for line in printed_lines(refused.err) if " a.jsonl b.jsonl" in line]
    assert paste(run, f"{line} --selection sparse -m RR").code == 0
    monkeypatch.setattr(question_commands, "is_terminal", lambda: True)
    assert run("gate", "-m", "RR", stdin=b"1\ny\n").code == 0
    assert 'selection = "sparse"' in (tmp_path / "collection.toml").read_text()


def test_judgments_and_runs_without_a_common_query_are_not_proposed(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, query in (("films", "f"), ("books", "b")):
        (tmp_path / f"{name}.qrels").write_text(f"{query}1 0 a 1\n{query}2 0 a 1\n")
        for system in ("old", "new"):
            (tmp_path / f"{name}-{system}.run").write_text(f"{query}1 Q0 a 1 1 x\n{query}2 Q0 a 1 1 x\n")
    (tmp_path / "books-old.run").unlink()
    (tmp_path / "judging.db.blobs").mkdir()
    (tmp_path / "judging.db.blobs" / "14.qrels").write_text("f1 0 a 1\n")
    refused = run("gate")
    assert "books" not in refused.err
    assert "blobs" not in refused.err
    assert_wording(refused.err)
