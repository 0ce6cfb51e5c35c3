"""The collections: documents, queries and judgments, each from where it is, in one form.

``documents.jsonl`` has ``id``, ``title``, ``text`` (what the encoder reads and a report shows) and
``words`` (what BM25 indexes); ``queries.tsv`` and ``qrels.txt`` are as rankgate takes them.
"""

from __future__ import annotations

import gzip
import html
import json
import re
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.interface.demo.demo_build import build
from rankgate.interface.demo.demo_engines import harvest_docstrings

if TYPE_CHECKING:
    from collections.abc import Iterator

Document = dict[str, str]
NAMES = ("stdlib", "cranfield", "cacm")

_TAG = re.compile(r"<[^>]+>")
_ISSUE = re.compile(r"^CACM \w+, \d{4}", re.MULTILINE)


def write(name: str, folder: Path, data: Path | None) -> None:
    """Write the three files of a collection.

    Args:
        name: which.
        folder: where to.
        data: holds ``cranfield`` and ``cacm``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    documents = {"stdlib": _stdlib, "cranfield": _cranfield, "cacm": _cacm}[name](folder, data)
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as lines:
        for each in documents:
            lines.write(json.dumps(each, ensure_ascii=False) + "\n")


def there(name: str, data: Path | None) -> bool:
    """Whether a collection can be had."""
    return name == "stdlib" or (data is not None and (data / name).is_dir())


def read(folder: str | Path) -> list[Document]:
    """The documents of a collection."""
    with (Path(folder) / "documents.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _stdlib(folder: Path, _: Path | None) -> Iterator[Document]:
    """The docstrings of this Python's standard library, with the demo's queries and judgments."""
    with tempfile.TemporaryDirectory() as place:
        demo = build(place)
        shutil.copy(demo.qrels, folder / "qrels.txt")
        shutil.copy(Path(place) / "queries.tsv", folder / "queries.tsv")
    for doc in harvest_docstrings():
        parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[._]", " ", doc.doc_id)
        words = f"{doc.doc_id}\n{parts}\n{doc.signature}\n{doc.text}"
        text = f"{parts}: {doc.summary}"
        yield {"id": doc.doc_id, "title": parts, "text": text, "words": words}


def _cranfield(folder: Path, data: Path | None) -> Iterator[Document]:
    """1,400 abstracts on aerodynamics; queries are numbered by their position, as in the qrels."""
    assert data is not None
    source = data / "cranfield"
    shutil.copy(source / "cranqrel.trec.txt", folder / "qrels.txt")
    lines = (source / "queries.renumbered.tsv").read_text(encoding="utf-8").splitlines()
    queries = [line.split("\t") for line in lines]
    _queries(folder, {position: text for position, _, text in queries})
    raw = gzip.decompress((source / "cran.all.1400.xml.gz").read_bytes()).decode()
    for each in re.findall(r"<doc>(.*?)</doc>", raw, re.DOTALL):
        part = dict(re.findall(r"<(docno|title|text)>(.*?)</\1>", each, re.DOTALL))
        title, text = (" ".join(part.get(name, "").split()) for name in ("title", "text"))
        yield {
            "id": part["docno"].strip(),
            "title": title,
            "text": text or title,
            "words": f"{title}\n{text}",
        }


def _cacm(folder: Path, data: Path | None) -> Iterator[Document]:
    """3,204 records of the Communications of the ACM; words are the whole page, as in Anserini."""
    assert data is not None
    source = data / "cacm"
    shutil.copy(source / "qrels.cacm.txt", folder / "qrels.txt")
    raw = (source / "topics.cacm.txt").read_text(encoding="utf-8")
    topics = re.findall(r"<DOCNO>(.*?)</DOCNO>(.*?)</DOC>", raw, re.DOTALL)
    _queries(folder, {number.strip(): " ".join(text.split()) for number, text in topics})
    with tarfile.open(source / "cacm.tar.gz") as pages:
        for page in pages:
            if page.name.endswith(".html"):
                file = pages.extractfile(page)
                assert file is not None
                words = html.unescape(_TAG.sub(" ", file.read().decode("latin-1"))).strip()
                text = _ISSUE.split(words)[0]
                yield {
                    "id": Path(page.name).stem,
                    "title": " ".join(text.split("\n\n")[0].split()),
                    "text": " ".join(text.split()),
                    "words": words,
                }


def _queries(folder: Path, queries: dict[str, str]) -> None:
    lines = [f"{query_id}\t{text}\n" for query_id, text in queries.items()]
    (folder / "queries.tsv").write_text("".join(lines), encoding="utf-8")
