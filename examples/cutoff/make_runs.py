"""Questions to an index of Python's documentation, some about modules that the index does not have.

``python make_runs.py`` writes ``questions.csv``, ``qrels.txt`` and ``tfidf.run``, and the latter two
for later questions. A question is the first sentence of a docstring; its answer is
the rest of it, below the name. Every
third module is not in the index, so that its questions have no answer there. Scores are cosines of
TF-IDF vectors. Files of another version of Python differ a little.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import numpy as np

from rankgate.interface.demo.demo_engines import harvest_docstrings

HERE = Path(__file__).parent
SHOWN = 3
LABELLED = 150  # questions of each kind whose answers somebody looked up today
_WORD = re.compile(r"[a-z]{2,}")


def main() -> None:
    """Write both sets of questions."""
    parts = []
    for docstring in harvest_docstrings():
        question, _, answer = docstring.text.partition("\n\n")
        if len(question.split()) >= 4 and len(answer.split()) >= 10:
            name = re.sub(r"[._]|(?<=[a-z])(?=[A-Z])", " ", docstring.doc_id)
            parts.append((docstring.doc_id, " ".join(question.split()), f"{name} {answer}"))
    modules = sorted({doc_id.split(".")[0] for doc_id, _, _ in parts})
    missing = set(modules[::3])
    indexed = [part for part in parts if part[0].split(".")[0] not in missing]
    scores = _cosines([question for _, question, _ in parts], [answer for _, _, answer in indexed])
    kinds: dict[bool, list[int]] = {True: [], False: []}
    for i, (doc_id, _, _) in enumerate(parts):
        kinds[doc_id.split(".")[0] not in missing].append(i)
    for rows in kinds.values():
        random.Random(1).shuffle(rows)  # noqa: S311 - an example, no secret
    for prefix, first, last in (("", 0, LABELLED), ("later-", LABELLED, None)):
        chosen = sorted(row for rows in kinds.values() for row in rows[first:last])
        _write(prefix, [parts[row] for row in chosen], scores[chosen], [doc_id for doc_id, _, _ in indexed])


def _cosines(questions: list[str], answers: list[str]) -> np.ndarray:
    """The cosine of each question with each answer."""
    counts = [Counter(_WORD.findall(text.lower())) for text in [*questions, *answers]]
    words = {word: i for i, word in enumerate(sorted(set().union(*counts[len(questions) :])))}
    table = np.zeros((len(counts), len(words)))
    for row, count in enumerate(counts):
        for word, number in count.items():
            if word in words:
                table[row, words[word]] = 1 + np.log(number)
    weights = np.log(len(answers) / (table[len(questions) :] > 0).sum(axis=0))
    table *= weights
    table /= np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12)
    return table[: len(questions)] @ table[len(questions) :].T


def _write(prefix: str, parts: list[tuple[str, str, str]], scores: np.ndarray, doc_ids: list[str]) -> None:
    """The questions, what is retrieved for them, and whether it answers them."""
    run, qrels, questions = [], [], ["query_id,query"]
    for number, ((doc_id, question, _), row) in enumerate(zip(parts, scores, strict=True), 1):
        query = f"{prefix}q{number}"
        questions.append(f'{query},"{question.replace(chr(34), chr(39))}"')
        for rank, place in enumerate(np.argsort(-row, kind="stable")[:SHOWN], 1):
            if row[place] > 0:
                run.append(f"{query} Q0 {doc_ids[place]} {rank} {row[place]:.4f} tfidf")
            if rank == 1 or doc_ids[place] == doc_id:
                qrels.append(f"{query} 0 {doc_ids[place]} {int(doc_ids[place] == doc_id)}")
        if doc_id in doc_ids and f"{query} 0 {doc_id} 1" not in qrels:
            qrels.append(f"{query} 0 {doc_id} 1")
    for name, lines in (("tfidf.run", run), ("qrels.txt", qrels), ("questions.csv", questions)):
        if name != "questions.csv" or not prefix:
            (HERE / f"{prefix}{name}").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
