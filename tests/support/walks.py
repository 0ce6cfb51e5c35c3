"""The files of ``src/rankgate`` that a call enters, from input to output.

A file counts where a function of it is called; modules that are only imported do not.
A walk runs in a separate process, because values cached by an earlier call would hide files.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "rankgate"
_PREFIX = f"{SOURCE}/"
TraceFunction = Callable[[FrameType, str, Any], Any]


class _Recorder:
    """Notes the files of functions that are called, in the order of their first calls."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.is_on = False
        self._importing = threading.local()
        threading.settrace(self._call)  # for the threads of a server, which start before the walk
        sys.settrace(self._call)

    def _call(self, frame: FrameType, _event: str, _argument: object) -> TraceFunction | None:
        """See a call; those of modules, which are imports, are followed to their end."""
        code = frame.f_code
        depth: int = getattr(self._importing, "depth", 0)
        if code.co_name == "<module>":
            self._importing.depth = depth + 1
            frame.f_trace_lines = False
            return self._follow_import
        if self.is_on and not depth and code.co_filename.startswith(_PREFIX):
            self.files.setdefault(code.co_filename.removeprefix(_PREFIX))
        return None

    def _follow_import(self, _frame: FrameType, event: str, _argument: object) -> TraceFunction:
        if event == "return":
            self._importing.depth -= 1
        return self._follow_import


def _command(*arguments: str) -> Callable[[], None]:
    """A call of the command line."""

    def run() -> None:
        from rankgate.__main__ import main

        sys.argv = ["rankgate", *arguments]
        try:
            main()
        except SystemExit as ended:
            if ended.code not in {0, None, 3}:
                raise

    return run


def _eval() -> Callable[[], None]:
    example = ROOT / "examples" / "product-search"
    return _command("eval", str(example / "qrels.txt"), str(example / "bm25.run"))


def _gate() -> Callable[[], None]:
    example = ROOT / "examples" / "engine-migration"
    runs = [str(example / name) for name in ("old.run", "new.run")]
    return _command("gate", str(example / "qrels.txt"), *runs, "--no-log")


def _experiment() -> Callable[[], None]:
    arms, spending = ("old", "new"), (0, 3, 5, 8, 2)
    rows = [f"u{i},{arms[i % 2]},{spending[i % 5] + i % 3 * (i % 2)}" for i in range(400)]
    Path("users.csv").write_text("\n".join(["user,arm,spend", *rows, ""]))
    return _command("online", "ab", "users.csv", "--variant", "arm", "--unit", "user", "-m", "spend")


def _rating(recorder: _Recorder) -> None:
    """Post a rating as JSON, as the page of a rater does."""
    import polars as pl

    from rankgate.data.qrels import GRADED
    from rankgate.store.material import projects, queries_documents
    from rankgate.store.people import sign_in, users
    from rankgate.store.rating import batches
    from rankgate.store.store import Store
    from support.serving import Visitor, served

    with Store.create("sqlite:///judging.db", blobs="blobs") as store:
        with store.write() as connection:
            ann = users.add(connection, "ann")
            project = projects.add(connection, "shop", scale=GRADED)
            texts = pl.DataFrame({"query_id": ["q"], "text": ["a bike"]})
            queries_documents.add_queries(connection, project.id, texts)
            documents = pl.DataFrame({"doc_id": ["a", "b"], "title": ["a bike", "a lamp"]})
            queries_documents.add_documents(connection, project.id, documents)
            batch = batches.add_batch(connection, project.id, "first")
            pairs = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"]})
            batches.add_pairs(connection, batch, pairs)
            users.grant(connection, project.id, ann.id, "rater")
            token = sign_in.issue_token(connection, ann.id, "test", ["rate"])[1]
        with served(store) as address:
            visitor = Visitor(address, token)
            task = visitor.get("/projects/shop/rate.json").json()["task"]["id"]
            recorder.is_on = True
            answer = visitor.post("/projects/shop/ratings", task=task, grade=2)
            recorder.is_on = False
    assert answer.status == 200, answer.data


COMMANDS = {"eval": _eval, "gate": _gate, "ab": _experiment}
WALKS = {
    "eval": "`rankgate eval` of `examples/product-search`",
    "gate": "`rankgate gate` of `examples/engine-migration`, where documents are unjudged",
    "ab": "`rankgate online ab` on a CSV file of 400 users",
    "rating": "a rating that is posted to the server as JSON",
}
"""The walks by name, as the section introduces them."""

GUIDE = ROOT / "CONTRIBUTING.md"
_HEADING = "## From input to output\n"
_INTRODUCTION = """
The files of `src/rankgate` whose functions are called, by area, in the order of the first call.
`tests/test_walks.py` runs these calls and compares; `RANKGATE_WALKS=write` writes the lists.
"""


def _parts_of_guide() -> tuple[str, str, str]:
    """The guide up to the section's heading, the section, and what follows it."""
    before, heading, after = GUIDE.read_text("utf-8").partition(_HEADING)
    assert heading, "CONTRIBUTING.md has no section 'From input to output'"
    section, _, following = after.partition("\n## ")
    return before + heading, section, f"\n## {following}"


def listed_files() -> dict[str, set[str]]:
    """The files of each walk in the section of ``CONTRIBUTING.md``."""
    blocks = {block.partition(" (")[0].strip(): block for block in _parts_of_guide()[1].split("\n**")}
    return {walk: _files_of_block(blocks.get(f"{title}**", "")) for walk, title in WALKS.items()}


def _files_of_block(block: str) -> set[str]:
    """The files that the lines of a walk name."""
    lines = re.findall(r"^- `([.\w]+)`: (.*?)$", " ".join(block.split("\n  ")), re.MULTILINE)
    names = [(area, name) for area, text in lines for name in re.findall(r"`([\w/]+)`", text)]
    return {f"{area}/{name}.py".removeprefix("./") for area, name in names}


def write_guide(files_of_walks: Mapping[str, Sequence[str]]) -> None:
    """Write the section."""
    blocks = [_INTRODUCTION]
    for walk, title in WALKS.items():
        files = files_of_walks[walk]
        names_of_areas: dict[str, list[str]] = {}
        for file in files:
            area, name = _split(file)
            names_of_areas.setdefault(area, []).append(f"`{name}`")
        lines = [
            textwrap.fill(
                f"- `{area}`: {', '.join(names)}",
                120,
                subsequent_indent="  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
            for area, names in names_of_areas.items()
        ]
        blocks.append("\n".join([f"**{title}** ({len(files)} files)", "", *lines, ""]))
    before, _, following = _parts_of_guide()
    GUIDE.write_text(before + "\n".join(blocks) + following, encoding="utf-8")


def _split(file: str) -> tuple[str, str]:
    """The area of a file, and its name there without ``.py``."""
    area, slash, name = file.removesuffix(".py").partition("/")
    return (area, name) if slash else (".", area)


def entered_files(walk: str, folder: Path) -> list[str]:
    """The files that a walk enters, in order, as paths in ``src/rankgate``.

    Args:
        walk: one of `WALKS`.
        folder: an empty one, where it runs.
    """
    command = [sys.executable, "-P", str(Path(__file__)), walk]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


def _print_files(walk: str) -> None:
    recorder = _Recorder()
    if walk == "rating":
        _rating(recorder)
    else:
        run = COMMANDS[walk]()
        recorder.is_on = True
        run()
        recorder.is_on = False
    sys.stdout.write(f"\n{json.dumps(list(recorder.files))}\n")


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]
    _print_files(sys.argv[1])
