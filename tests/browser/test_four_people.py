"""A manager and three raters, each in another language, from a qualification to the payment table."""

from __future__ import annotations

import json

import pytest

from rankgate.data.qrels import GRADED
from rankgate.store.material import projects
from rankgate.store.people import sign_in, users
from rankgate.store.store import Store
from rankgate.workspace.web.texts import read_languages
from support.chromium import PICTURES, VIEWS
from support.serving import PASSWORD, Visitor, served

from .test_start import SHOP, sign_in_as, submit

pytestmark = pytest.mark.slow
LANGUAGES = {"ann": "de", "bob": "hi", "cleo": "ja"}
KNOWN = {"t1": 3, "t2": 0, "t3": 2}
"""The grades of experts in the training."""

GRADES = {"ann": {"d1": 3, "d2": 2, "d3": 0, "d4": 1}, "bob": {"d1": 3, "d2": 0, "d3": 0, "d4": 1}}
"""The grades of each rater; they disagree on one document."""

TASK = "(document.getElementById('rating')?.dataset.task ?? '')"
DOCUMENT = "document.querySelector('#rating .about code').innerText"


def text_of(rater, key, **values):
    """A text in the language of a rater."""
    return read_languages()[LANGUAGES[rater]](key, **values)


@pytest.fixture
def shop(tmp_path):
    """A project with a training and a batch; the address of its server."""
    hashed = sign_in.password_hash(PASSWORD)
    with Store.create(f"{tmp_path}/judging.db") as store:
        with store.write() as connection:
            project = projects.add(connection, "shop", title="Shop", scale=GRADED).id
            for name in ("maria", *LANGUAGES):
                user = users.add(connection, name, hashed)
                users.grant(connection, project, user.id, "manager" if name == "maria" else "rater")
        with served(store, per_minute=1_000_000) as address:
            maria = Visitor(address)
            maria.sign_in("maria")
            queries = ("queries.csv", b"query_id,text\nq1,a red bike\n")
            documents = "doc_id,title\n" + "".join(f"{doc},bike {doc}\n" for doc in (*KNOWN, *GRADES["ann"]))
            gold = "query_id,doc_id,grade\n" + "".join(f"q1,{doc},{grade}\n" for doc, grade in KNOWN.items())
            for name, docs, more in (
                ("training", KNOWN, {"kind": "training", "gold": ("gold.csv", gold.encode())}),
                ("main", GRADES["ann"], {}),
            ):
                pool = ("pool.csv", ("query_id,doc_id\n" + "".join(f"q1,{doc}\n" for doc in docs)).encode())
                files = {"pool": pool, "queries": queries, "documents": ("d.csv", documents.encode())}
                sent = maria.send(f"{SHOP}/batches", "/account", name=name, strategy="2", **files, **more)
                assert sent.status == 303, sent.data.decode()[-500:]
            yield address


def set_rules(page, address):
    """The manager sets the rules of the batch: a qualification, pairs that come again, and its end."""
    sign_in_as(page, address, "maria")
    page.open(f"{address}{SHOP}")
    page.ask(
        "[...document.querySelectorAll('main a')].find((a) => /batches.[0-9]+$/.test(a.href) && "
        "a.innerText === 'main').click()"
    )
    page.until("document.querySelector('h1').innerText === 'main'")
    page.ask("document.querySelector('[name=stop_agreed]').checked = true")
    submit(page, "/rules", qualification="training", share="0.6", again="1", again_hours="0")
    page.until("location.search.includes('done=batch-rules')")


def come(page, address, name):
    """A rater signs in, in their language, and lands on a task."""
    page.send("Network.clearBrowserCookies")
    page.send("Network.setCookie", name="rankgate_language", value=LANGUAGES[name], url=address)
    page.open(f"{address}/sign-in", width=390 if name == "bob" else 1280)
    assert page.ask("document.documentElement.lang") == LANGUAGES[name]
    assert page.ask("document.querySelector('h1').innerText") == text_of(name, "sign_in.title")
    submit(page, "/sign-in", name=name, password=PASSWORD)
    page.until(f"location.pathname === '{SHOP}/rate'")


def rate(page, grade):
    """Give a grade by its key; return the document."""
    number, document = page.ask(TASK), page.ask(DOCUMENT)
    page.advance(9_000)
    page.press(str(grade(document)))
    page.until(f"{TASK} !== '{number}'")
    return document


def pass_training(page, name, grade):
    """Rate the training, with the experts' grade after each answer; return the documents."""
    done = []
    while page.ask(TASK) and page.ask("document.getElementById('rating').dataset.kind") == "training":
        assert text_of(name, "rate.training") in page.ask("document.getElementById('main').innerText")
        done.append(rate(page, grade))
        feedback = page.ask("document.querySelector('.feedback').innerText")
        expected = KNOWN[done[-1]]
        right = text_of(name, "rate.right_grade", grade=expected)
        wrong = text_of(name, "rate.wrong_grade", grade=expected, yours=grade(done[-1]))
        assert (right if grade(done[-1]) == expected else wrong) in feedback
    return done


def rate_batch(page, name):
    """Rate everything; return the documents in order, those that came again too."""
    done = []
    while page.ask(TASK):
        assert text_of(name, "rate.question") in page.ask("document.getElementById('main').innerText")
        assert page.ask("document.querySelector('.grades [aria-current]')?.value ?? ''") == ""  # blind
        done.append(rate(page, GRADES[name].__getitem__))
    assert text_of(name, "rate.over") in page.ask("document.getElementById('over').innerText")
    return done


def look(page, address, axe, name, path):
    """The page has no fault in any width and scheme, for those who do not see it too."""
    for view, width, dark in VIEWS:
        page.open(f"{address}{path}", width=width, dark=dark)
        assert page.said == []
        assert page.faults(axe) == [], (name, view)
        assert page.ask("document.documentElement.scrollWidth") <= width, (name, view)
        if PICTURES:
            page.picture(f"{PICTURES}/four-{name}-{view}.png")


def read_json(page, path):
    return page.ask(f"fetch('{SHOP}/{path}').then((answer) => answer.json())")


def test_four_people_judge_in_three_languages(shop, chromium, axe):  # noqa: PLR0915 - one story
    page, address = chromium, shop
    set_rules(page, address)

    come(page, address, "cleo")  # grades everything 1, and does not qualify
    assert sorted(pass_training(page, "cleo", lambda _: 1)) == sorted(KNOWN)
    over = page.ask("document.getElementById('over').innerText")
    assert text_of("cleo", "rate.over") in over
    refused = {"name": "training", "right": 0, "known": 3, "share": "60%"}
    assert text_of("cleo", "rate.not_passed", **refused) in over
    look(page, address, axe, "not-passed", f"{SHOP}/rate")

    for name in ("ann", "bob"):
        come(page, address, name)
        assert sorted(pass_training(page, name, KNOWN.__getitem__)) == sorted(KNOWN)
        documents = rate_batch(page, name)
        assert sorted(set(documents)) == sorted(GRADES[name])
        assert len(documents) == 8  # every pair came again
        look(page, address, axe, f"history-{name}", f"{SHOP}/history")

    come(page, address, "ann")
    page.open(f"{address}{SHOP}/discussions")
    assert text_of("ann", "discussion.lead", count=1) in page.ask("document.getElementById('main').innerText")
    submit_discussion(page, "Es ist ein Fahrrad")
    come(page, address, "bob")
    page.open(f"{address}{SHOP}/discussions")
    words = page.ask("document.getElementById('main').innerText")
    assert "Es ist ein Fahrrad" in words
    assert text_of("bob", "discussion.other") in words
    assert "ann" not in words
    look(page, address, axe, "discussion", f"{SHOP}/discussions")
    page.ask(
        "[...document.querySelectorAll('article a')].find((a) => a.innerText === "
        f"{json.dumps(text_of('bob', 'discussion.correct'))}).click()"
    )
    page.until(f"{TASK} !== ''")
    assert page.ask(DOCUMENT) == "d2"
    page.advance(9_000)
    page.press("2")
    page.until("document.getElementById('over')")
    page.open(f"{address}{SHOP}/discussions")
    assert text_of("bob", "discussion.nothing") in page.ask("document.getElementById('main').innerText")

    sign_in_as(page, address, "maria")
    [batch] = [row for row in read_json(page, "contents.json")["batches"] if row["name"] == "main"]
    page.open(f"{address}{SHOP}/batches/{batch['id']}")
    words = page.ask("document.getElementById('main').innerText")
    assert "Stopped:" in words
    assert "4 of 4 tasks done" in words
    rows = page.ask(
        "[...document.querySelectorAll('table tbody tr')].map((row) =>"
        " [...row.cells].map((cell) => cell.innerText))"
    )
    assert sorted(rows) == [
        ["ann", "3 of 3", "3", "✓ passed"],
        ["bob", "3 of 3", "3", "✓ passed"],
        ["cleo", "3 of 3", "0", "✗ not passed"],
    ]
    page.open(f"{address}{SHOP}/agreement")
    assert page.ask("document.querySelectorAll('#self tbody tr').length") == 2
    work = {row["rater"]: row for row in read_json(page, "work.json")["work"]}
    assert {name: work[name]["answers"] for name in work} == {"ann": 11, "bob": 12, "cleo": 3}
    assert {name: (row["known"], row["right"]) for name, row in work.items()} == {
        "ann": (3, 3),
        "bob": (3, 3),
        "cleo": (3, 0),
    }
    assert all(row["hours"] >= row["answers"] * 9 / 3600 for row in work.values())
    table = page.ask(f"fetch('{SHOP}/work.csv').then((answer) => answer.text())")
    assert table.splitlines()[0].startswith("week,rater,answers")
    assert len(table.splitlines()) == 4
    for name in ("work", "agreement", f"batches/{batch['id']}"):
        look(page, address, axe, name.replace("/", "-"), f"{SHOP}/{name}")


def submit_discussion(page, text):
    page.ask(
        f"""(() => {{
          const form = document.querySelector("article form");
          form.elements.text.value = {json.dumps(text)};
          form.requestSubmit();
          return 1;
        }})()"""
    )
    page.until("location.search.includes('done=discuss')")
