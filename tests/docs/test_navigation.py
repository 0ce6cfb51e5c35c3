"""The tree in the sidebar is built once; each page has it with its own place opened."""

import pytest

from support.programs import tool

BOX = '<input aria-label="Toggle" class="toctree-checkbox"/>'
LINK = '<a class="reference internal" href="{}">'
TREE = (
    '<ul>\n<li class="toctree-l1 has-children">'
    + LINK.format("a/index.html")
    + f"A</a>{BOX}<ul>\n"
    + '<li class="toctree-l2">'
    + LINK.format("a/b.html")
    + "B</a></li>\n</ul>\n</li>\n"
    + '<li class="toctree-l1">'
    + LINK.format("c.html")
    + "C</a></li>\n</ul>"
)


@pytest.fixture(scope="module")
def navigation():
    return tool("docs/_navigation.py").Navigation(TREE)


def test_what_leads_to_a_page_is_opened(navigation):
    html = navigation.seen_from("a/b.html")
    assert html.count('<ul class="current">') == 2
    assert '<li class="toctree-l1 current has-children">' in html
    assert '<li class="toctree-l2 current current-page">' in html
    assert 'aria-label="Toggle" checked="" class="toctree-checkbox"' in html
    assert '<a class="current reference internal" href="#">B</a>' in html
    assert [LINK.format(target) in html for target in ("index.html", "../c.html")] == [True, True]


def test_a_page_with_others_below_it_is_opened_itself(navigation):
    html = navigation.seen_from("a/index.html")
    assert '<li class="toctree-l1 current has-children current-page">' in html
    assert html.count('checked=""') == 1
    assert html.count('<ul class="current">') == 1


def test_a_page_that_is_not_in_it_opens_nothing(navigation):
    assert navigation.seen_from("search.html") == TREE
