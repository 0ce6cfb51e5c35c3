"""A shop: Elasticsearch's answers of last week and of today, and labels that a colleague exported."""

import json
import random

import pytest

from .journey import Journey, ndcg

WORDS = [
    f"{kind} {thing}"
    for kind in ("kids", "wool", "rain", "trail")
    for thing in ("socks", "hat", "vest", "bag")
]
GRADES = {"perfect": 3, "good": 2, "fair": 1, "bad": 0}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Labels between semicolons, with queries spelt with underscores; an answer a file."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(41)
    rows, values = ["Search term;Article;Rating"], []
    for number, word in enumerate(WORDS):
        labels = {f"A{number:02}{place:03}": rng.choice(list(GRADES)) for place in range(12)}
        rows += [f"{word.replace(' ', '_')};{article};{label}" for article, label in labels.items()]
        grades = {article: GRADES[label] for article, label in labels.items()}
        for week, noise in (("last-week", 2.2), ("today", 0.4)):
            score = {article: grade + 4 + rng.gauss(0, noise) for article, grade in grades.items()}
            ranked = sorted(score, key=lambda article: -score[article])[:10]
            hits = [{"_index": "shop", "_id": a, "_score": score[a], "_source": {"name": a}} for a in ranked]
            total = {"value": len(score), "relation": "eq"}
            answer = {"took": 2, "timed_out": False, "hits": {"total": total, "hits": hits}}
            (tmp_path / week).mkdir(exist_ok=True)
            (tmp_path / week / f"{word}.json").write_text(json.dumps(answer))
            if week == "today":
                values.append(ndcg(grades, ranked, 10))
    (tmp_path / "labels.csv").write_text("\n".join(rows) + "\n")
    return sum(values) / len(values)


def test_from_labels_and_answers_to_a_verdict(folder, run):
    journey = Journey(run, folder, "nDCG@10", "today")
    assert journey.type("gate").code == 2
    verdicts = journey.paste_all()
    assert {line.split()[3]: ended.code for line, ended in verdicts.items()} == {"last-week": 0, "today": 1}
    journey.check()
    assert journey.commands <= 3
