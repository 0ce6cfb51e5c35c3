"""The documents: enough of them, each once, the same every time."""

import os
import subprocess
import sys
import threading

from rankgate.interface.demo.demo_engines import MODULES, harvest_docstrings

NATURAL = {
    "str.split",
    "open",
    "OSError",
    "random.shuffle",
    "pathlib.Path.read_text",
    "pathlib.PurePath.suffix",
    "collections.Counter.most_common",
    "os.path.join",
    "concurrent.futures.Executor.submit",
    "subprocess",
}
UNNATURAL = {
    "io.open",  # builtins.open
    "IOError",  # an alias of OSError
    "random.Random.shuffle",  # random.shuffle is this method of a hidden instance
    "pathlib.Path.suffix",  # inherited
    "frozenset.copy",  # the docstring of set.copy
    "bytearray.join.__doc__",
    "posixpath.join",
}


def test_there_are_about_2700_documents_each_once_and_in_order():
    names = [doc.doc_id for doc in harvest_docstrings()]
    assert 2_600 < len(names) < 3_000
    assert names == sorted(set(names))


def test_documents_stand_under_their_natural_names():
    names = {doc.doc_id for doc in harvest_docstrings()}
    assert names >= NATURAL
    assert not names & UNNATURAL


def test_names_are_public_and_texts_are_not_empty():
    docstrings = list(harvest_docstrings())
    assert docstrings
    for doc in docstrings:
        assert not any(name.startswith("_") for name in doc.doc_id.split(".")), doc
        assert doc.text.strip()
        assert doc.module in MODULES
        assert " at 0x" not in doc.signature


def test_every_process_harvests_the_same():
    source = (
        "import json; from rankgate.interface.demo.demo_engines import harvest_docstrings;"
        "print(json.dumps([[d.doc_id, d.signature, d.text] for d in harvest_docstrings()]))"
    )
    command = [sys.executable, "-c", source]
    first, second = (
        subprocess.check_output(command, env=os.environ | {"PYTHONHASHSEED": seed}) for seed in ("1", "2")
    )
    assert first == second


def test_a_hook_that_a_program_has_replaced_is_not_documentation(monkeypatch):
    def hook(args):
        """Swallow it."""

    monkeypatch.setattr(threading, "excepthook", hook)
    assert "Swallow it." not in {doc.text for doc in harvest_docstrings()}


def test_without_docstrings_the_harvest_says_why():
    source = (
        "from rankgate.interface.demo.demo_engines import harvest_docstrings\n"
        "from rankgate.core.errors import InputError\n"
        "try: harvest_docstrings()\n"
        "except InputError as error: print(error)"
    )
    command = [sys.executable, "-OO", "-c", source]
    process = subprocess.run(command, capture_output=True, check=True, text=True)
    assert "start Python without -OO" in process.stdout


def test_the_summary_is_the_first_paragraph():
    [doc] = [doc for doc in harvest_docstrings() if doc.doc_id == "heapq.nlargest"]
    assert doc.summary == "Find the n largest elements in a dataset."
    assert doc.signature == "nlargest(n, iterable, key=None)"
