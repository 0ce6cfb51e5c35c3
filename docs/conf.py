"""The manual: ``make docs`` builds it, warnings being errors and nothing fetched."""

import gc
import inspect
import json
import logging
import sys
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import _llms  # noqa: E402
import _pages  # noqa: E402
from _navigation import Navigation  # noqa: E402
from _pages import mirrored  # noqa: E402
from _search_words import SEARCH_WORDS, with_words  # noqa: E402
from docutils import nodes  # noqa: E402
from furo.navigation import get_navigation_tree  # noqa: E402

import rankgate  # noqa: E402, F401 - autodoc documents what is installed

gc.set_threshold(100_000)  # pages are many objects and little garbage: a fifth of the time

# a11y-pygments, which furo brings, lets every library print what it does
logging.getLogger("alembic").setLevel(logging.WARNING)

project = "rankgate"
author = "the rankgate authors"
copyright = "the rankgate authors, Apache-2.0"  # noqa: A001 - Sphinx's name
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_*"]

myst_enable_extensions = ["colon_fence", "deflist", "attrs_block", "attrs_inline"]
myst_heading_anchors = 3
highlight_language = "none"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
maximum_signature_line_length = 88
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
nitpicky = True
suppress_warnings = ["ref.python"]  # two results may have attributes of one name
nitpick_ignore_regex = [("py:.*", r".*")]  # types of rooms that are not public, polars and numpy

html_theme = "furo"
html_title = "rankgate"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_show_sphinx = False
html_copy_source = False
html_search_scorer = str(HERE / "_search_scorer.js")
html_theme_options = {"navigation_with_keys": True}


def _turned(app, docname, source):  # noqa: ANN001, ANN202 - Sphinx's event
    """Turn links that lead out of ``docs``, and add what the page is found by."""
    if not docname.startswith(("reference/", "mirrored/")):
        page = Path(app.srcdir, docname)
        root_path = "/".join([".."] * docname.count("/")) or "."
        source[0] = mirrored.turned(source[0], page.parent, root_path)
    source[0] = with_words(docname, source[0])


def _described(app, what, name, obj, options, lines):  # noqa: ANN001, ANN202, ARG001 - Sphinx's event
    """A result has the attributes of what it is made of; a property's first words are no type."""
    if what in {"attribute", "property"}:
        lines.insert(0, "\\")  # nothing, as RST reads it
    elif what == "class" and not any("Attributes:" in line for line in lines):
        result = (inspect.getdoc(base) or "" for base in obj.__mro__[1:] if base.__module__[:8] == "rankgate")
        docstring = next((text for text in result if "Attributes:" in text), "")
        lines += ["", *docstring[docstring.find("Attributes:") :].splitlines()] if docstring else []


@cache
def _navigation(builder):  # noqa: ANN001, ANN202 - Sphinx's builder
    tree = builder._get_local_toctree(  # noqa: SLF001 - what pages get as toctree
        "index", collapse=False, titles_only=True, maxdepth=-1, includehidden=True
    )
    return Navigation(get_navigation_tree(tree))


def _navigated(app, pagename, templatename, context, doctree):  # noqa: ANN001, ANN202, ARG001 - Sphinx's event
    """Give the theme no tree to work on; `_reachable` gives the page its own."""
    context["toctree"] = lambda **_: ""


def _reachable(app, pagename, templatename, context, doctree):  # noqa: ANN001, ANN202, ARG001 - Sphinx's event
    """What is wider than its place can be moved with keys; captions of the sidebar have a level."""
    tree = _navigation(app.builder).seen_from(app.builder.get_target_uri(pagename))
    context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')
    if "body" in context:
        body = context["body"].replace("<pre>", '<pre tabindex="0">')
        context["body"] = body.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')


def _texts(app, exception):  # noqa: ANN001, ANN202 - Sphinx's event
    """Write the text of every page for search results without a server."""
    if exception or app.builder.name != "html":
        return
    pages = {}
    for name in app.env.found_docs:
        tree = app.env.get_doctree(name)
        for hidden in [*tree.findall(nodes.comment), *tree.findall(nodes.raw)]:
            hidden.parent.remove(hidden)
        pages[f"{name}.html"] = tree.astext()
    script = f"window.SEARCH_TEXTS = {json.dumps(pages, ensure_ascii=False)};\n"
    Path(app.outdir, "_static", "search-texts.js").write_text(script, "utf-8")
    _llms.write(app)


def setup(app):  # noqa: ANN001, ANN201 - Sphinx's hook
    """Make the pages before Sphinx looks for them."""
    app.add_config_value("search_words", SEARCH_WORDS, "env")  # pages are read again if they change
    app.connect("builder-inited", lambda app: _pages.write(Path(app.srcdir)))
    app.connect("source-read", _turned)
    app.connect("html-page-context", _navigated, priority=400)  # before the theme
    app.connect("html-page-context", _reachable, priority=900)  # after the theme
    app.connect("build-finished", _texts)
    app.connect("autodoc-process-docstring", _described, priority=400)  # before napoleon
    return {"parallel_read_safe": True}
