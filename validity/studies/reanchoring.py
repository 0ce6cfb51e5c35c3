"""Are judgments found again when documents are cut, joined, edited or numbered anew?

The documents of Cranfield and CACM are changed in 24 ways; where each word went is known, and
so is which grades of new documents follow from it. Thirty irrelevant documents are added to the
judgments of each query, as a pool has them.
"""

from __future__ import annotations

import gzip
import re
import tarfile
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.data.files.document_anchors import Texts
from rankgate.data.files.reanchor import reanchor
from studies.populations import FOLDER

if TYPE_CHECKING:
    from collections.abc import Sequence

    Documents = dict[str, str]
    Grades = dict[str, dict[str, int]]
    Spans = list[tuple[str, int, int]]  # words of old documents: id, first, end
    Words = Mapping[str, Sequence[str]]

TARGET, WHOLE, NEARLY, SOME, IRRELEVANT = 0.95, 0.9, 0.8, 0.15, 30


@dataclass(frozen=True)
class Way:
    """How documents are changed.

    Attributes:
        name: in words.
        edited: share of the words that are left out, replaced or added.
        dropped: share of the documents.
        chunk, overlap: words of each piece of a document.
        joined: neighbouring pieces in a new document.
        stream: words of each piece of all text as one.
        header: words before each document.
        repeated: each document ends with a phrase of another one, so many words of it again and
            again.
        spelled: replacements of letters by others that look alike.
    """

    name: str
    edited: float = 0.0
    dropped: float = 0.0
    chunk: int = 0
    overlap: int = 0
    joined: int = 1
    stream: int = 0
    header: str = ""
    repeated: int = 0
    spelled: Mapping[str, str] = field(default_factory=dict)


WAYS = (
    Way("numbered anew"),
    Way("1 % of the words edited", edited=0.01),
    Way("3 % of the words edited", edited=0.03),
    Way("10 % of the documents dropped", dropped=0.1),
    Way("20 % dropped, 2 % edited", dropped=0.2, edited=0.02),
    Way("pieces of 60 words", chunk=60),
    Way("pieces of 120 words", chunk=120),
    Way("pieces of 120 words, 30 in two", chunk=120, overlap=30),
    Way("pieces of 200 words, 1 % edited", chunk=200, edited=0.01),
    Way("pieces of 400 words", chunk=400),
    Way("two joined", joined=2),
    Way("three joined", joined=3),
    Way("five joined, 1 % edited", joined=5, edited=0.01),
    Way("two joined, 10 % dropped", joined=2, dropped=0.1),
    Way("pieces of 150 words, two joined", chunk=150, joined=2),
    Way("one text, cut every 100 words", stream=100),
    Way("one text, cut every 250 words", stream=250),
    Way("one text, cut every 600 words", stream=600),
    Way("one text, cut every 1,000 words, 200 in two", stream=1000, overlap=200),
    Way("a header on each", header="the documents of this collection are published again"),
    Way("a phrase of another one repeated in each", repeated=12),
    Way("a phrase repeated, 3 % edited", repeated=12, edited=0.03),
    Way("ligatures", spelled={"ffi": "\ufb03", "fi": "\ufb01", "fl": "\ufb02"}),
    Way("soft hyphens", spelled={"tion": "\u00adtion", "er": "\u00ader", "al": "\u00adal"}),
)


@dataclass(frozen=True)
class Cell:
    """Judgments of one collection after one change.

    Attributes:
        collection: its name.
        way: the change.
        recoverable: grades that follow from where the text went.
        found: share of them that have the same grade.
        wrong: grades that the text contradicts: relevant without nearly all of a document of that
            grade, or irrelevant with a visible part of a relevant one.
        lost: judgments whose text is nowhere.
    """

    collection: str
    way: str
    recoverable: int
    found: float
    wrong: int
    lost: int

    @property
    def holds(self) -> bool:
        """Whether enough was found, and nothing wrong."""
        return self.found >= TARGET and not self.wrong


def run(ways: Sequence[Way] = WAYS) -> list[Cell]:
    """Every way of both collections, where they are."""
    cells = []
    for name, read in (("Cranfield", _cranfield), ("CACM", _cacm)):
        if (FOLDER / name.lower()).exists():
            docs, grades = read(FOLDER / name.lower())
            cells += [_cell(name, docs, grades, way, seed) for seed, way in enumerate(ways)]
    return cells


def _cell(name: str, docs: Documents, judged: Grades, way: Way, seed: int) -> Cell:
    rng = np.random.default_rng(seed)
    ids = list(docs)
    grades = {
        query: {ids[i]: 0 for i in rng.choice(len(ids), IRRELEVANT, replace=False)} | query_grades
        for query, query_grades in judged.items()
    }
    words_by_doc: Words = Texts.from_texts(docs).words
    spans = _cut(words_by_doc, way, rng)
    texts = {new: _text(words_by_doc, doc_spans, way, rng) for new, doc_spans in spans.items()}
    result = reanchor(grades, docs, {new: _spelled(text, way) for new, text in texts.items()})
    grade_by_pair = {(query, new): grade for query, new, grade in result.judgments.iter_rows()}
    expected = _recoverable(grades, words_by_doc, spans, {new: len(text) for new, text in texts.items()})
    matches = sum(grade_by_pair.get(pair) == grade for pair, grade in expected.items())
    wrong = sum(
        _wrong(grade, grades[query], words_by_doc, spans[new])
        for (query, new), grade in grade_by_pair.items()
    )
    return Cell(
        name, way.name, len(expected), matches / max(len(expected), 1), wrong, result.counts["lost"][0]
    )


def _cut(words: Words, way: Way, rng: np.random.Generator) -> dict[str, Spans]:
    """The words of old documents in each new one, under names in random order."""
    doc_ids = [doc for doc in words if rng.random() >= way.dropped]
    if way.stream:
        flat = [(doc, position) for doc in doc_ids for position in range(len(words[doc]))]
        step = way.stream - way.overlap
        pieces = [_spans(flat[i : i + way.stream]) for i in range(0, len(flat), step)]
    else:
        pieces = [span for doc in doc_ids for span in _chunks(doc, len(words[doc]), way)]
        pieces = [
            list(chain.from_iterable(pieces[i : i + way.joined])) for i in range(0, len(pieces), way.joined)
        ]
    return {f"n{k}": piece for k, piece in zip(rng.permutation(len(pieces)), pieces, strict=True)}


def _chunks(doc: str, length: int, way: Way) -> list[Spans]:
    if not way.chunk:
        return [[(doc, 0, length)]]
    last = max(length - way.overlap, 1)
    return [
        [(doc, start, min(length, start + way.chunk))] for start in range(0, last, way.chunk - way.overlap)
    ]


def _spans(flat: Sequence[tuple[str, int]]) -> Spans:
    ends: dict[str, tuple[int, int]] = {}
    for doc, position in flat:
        ends[doc] = (ends.get(doc, (position, position))[0], position + 1)
    return [(doc, first, end) for doc, (first, end) in ends.items()]


def _text(words: Words, spans: Spans, way: Way, rng: np.random.Generator) -> list[str]:
    text = way.header.split()
    for doc, first, end in spans:
        for word in words[doc][first:end]:
            draw = 3 * rng.random() / way.edited if way.edited else 3.0
            if draw >= 1:
                text.append(f"{word}x" if draw < 2 else word)
            if 2 <= draw < 3:
                text.append("also")
    if way.repeated:
        source_words = words[list(words)[rng.integers(len(words))]]
        begin = int(rng.integers(max(len(source_words) - way.repeated, 0) + 1))
        times = ceil(1.2 * len(source_words) / way.repeated)
        text += [*source_words[begin : begin + way.repeated]] * times
    return text


def _spelled(text: Sequence[str], way: Way) -> str:
    joined = " ".join(text)
    for letters, alike in way.spelled.items():
        joined = joined.replace(letters, alike)
    return joined


def _recoverable(
    grades: Grades, words: Words, spans: Mapping[str, Spans], lengths: Mapping[str, int]
) -> dict[tuple[str, str], int]:
    """Grades that follow from where the words went."""
    places = defaultdict(list)
    for new, doc_spans in spans.items():
        for doc, first, end in doc_spans:
            size = end - first
            places[doc].append((new, size / max(len(words[doc]), 1), size / max(lengths[new], 1)))
    recovered = {}
    for query, own_grades in grades.items():
        parts = defaultdict(list)
        for doc, grade in own_grades.items():
            for new, of_old, of_new in places[doc] if grade >= 0 else ():
                parts[new].append((grade, of_old, of_new))
        for new, rows in parts.items():
            whole_grade = max((grade for grade, share, _ in rows if share >= WHOLE), default=0)
            partly = max((grade for grade, share, _ in rows if share < WHOLE), default=0)
            if whole_grade > 0 and partly <= whole_grade:
                recovered[query, new] = whole_grade
            elif not whole_grade and not partly and sum(share for *_, share in rows) >= WHOLE:
                recovered[query, new] = 0
    return recovered


def _wrong(grade: float, grades: Mapping[str, int], words: Words, spans: Spans) -> bool:
    """Whether the text contradicts a grade; some documents of Cranfield are within others."""
    shares: dict[str, float] = defaultdict(float)
    for doc, first, end in spans:
        shares[doc] += (end - first) / max(len(words[doc]), 1)
    if not grade:
        return any(grades.get(doc, 0) > 0 and share >= SOME for doc, share in shares.items())
    text = [word for doc, *ends in spans for word in words[doc][slice(*ends)]]
    return not any(
        old_grade == grade and (shares[doc] >= NEARLY or _within(words[doc], text))
        for doc, old_grade in grades.items()
        if words.get(doc)
    )


def _within(doc: Sequence[str], text: Sequence[str]) -> bool:
    """Whether nearly all of a document is in a text, in one place."""
    size = ceil(NEARLY * len(doc))
    joined = f" {' '.join(text)} "
    return any(f" {' '.join(doc[i : i + size])} " in joined for i in range(len(doc) - size + 1))


def _cranfield(place: Path) -> tuple[Documents, Grades]:
    text = gzip.decompress((place / "cran.all.1400.xml.gz").read_bytes()).decode()
    docs = dict(re.findall(r"<docno>(\d+)</docno>.*?<text>(.*?)</text>", text, re.DOTALL))
    return docs, _qrels(place / "cranqrel.graded.trec.txt")


def _cacm(place: Path) -> tuple[Documents, Grades]:
    docs = {}
    with tarfile.open(place / "cacm.tar.gz") as archive:
        for member in archive:
            if member.name.endswith(".html") and (file := archive.extractfile(member)):
                docs[Path(member.name).stem] = re.sub("<[^>]+>", " ", file.read().decode("latin1"))
    return docs, _qrels(place / "qrels.cacm.txt")


def _qrels(path: Path) -> Grades:
    grades: Grades = defaultdict(dict)
    for line in path.read_text().splitlines():
        query, _, doc, grade = line.split()
        grades[query][doc] = int(grade)
    return dict(grades)


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    from tables import marked, table

    rows = [
        (c.collection, c.way, f"{c.recoverable:,}", marked(c.found, c.holds), f"{c.wrong}", f"{c.lost:,}")
        for c in cells
    ]
    return (
        "## Judgments of documents with new passages\n\n`rankgate reanchor` is given Cranfield (1,400 "
        "documents) and CACM (3,204), changed in 24 ways under new ids. Recoverable are grades of new "
        "documents that follow from where the words went: a relevant document is in it to "
        f"{WHOLE:.0%}, or {WHOLE:.0%} of it was judged irrelevant. Wrong grades are grades that the text "
        f"contradicts: relevant without {NEARLY:.0%} of a document of that grade, or irrelevant with "
        f"{SOME:.0%} of a relevant one. Target: at least {TARGET:.0%} found, none "
        "wrong.\n\n" + table(("collection", "documents", "recoverable", "found", "wrong", "lost"), rows)
    )
