"""A researcher: judgments and twelve runs in TREC's formats; which one is best, and is it better?"""

import random

import pytest

from .journey import Journey

QUERIES, RUNS = 30, 12


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Runs from bad to good; the mean of average precision of the best one is returned."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    rng = random.Random(12)
    judged = {
        q: {f"WSJ{q}-{d:03}": int(rng.random() < 0.3) for d in range(25)} for q in range(301, 301 + QUERIES)
    }
    lines = [
        f"{q} 0 {document} {grade}\n" for q, grades in judged.items() for document, grade in grades.items()
    ]
    (tmp_path / "qrels.adhoc").write_text("".join(lines))
    values = []
    for number in range(RUNS):
        tag, noise, rows = f"sys{number:02}", 2.0 - 0.15 * number, []
        for query, grades in judged.items():
            score = {document: grade + rng.gauss(0, noise) for document, grade in grades.items()}
            ranked = sorted(score, key=lambda document: -score[document])
            rows += [f"{query} Q0 {d} {rank} {score[d]:.6f} {tag}\n" for rank, d in enumerate(ranked, 1)]
            if number == RUNS - 1:
                found, total = 0, 0.0
                for rank, document in enumerate(ranked, 1):
                    found += grades[document]
                    total += grades[document] * found / rank
                values.append(total / sum(grades.values()))
        (tmp_path / "runs" / f"{tag}.txt").write_text("".join(rows))
    return sum(values) / len(values)


def test_from_twelve_runs_to_a_verdict(folder, run, tmp_path):
    journey = Journey(run, folder, "AP", "sys11")
    runs = sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "runs").iterdir())
    assert journey.type("eval", "qrels.adhoc", *runs, "-m", "AP", "-m", "nDCG@10").code == 0
    assert journey.number_at == 1
    refused = journey.type("gate")
    assert ", 6 more" in refused.err
    verdicts = journey.paste_all()  # each of the first two runs as the baseline
    assert len(verdicts) == 2
    assert all(ended.code in {0, 1, 3} for ended in verdicts.values())
    decided = journey.type("gate", "qrels.adhoc", "runs/sys00.txt", "runs/sys11.txt", "-m", "AP")
    assert decided.out.startswith("PASS: sys11 may replace sys00")
    journey.check()
