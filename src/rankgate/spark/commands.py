"""What ``--backend spark`` does: the verb of a command on Spark, with the same output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rankgate.core.console.output import print_result
from rankgate.core.console.places import inputs, refuse_clashes
from rankgate.core.errors import UsageError
from rankgate.spark.failures import translated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from rankgate.data.collection import Collection


def run_on_spark(verb: str, master: str | None, given: Mapping[str, Any]) -> None:
    """Run a command's verb on Spark, and print its result.

    Args:
        verb: eval, scorecard, split, kpi or judgments.
        master: of Spark; None is that of ``spark-submit``, or this machine.
        given: the command's arguments.

    Raises:
        UsageError: an option that Spark does not have.
        RankgateError: as of the verb.
    """
    with _session(master) as spark:
        _VERBS[verb](spark, given)


@contextmanager
def _session(master: str | None) -> Iterator[SparkSession]:
    """A session for one command."""
    from rankgate.spark.sessions import session

    spark = session(master)
    try:
        yield spark
    finally:
        spark.stop()


def _refuse_others(given: Mapping[str, Any], known: Iterable[str]) -> None:
    """Check that no option is given that Spark does not have.

    Raises:
        UsageError: it names one.
    """
    for name, value in given.items():
        if name not in known and _is_given(value):
            problem = f"--{name.replace('_', '-')} is not there with --backend spark; leave it out."
            raise UsageError(problem, code="unused-option")


def _is_given(value: object) -> bool:
    """Whether an option has another value than its default."""
    if hasattr(value, "__dataclass_fields__"):
        return any(_is_given(each) for each in vars(value).values())
    return value not in (None, False, (), "", {}, [])


def _eval(spark: SparkSession, given: Mapping[str, Any]) -> None:
    chosen = ("metrics", "convention", "slices")
    collection: Collection = given["collection"]
    _refuse_others(given, ("collection", "runs", *chosen, "form", "output"))
    _refuse_others(collection.stated(), ("judgments", "columns", "tags"))
    from rankgate.spark.evaluation import evaluate

    result = evaluate(
        collection.judgments,
        list(given["runs"]),
        columns=collection.columns,
        tags=collection.tags,
        values=False,
        spark=spark,
        **{name: given[name] for name in chosen},
    )
    print_result(result.summary, given["form"], given["output"], per_query=False)


def _scorecard(spark: SparkSession, given: Mapping[str, Any]) -> None:
    collection: Collection = given["collection"]
    chosen = ("runs", "metrics", "convention", "level", "resamples", "seed", "slices")
    _refuse_others(given, ("collection", *chosen, "form", "output"))
    stated = ("judgments", "columns", "training", "items", "users", "drop_seen")
    _refuse_others(collection.stated(), stated)
    _refuse_others(collection.items.stated(), ("table", "features", "category", "group"))
    from rankgate.recommenders.scorecard import ACCURACY
    from rankgate.spark.scorecards import scorecard

    card = scorecard(
        collection.judgments,
        list(given["runs"]),
        given["metrics"] or ACCURACY,
        given["convention"],
        level=given["level"],
        resamples=min(given["resamples"], 200),
        seed=given["seed"],
        users=collection.users,
        slices=given["slices"],
        columns=collection.columns,
        train=collection.training,
        items=collection.items.table,
        features=collection.items.features,
        category=collection.items.category,
        group=collection.items.group,
        drop_seen=collection.drop_seen,
        spark=spark,
    )
    print_result(card, given["form"], given["output"])


def _kpi(spark: SparkSession, given: Mapping[str, Any]) -> None:
    _refuse_others(given, ("events", "names", "by", "form", "output"))
    from rankgate.spark.indicators import kpi

    table = kpi(given["events"], given["names"], by=given["by"], spark=spark)
    print_result(table, given["form"], given["output"])
    import click

    click.get_current_context().exit(table.status)


def _split(spark: SparkSession, given: Mapping[str, Any]) -> None:
    import click

    from rankgate.spark.splitting.verb import split

    others = ("into", "to", "form", "output")
    chosen = {name: value for name, value in given.items() if name not in others}
    found = split(spark=spark, **chosen)
    if given["into"] is not None:
        names = found.write(given["into"], given["to"])
        click.echo(f"written to {given['into']}: {', '.join(names)}", err=True)
    print_result(found.summary, given["form"], given["output"])


def _judgments(spark: SparkSession, given: Mapping[str, Any]) -> None:
    from rankgate.online.clicks.judge import judgments
    from rankgate.spark.clicks import click_counts

    own = ("events", "target", "to", "form")
    events, target = given["events"], given["target"]
    refuse_clashes(inputs(), target)
    counted = click_counts(events, ranks=given["ranks"], spark=spark)
    with translated(str(events.log)):
        table = counted.toArrow()
    found = judgments(table, **{name: each for name, each in given.items() if name not in own})
    if target and not found.status:
        found.write(target, given["to"])
    print_result(found, given["form"])
    import click

    click.get_current_context().exit(found.status)


_VERBS: dict[str, Callable[[SparkSession, Mapping[str, Any]], None]] = {
    "eval": _eval,
    "scorecard": _scorecard,
    "kpi": _kpi,
    "split": _split,
    "judgments": _judgments,
}
