"""Nights of a real OpenSearch in Chromium: an index gets worse and recovers, and pages tell what happened."""

from __future__ import annotations

import json
from itertools import product

import pytest

from rankgate.data.qrels import GRADED
from rankgate.store.material import projects
from rankgate.store.people import sign_in, users
from support.chromium import PICTURES, VIEWS
from support.following import ALERT, CHANGES_OF_ALERT, JUDGE_MISSING, WORST_QUERY, follow
from support.searching import grade_of
from support.serving import PASSWORD

from .test_start import RULES, SHOP, OpenSearchShop, opened, press, read_json, sign_in_as, submit

pytestmark = pytest.mark.slow
COLOURS = ("red", "blue", "green", "black", "white")
THINGS = ("shoes", "boots", "coat", "scarf", "hat", "gloves", "socks", "belt")
TITLES = {f"p{n:02}": " ".join(words) for n, words in enumerate(product(COLOURS, THINGS))}
QUERIES = {f"q{n:02}": " ".join(words) for n, words in enumerate(product(COLOURS[:4], THINGS[:5]))}
JUDGED = [
    f"{query} 0 {doc} {grade_of(text, title)}"
    for query, text in QUERIES.items()
    for doc, title in TITLES.items()
]
FIRST_BAD, SAME_DOCUMENTS = 4, 5
ROWS = (
    "[...document.querySelectorAll('.ranking')].map((list) => list.querySelectorAll('tbody tr, li').length)"
)
CURRENT = "location.pathname + location.search"


class Index(OpenSearchShop):
    """An index that gets one more document every night, and whose import may be faulty."""

    def import_words(self, words):  # noqa: ARG002 - the first import is that of the first night
        self.documents = dict(TITLES)
        self.fill()

    def import_night(self, night, shift=0):
        """Import one more document, but none in the night of other words only."""
        if night != SAME_DOCUMENTS:
            self.documents[f"n{night}"] = f"{COLOURS[night % 4]} umbrella for windy and rainy autumn days"
        self.fill(shift)

    def fill(self, shift=0):
        """Replace the index; a faulty import has the words of the document so many rows below."""
        titles = list(self.documents.values())
        words = titles[shift:] + titles[:shift]
        fields = {"title": {"type": "keyword"}, "words": {"type": "text"}}
        rows = zip(self.documents.items(), words, strict=True)
        documents = {doc_id: {"title": title, "words": text} for (doc_id, title), text in rows}
        self.cluster.index("products", fields, documents)


def upload(page, address, name, lines):
    """Import a file by the page of files."""
    page.open(f"{address}{SHOP}/material")
    page.ask(
        f"""(() => {{
          const files = new DataTransfer();
          files.items.add(new File([{json.dumps(chr(10).join(lines))}], {json.dumps(name)}));
          document.querySelector("form[action$='/material'] input[type=file]").files = files.files;
          return 1;
        }})()"""
    )
    submit(page, "/material")
    page.until("location.search.includes('done=material-add')")


def prepare(page, address, engine):
    """Queries, judgments, an engine and a rule of alerts."""
    sign_in_as(page, address, "maria")
    page.open(f"{address}{SHOP}/queries")
    lines = ["id\tquery", *(f"{query}\t{text}" for query, text in QUERIES.items())]
    submit(page, f"{SHOP}/queries", text="\n".join(lines))
    page.until("location.search.includes('done=queries-add')")
    upload(page, address, "qrels.txt", JUDGED)
    page.open(f"{address}{SHOP}/engines?kind=opensearch")
    submit(page, "/engines/kinds/opensearch", name="shop", query="red shoes", **engine.settings)
    page.until("location.search.includes('done=engine-save')")
    page.open(f"{address}{SHOP}/alerts/rules")
    submit(page, f"{SHOP}/alerts/rules", rules=RULES)
    page.until("location.search.includes('done=alert-rules-set')")


def alerts(page):
    return [(alert["id"], alert["state"]) for alert in read_json(page, "alerts.json")["alerts"]]


def look(page, address, axe, name, path):
    """Look at a page in both widths; all widths and schemes for pictures."""
    for view, width, dark in VIEWS if PICTURES else VIEWS[:2]:
        page.open(f"{address}{path}", width=width, dark=dark)
        assert page.said == []
        assert page.ask("document.documentElement.scrollWidth") <= width, name
        if PICTURES:
            page.picture(f"{PICTURES}/walked-{name}-{view}.png")
        assert page.faults(axe) == [], name


@pytest.mark.opensearch
@pytest.mark.java
@pytest.mark.separate
def test_nights_of_an_index_are_one_history(new_file, tmp_path, chromium, axe, opensearch):
    (tmp_path / "shop").mkdir()
    engine, page = Index(tmp_path, opensearch), chromium
    with new_file(tmp_path / "nights.db") as store:
        with store.write() as connection:
            project = projects.add(connection, "shop", title="Shop", scale=GRADED)
            user = users.add(connection, "maria", sign_in.password_hash(PASSWORD))
            users.grant(connection, project.id, user.id, "manager")
        with opened(store, tmp_path, engine) as address:
            prepare(page, address, engine)
            states = []
            for night, shift in enumerate((0, 0, 0, 9, 19, 9), 1):
                engine.import_night(night, shift)
                press(page, address, "snapshot")
                if night == FIRST_BAD:
                    press(page, address, "comparison", "gate", "evaluation")
                states.append(alerts(page))
            [(alert, _)] = states[-1]
            assert states == [[]] * 3 + [[(alert, "open")]] * 3
            assert_fall_is_followed(page, address, axe)

            engine.import_night(7)
            press(page, address, "snapshot")
            assert alerts(page) == [(alert, "resolved")]
            assert_history(page)
            look(page, address, axe, "overview-after", SHOP)
            look(page, address, axe, "trends", f"{SHOP}/trends?metric=nDCG@10&system=shop")


def assert_fall_is_followed(page, address, axe):
    """Three clicks from the overview to both lists of the query that fell most, on pages without a fault."""
    page.open(f"{address}{SHOP}")
    follow(page, ALERT, CHANGES_OF_ALERT)
    causes = page.ask("document.getElementById('causes').innerText")
    assert "The change comes mostly from the corpus." in causes
    assert "The corpus changed (43 documents, later 44 documents, same revision)" in causes
    changes = page.ask(CURRENT)
    follow(page, WORST_QUERY)
    assert page.ask(ROWS) == [10, 10]
    query = page.ask(CURRENT)
    look(page, address, axe, "overview", SHOP)
    look(page, address, axe, "changes", changes)
    look(page, address, axe, "query", query)
    page.open(f"{address}{query}")
    follow(page, JUDGE_MISSING)
    look(page, address, axe, "rating", f"{SHOP}/rate")


def assert_cause_is_not_known(page, before, after):
    """An import of as many documents with the same titles is not called a change of the system."""
    pair = f"before={before['sha256']}&after={after['sha256']}&metric=nDCG@10"
    causes = read_json(page, f"changes.json?{pair}")["causes"]
    assert causes["answer"] == "The cause is not known."
    sentences = {row["cause"]: row["sentence"] for row in causes["rows"]}
    assert "the index was written to or made again between the snapshots; 44 documents" in sentences["corpus"]
    assert "the part is not known" in sentences["system"]


def assert_history(page):
    """Every night is in the history once, the bad one too, which was evaluated again."""
    series = read_json(page, "trends.json?metric=nDCG@10&system=shop")["history"]["series"]
    assert len(series) == len(read_json(page, "contents.json")["runs"]) == 7
    assert [row["value"] > 0.9 for row in series] == [True] * 3 + [False] * 3 + [True]
    assert [row["verdict"] for row in series] == [None] * 3 + ["fail"] + [None] * 3
    assert_cause_is_not_known(page, series[SAME_DOCUMENTS - 2], series[SAME_DOCUMENTS - 1])
