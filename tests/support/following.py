"""The clicks by which a manager follows a fall, from the overview to what is judged next."""

from __future__ import annotations

import json

ALERT = ("main a[href*='/alerts/']", "location.pathname.includes('/alerts/')")
"""A link or a button, and the condition that holds on the page that it opens."""
CHANGE_POINT = ("#cause a[href*='/trends']", "location.hash.startsWith('#change-')")
CHANGES_OF_POINT = ("tr:target a", "location.pathname.endsWith('/changes')")
CHANGES_OF_ALERT = ("#cause a[href*='/changes']", "location.pathname.endsWith('/changes')")
WORST_QUERY = ("#moved th a", "location.pathname.endsWith('/changes/query')")
JUDGE_MISSING = ("#missing form button", "location.search.includes('done=missing-add')")


def follow(page, *clicks):
    """Click one after the other on the page that is open, each on the page of the one before."""
    for selector, condition in clicks:
        page.ask(f"document.querySelector({json.dumps(selector)}).click()")
        page.until(condition)
        assert page.said == []
