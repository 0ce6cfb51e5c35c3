"""Visits every link that a user sees, and every form that only reads, as a browser does."""

import re
from collections import Counter, deque
from functools import cache
from html.parser import HTMLParser
from urllib.parse import parse_qsl, quote, urlencode, urljoin, urlsplit

from rankgate.workspace.web.routes import ROUTES


def path_pattern(path):
    """The paths of a route."""
    numbers = re.sub(r"\\{\w+:int\\}", r"\\d+", re.escape(path))
    return re.compile(re.sub(r"\\{\w+\\}", "[^/]+", numbers))


_PATTERNS = [(route, path_pattern(route.path)) for route in ROUTES if route.method == "GET"]


_SCRIPTS = re.compile("<(script|style)\\b.*?</\\1>", re.DOTALL)
_LINKING = re.compile("</?(?:a|form|input|select|option)\\b[^>]*>[^<]*")
"""What `_Links` looks at, with the text that follows; in attributes of our pages > is escaped."""


@cache
def route_of(path):
    """The route that reads a path, of a page or of one of its twins; None if there is none."""
    for end in ("", ".json", ".csv"):
        for route, pattern in _PATTERNS:
            if path.endswith(end) and pattern.fullmatch(path.removesuffix(end)):
                return route
    return None


class _Links(HTMLParser):
    """The addresses of a page: links, and forms of method GET with their first values."""

    def __init__(self):
        super().__init__()
        self.links, self.action, self.fields = [], None, []
        self.choice = self.option = None

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag == "form" and values.get("method") == "get":
            self.action, self.fields = values.get("action", ""), []
        elif self.action is not None and tag == "input" and values.get("name"):
            self.fields.append((values["name"], values.get("value") or ""))
        elif self.action is not None and tag == "select":
            self.choice = values["name"]
        elif self.choice is not None and tag == "option":
            self.option = values.get("value", True)

    def handle_data(self, data):
        if self.option is not None:
            self.fields.append((self.choice, data.strip() if self.option is True else self.option))
            self.choice = self.option = None

    def handle_endtag(self, tag):
        if tag == "form" and self.action is not None:
            self.links.append(f"{self.action}?{urlencode(self.fields)}")
            self.action = None


def links_of(html):
    """The addresses that a page leads to, each once."""
    parser = _Links()
    parser.feed("".join(_LINKING.findall(_SCRIPTS.sub("", html))))
    return tuple(dict.fromkeys(parser.links))


def crawl(visitor, *starts, most=3, files=True):
    """Follow every link from the start page.

    Args:
        visitor: the user who is signed in.
        starts: addresses in addition to the start page.
        most: how many addresses of one route with the same names of values are visited.
        files: also the files that pages offer, such as their twins in JSON and pictures.

    Returns:
        The status by address, and the names of the routes that were visited.
    """
    statuses, visited, counts = {}, set(), Counter()
    queue = deque(["/projects", *starts])
    while queue:
        address = queue.popleft()
        parts = urlsplit(address)
        route = route_of(parts.path)
        values = sorted(parse_qsl(parts.query))
        shape = (
            route and route.name,
            parts.path.rpartition(".")[2] in {"json", "csv"},
            tuple(name for name, _ in values),
        )
        is_file = "." in parts.path.rpartition("/")[2]
        if address in statuses or counts[shape] >= most or (is_file and not files):
            continue
        counts[shape] += 1
        answer = visitor.get(address)
        statuses[address] = answer.status
        visited.add(route and route.name)
        if not answer.headers.get("content-type", "").startswith("text/html"):
            continue
        for link in links_of(answer.data.decode()):
            target = urlsplit(urljoin(address, quote(link, safe="/?&=%#+:@;,~!*'()[]$")))
            if not target.netloc and target.scheme == "":
                queue.append(target._replace(fragment="").geturl())
    return statuses, visited
