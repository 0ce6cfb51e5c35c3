"""The modules of the standard library that the demo searches, named by hand.

Importing any of them has no effect that a user would see: none opens a
window, a browser or a network connection. All exist on Python 3.11 to 3.13;
one that a platform or a build lacks is passed over.
"""

from __future__ import annotations

# fmt: off
MODULES = (
    # the language and its objects
    "builtins", "collections", "contextlib", "copy", "dataclasses", "enum", "functools",
    "importlib", "itertools", "keyword", "operator", "sys", "traceback", "warnings",
    # text and numbers
    "calendar", "colorsys", "datetime", "difflib", "fractions", "math", "pprint", "random", "re",
    "secrets", "shlex", "statistics", "string", "struct", "textwrap", "unicodedata", "uuid",
    "zoneinfo",
    # data structures and formats
    "base64", "binascii", "bisect", "configparser", "csv", "graphlib", "gzip", "hashlib", "heapq",
    "hmac", "html", "html.parser", "json", "mimetypes", "pickle", "queue", "shelve", "sqlite3",
    "tarfile", "tomllib", "xml.etree.ElementTree", "zipfile", "zlib",
    # files and the operating system
    "atexit", "filecmp", "fileinput", "fnmatch", "getpass", "glob", "io", "linecache", "os",
    "os.path", "pathlib", "platform", "shutil", "signal", "subprocess", "tempfile", "time",
    "timeit", "webbrowser",
    # programs, logs and tests
    "argparse", "logging", "unittest", "unittest.mock",
    # many things at once, and the network
    "asyncio", "concurrent.futures", "email", "email.message", "email.utils", "http",
    "http.cookies", "http.server", "ipaddress", "multiprocessing", "smtplib", "socket",
    "threading", "urllib.parse", "urllib.request",
)
# fmt: on
