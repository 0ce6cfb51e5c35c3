"""Documents as raters see them: cards, formatted fields, images, and marked words."""

from __future__ import annotations

import re

import polars as pl
import pytest

from rankgate.core.errors import InputError
from rankgate.data.qrels import GRADED
from rankgate.store.material import projects, queries_documents
from rankgate.store.material.queries_documents import Document
from rankgate.store.people import users
from rankgate.store.rating import batches
from rankgate.workspace.web.pages.document_card import (
    CardField,
    card_settings,
    format_card,
    image_address,
    image_sources,
    parse_card,
)
from rankgate.workspace.web.pages.document_html import plain_text, render_html, render_markdown
from rankgate.workspace.web.pages.document_view import document_title, document_view
from rankgate.workspace.web.pages.highlighting import LANGUAGES, QueryWords, mark_words, read_query_words

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGA"
    "WjR9awAAAABJRU5ErkJggg=="
)


def marked(query, text, language=""):
    """The text with its marked words in brackets."""
    words = read_query_words(query, language)
    return "".join(f"[{part}]" if mark else part for part, mark in mark_words(text, words))


@pytest.mark.parametrize(
    ("query", "text", "language", "expected"),
    [
        ("running shoes", "A runner runs in a SHOE", "", "A runner [runs] in a [SHOE]"),
        ("cafe", "Café, CAFÉS", "", "[Café], [CAFÉS]"),
        ("straße", "STRASSE strasse", "de", "[STRASSE] [strasse]"),
        ("laufschuhe", "Laufschuh und Laufschuhen", "de", "[Laufschuh] und [Laufschuhen]"),
        ("zapatos rojos", "zapato rojo", "es", "[zapato] [rojo]"),
        ("книги", "книга, книгами", "", "[книга], [книгами]"),
        ("रोटी", "रोटियाँ और रोटी", "", "[रोटियाँ] और [रोटी]"),
        ("东京大学", "我在东京的大学里", "", "我在[东京]的[大学]里"),
        ("茶", "绿茶和红茶", "", "绿[茶]和红[茶]"),
        ("食べる本", "食べた本を食べる人", "", "[食べ]た本を[食べ]る人"),
        ("食べる", "食べた人が食べる", "", "[食べ]た人が[食べる]"),
        ("スニーカー", "ｽﾆｰｶｰとスニーカー", "", "[ｽﾆｰｶｰ]と[スニーカー]"),
        ("รองเท้าวิ่ง", "ซื้อรองเท้าใหม่", "", "ซื้อ[รองเท้า]ใหม่"),
        ("iphone 13手机", "iPhone 13 手机壳", "", "[iPhone] [13] [手机]壳"),
        ("a b", "a b", "", "a b"),
        ("", "anything", "", "anything"),
    ],
)
def test_words_of_the_query_are_marked(query, text, language, expected):
    assert marked(query, text, language) == expected


def test_marked_text_is_the_text():
    text = "Ünïcode ｶﾞ 東京\u0301 ok ﬁne İstanbul " * 300
    for query in ("fine istanbul", "東京", "unicode"):
        segments = mark_words(text, read_query_words(query))
        assert "".join(part for part, _ in segments) == text
        assert any(is_marked for _, is_marked in segments)


def test_every_language_has_a_stemmer():
    for code in LANGUAGES:
        assert read_query_words("words слова λέξεις शब्द كلمات", code).stems


def test_a_set_of_words_is_marked_without_forms():
    assert mark_words("Bikes bike", {"bike"}) == [("Bikes ", False), ("bike", True)]


def nothing(_address):
    return None


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>A <b>red</b> bike</p>", "<p>A <b>red</b> <mark>bike</mark></p>"),
        ("<p title=bike>x</p>", "<p>x</p>"),
        ("a &lt;bike&gt; &amp; b", "a &lt;<mark>bike</mark>&gt; &amp; b"),
        ("<h1>A</h1><h3>B</h3><h2>C</h2>", "<h2>A</h2><h3>B</h3><h3>C</h3>"),
        ("<p>open <b>ended", "<p>open <b>ended</b></p>"),
        ("<main><form><button name=grade>3</button></form></main>", "<div>3</div>"),
        ("<p id=task class=answer style='color:red' data-key=3>x", "<p>x</p>"),
    ],
)
def test_html_of_documents_is_kept_where_it_is_harmless(html, expected):
    assert render_html(html, read_query_words("bike"), nothing) == expected


def test_links_of_documents_open_beside_the_page():
    link = render_html('<a href="https://example.org/?a=1&b=2" id=a>x</a>', QueryWords(), nothing)
    assert sorted(re.findall(r' ([a-z]+="[^"]*")', link)) == [
        'href="https://example.org/?a=1&amp;b=2"',
        'rel="noopener noreferrer"',
        'target="_blank"',
    ]


def test_markdown_is_formatted():
    rendered = render_markdown(
        "# Bike\n\n- **red**\n\n| a | b |\n|---|---|\n| 1 | 2 |\n<script>x</script>",
        read_query_words("bikes"),
        nothing,
    )
    assert "<h2><mark>Bike</mark></h2>" in rendered
    assert "<strong>red</strong>" in rendered
    assert "<td>2</td>" in rendered
    assert "script" not in rendered
    assert plain_text(rendered) == "Bike red a b 1 2"


def test_images_come_from_the_project_s_sites_alone():
    settings = {
        "images": ["https://img.example.org"],
        "image_prefix": "https://cdn.example.org/p/",
        "card": card_settings([CardField("picture", "body", "image")]),
    }
    shown = {
        address: (image := image_address(address, settings)) and (image.address, image.is_shown)
        for address in (
            "https://img.example.org/a.png",
            "https://elsewhere.example/a.png",
            "a b.png",
            "/a.png",
            "../secret.png",
            "//elsewhere.example/a.png",
            "javascript:alert(1)",
            "data:image/svg+xml;base64,PHN2Zz4=",
            "data:text/html,<script>",
            PIXEL,
        )
    }
    assert list(shown.values()) == [
        ("https://img.example.org/a.png", True),
        ("https://elsewhere.example/a.png", False),
        ("https://cdn.example.org/p/a%20b.png", True),
        ("https://cdn.example.org/p/a.png", True),
        None,
        None,
        None,
        None,
        None,
        (PIXEL, True),
    ]
    assert image_sources(settings) == ("https://img.example.org", "https://cdn.example.org", "data:")
    assert image_address(PIXEL, {}) is None
    assert image_sources({}) == ()
    html = render_html(
        "<img src=a.png alt=A><img src='https://elsewhere.example/b.png' alt='B'><img src=x:y>",
        QueryWords(),
        lambda address: image_address(address, settings),
    )
    assert html.count("<img") == 1
    assert 'src="https://cdn.example.org/p/a.png"' in html
    assert "[B]" in html


def test_a_card_is_a_line_for_each_field():
    text = "name = title\nprice = badge: Price\ntext = html\nteaser = subtitle markdown: About it"
    card = parse_card(text)
    assert card[1] == CardField("price", "badge", "text", "Price")
    assert card[2] == CardField("text", "body", "html")
    assert parse_card(format_card(card)) == card
    assert format_card(card) == text
    for wrong, code in (
        ("name", "invalid-syntax"),
        ("name =", "invalid-syntax"),
        ("name = headline", "unknown-choice"),
        ("name = title\nname = body", "invalid-value"),
    ):
        with pytest.raises(InputError) as error:
            parse_card(wrong)
        assert error.value.code == code


def test_a_document_follows_the_card():
    fields = {"text": "<p>red <i>bike</i>", "name": "Bike", "picture": PIXEL, "price": "9"}
    document = Document(1, "d1", "", fields, None, None)
    card = parse_card("picture = image\nname = title\ntext = html\nmissing = body")
    settings = {"card": card_settings(card)}
    view = document_view(document, read_query_words("bikes"), settings)
    assert [field["name"] for field in view["fields"]] == ["picture", "name", "text"]
    picture, name, text = view["fields"]
    assert (picture["image"], picture["image_shown"]) == (PIXEL, True)
    assert name["segments"] == [("Bike", True)]
    assert text["html"] == "<p>red <i><mark>bike</mark></i></p>"
    assert text["segments"] == [("red ", False), ("bike", True)]
    assert document_title(document, settings) == "Bike"
    assert document_title(document, {"card": card_settings(parse_card("text = html"))}) == ("red bike")


@pytest.fixture(scope="module")
def cards(team):
    """A project with documents that have HTML, an image and a price."""
    with team.store.write() as connection:
        project = projects.add(connection, "cards", title="Cards", scale=GRADED)
        queries = pl.DataFrame({"query_id": ["q1"], "text": ["red bikes"]})
        queries_documents.add_queries(connection, project.id, queries)
        documents = {
            "doc_id": ["d1"],
            "name": ["A bike"],
            "picture": ["shop/d1.png"],
            "price": ["99 €"],
            "text": ["<h1>Red</h1><p onclick='x()'>A <b>bike</b>.</p>"],
        }
        queries_documents.add_documents(connection, project.id, pl.DataFrame(documents))
        batch = batches.add_batch(connection, project.id, "first", strategy="2")
        batches.add_pairs(connection, batch, pl.DataFrame({"query_id": ["q1"], "doc_id": ["d1"]}))
        for name in ("manager", "rater"):
            users.grant(connection, project.id, users.get_by_name(connection, name).id, name)
    return team


def test_a_manager_sets_the_card_and_raters_see_it(cards):
    manager = cards.visitor("manager")
    path = "/projects/cards"
    wrong = manager.send(f"{path}/display", f"{path}/setup", card="name = headline")
    assert wrong.status == 400
    page = wrong.data.decode()
    assert re.search(r'<small class="problem" id="display-set-card-problem">✗ .*headline', page)
    assert "name = headline</textarea>" in page
    answer = manager.send(f"{path}/display", f"{path}/setup", image_prefix="ftp://img.example.org/")
    assert answer.status == 400
    assert "display-set-image_prefix-problem" in answer.data.decode()
    card = "picture = image\nname = title\nprice = badge: Price\ntext = html"
    values = {"card": card, "image_prefix": "https://img.example.org/", "language": "en"}
    assert manager.send(f"{path}/display", f"{path}/setup", **values).status == 303
    setup = manager.get(f"{path}/setup").data.decode()
    assert card in setup
    assert "Fields of documents: name, picture, price, text." in setup
    answer = cards.visitor("rater").get(f"{path}/rate")
    html = answer.data.decode()
    assert '<img src="https://img.example.org/shop/d1.png" alt="picture"' in html
    assert '<div class="part badge"><span class="name">Price</span>' in html
    assert "<h2><mark>Red</mark></h2><p>A <b><mark>bike</mark></b>.</p>" in html
    assert "img-src 'self' https://img.example.org data:;" in (answer.headers["content-security-policy"])
