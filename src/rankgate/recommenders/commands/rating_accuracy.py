"""``rankgate rating-accuracy``: predicted ratings against those that users gave."""

from __future__ import annotations

from collections.abc import Sequence

import click

from rankgate.core.console import options
from rankgate.core.console.name_types import RATING_METRIC
from rankgate.core.console.output import print_result
from rankgate.core.console.places import check_paths
from rankgate.core.present.write import FORMS
from rankgate.measurement.metrics.ratings import RATING_METRICS
from rankgate.recommenders.rating_accuracy import DEFAULT, rating_accuracy


@click.command("rating-accuracy")
@options.qrels
@options.run
@options.from_formats("judgments qrels", "runs run")
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    default=DEFAULT,
    metavar="METRIC",
    type=RATING_METRIC,
    help=f"One of {', '.join(RATING_METRICS)}; may be given several times. Without it: "
    f"{', '.join(DEFAULT)}.",
)
@options.form(*FORMS)
@options.output
def command(qrels: str, run: str, metrics: Sequence[str], form: str, output: str | None) -> None:
    """Compare the ratings that RUN predicts (its scores) with those that users gave (QRELS).

    RMSE, MAE, R2, ExplainedVariance, LogLoss and CalibrationError are of all rated pairs; NDPM,
    Spearman and Kendall are means over users. LogLoss and CalibrationError need ratings of 0 and 1
    and probabilities.

    \b
    rankgate rating-accuracy test.qrels.csv predicted.csv
    rankgate rating-accuracy clicks.csv probabilities.csv -m LogLoss -m CalibrationError
    """
    check_paths((qrels, run), output)
    print_result(rating_accuracy(qrels, run, metrics), form, output)
