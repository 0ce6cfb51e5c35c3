"""Every page, opened from disk: nothing is asked for, nothing is at fault, nothing runs."""

from __future__ import annotations

from itertools import pairwise

import pytest

from rankgate.workspace.reports.report import print_pdf
from support.needs import SHARED
from support.pages import HARM, NAMES, covid, demo, hostile

pytestmark = pytest.mark.slow
VIEWS = [(1280, False), (390, True)]  # each width and each scheme once


@pytest.fixture(scope="module")
def pages(tmp_path_factory, demo_history, chromium):  # noqa: ARG001 - nothing is made where nothing is seen
    folder = tmp_path_factory.mktemp("pages")
    demo(folder, demo_history)
    hostile(folder)
    return folder


@pytest.fixture
def page(pages, chromium):
    """Opens the page of a name."""

    def opened(name, **how):
        if name in {"covid", "folder"} and not (pages / f"{name}.html").exists():
            covid(pages, SHARED)
        chromium.open(pages / f"{name}.html", **how)
        return chromium

    return opened


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("width", "dark"), VIEWS)
def test_nothing_is_at_fault_asked_for_or_complained_of(page, axe, name, width, dark):
    tab = page(name, width=width, dark=dark)
    assert tab.asked
    assert all(url == "about:blank" or url.startswith("file:") for url in tab.asked)
    assert len([url for url in tab.asked if url.startswith("file:")]) == 1
    assert tab.said == []
    wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert tab.ask(wider) == 0  # tables scroll by themselves
    ground = tab.ask("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(13, 17, 23)" if dark else "rgb(255, 255, 255)")
    tab.ask("document.querySelectorAll('details').forEach((each, i) => { each.open = i < 9; })")
    assert tab.faults(axe) == []


def test_axe_would_find_something(page, axe):
    tab = page("demo")
    tab.ask("document.querySelector('h1').innerHTML = '<a href=\"#x\"></a>'")
    tab.ask("document.querySelector('.lead').style.color = '#aaa'")
    assert {rule for rule, _ in tab.faults(axe)} >= {"link-name", "color-contrast"}


@pytest.mark.parametrize("name", ["demo", "deltas"])
def test_no_request_could_leave(page, name):
    tab = page(name)
    tab.ask("window.kept = []; 1")
    tab.ask("addEventListener('securitypolicyviolation', (e) => kept.push(e.violatedDirective))")
    for tag, attribute in (("img", "src"), ("iframe", "src"), ("script", "textContent")):
        value = "window.ran = 1" if attribute == "textContent" else "http://192.0.2.1/"
        element = f"Object.assign(document.createElement('{tag}'), {{{attribute}: '{value}'}})"
        tab.ask(f"document.body.append({element})")
    tab.ask("fetch('http://192.0.2.1/').catch(() => 0)")
    for directive in ("img-src", "connect-src", "frame-src", "script-src-elem"):
        tab.until(f"kept.includes('{directive}')")
    assert tab.ask("window.ran === undefined")


def test_hostile_words_stay_words(page):
    tab = page("hostile")
    tab.ask("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert tab.ask("document.title").startswith(("pass", "fail", "inconclusive"))
    assert tab.ask("document.querySelectorAll('img, iframe, object, embed').length") == 0
    assert tab.ask("document.scripts.length") == 1
    assert tab.ask("document.querySelectorAll('[onload], [onerror], [onclick]').length") == 0
    text = tab.ask("document.querySelector('main').textContent")
    assert HARM in text
    assert "\u202e" not in text
    assert "\0" not in text
    assert "\x1b" not in text
    hrefs = "[...document.querySelectorAll('table a')].map((a) => a.getAttribute('href').slice(1))"
    assert tab.ask(f"{hrefs}.length") > 0
    assert tab.ask(f"{hrefs}.every((id) => document.getElementById(id))")


def test_a_link_opens_its_query(page):
    first = page("demo").ask("document.querySelector('table a').getAttribute('href')")
    tab = page("demo", fragment=first)
    ids = tab.ask("[...document.querySelectorAll('details[open]')].map((each) => each.id)")
    assert ids == [first[1:]]
    top = tab.ask("document.querySelector('details[open]').getBoundingClientRect().top")
    assert abs(top) < 200


def test_what_is_searched_and_sorted_stands_in_the_address(page):
    tab = page("demo")
    table = tab.ask("document.querySelector('[data-find]').id")
    rows = f"[...document.getElementById('{table}').tBodies[0].rows]"
    visible_rows = f"{rows}.filter((row) => !row.hidden).map((row) => row.textContent)"
    header_cell = f"document.getElementById('{table}').tHead.rows[0].cells[4]"
    tab.ask("window.field = document.querySelector('.find input'); 1")
    tab.ask("field.value = 'FOLDER'; field.dispatchEvent(new Event('input'))")
    for _ in range(2):
        tab.ask(f"{header_cell}.querySelector('button').click()")
    fragment = tab.ask("location.hash")
    assert f"{table}.find=FOLDER" in fragment
    matches = tab.ask(visible_rows)
    assert 0 < len(matches) < 65
    assert all("folder" in row.lower() for row in matches)
    second_tab = page("demo", fragment=fragment)
    assert second_tab.ask(visible_rows) == matches
    assert second_tab.ask(f"{header_cell}.getAttribute('aria-sort')") == "descending"
    values = second_tab.ask(f"{rows}.map((row) => parseFloat(row.cells[4].textContent))")
    assert values == sorted(values, reverse=True)


def test_paper_has_everything(page):
    tab = page("demo", dark=True)
    folds = "[...document.querySelectorAll('details')].map((each) => each.open)"
    tab.ask(f"addEventListener('beforeprint', () => {{ window.seen = {folds}; }})")
    result = tab.send("Page.printToPDF")
    assert result["data"].startswith("JVBERi")  # %PDF
    assert all(tab.ask("seen"))
    assert not any(tab.ask(folds))
    tab.send("Emulation.setEmulatedMedia", media="print")
    assert tab.ask("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert tab.ask("getComputedStyle(document.querySelector('h1')).color") == "rgb(0, 0, 0)"
    tab.send("Emulation.setEmulatedMedia", media="")


OPEN = "[...document.querySelectorAll('details[open]')].map((each) => each.id)"


@pytest.mark.parametrize("name", ["demo", "many"])
def test_a_bar_opens_its_query(page, name):
    tab = page(name)
    target = tab.ask("document.querySelector('.plot a').getAttribute('href').slice(1)")
    tab.ask("document.querySelector('.plot a').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    tab.until(f"{OPEN}.includes('{target}')")
    assert tab.ask(f"document.getElementById('{target}').checkVisibility()")


def test_systems_are_folded_on_screen_and_on_paper(page):
    tab = page("many")
    parts = tab.ask("[...document.querySelectorAll('details.part')].map((each) => each.id)")
    assert len([section_id for section_id in parts if section_id.startswith("change-")]) == 3
    assert not set(tab.ask(OPEN)) & set(parts)
    content_links = "[...document.querySelectorAll('.contents a')].map((a) => a.hash.slice(1))"
    assert set(parts) <= set(tab.ask(content_links))
    tab.ask(f"addEventListener('beforeprint', () => {{ window.seen = {OPEN}; }})")
    tab.send("Page.printToPDF")
    assert not set(tab.ask("seen")) & set(parts)


@pytest.mark.parametrize("name", ["demo", "many"])
def test_headings_are_in_order_and_headers_have_a_scope(page, name):
    tab = page(name)
    levels = tab.ask("[...document.querySelectorAll('h1,h2,h3')].map((h) => +h.tagName[1])")
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert tab.ask("document.querySelectorAll('th:not([scope])').length") == 0
    assert tab.ask("document.querySelectorAll('tbody th[scope=row]').length") > 0


def test_pdf_by_the_browser(pages):
    text = print_pdf((pages / "demo.html").read_text(encoding="utf-8"))
    assert text.startswith(b"%PDF-")
    assert text.rstrip().endswith(b"%%EOF")
    assert len(text) > 20_000
