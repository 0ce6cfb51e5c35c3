"""The body of a comment on a pull request, which is kept up to date.

The body has the verdict, the rules, both lists of the queries that moved most (folded), the age of the
saved baseline, and a link to the page. No text of the data becomes a mention, a link or a command, and
the body is no longer than GitHub allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.core.present.document_forms import query_lists_grid, render_markdown
from rankgate.core.present.document_model import Document, QueryLists, make_document
from rankgate.core.present.markup_tables import escape_html, escape_markdown, markdown_table
from rankgate.core.present.number_formats import count_noun
from rankgate.core.present.text_tables import shorten_middle
from rankgate.decisions.gating.pull_requests import page_url, run_url
from rankgate.decisions.gating.verdict_document import comment_document

if TYPE_CHECKING:
    from rankgate.decisions.gating.verdict import Verdict


CHECK, REFRESH_AFTER = "rankgate", 30
"""The name of a comment, and the days after which a baseline is old."""

_LONGEST = 65_536  # characters of a comment on GitHub; GitLab allows more
_TITLE = 300
_NAME = re.compile(r"[\w.]{1,40}(?:[ -][\w.]{1,40}){0,5}")
_LIVE = re.compile(
    r"&#?\w+;"  # an entity, such as that of $ before the number of a snippet
    r"|(?<!\w)@|@(?=[\w-]+\.\w)"  # people and teams, addresses of mail; nDCG@10 stays
    r"|(?<!&)#(?=\w)|[!%&~^](?=[\w\"])"  # issues, requests, milestones, epics, labels, alerts
    r"|\bGH-(?=\d)|:(?=//)|(?m:^/)(?=\w)"  # an issue, an address, a quick action of GitLab
    r"|[0-9a-f]{6}(?=[0-9a-f])"  # a commit
)
_LEFT_OUT = "More does not fit into a comment; the page of the verdict has everything."


def marker(name: str) -> str:
    """The invisible first line of a comment, which identifies it.

    Raises:
        UsageError: a name that would end it.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is not a name of a comment; take letters, digits, single blanks and '-', such as "
            "--comment ranking.",
            code="invalid-name",
        )
    return f"<!-- rankgate-comment: {name} -->"


def make_inert(markdown: str) -> str:
    """Markdown in which nothing mentions, links, refers or commands: a space without width is between.

    >>> make_inert("@team #12 http://x.org nDCG@10")
    '@&#8203;team #&#8203;12 http:&#8203;//x.org nDCG@10'
    """
    return _LIVE.sub(r"\g<0>&#8203;", markdown)


def comment_body(
    result: Verdict, name: str | None = None, page: str = "", refresh_after: int = REFRESH_AFTER
) -> str:
    """The Markdown of a comment, whose first line is its marker.

    Args:
        result: the verdict.
        name: the name of the check, by default rankgate; every check has a comment of its own.
        page: the path of the verdict's page among the artifacts of the job.
        refresh_after: the days after which a saved baseline is old.

    Raises:
        UsageError: a name that cannot identify a comment.
    """
    name = name or CHECK
    end = "\n\n".join((*_baseline_age(result, refresh_after), _links(name, page)))
    body = marker(name)
    for block in map(make_inert, _parts(comment_document(result))):
        if len(body) + len(block) + len(end) + len(_LEFT_OUT) > _LONGEST - 10:
            end = f"{_LEFT_OUT}\n\n{end}"
            break
        body = f"{body}\n\n{block}"
    return f"{body}\n\n{end}\n"


def _parts(document: Document) -> Iterator[str]:
    """The verdict and each block as Markdown; queries with their lists are folded, each for itself."""
    title = shorten_middle(document.title, _TITLE)
    yield render_markdown(replace(document, title=title, sections=())).rstrip()
    for block in document.sections[0].blocks:
        if isinstance(block, QueryLists):
            yield escape_markdown(f"{block.heading}:")
            for query in block.queries:
                label = f"{query.query_id} {shorten_middle(query.text, 100)}".rstrip()
                summary = escape_html(f"{label}: {query.change}")
                table = markdown_table(query_lists_grid(query))
                yield f"<details><summary>{summary}</summary>\n\n{table}\n\n</details>"
        else:
            yield render_markdown(make_document("", block)).rstrip()


def _baseline_age(result: Verdict, refresh_after: int) -> Iterator[str]:
    """The age of a saved baseline, and a warning if it is old or unknown."""
    if result.saved:
        name, saved_at = result.saved
        days = (datetime.now(UTC) - datetime.fromisoformat(saved_at)).days if saved_at else refresh_after + 1
        date = f"on {saved_at[:10]}, {count_noun(days, 'day')} ago" if saved_at else "at an unknown time"
        text = f"The baseline {make_inert(escape_markdown(name))} was saved {date}"
        if days > refresh_after:
            command = f"rankgate baseline refresh {name} QRELS RUN".replace("`", "'")
            text = f"**Warning:** {text}. Refresh it with the system in production: `{command}`"
        yield f"{text}."


def _links(name: str, page: str) -> str:
    """The name of the check, with links to the page and to the job that wrote the comment."""
    links = {"all queries on a page": page_url(page) if page else "", "this run": run_url()}
    texts = [f"[{label}]({url})" for label, url in links.items() if run_url() and url]
    return f"<sub>{' · '.join((make_inert(escape_markdown(name)), *texts))}</sub>"
