"""The files that the examples in the help of commands name: small, seeded, of one world.

    python release/example_files.py FOLDER

Judgments, runs, ratings, logs and tables are written here; what a command makes (a folder of
events, results, baselines, a store) is made by that command.
"""

from __future__ import annotations

import csv
import io
import json
import random
import shlex
import shutil
import sqlite3
import sys
import tomllib
from collections.abc import Iterable, Sequence
from contextlib import chdir, closing, redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from rankgate.interface.cli import main as rankgate_main

QUERIES = [f"q{n}" for n in range(1, 41)]
POOL = 12  # documents of a query
NOISE = {
    "old": 1.6,
    "new": 0.9,
    "bm25": 1.6,
    "dense": 1.2,
    "rrf": 0.9,
    "rerank": 0.7,
    "main": 1.4,
    "main-again": 1.4,
    "a": 1.5,
    "b": 1.2,
    "c": 0.9,
    "one": 1.4,
    "two": 1.4,
    "three": 1.4,
    "old1": 1.6,
    "old2": 1.6,
    "new1": 0.9,
    "new2": 0.9,
    "original": 1.2,
    "again": 1.2,
}
"""Systems, and how far their scores are from the grades."""

ITEMS = [f"i{n}" for n in range(1, 41)]
USERS = [f"u{n}" for n in range(1, 31)]
GENRES = ("crime", "poetry", "travel")
WORDS = "red blue warm light wide soft quiet open long small round clean dry new plain".split()  # noqa: SIM905
RATERS = "ann", "bob", "cyd"
SEARCHES = 1000  # of the log
_FOUR_WEEKS = 2_340_000_000  # milliseconds, a little less

ENGINE = """\
[engine]
kind = "sqlite"
database = "docs.sqlite"
table = "docs"
id = "doc_id"
weights = [0, "{{{{k1}}}}", 1.0]

[engine.parameters]
k1 = {k1}
"""

TEXTS = {
    "rankgate.toml": """\
[[rules]]
id = "no-worse"
kind = "noninferiority"
metric = "nDCG@10"
margin = 0.05

[files]
qrels = "qrels.txt"
production = "old.run"
candidate = "new.run"
""",
    "alerts.toml": """\
[[rules]]
id = "fall"
kind = "absolute"
metric = "nDCG@10"
at_least = 0.99
""",
    "jobs.toml": """\
[[jobs]]
name = "nightly"
kind = "evaluate"
schedule = "0 3 * * *"
judgments = "gold"
runs = ["bm25", "dense"]
metrics = ["nDCG@10"]
""",
    "engine.toml": ENGINE.format(k1=1.0),
    "old.toml": ENGINE.format(k1=1.0),
    "new.toml": ENGINE.format(k1=3.0),
    "sweep.toml": """\
[sweep]
engine = "engine.toml"
queries = "queries.tsv"
qrels = "qrels.txt"
metrics = ["nDCG@10"]

[dials]
k1 = [0.5, 2.0]
""",
    "pipeline.toml": """\
[[stage]]
name = "first"
engine = "engine.toml"

[[stage]]
name = "rerank"
rerank = "reranker:by_id"
inputs = ["first"]
depth = 10
""",
    "reranker.py": """\
def by_id(query, documents):
    return [-float(doc.doc_id[1:]) for doc in documents]
""",
    "launch.toml": """\
[budget]
alpha = 0.05
gate = 0.2
replay = 0
interleaving = 0.2
ramp = 0.6

[experiment]
events = "events.parquet"
control = "old"
treatment = "new"

[[ramp]]
share = 0.5
since = "2026-01-01"

[[rules]]
id = "clicks"
kind = "kpi_noninferiority"
kpi = "search_ctr"
relative = 0.05
""",
    "families.toml": '[families]\ngpt = ["judge", "c", "queries"]\nother = ["a", "b"]\n',
    "table.md": "| system | nDCG@10 | P@10 |\n|---|---|---|\n| old | 0.512 | 0.404 |\n"
    "| new | 0.541 | 0.420 |\n",
    "table.tex": "system & Prec. & nDCG@10 \\\\\nold & 0.402 & 0.512 \\\\\nnew & 0.421 & 0.541 \\\\\n",
    "costs.txt": "Q0 1.0\n",
    "metrics.txt": "PrecisionCWLMetric(5)\nRBPCWLMetric(0.8)\n",
    "mine.py": """\
from collections.abc import Sequence

import rankgate


@rankgate.metric
def first(grades: Sequence[float | None], *, cutoff: int = 1) -> float:
    "The grade of the first document."
    return float(grades[0] or 0) if grades else 0.0
""",
    "log.toml": """\
[log]
kind = "impression"

[columns]
at = "shown_at"
query = "q"
query_event_id = "visit+q"
session = "visit"
doc_id = "sku"
rank = "position"

[flags]
click = "clicked"
""",
}

MADE = (
    "convert qrels.txt case.json --to quepid-case --as qrels",
    "convert ratings.csv book.json --to quepid-book --as ratings",
    "trec_eval -q -m ndcg_cut.10 qrels.txt old.run > old.eval",
    "trec_eval -q -m ndcg_cut.10 qrels.txt new.run > new.eval",
    "pool old.run new.run --depth 5 -o pool.csv",
    "pool old.run new.run --strata 5:0.5 --rest rest.qrels -o sample.csv",
    "sheet pool.csv --raters ann,bob --overlap 1 -o sheets",
    "eval qrels.txt bm25.run -m nDCG@10 --format json -o eval.json",
    "eval qrels.txt later/bm25.run -m nDCG@10 --format json -o later.json",
    "gate qrels.txt old.run new.run --format json -o gate.json",
    "compare qrels.txt old.run new.run --format json -o compare.json",
    "compare qrels.txt old.run new.run --format json -o results/compare.json",
    "compare qrels.txt old.run new.run --format json -o ml-1m.json",
    "compare data-sets/beauty.qrels old.run new.run --format json -o beauty.json",
    "compare data-sets/games.qrels old.run new.run --format json -o games.json",
    "baseline save main qrels.txt main.run -m nDCG@10 -m RR@10",
    "record eval.json --to history --qrels qrels.txt --run bm25=bm25.run --at 2026-03-09",
    "record later.json --to history --qrels qrels.txt --run bm25=later/bm25.run --at 2026-03-10",
    "next old.run new.run --predicted model.qrels --save-sample drawn.csv --save-batch batch.csv",
    "store init --store runs.db",
    "store project add shop --scale 0..3 --store runs.db",
    "store import bm25.run --project shop --store runs.db",
    "store import dense.run --project shop --store runs.db",
    "store import ratings.csv --project shop --store runs.db",
    "store import queries.csv --project shop --store runs.db",
    "store import docs.csv --project shop --store runs.db",
    "online ingest ubi.ndjson -o events",
    "online simulate qrels.txt old.run new.run -o events.parquet --searches 1000",
    "online kpi events --by day --format json -o kpi.json",
    "online interleave lists old.run new.run --lists 20 -o lists.jsonl",
)
"""Commands that make further files."""

STORED = (
    "store import gold.qrels --project shop --store judging.db",
    "pool bm25 dense --project shop --store judging.db --save-as first --depth 2",
    "record eval.json --store judging.db --project shop --at 2026-03-09",
    "record later.json --store judging.db --project shop --at 2026-03-10",
)
"""What is added to a copy of the store."""

OTHERS = {
    "split": {"ratings.csv": "movie-ratings.csv", "events.parquet": "interactions.parquet"},
    "scorecard": {"a.run": "rec-a.run", "b.run": "rec-b.run"},
    "rating-accuracy": {"clicks.csv": "bought.csv"},
    "ndeval": {"bm25.run": "web.trec"},
    "gdeval": {"bm25.run": "web.trec", "qrels.txt": "web.qrels"},
    "resolve": {"ratings.csv": "sampled-ratings.csv", "judging.db": "runs.db"},
    "pool": {"judging.db": "runs.db"},
    "next": {"people.qrels": "drawn.qrels"},
    "online personalization": {"users.csv": "groups.csv"},
}
"""By command, names that mean other files in its examples."""

_NOT_SEARCH = "chat.run", "popular.run", "knn.run", "exact.run", "graph.run", "rec-*.run", "bpr.*.run"
WRITTEN = {
    "baseline": ("rankgate/baselines/*",),
    "snapshot": ("new.run", "old.run"),
    "store": ("judging.db*",),
    "pool": _NOT_SEARCH,
    "reusability": _NOT_SEARCH,
    "plot": _NOT_SEARCH,
    "next": ("sample.csv",),
}
"""By command, files that its examples write, or that their patterns do not mean."""


def main() -> int:
    """Write the world into a folder."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    write(folder)
    return 0


def write(folder: Path) -> None:
    """Write all files of the world."""
    rng = random.Random(39)  # noqa: S311 - a sample, no secret
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    grades = _search(folder, rng)
    _judging(folder, rng, grades)
    _recommending(folder, rng)
    _online(folder, rng, grades)
    for name in ("later", "results", "evaluation", "data-sets"):
        (folder / name).mkdir()
    judgments = (folder / "qrels.txt").read_text().splitlines()
    for count, name in enumerate(("beauty", "games"), 1):
        _lines(folder / "data-sets" / f"{name}.qrels", judgments[count:])
    _data_sets(folder, judgments)
    shutil.copy(folder / "rerank.run", folder / "later" / "bm25.run")
    shutil.copy(folder / "qrels.txt", folder / "gold.qrels")
    shutil.copy(folder / "bm25.run", folder / "exact.run")  # of an approximate search and an exact one
    shutil.copy(folder / "dense.run", folder / "graph.run")
    ranked = (line.split() for line in (folder / "exact.run").read_text().splitlines())
    _lines(folder / "neighbours.qrels", (f"{row[0]} 0 {row[2]} 1" for row in ranked if int(row[3]) <= 10))
    shutil.copy(folder / "qrels.txt", folder / "evaluation")
    for command in MADE:
        _rankgate(folder, command)
    _copy(folder, "runs.db", "judging.db")
    for command in STORED:
        _rankgate(folder, command)
    _keep_engine(folder / "judging.db")
    _copy(folder, "judging.db", "quality.db")
    _from_made(folder, rng)


def _data_sets(folder: Path, judgments: Sequence[str]) -> None:
    """Judgments and runs of two data sets, and results of models on tasks as MTEB keeps them."""
    for name in ("old", "new", "beir/fiqa", "beir/nq"):
        (folder / name).mkdir(parents=True)
    for count, name in enumerate(("fiqa", "nq"), 3):
        _lines(folder / "beir" / name / "qrels.txt", judgments[count:])
        for system in ("old", "new"):
            shutil.copy(folder / f"{system}.run", folder / system / f"{name}.run")
    for m, model in enumerate(("small", "base", "large")):
        results = folder / "mteb" / "results" / f"org__{model}" / "main"
        results.mkdir(parents=True)
        (results / "model_meta.json").write_text(json.dumps({"name": f"org/{model}", "revision": "main"}))
        for task in range(8):
            row = {"hf_subset": "default", "main_score": 0.4 + m / 10 + (task * 7 + m) % 5 / 50}
            content = {"task_name": f"Task{task}", "mteb_version": "2.1.0", "scores": {"test": [row]}}
            (results / f"Task{task}.json").write_text(json.dumps(content))


def _keep_engine(store_file: Path) -> None:
    """Keep the engine of ``engine.toml`` in the project of a store, as the page of engines does."""
    from rankgate.store.material import project_engines, projects  # needs an extra
    from rankgate.store.store import Store

    engine = dict(tomllib.loads(TEXTS["engine.toml"])["engine"])
    store = Store.open(f"sqlite:///{store_file}")
    with closing(store), store.write() as connection:
        number = projects.get_by_name(connection, "shop").id
        definition = project_engines.ProjectEngine("shop", engine.pop("kind"), engine)
        project_engines.save_engine(connection, number, definition)


def _copy(folder: Path, source: str, target: str) -> None:
    """Copy a file, or a store with its blobs."""
    shutil.copy(folder / source, folder / target)
    if (folder / f"{source}.blobs").is_dir():
        shutil.copytree(folder / f"{source}.blobs", folder / f"{target}.blobs", dirs_exist_ok=True)


def prepare(world: Path, folder: Path, command: str) -> None:
    """Copy the world for the examples of a command: with its own files, without what they write."""
    shutil.copytree(world, folder)
    for name, source in OTHERS.get(command, {}).items():
        _copy(folder, source, name)
    for pattern in WRITTEN.get(command, ()):
        for path in folder.glob(pattern):
            remove(path)


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _rankgate(folder: Path, command: str) -> None:
    """Run a command in this process: starting one takes longer than what most of them do."""
    command, _, output = command.partition(" > ")
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2)]
    arguments, code = sys.argv, 0
    sys.argv = ["rankgate", *shlex.split(command)]
    try:
        with chdir(folder), redirect_stdout(streams[0]), redirect_stderr(streams[1]):
            rankgate_main()
    except SystemExit as ending:
        code = ending.code
    finally:
        sys.argv = arguments
    out, err = (_text(stream) for stream in streams)
    if output:
        (folder / output).write_text(out)
    if code not in {None, 0, 3}:
        raise SystemExit(f"rankgate {command}\n{err}")


def _text(stream: io.TextIOWrapper) -> str:
    """All that was written to a stream."""
    stream.seek(0)
    return stream.read()


def _lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines))


def _csv(path: Path, header: str, rows: Iterable[Sequence[object]]) -> None:
    _lines(path, [header, *(",".join(map(str, row)) for row in rows)])


def _trec(path: Path, name: str, scores: dict[str, dict[str, float]]) -> None:
    _lines(
        path,
        (
            f"{query} Q0 {doc} {rank} {score:.4f} {name}"
            for query, doc_scores in scores.items()
            for rank, (doc, score) in enumerate(
                sorted(doc_scores.items(), key=lambda item: -item[1]), start=1
            )
        ),
    )


def _search(folder: Path, rng: random.Random) -> dict[str, dict[str, int]]:
    """Judgments, runs and texts of a search; the grades."""
    numbers = iter(range(1, 10_000))
    grades = {
        query: {f"d{next(numbers)}": rng.choice([0, 0, 0, 1, 1, 2, 3]) for _ in range(POOL)}
        for query in QUERIES
    }
    _lines(folder / "qrels.txt", _qrels(grades))
    for name, noise in NOISE.items():
        scores = {
            query: {doc: grade + rng.gauss(0, noise) for doc, grade in docs.items()}
            for query, docs in grades.items()
        }
        _trec(folder / f"{name}.run", name, scores)
        if name == "bm25":
            chat = {f"t{int(q[1:]) // 4}_{int(q[1:]) % 4}": docs for q, docs in scores.items()}
            _trec(folder / "chat.run", "chat", chat)
    chat_grades = {f"t{int(q[1:]) // 4}_{int(q[1:]) % 4}": docs for q, docs in grades.items()}
    _lines(folder / "chat.qrels", _qrels(chat_grades))
    _lines(
        folder / "diversity.qrels",
        (
            f"{query[1:]} {1 + int(doc[1:]) % 3} {doc} {min(grade, 1)}"
            for query, docs in grades.items()
            for doc, grade in docs.items()
        ),
    )
    _lines(
        folder / "gains.txt",
        (f"{q} 0 {doc} {grade / 3:.4f}" for q, docs in grades.items() for doc, grade in docs.items()),
    )
    _csv(
        folder / "judgments.csv",
        "query_id,doc_id,grade",
        ((q, doc, grade) for q, docs in grades.items() for doc, grade in docs.items()),
    )
    web = {
        query[1:]: {doc: grade + rng.random() for doc, grade in docs.items()}
        for query, docs in grades.items()
    }
    _trec(folder / "web.trec", "web", web)
    _lines(folder / "web.qrels", _qrels({query[1:]: docs for query, docs in grades.items()}))
    texts = {query: " ".join(rng.sample(WORDS, 2)) for query in QUERIES}
    _lines(folder / "queries.tsv", (f"{query}\t{text}" for query, text in texts.items()))
    _csv(folder / "queries.csv", "query_id,text", texts.items())
    _csv(folder / "tags.csv", "query_id,intent", ((q, rng.choice(["buy", "know"])) for q in QUERIES))
    documents = {
        doc: " ".join([*rng.choices(WORDS, k=30), *texts[query].split() * grade])
        for query, docs in grades.items()
        for doc, grade in docs.items()
    }
    _csv(folder / "docs.csv", "doc_id,text", documents.items())
    _csv(folder / "passages.csv", "doc_id,text", documents.items())
    halves = [
        (f"{doc}-{half}", " ".join(text.split()[start : start + 15]))
        for doc, text in documents.items()
        for half, start in enumerate((0, 15))
    ]
    _csv(folder / "passages.new.csv", "doc_id,text", halves)
    _csv(folder / "pages.csv", "doc_id,text", documents.items())
    _csv(folder / "paragraphs.csv", "doc_id,text", halves)
    for name, table in (("corpus", documents.items()), ("corpus.new", halves)):
        _lines(folder / f"{name}.jsonl", (json.dumps({"_id": doc, "text": text}) for doc, text in table))
    _lines(
        folder / "titles.jsonl",
        (json.dumps({"doc_id": doc, "title": text[:20]}) for doc, text in documents.items()),
    )
    with closing(sqlite3.connect(folder / "docs.sqlite")) as index:
        index.execute("CREATE VIRTUAL TABLE docs USING fts5(doc_id UNINDEXED, name, body)")
        rows = [(doc, text[:40], text) for doc, text in documents.items()]
        index.executemany("INSERT INTO docs VALUES (?, ?, ?)", rows)
        index.commit()
    _csv(
        folder / "table.csv",
        "query_id,system,metric,value",
        (
            (query, system, "nDCG@10", round(rng.uniform(0.3, 0.9), 4))
            for query in QUERIES
            for system in ("bm25", "dense", "old", "new")
        ),
    )
    return grades


def _qrels(grades: dict[str, dict[str, int]]) -> Iterable[str]:
    return (f"{q} 0 {doc} {grade}" for q, docs in grades.items() for doc, grade in docs.items())


def _judging(folder: Path, rng: random.Random, grades: dict[str, dict[str, int]]) -> None:
    """What raters and models gave."""

    def rated(mistakes: float) -> dict[str, dict[str, int]]:
        return {
            query: {
                doc: rng.randrange(4) if rng.random() < mistakes else grade for doc, grade in docs.items()
            }
            for query, docs in grades.items()
        }

    people = rated(0.05)
    sets = {
        "people.txt": people,
        "people.qrels": people,
        "llm.txt": rated(0.1),
        "model.qrels": rated(0.1),
        "one.txt": rated(0.1),
        "two.txt": rated(0.1),
        "ann.qrels": rated(0.1),
        "bob.qrels": rated(0.1),
        "eve.qrels": rated(0.1),
        "a.qrels": rated(0.1),
        "b.qrels": rated(0.1),
        "pilot.txt": {query: people[query] for query in QUERIES[:20]},
    }
    for name, judged in sets.items():
        _lines(folder / name, _qrels(judged))
    raters = {rater: rated(0.15) for rater in RATERS}
    ratings = [
        (query, doc, rater, grade)
        for rater, judged in raters.items()
        for query in QUERIES[:15]
        for doc, grade in judged[query].items()
    ]
    _csv(folder / "ratings.csv", "query,document,rater,grade", ratings)
    _csv(folder / "differ.csv", "query,document", {(q, d) for q, d, *_ in ratings[:20]})
    for name, rater in (("ratings", None), ("blind", None), ("keywords", "ann")):
        _lines(
            folder / f"{name}.jsonl",
            (
                json.dumps({"query_id": q, "doc_id": d, "rater": r, "grade": g})
                for q, d, r, g in ratings
                if rater in {None, r}
            ),
        )
    _csv(
        folder / "sheet.csv",
        "term,sku,agent_1,agent_2",
        ((q, d, grade, grade) for q, d, rater, grade in ratings if rater == "ann"),
    )
    _csv(
        folder / "clicks.csv",
        "query_id,doc_id,grade",
        ((q, doc, grade) for q, docs in grades.items() for doc, grade in docs.items()),
    )
    (folder / "instruction.jsonl").write_text((folder / "keywords.jsonl").read_text())


def _recommending(folder: Path, rng: random.Random) -> None:
    """Items, a log, judgments of what users took later, and lists."""
    _csv(folder / "books.csv", "item_id,genre", ((item, rng.choice(GENRES)) for item in ITEMS))
    _csv(folder / "movies.csv", "item_id,genres", ((item, rng.choice(GENRES)) for item in ITEMS))
    log = [
        (user, item, rng.randint(1, 5), 1_700_000_000 + rng.randrange(10_000_000))
        for user in USERS
        for item in rng.sample(ITEMS, 12)
    ]
    _csv(folder / "train.csv", "user_id,item_id", (row[:2] for row in log))
    _csv(folder / "movie-ratings.csv", "user_id,item_id,rating,timestamp", log)
    header = "user_id:token\titem_id:token\trating:float\ttimestamp:float"
    _lines(folder / "ml-100k.inter", [header, *("\t".join(map(str, row)) for row in log)])
    later = [
        (user, item, rng.randint(1, 5))
        for user in USERS
        for item in rng.sample([i for i in ITEMS if (user, i) not in {r[:2] for r in log}], 4)
    ]
    _csv(folder / "test.qrels.csv", "user_id,item_id,rating", later)
    _csv(folder / "test.csv", "user_id,item_id", (row[:2] for row in later))
    _csv(
        folder / "predicted.csv",
        "user_id,item_id,score",
        ((user, item, round(grade + rng.gauss(0, 1), 3)) for user, item, grade in later),
    )
    _csv(folder / "bought.csv", "user_id,item_id,rating", ((u, i, int(g > 3)) for u, i, g in later))
    _csv(
        folder / "probabilities.csv",
        "user_id,item_id,score",
        ((user, item, round(rng.random(), 3)) for user, item, _ in later),
    )
    kinds = [rng.choice(["buy", "view"]) for _ in log]
    days = [datetime.fromtimestamp(1_771_200_000 + rng.randrange(2_400_000), UTC) for _ in log]
    users, items = ([row[column] for row in log] for column in (0, 1))
    table = {"user_id": users, "item_id": items, "event": kinds, "timestamp": days}
    pl.DataFrame(table).write_parquet(folder / "interactions.parquet")
    for name in ("popular", "knn", "a", "b"):
        lists = {u: {item: rng.random() for item in rng.sample(ITEMS, 10)} for u in USERS}
        _trec(folder / f"{'rec-' if name in 'ab' else ''}{name}.run", name, lists)
    for seed in (1, 2, 3):
        draw = random.Random(seed)  # noqa: S311 - a model that draws
        lists = {u: {item: draw.random() for item in draw.sample(ITEMS, 10)} for u in USERS}
        _trec(folder / f"bpr.seed{seed}.run", "bpr", lists)


def _log(rng: random.Random, grades: dict[str, dict[str, int]]) -> Iterable[dict[str, object]]:
    """Searches of four weeks, half of them with the better engine: User Behavior Insights."""
    counts = dict.fromkeys(QUERIES, 0)
    searched = rng.choices(QUERIES, [1 / n for n, _ in enumerate(QUERIES, 1)], k=SEARCHES)
    for number, query in enumerate(searched):
        user, variant = number % 300, ("old", "new")[number % 2]
        counts[query] += 1
        moment_of_search = number * _FOUR_WEEKS // SEARCHES
        search, timestamp = f"{query}/{counts[query]}", 1_771_200_000_000 + moment_of_search
        common = {"query_id": search, "client_id": f"u{user}", "session_id": f"v{number // 2}"}
        attributes = {"variant": variant, "latency_ms": round(rng.lognormvariate(5, 0.3), 1)}
        yield {**common, "user_query": query, "query_attributes": attributes, "timestamp": timestamp}
        noise = NOISE[variant]
        scores = {doc: grade + rng.gauss(0, noise) for doc, grade in grades[query].items()}
        for rank, doc in enumerate(sorted(scores, key=lambda doc: -scores[doc])[:10]):
            event_attributes = {"object": {"object_id": doc}, "position": {"ordinal": rank}}
            event = {**common, "event_attributes": event_attributes}
            yield {**event, "action_name": "impression", "timestamp": timestamp}
            if rng.random() < 0.2 * grades[query][doc] * 0.8**rank:
                moment = timestamp + 4000 + 3000 * rank
                yield {**event, "action_name": "click", "timestamp": moment}
                if rng.random() < 0.1:
                    sale = {**event_attributes, "value": rng.randint(10, 50)}
                    yield {
                        **common,
                        "event_attributes": sale,
                        "action_name": "purchase",
                        "timestamp": moment + 60_000,
                    }


def _online(folder: Path, rng: random.Random, grades: dict[str, dict[str, int]]) -> None:
    """A log, past experiments, decisions with propensities, users of an experiment."""
    log = [json.dumps(line) for line in _log(rng, grades)]
    for name in ("ubi.ndjson", "log.ndjson"):
        _lines(folder / name, log)
    rows: list[tuple[object, ...]] = []
    for launch in range(1, 17):
        truth = rng.gauss(0.01, 0.02)
        rows.append((launch, "offline", "nDCG@10", round(truth, 4), ""))
        rows.append((launch, "online", "search_ctr", round(truth / 2 + rng.gauss(0, 0.003), 4), 0.003))
    _csv(folder / "experiments.csv", "experiment,side,name,delta,standard_error", rows)
    share = {"shoes": 0.55, "coat": 0.25, "scarf": 0.15, "hat": 0.05}
    offers = rng.choices(list(share), list(share.values()), k=2000)
    _csv(
        folder / "log.csv",
        "action,reward,bought,propensity,new_policy",
        ((offer, int(rng.random() < 0.1), int(rng.random() < 0.1), share[offer], 0.25) for offer in offers),
    )
    _csv(folder / "new.csv", "action,position,probability", ((o, p, 0.25) for o in share for p in (1, 2)))
    _csv(
        folder / "users.csv",
        "user_id,arm,spend,visits",
        (
            (n, rng.choice(["old", "new"]), round(rng.expovariate(0.1), 2), rng.randint(1, 9))
            for n in range(400)
        ),
    )

    slates = [(n, p, rng.choice(list(share))) for n in range(500) for p in (1, 2)]
    pl.DataFrame(
        {
            "slate": [n for n, *_ in slates],
            "position": [p for _, p, _ in slates],
            "action": [o for *_, o in slates],
            "reward": [float(rng.random() < 0.1) for _ in slates],
            "propensity": [0.25] * len(slates),
        }
    ).write_parquet(folder / "slates.parquet")
    _csv(folder / "groups.csv", "user,group", ((f"u{n}", GENRES[n % 3]) for n in range(300)))
    _csv(
        folder / "visits.csv",
        "ts,visit_id,term,action,product_no,pos",
        (
            (f"2026-03-02T{n:02}:00:0{second}Z", f"v{n}", "shoes" * (second == 0), action, item, rank)
            for n in range(24)
            for second, action, item, rank in ((0, "search", "", ""), (9, "open_detail", "d1", 1))
        ),
    )
    for day in (1, 2):
        _csv(
            folder / f"2026-01-0{day}.csv",
            "shown_at,visit,q,sku,position,clicked",
            (
                (f"2026-01-0{day}T10:{n:02}:00Z", f"v{n}", "q1", f"d{rank}", rank, "false")
                for n in range(20)
                for rank in (1, 2, 3)
            ),
        )


def _from_made(folder: Path, rng: random.Random) -> None:
    """What people and users add to files that commands made."""
    with (folder / "sample.csv").open() as file:
        pairs = [(row["query"], row["document"]) for row in csv.DictReader(file)]
    _csv(
        folder / "sampled-ratings.csv",
        "query,document,rater,grade",
        ((*pair, rater, rng.randrange(4)) for pair in pairs for rater in RATERS),
    )
    shown_lists = []
    for number, line in enumerate((folder / "lists.jsonl").read_text().splitlines()):
        clicks = [slot for slot in range(1, 11) if rng.random() < 1 / (1 + slot)][:1]
        shown_lists.append({**json.loads(line), "clicks": clicks, "user": f"u{number // 2}"})
    _lines(folder / "shown.jsonl", map(json.dumps, shown_lists))
    with (folder / "batch.csv").open() as file:
        batch_pairs = [(row["query_id"], row["doc_id"]) for row in csv.DictReader(file)]
    _lines(folder / "drawn.qrels", (f"{q} 0 {doc} {rng.randrange(4)}" for q, doc in batch_pairs))
    for path in (folder / "sheets").glob("*.csv"):
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows({**row, "grade": rng.randrange(4)} for row in rows)


if __name__ == "__main__":
    sys.exit(main())
