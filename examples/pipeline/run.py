"""Follow a search through its stages on real collections, set its dials, and ask the gate.

``python run.py`` uses the standard library's docstrings, which are always there; ``--data FOLDER``
adds the collections cranfield and cacm where FOLDER has them.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import bm25  # noqa: E402 - in this folder
import corpora  # noqa: E402
import learned  # noqa: E402
import vectors  # noqa: E402
from encoder import PACKAGE, model_folder  # noqa: E402

import rankgate  # noqa: E402
from rankgate.engines.kinds.local_engines import Python  # noqa: E402

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result

METRICS = ["nDCG@10", "RR@10", "R@100"]
PUBLISHED = {
    "cacm": ("0.3123", "Anserini's, with these k1 and b"),
    "cranfield": ("0.2928", "another BM25's, its first 100 documents"),
}
K1, B = (0.6, 0.9, 1.2, 1.6), (0.2, 0.4, 0.75)
RRF, DEPTHS = (1, 5, 20, 60, 150), (10, 20, 50, 100)


def main(words: list[str] | None = None) -> int:
    """Run the example; the exit code is 0 whatever the gate says."""
    asked = _arguments(words)
    data = Path(asked.data) if asked.data else None
    dense = model_folder() is not None and not asked.lexical
    if not dense:
        print(f"No bi-encoder ({PACKAGE} is not installed): stages of words only.\n")
    for name in asked.collections or corpora.NAMES:
        if not corpora.there(name, data):
            print(f"{name}: not in {data or 'any folder: add --data'}.\n")
            continue
        folder = Path(asked.into) / name
        if not (folder / "documents.jsonl").exists():
            corpora.write(name, folder, data)
        if dense:
            vectors.build(folder)
        _follow(name, folder, dense=dense)
    return 0


def _follow(name: str, folder: Path, *, dense: bool) -> None:
    """Everything for one collection."""
    queries, qrels, index = folder / "queries.tsv", folder / "qrels.txt", str(folder)
    print(f"{'=' * 80}\n{name}: {len(corpora.read(folder)):,} documents\n")
    _published(name, index, queries, qrels)
    bm25.load(index)
    names = ("bm25", "dense", "rerank") if dense else ("bm25", "titles")
    if dense:
        learned.weights(index, 0)  # so that reading and learning are in no query's latency
    parameters: dict[str, Any] = {f"{stage}.index": index for stage in names}
    file = HERE / ("pipeline.toml" if dense else "lexical.toml")
    kept = folder / "stages"
    pipeline = rankgate.LivePipeline(file, queries, parameters, kept)
    result = rankgate.stages(qrels, pipeline, METRICS)
    print(f"{result}\n")
    result.report(folder / "stages.html")
    _picture(result, folder / "stages.png")
    runs = {row["stage"]: folder / f"{row['stage']}.run" for row in result.latency.to_dicts()}
    for row in result.latency.to_dicts():
        shutil.copy(row["file"], runs[row["stage"]])
    _sweep("k1 and b of BM25", folder, "bm25", _bm25_plan(index, queries, qrels))
    inputs = {stage: runs[stage] for stage in runs if stage not in {"hybrid", "rerank"}}
    _sweep("k of reciprocal rank fusion", folder, "rrf", _rrf_plan(inputs, qrels))
    if dense:
        print("Depth of the reranker: nDCG@10, and its median milliseconds")
        for depth in DEPTHS:
            settings = {**parameters, "rerank.depth": depth}
            pipeline = rankgate.LivePipeline(file, queries, settings, kept)
            each = rankgate.stages(qrels, pipeline, METRICS)
            last = each.ceilings.row(-1, named=True)
            time = each.latency.row(-1, named=True)["p50"]
            print(f"{depth:>5} {last['value']:.4f} {time:8.1f}")
        print()
    last = list(runs)[-1]
    print(f"{rankgate.gate(qrels, runs['bm25'], runs[last], policy=HERE / 'gate.toml')}\n")


def _published(name: str, index: str, queries: Path, qrels: Path) -> None:
    """BM25 with 1,000 documents, as published figures have it."""
    engine = Python(
        function="bm25:search",
        folder=str(HERE),
        depth=1000,
        parameters={"index": index, "k1": 0.9, "b": 0.4},
    )
    run = rankgate.snapshot(engine, queries).run
    mean = rankgate.evaluate(qrels, run, ["AP"]).runs[0].means["AP"]
    value, whose = PUBLISHED.get(name, ("", ""))
    print(f"BM25, k1 0.9, b 0.4: AP {mean:.4f}" + (f" ({value}: {whose})" if value else "") + "\n")


def _bm25_plan(index: str, queries: Path, qrels: Path) -> dict[str, Any]:
    engine = Python(
        function="bm25:search", folder=str(HERE), parameters={"index": index, "k1": 0.9, "b": 0.4}
    )
    asked = dict(line.split("\t") for line in queries.read_text("utf-8").splitlines())
    table = {"engine": engine, "queries": asked, "qrels": str(qrels.resolve())}
    return {"sweep": table, "dials": {"k1": list(K1), "b": list(B)}}


def _rrf_plan(runs: dict[str, Path], qrels: Path) -> dict[str, Any]:
    placed = {name: str(run.resolve()) for name, run in runs.items()}
    return {
        "sweep": {"qrels": str(qrels.resolve())},
        "fuse": {"runs": placed, "method": "rrf", "parameters": {"k": "{{k}}"}},
        "dials": {"k": list(RRF)},
        "baseline": {"k": 60},
    }


def _sweep(title: str, folder: Path, name: str, plan: dict[str, Any]) -> None:
    """What a dial does, and the honest gain of the best setting."""
    result = rankgate.sweep(plan, folder=folder / f"{name}.points")
    print(f"{title}\n" + "\n".join(result.document().lead))
    print()
    _picture(result, folder / f"{name}.png", "sweep-dials")


def _picture(result: Result, place: Path, kind: str | None = None) -> None:
    """Write the picture of a result, where the library that draws is there."""
    try:
        (result.plot(kind) if kind else result.plot()).save(place)
    except rankgate.RankgateError as error:
        print(f"No picture: {error}\n")


def _arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="folder with cranfield and cacm")
    parser.add_argument("--into", default="work", help="folder of what is written")
    parser.add_argument("--lexical", action="store_true", help="do without the bi-encoder")
    parser.add_argument("collections", nargs="*", metavar="NAME", help="stdlib, cranfield, cacm")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
