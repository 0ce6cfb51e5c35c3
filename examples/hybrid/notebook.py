"""What a notebook does today: all 66 variants on all queries, and the best one is reported.

``python notebook.py`` needs the folder cast2021 of the page beside it.
"""

import tomllib
from itertools import product
from pathlib import Path

import rankgate

HERE = Path(__file__).parent


def measure_variants(folder: Path) -> dict[tuple[object, ...], float]:
    """The mean nDCG@10 of every variant on all judged queries."""
    plan = tomllib.loads((HERE / "sweep.toml").read_text())
    runs = [str(folder / Path(run).name) for run in plan["fuse"]["runs"]]
    qrels = rankgate.Collection(str(folder / Path(plan["sweep"]["qrels"]).name))
    means = {}
    for norm, mean, weights in product(*plan["dials"].values()):
        fused = rankgate.fuse(runs, f"opensearch-{mean}", norm=f"opensearch-{norm}", weights=weights)
        means[norm, mean, *weights] = rankgate.evaluate(qrels, fused.run, ["nDCG@10"]).runs[0].means["nDCG@10"]
    return means


def main() -> None:
    """Print today's variant, and the best one."""
    means = measure_variants(HERE / "cast2021")
    best = max(means, key=means.__getitem__)
    today = ("min_max", "arithmetic_mean", 0.5, 0.5)
    for name, variant in (("today", today), ("best", best)):
        print(f"{name}: {means[variant]:.4f}", *variant)


if __name__ == "__main__":
    main()
