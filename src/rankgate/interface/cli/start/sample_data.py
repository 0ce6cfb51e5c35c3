"""Small judgments, runs and logs that a starting folder holds until it has real ones."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Mapping

_QUERIES = (
    *("air fryer", "baby monitor", "backpack", "bike lock", "board game", "camping stove"),
    *("desk lamp", "dog treats", "garden hose", "hair dryer", "headphones", "ink cartridge"),
    *("paper shredder", "phone case", "running shoes", "shower curtain", "travel mug"),
    *("travel pillow", "umbrella", "usb hub", "violin strings", "wall clock", "water bottle"),
    *("yoga mat", "coffee grinder", "rain jacket", "standing desk", "tent pegs", "bread knife"),
    "picture frame",
)
_DOCUMENTS, _SHOWN = 40, 10
_NOISE = {"production": 1.9, "candidate": 1.1}  # less noise, better search


def sample_queries() -> str:
    """Queries with their ids, separated by a tab."""
    return "".join(f"{_query_id(text)}\t{text}\n" for text in _QUERIES)


def judged_runs(noise_of_system: Mapping[str, float] = _NOISE) -> dict[str, str]:
    """Judgments and the runs of systems, in TREC's formats.

    Every document that a system shows is judged, and a few more.

    Args:
        noise_of_system: the standard deviation of the errors of each system's scores.
    """
    rng = random.Random(4)  # noqa: S311 - a sample, no secret
    qrels: list[str] = []
    runs: dict[str, list[str]] = {name: [] for name in noise_of_system}
    for text in _QUERIES:
        query = _query_id(text)
        grades = {f"{query}-{n}": rng.choice([0, 0, 0, 0, 1, 2, 3]) for n in range(1, _DOCUMENTS + 1)}
        judged = set(rng.sample(sorted(grades), 10))
        for name, noise in noise_of_system.items():
            score = {document: grade + rng.gauss(0, noise) for document, grade in grades.items()}
            top_documents = sorted(score, key=lambda document: -score[document])[:_SHOWN]
            judged |= set(top_documents)
            runs[name] += [
                f"{query} Q0 {document} {rank} {score[document]:.4f} {name}\n"
                for rank, document in enumerate(top_documents, 1)
            ]
        qrels += [f"{query} 0 {document} {grades[document]}\n" for document in sorted(judged)]
    return {"qrels.txt": "".join(qrels)} | {
        f"runs/{name}.run": "".join(lines) for name, lines in runs.items()
    }


def recommendations() -> dict[str, str]:
    """A training log, items, judgments from later interactions, and the lists of two systems."""
    rng = random.Random(7)  # noqa: S311 - as above
    items = [f"item-{n:02}" for n in range(1, 61)]
    genres = ("outdoor", "kitchen", "office")
    table = ["item_id,genre\n", *(f"{item},{rng.choice(genres)}\n" for item in items)]
    log, judgment_lines = ["user_id,item_id,time\n"], []
    runs: dict[str, list[str]] = {"popular": [], "candidate": []}
    for n in range(1, 61):
        user, taste = f"user-{n:02}", {item: rng.random() ** 3 for item in items}
        liked = sorted(items, key=lambda item: -taste[item])
        log += [f"{user},{item},{position}\n" for position, item in enumerate(liked[0:12:2])]
        judgment_lines += [f"{user} 0 {item} 1\n" for item in liked[1:12:2]]
        for name, noise in (("popular", 1.0), ("candidate", 0.25)):
            score = {item: taste[item] + rng.gauss(0, noise) for item in items}
            for item in liked[0:12:2]:
                del score[item]
            recommended = sorted(score, key=lambda item: -score[item])[:_SHOWN]
            runs[name] += [
                f"{user} Q0 {item} {rank} {score[item]:.4f} {name}\n"
                for rank, item in enumerate(recommended, 1)
            ]
    files = {"train.csv": log, "items.csv": table, "test.qrels": judgment_lines}
    files |= {f"runs/{name}.run": lines for name, lines in runs.items()}
    return {name: "".join(lines) for name, lines in files.items()}


_TASKS = (
    *("install", "update", "remove", "restart", "back up", "restore", "rename", "monitor", "scale", "secure"),
    *("test", "migrate", "export", "import", "share", "archive", "lock", "debug", "clone", "automate"),
)
_THINGS = (
    *("a database", "a server", "a certificate", "a queue", "a cluster", "a report", "a user account"),
    *("a dashboard", "a build", "a web hook"),
)
_AGREED = 0.95


def retrieved_passages() -> dict[str, str]:
    """Questions with their passage, the passages of two retrievers, and grades of people and a model."""
    rng = random.Random(11)  # noqa: S311 - as above
    texts = [f"{task} {thing}" for task in _TASKS for thing in _THINGS]
    files = defaultdict(str, {"queries.csv": "query_id,text\n", "passages.csv": "doc_id,text\n"})
    files |= dict.fromkeys(("people.csv", "model.csv"), "query_id,doc_id,grade\n")
    for n, text in enumerate(texts):
        query, gold, question = f"q{n:03}", f"manual-{n:03}", f"How do I {text}?"
        files["queries.csv"] += f"{query},{question}\n"
        files["passages.csv"] += f"{gold},To {text}\n"
        files["gold.jsonl"] += json.dumps({"query_id": query, "question": question, "gold": [gold]}) + "\n"
        distractors = [f"manual-{number:03}" for number in rng.sample(range(len(texts)), 40)]
        for name, noise in (("production", 0.8), ("candidate", 0.4)):
            score = {passage: rng.random() for passage in distractors} | {gold: 1.4 + rng.gauss(0, noise)}
            ranking = sorted(score, key=lambda passage: -score[passage])[:_SHOWN]
            chunks = [{"chunk_id": passage, "score": round(score[passage], 4)} for passage in ranking]
            files[f"retrieved/{name}.jsonl"] += json.dumps({"query_id": query, "chunks": chunks}) + "\n"
        grade = int(ranking[0] == gold)
        files["people.csv"] += f"{query},{ranking[0]},{grade}\n"
        files["model.csv"] += f"{query},{ranking[0]},{grade if rng.random() < _AGREED else 1 - grade}\n"
    return files


def _query_id(text: str) -> str:
    return text.replace(" ", "-")
