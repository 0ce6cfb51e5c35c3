"""Documents in Chromium: the query and the grades stay in view, images grow, nothing runs."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from pathlib import Path

import polars as pl
import pytest

from rankgate.data.qrels import GRADED
from rankgate.store.material import projects, queries_documents
from rankgate.store.people import sign_in, users
from rankgate.store.rating import batches
from rankgate.store.store import Store
from rankgate.workspace.web.pages.document_card import card_settings, parse_card
from rankgate.workspace.web.texts import LANGUAGE, read_languages
from support.chromium import PICTURES, VIEWS
from support.serving import served

pytestmark = pytest.mark.slow

SENTENCE = "A red bike that was made for running over the hills, and for many other things. "
LONG = (SENTENCE * 200)[:15_000]
IN_VIEW = """(selector) => [...document.querySelectorAll(selector)].every((element) => {
    const box = element.getBoundingClientRect();
    const middle = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return box.top >= 0 && box.bottom <= innerHeight && box.left >= 0
        && box.right <= innerWidth && element.contains(middle); })"""


def picture(width, height):
    """A PNG of one colour, as a data URL."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    out = io.BytesIO(b"")
    out.write(b"\x89PNG\r\n\x1a\n")
    out.write(chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)))
    rows = b"".join(b"\0" + b"\x1f\x77\xc4" * width for _ in range(height))
    out.write(chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


HTML = (
    "<h1>Bikes</h1><p>Every <b>bike</b> of <a href='https://example.org/'>ours</a>.</p>"
    "<script>document.title = 'run'</script><img src=x onerror=\"document.title='run'\">"
    "<ul><li>red<li>blue</ul><table><tr><th>size<th>price<tr><td>M<td>99 €</table>"
    "<p style='position:fixed;inset:0'>over all</p>"
)
CASES = {
    "long": ("red bikes", {"title": "Bikes", "text": LONG}, ""),
    "html": ("red bikes", {"name": "Bikes", "text": HTML}, "name = title\ntext = html"),
    "image": (
        "blue bike",
        {"picture": picture(900, 600), "name": "A bike", "price": "99 €", "text": "Blue. " * 40},
        "picture = image\nname = title\nprice = badge: Price\ntext = body",
    ),
    "chinese": (
        "东京大学",
        {"title": "东京的大学", "text": "我在东京的大学里学习。东京大学很有名。" * 60},
        "",
    ),
}


LANGUAGES = {"long": "de", "html": "en", "image": "hi", "chinese": "ja"}
"""The languages of the pictures."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A server with a project for each case, and the cookie of a rater."""
    file = tmp_path_factory.mktemp("documents") / "judging.db"
    with Store.create(str(file)) as store:
        with store.write() as connection:
            user = users.add(connection, "ann")
            users.add(connection, "root", admin=True)
            for name, (query, fields, card) in CASES.items():
                settings = {"card": card_settings(parse_card(card))}
                project = projects.add(connection, name, title=name.title(), scale=GRADED, settings=settings)
                users.grant(connection, project.id, user.id, "rater")
                query_table = pl.DataFrame({"query_id": ["q1"], "text": [query]})
                queries_documents.add_queries(connection, project.id, query_table)
                docs = pl.DataFrame({"doc_id": ["d1"], **{k: [v] for k, v in fields.items()}})
                queries_documents.add_documents(connection, project.id, docs)
                batch = batches.add_batch(connection, project.id, "first")
                pairs = pl.DataFrame({"query_id": ["q1"], "doc_id": ["d1"]})
                batches.add_pairs(connection, batch, pairs)
            _, secret = sign_in.begin_session(connection, user.id)
        with served(store, per_minute=1_000_000) as address:
            yield address, secret


@pytest.fixture
def visit(chromium, axe, place):
    """Opens the rating page of a case as the rater."""
    address, secret = place

    def opened(name, *, width=1280, height=800, dark=False, language="en"):
        chromium.send("Network.clearBrowserCookies")
        chromium.send("Network.setCookie", name=LANGUAGE, value=language, url=address)
        chromium.send("Network.setCookie", name="rankgate_session", value=secret, url=address)
        chromium.open(f"{address}/projects/{name}/rate", width=width, dark=dark)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        chromium.send("Emulation.setDeviceMetricsOverride", **size)
        assert chromium.faults(axe) == [], name
        assert chromium.said == [], name

    return opened


def is_in_view(chromium, selector):
    return chromium.ask(f"({IN_VIEW})({selector!r})")


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_a_long_document_leaves_query_and_grades_in_view(chromium, visit, width, height):
    visit("long", width=width, height=height)
    assert chromium.ask("document.querySelectorAll('.grades button').length") == 4
    tall = chromium.ask("document.documentElement.scrollHeight")
    assert tall > 2 * height
    for place_in_page in (0, tall // 2, tall - 2 * height):
        chromium.ask(f"window.scrollTo(0, {place_in_page})")
        assert is_in_view(chromium, ".grades button"), place_in_page
        assert width < 600 or place_in_page == 0 or is_in_view(chromium, "#query")
    chromium.ask("document.querySelector('#cannot').open = true; 1")
    assert width < 600 or is_in_view(chromium, "#cannot-send")


def test_html_of_a_document_is_formatted_and_runs_nothing(chromium, visit):
    visit("html")
    assert chromium.ask("document.title").startswith("Rate")
    inside = "document.querySelector('.formatted')"
    assert chromium.ask(f"{inside}.querySelectorAll('h2, td, li').length") == 5
    assert chromium.ask(f"{inside}.querySelectorAll('script, img, [style]').length") == 0
    assert chromium.ask(f"{inside}.querySelectorAll('mark').length") == 3
    assert chromium.ask("getComputedStyle(document.querySelector('.formatted td')).display")


def test_an_image_grows_by_keyboard(chromium, visit):
    visit("image")
    image = "document.querySelector('.zoom img')"
    chromium.until(f"{image}.complete && {image}.naturalWidth")
    small = chromium.ask(f"{image}.getBoundingClientRect().height")
    chromium.ask("document.querySelector('.zoom summary').focus()")
    chromium.send("Input.dispatchKeyEvent", type="keyDown", key="Enter", text="\r")
    chromium.send("Input.dispatchKeyEvent", type="keyUp", key="Enter")
    chromium.until("document.querySelector('.zoom').open")
    assert chromium.ask(f"{image}.getBoundingClientRect().height") > small
    assert chromium.ask("document.querySelector('.part.badge').textContent.trim()") == "Price99 €"


def test_words_of_chinese_are_marked(chromium, visit):
    visit("chinese")
    marks = chromium.ask("[...document.querySelectorAll('mark')].map((mark) => mark.innerText)")
    assert {"东京", "大学", "东京大学"} == set(marks)


@pytest.mark.parametrize("language", list(read_languages()))
def test_the_page_fits_in_every_language(chromium, visit, language):
    visit("chinese", width=390, height=844, language=language)
    assert chromium.ask("document.documentElement.lang") == language
    wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert chromium.ask(wider) == 0
    assert is_in_view(chromium, ".grades button")
    chromium.advance(300)
    chromium.press("?")
    chromium.until("document.getElementById('help').open")
    title = read_languages()[language]("help.title")
    assert chromium.ask("document.getElementById('help-title').innerText") == title
    if PICTURES:
        result = chromium.send("Page.captureScreenshot")
        (Path(PICTURES) / f"help-{language}.png").write_bytes(base64.b64decode(result["data"]))


if PICTURES:  # for people to look at

    @pytest.mark.parametrize("name", list(CASES))
    def test_pictures(chromium, visit, name):
        for label, width, dark in VIEWS:
            visit(name, width=width, height=800, dark=dark, language=LANGUAGES[name])
            if name == "long":
                chromium.ask("window.scrollTo(0, 1500)")
            if name == "image" and width > 600:
                chromium.ask("document.querySelector('.zoom').open = !0")
            result = chromium.send("Page.captureScreenshot")
            path = Path(PICTURES) / f"document-{name}-{label}.png"
            path.write_bytes(base64.b64decode(result["data"]))
