"""A team at work in Chromium: a manager sets up, two rate by keyboard, disagree, and it ends."""

from __future__ import annotations

import csv
import itertools
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from rankgate.judging.pooling.pool import pool
from rankgate.judging.pooling.pool_sampling import PoolDesign
from support.chromium import PICTURES, VIEWS
from support.serving import PASSWORD, Visitor, started

pytestmark = pytest.mark.slow
PAIRS = 4
WORDS = "document.querySelector('main').innerText"


@pytest.fixture(scope="module")
def files(tmp_path_factory, demo_folder):
    """The demo's pool with the texts of its queries and documents."""
    folder = shutil.copytree(demo_folder, tmp_path_factory.mktemp("demo") / "files")
    pool_result = pool([folder / "old.run", folder / "new.run"], PoolDesign(depth=3))
    pairs = pool_result.table.filter(pool_result.table["query_id"].is_in(["q01", "q02"])).head(PAIRS)
    pairs.select("query_id", "doc_id", "why", "best_rank", "systems").write_csv(folder / "pool.csv")
    with sqlite3.connect(folder / "docs.sqlite") as base:
        rows = base.execute("SELECT doc_id, name, summary, body FROM new").fetchall()
    base.close()
    with (folder / "docs.csv").open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["doc_id", "title", "summary", "text"])
        writer.writerows(rows)
    return folder, len(pairs)


@pytest.fixture(scope="module")
def server(files):
    with started(files[0] / "judging.db") as server_details:
        yield server_details


@pytest.fixture
def screen(chromium, axe):
    """Looks at a page: no fault, no request elsewhere, no complaint, in every form."""

    count = itertools.count()

    def seen(name, url):
        views = VIEWS if PICTURES else [VIEWS[next(count) % 2]]  # each form of some pages
        for label, width, dark in views:
            chromium.open(url, width=width, dark=dark)
            assert chromium.faults(axe) == [], (name, label)
            wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert chromium.ask(wider) == 0, (name, label)
            base = url.split("/", 3)[2]
            requested_urls = [
                address for address in chromium.asked if not address.startswith(("about:", "data:"))
            ]
            assert all(address.split("/", 3)[2] == base for address in requested_urls)
            assert chromium.said == [], (name, label)
            if PICTURES:
                chromium.picture(Path(PICTURES) / f"{name}-{label}.png")
        if PICTURES:
            chromium.open(url)

    return seen


def signed_in(chromium, address, name):
    chromium.send("Network.clearBrowserCookies")
    chromium.open(f"{address}/sign-in")
    fill(chromium, name=name, password=PASSWORD)
    chromium.ask("document.querySelector('main form').requestSubmit()")
    chromium.until("location.pathname !== '/sign-in'")


def fill(chromium, **fields):
    for name, value in fields.items():
        chromium.ask(f"document.querySelector('main [name={name}]').value = {value!r}; 1")


def test_a_team_judges(chromium, screen, server, files):
    process, address, link = server
    folder, count = files
    del process
    screen("invitation", address + link)
    fill(chromium, name="mia", password=PASSWORD)
    chromium.ask("document.querySelector('main form').requestSubmit()")
    chromium.until("location.pathname === '/projects'")
    fill(chromium, name="docs", title="Python's documentation", scale="graded")
    chromium.ask("document.querySelector('main form').requestSubmit()")
    chromium.until("location.pathname === '/projects/docs/steps'")

    mia = Visitor(address)
    assert mia.sign_in("mia").status == 303
    set_up(mia, folder)
    screen("projects", f"{address}/projects")
    screen("files", f"{address}/projects/docs/material")
    screen("setup", f"{address}/projects/docs/setup")
    links = [invite(mia, name) for name in ("ann", "bob")]
    for name, invitation in zip(("ann", "bob"), links, strict=True):
        assert Visitor(address).accept(invitation.removeprefix(address), name).status == 303
    screen("people", f"{address}/projects/docs/people")

    for name, grade in (("ann", "3"), ("bob", "1")):
        signed_in(chromium, address, name)
        rate_all(chromium, screen, address, grade, count, pictures=name == "ann")
    compare_one(chromium, screen, address)

    signed_in(chromium, address, "mia")
    for name in (
        "",
        "coverage",
        "next",
        "pairs",
        "preferences",
        "export?format=argilla",
        "log",
        "agreement",
        "disputes",
        "discussions",
        "batches/1",
        "work",
    ):
        screen(
            name.partition("?")[0].replace("/", "-") or "overview",
            f"{address}/projects/docs/{name}".rstrip("/"),
        )
    for name in ("account", "users"):
        screen(name, f"{address}/{name}")
    chromium.open(f"{address}/projects/docs/disputes")
    waiting = chromium.ask("document.querySelectorAll('article').length")
    assert waiting == count
    for remaining in range(waiting, 0, -1):
        chromium.until(f"document.querySelectorAll('article').length === {remaining}")
        chromium.ask("document.querySelector('article [name=grade][value=\"2\"]').click()")
    chromium.until("document.querySelectorAll('article').length === 0")
    resolved(chromium, screen, address, count)
    the_command_line_uses_what_the_team_judged(folder)


def set_up(mia, folder):
    def sent(path, page, **fields):
        files = {
            name: (value.name, value.read_bytes()) if isinstance(value, Path) else value
            for name, value in fields.items()
        }
        answer = mia.send(f"/projects/docs/{path}", f"/projects/docs/{page}", **files)
        assert answer.status == 303, answer.data.decode()

    sent(
        "batches",
        "material",
        name="first",
        pool=folder / "pool.csv",
        queries=folder / "queries.tsv",
        documents=folder / "docs.csv",
        strategy="2",
    )
    for run in ("old.run", "new.run"):
        sent("material", "material", file=folder / run)
    sent(
        "preferences",
        "preferences",
        name="old or new",
        kind="lists",
        first="old",
        second="new",
        most="1",
        strategy="2",
        priority="-1",
    )
    sent(
        "scale",
        "setup",
        scale="0 = poor: not about the query\n1 = fair: the subject only\n"
        "2 = good: a part of the answer\n3 = perfect: the answer",
    )
    sent(
        "guidelines",
        "setup",
        version="v1",
        text="# What we judge\n\nDoes the page **answer** the query?\n\n- Judge the text only.",
    )


def invite(mia, name):
    answer = mia.send("/projects/docs/invitations", "/projects/docs/people", name=name, role="rater")
    return answer.data.decode().partition('id="secret">')[2].partition("<")[0]


def rate_all(chromium, screen, address, given, count, *, pictures):
    """Rate every task by keyboard, with a comment, an undo and a look back."""
    url = f"{address}/projects/docs/rate"
    task = "document.getElementById('rating')?.dataset.task"
    if pictures:
        screen("rate", url)
        screen("query", f"{url}/query")
    chromium.open(url)
    rated_tasks = []
    kind = "document.getElementById('rating')?.dataset.kind"
    while (now := chromium.ask(task)) and chromium.ask(kind) == "rating":
        rated_tasks.append(now)
        chromium.advance(300)
        if len(rated_tasks) == 2:
            chromium.press("m")
            chromium.until("document.activeElement.id === 'comment'")
            chromium.send("Input.insertText", text="only by its name")
            chromium.press("Escape")
        chromium.press(given)
        chromium.until(f"{task} !== '{now}'")
        if len(rated_tasks) == 1:
            chromium.advance(300)
            chromium.press("u")
            chromium.until(f"{task} === '{now}'")
            chromium.advance(300)
            chromium.press(given)
            chromium.until(f"{task} !== '{now}'")
    assert len(set(rated_tasks)) == count
    if pictures:
        screen("history", f"{address}/projects/docs/history")


def compare_one(chromium, screen, address):
    """Which of two lists is better, by an arrow key; then all is done."""
    url = f"{address}/projects/docs/rate"
    screen("compare", url)
    assert chromium.ask("document.getElementById('rating').dataset.kind") == "lists"
    assert chromium.ask("document.querySelectorAll('.two .listed').length") == 2
    chromium.advance(300)
    chromium.press("ArrowLeft")
    chromium.until("document.getElementById('over')")
    screen("over", url)


def resolved(chromium, screen, address, count):
    screen("judgments", f"{address}/projects/docs/judgments")
    fill(chromium, name="march")
    chromium.ask("document.querySelector('main form.fields [name=preview]').click()")
    chromium.until("document.querySelector('h1').innerText === 'What would change'")
    assert f"{count} new pairs" in chromium.ask(WORDS)
    chromium.ask("document.querySelector('main form.fields').requestSubmit()")
    chromium.until("location.search.includes('done=resolve')")
    screen("judged", f"{address}/projects/docs/judgments")
    screen("scores", f"{address}/projects/docs/judgments/march/evaluation")
    assert "nDCG@10" in chromium.ask(WORDS)


def the_command_line_uses_what_the_team_judged(folder):
    store = ["--store", str(folder / "judging.db"), "--project", "docs"]
    command = [sys.executable, "-m", "rankgate", "eval", "march", "old", "new", *store]
    process = subprocess.run([*command, "-m", "nDCG@10"], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    assert "nDCG@10" in process.stdout
    assert {"old", "new"} <= set(process.stdout.split())
