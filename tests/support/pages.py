"""Pages to look at: of real data, of the demo, and of data that mean harm."""

import json
import re
import shutil
import sys

import pytest

from rankgate.interface.cli import main

REAL = [pytest.param(name, marks=pytest.mark.shared) for name in ("covid", "folder")]
NAMES = ("demo", "many", *REAL, "gate", "hostile", "deltas", "grades")

HARM = "<img src=x onerror=\"document.title='taken'\"></script><script>document.title='taken'</script>"
TEXTS = (
    HARM,
    "'\"><svg/onload=document.title='taken'>",
    "\u202ertl\u202c \u05d0\u05d1\u05d2 \u0627\u0644\u0639\u0631\u0628\u064a\u0629",
    "nul\0byte\x1b[31mred\x07",
    "w" * 400,
    "${document.title='taken'} {{7*7}} javascript:document.title='taken'",
    "&lt;b&gt; &amp;amp; &#x202e; \ufeff \U0001f469\u200d\U0001f4bb",
)


def call(*words):
    """``rankgate`` with these words, in this process."""
    old_argv, sys.argv = sys.argv, ["rankgate", *map(str, words)]
    try:
        with pytest.raises(SystemExit) as exit_info:
            main()
    finally:
        sys.argv = old_argv
    assert exit_info.value.code in {0, 1, 3}


def demo(folder, demo_history):
    """The demo's report, with a verdict."""
    shutil.copytree(demo_history, folder / "demo")
    data = [folder / "demo" / name for name in ("qrels.txt", "old.run", "new.run")]
    options = ("--queries", folder / "demo" / "queries.tsv")
    call("report", *data, "-m", "RR", "-m", "nDCG@10", "--gate", *options, "-o", folder / "demo.html")
    other_runs = [folder / "demo" / f"{name}.run" for name in ("third", "fourth")]
    for path in other_runs:
        path.write_bytes(data[2].read_bytes())
    call("report", *data, *other_runs, "-m", "RR", "-m", "nDCG@10", "-o", folder / "many.html")
    call("gate", *data, "--format", "html", "-o", folder / "gate.html")
    call("plot", "deltas", *data, "-o", folder / "deltas.html")
    call("plot", "grades", *data, "-o", folder / "grades.html")


def covid(folder, shared):
    """The report of real runs, and one of a folder of results."""
    source = shared / "trec-covid-r1"
    qrels, runs = source / "qrels.covid-round1.txt", source / "runs"
    run_names = ("bm25_baseline", "udel_fang_run3")
    data = [qrels, *(runs / f"{name}.gz" for name in run_names)]
    topics = ("--queries", source / "topics.covid-round1.xml")
    call("report", *data, "--gate", *topics, "-o", folder / "covid.html")
    results = folder / "results"
    results.mkdir()
    for name, arguments in {
        "eval": ["eval", *data, "--per-query"],
        "compare": ["compare", *data],
        "gate": ["gate", *data],
        "blindspots": ["blindspots", *data],
        "holes": ["holes", *data],
        "stages": ["stages", *data],
        "explain": ["explain", *data[:2], "--query", "1", "-m", "nDCG@10"],
        "reconcile": ["reconcile", *data[:2], "-m", "nDCG@10"],
        "advise": ["advise", *data],
    }.items():
        call(*arguments, "--format", "json", "-o", results / f"{name}.json")
    (results / "notes.txt").write_text("no result")
    call("report", results, *topics, "-o", folder / "folder.html")


def hostile(folder):
    """A report with attacks in ids, texts and names."""
    ids = [f"{HARM[:60]}{i}".replace(" ", "\u00a0") for i in range(12)]
    docs = [re.sub("[\0\x07\x1b]", "", text).replace(" ", "\u00a0") for text in TEXTS]
    lines = [f"{query} 0 {doc} {3 - j % 4}\n" for query in ids for j, doc in enumerate(docs)]
    (folder / "qrels.txt").write_text("".join(lines), encoding="utf-8")
    names = ["old<script>.run", "new\"'><img src=x>.run"]
    for turn, name in enumerate(names):
        rows = [
            f"{query}\tQ0\t{docs[(turn * i + j) % len(docs)]}\t{j + 1}\t{9 - j}\tt\n"
            for i, query in enumerate(ids)
            for j in range(len(docs))
        ]
        (folder / name).write_text("".join(rows), encoding="utf-8")
    titles = [{"_id": doc, "title": text, "text": HARM} for doc, text in zip(docs, TEXTS, strict=True)]
    (folder / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in titles))
    query_texts = [{"_id": query, "text": TEXTS[i % len(TEXTS)]} for i, query in enumerate(ids)]
    (folder / "words.jsonl").write_text("".join(json.dumps(row) + "\n" for row in query_texts))
    call(
        "report",
        folder / "qrels.txt",
        *(folder / name for name in names),
        "-m",
        "nDCG@10",
        "--gate",
        "--documents",
        folder / "docs.jsonl",
        "--queries",
        folder / "words.jsonl",
        "-o",
        folder / "hostile.html",
    )
