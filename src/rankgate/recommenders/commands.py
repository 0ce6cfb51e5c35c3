"""The commands of recommenders: ``split``, ``scorecard`` and ``rating-accuracy``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import own_options, value_options, verb_options
from rankgate.core.console.option_types import RATING_METRIC, WRITABLE, DefiningCommand, SectionedCommand
from rankgate.core.console.shared_options import backend_options
from rankgate.core.console.terminal_output import TerminalProgress, print_result, with_figures_options
from rankgate.core.present.write_results import FORMS
from rankgate.data.logs.interactions import UNITS
from rankgate.data.logs.log_judgments import Truth
from rankgate.data.logs.splits import CANDIDATES, ELSEWHERE, SPLIT_METHODS, SplitPlan
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection, seeds_of
from rankgate.measurement.metrics.rating_errors import RATING_METRICS
from rankgate.recommenders.rating_accuracy import DEFAULT, rating_accuracy
from rankgate.recommenders.scorecard import ACCURACY, LISTS, scorecard
from rankgate.recommenders.split_files import SUFFIXES, split_into
from rankgate.recommenders.splitting import split

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.recommenders.split import Split


@click.command(
    "split",
    cls=DefiningCommand,
    definitions={
        "Ways": [
            *((name, split_way.title) for name, split_way in SPLIT_METHODS.items()),
            (ELSEWHERE, "LOG and --test are the parts already: check them, and make judgments"),
        ]
    },
)
@shared_options.paths("log LOG")
@value_options(
    "plan",
    SplitPlan,
    "way WAY",
    "share",
    "last",
    "cut TIME",
    "windows",
    "validation",
    "seed",
    "target",
    "core K",
    "fold_in SHARE",
    "gap MINUTES",
)
@verb_options(split, "test")
@verb_options(split, "candidates", "negatives", choices={"candidates": CANDIDATES})
@value_options("rule", Truth, "weights KIND=X --weight", "threshold", "least KIND=X", "repeats", "grades")
@verb_options(split, "columns OURS=THEIRS --columns")
@shared_options.from_option
@verb_options(split, "time_unit", "equal_rows", choices={"time_unit": UNITS})
@own_options("into FOLDER", "to", choices={"to": SUFFIXES}, kinds={"into": WRITABLE})
@shared_options.form(*FORMS)
@shared_options.output
@backend_options
def split_command(
    log: str, *, into: str | None = None, to: str = "csv", form: str, output: str | None, **options: Any
) -> None:
    """Split LOG into training and test sets; check for leakage.

    LOG is CSV, TSV, Parquet, JSONL, MovieLens, RecBole's .inter or lines of `user: item item`.

    \b
    rankgate split ratings.csv --threshold 4 --into parts
    rankgate split events.parquet --weight buy=1 --weight view=0.1 --cut 2026-03-01
    rankgate split ml-100k.inter --way leave-last --candidates sampled --into parts
    rankgate split ratings.csv --core 5 --way windows --target next --into parts
    rankgate split ratings.csv --way cold-users --fold-in 0.8 --into parts
    rankgate split ratings.csv --way sessions --target last --candidates all --into parts
    rankgate split train.csv --test test.csv
    \f

    Options:
        into: Write the training set, test set and judgments into this folder.
        to: The file format of these files.
    """
    result: Split
    result, names = split_into(log, folder=into, to=to, **options)
    if into is not None:
        click.echo(f"written to {into}: {', '.join(names)}", err=True)
    print_result(result, form, output)


@click.command("scorecard", cls=SectionedCommand)
@shared_options.qrels
@shared_options.runs
@metric_options.metrics_option(
    "A metric of rankings or of lists; may be given several times. Without it: "
    f"{', '.join(ACCURACY)}, and of {', '.join(LISTS)} those with all their inputs given."
)
@metric_options.convention
@verb_options(scorecard, "slices BY --slice", "level", "resamples")
@shared_options.seed
@with_figures_options
@shared_options.form(*FORMS)
@shared_options.output
@of_collection("runs")
@seeds_of("runs")
@backend_options
def scorecard_command(
    collection: Collection, runs: tuple[str, ...], form: str, output: str | None, **options_of_scorecard: Any
) -> None:
    """Compare recommenders: accuracy, coverage, novelty, diversity and fairness.

    The other runs are compared with the first RUN.

    \b
    rankgate scorecard test.qrels.csv popular.run knn.run --training train.csv
    rankgate scorecard test.qrels.csv a.run b.run --items movies.csv --category genres
    rankgate scorecard test.qrels.csv a.run b.run -m nDCG@10 -m Gini@10 -m Coverage@10
    rankgate scorecard test.qrels.csv a.run b.run --training train.csv --slice activity
    rankgate scorecard test.qrels.csv knn.run bpr.seed1.run bpr.seed2.run bpr.seed3.run --seeds .seed
    """
    with TerminalProgress(len(runs)):
        card = scorecard(collection, list(runs), **options_of_scorecard)
    print_result(card, form, output)


@click.command("rating-accuracy", cls=SectionedCommand)
@shared_options.qrels
@shared_options.run
@metric_options.metrics_option(
    f"One of {', '.join(RATING_METRICS)}; may be given several times. Without it: {', '.join(DEFAULT)}.",
    DEFAULT,
    kind=RATING_METRIC,
)
@shared_options.form(*FORMS)
@shared_options.output
@of_collection("run")
@backend_options
def rating_accuracy_command(
    collection: Collection, run: str, metrics: Sequence[str], form: str, output: str | None
) -> None:
    """Compare the ratings that RUN predicts (its scores) with those that users gave (QRELS).

    RMSE, MAE, R2, ExplainedVariance, LogLoss and CalibrationError are of all rated pairs; NDPM,
    Spearman and Kendall are means over users. LogLoss and CalibrationError need ratings of 0 and 1
    and probabilities.

    \b
    rankgate rating-accuracy test.qrels.csv predicted.csv
    rankgate rating-accuracy clicks.csv probabilities.csv -m LogLoss -m CalibrationError
    """
    print_result(rating_accuracy(collection, run, metrics), form, output)
