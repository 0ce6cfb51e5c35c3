"""What trec_eval 10, trec_eval 9 and pytrec_eval print for small inputs, number by number."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from rankgate.compat import pytrec_eval
from rankgate.core.errors import RankgateError
from rankgate.measurement.evaluation.trec.trec_columns import parse_columns
from rankgate.measurement.evaluation.trec.trec_eval import trec_eval
from rankgate.measurement.scoring import CONVENTIONS
from support.golden import Call, assert_rows, batches, evaluated, parsed, rows_of

CONVENTION_NAMES = ("trec", "trec9", "pytrec_eval")

ROWS = rows_of(CONVENTION_NAMES)
FILE = re.compile(r"qrels file ('(?:[^'\\]|\\.)*'); run file ('(?:[^'\\]|\\.)*')")


def numbers(table, kind=float):
    return {query: {name: kind(text) for name, text in row} for query, row in table.items()}


def outcome(metric):
    """A metric of the table as name, parameters, and the text in brackets after it."""
    name, _, options = metric.removesuffix("]").partition("[")
    match = re.fullmatch(r"(\w+)(?:\((.*)\))?(?:@(.*))?", name.strip())
    name, parameters, cutoff = match.groups() if match else (name.strip(), None, None)
    return (name, dict(pair.split("=") for pair in (parameters or "").split(",") if pair), cutoff, options)


def word_of(name, given, cut):
    """The metric as trec_eval spells it."""
    if name == "RBP":
        return f"rbp.p={given['p']}"
    plain_name, cutoff_name = SPELLED.get(name, (name, name))
    return plain_name if cut is None else f"{cutoff_name}.{cut}"


SPELLED = {
    "AP": ("map", "map_cut"),
    "Bpref": ("bpref", ""),
    "IPrec": ("", "iprec_at_recall"),
    "NumQ": ("num_q", ""),
    "NumRel": ("num_rel", ""),
    "NumRet": ("num_ret", ""),
    "R": ("", "recall"),
    "RR": ("recip_rank", ""),
    "SetP": ("set_P", ""),
    "SetR": ("set_recall", ""),
    "SetRelP": ("set_relative_P", "relative_P"),
    "Success": ("", "success"),
    "nDCG": ("ndcg", "ndcg_cut"),
}


def texts_of(row):
    """The two files that a row was made from."""
    match = FILE.search(row["note"])
    if match and "[file" in row["metric"]:
        return [ast.literal_eval(text) for text in match.groups()]
    qrels, run = parsed(row["qrels"], "="), parsed(row["run"], "@")
    return [
        "".join(f"{query} 0 {name} {grade}\n" for query in qrels for name, grade in qrels[query]),
        "".join(f"{query} Q0 {name} 1 {score} t\n" for query in run for name, score in run[query]),
    ]


@cache
def column(word, level, te9):
    """The column that trec_eval prints for a word."""
    return parse_columns([word], level=level, te9=te9)[0]


def joined(words):
    """The words with all cutoffs of a metric in one, as trec_eval takes them: ``P.5,10``."""
    cutoffs = defaultdict(list)
    for word in dict.fromkeys(words):
        name, _, cutoff = word.partition(".")
        cutoffs[name].append(cutoff)
    plain_names = [name for name, name_cutoffs in cutoffs.items() if "" in name_cutoffs]
    return plain_names + [
        f"{name}.{','.join(filter(None, name_cutoffs))}"
        for name, name_cutoffs in cutoffs.items()
        if any(name_cutoffs)
    ]


def by_trec_eval(rows, folder):
    """The values of rows that share files and options, read from files as trec_eval is."""
    row = rows[0]
    _, parameters, _, options = outcome(row["metric"])
    paths = [folder / f"{row['id']}.{suffix}" for suffix in ("qrels", "run")]
    for path, text in zip(paths, texts_of(row), strict=True):
        path.write_bytes(text.encode())
    level = 2 if "-l2" in options or parameters.get("rel") == "2" else 1
    te9 = row["convention"] == "trec9"
    spellings = {case["id"]: word_of(*outcome(case["metric"])[:3]) for case in rows}
    result = trec_eval(
        *paths,
        joined(spellings.values()),
        complete="-c" in options.split(),
        judged_only="-J" in options or "judged_only" in parameters,
        level=level,
        depth=10 if "-M 10" in options else None,
        te9=te9,
    )
    return {name: result.mean(column(word, level, te9).label) for name, word in spellings.items()}


def by_pytrec_eval(rows, _):
    """The values of rows that share dictionaries and options."""
    row = rows[0]
    _, parameters, _, options = outcome(row["metric"])
    if "[file" in row["metric"] or "abc" in row["run"]:
        lines = [text.splitlines(keepends=True) for text in texts_of(row)]
        qrels, run = pytrec_eval.parse_qrel(lines[0]), pytrec_eval.parse_run(lines[1])
    else:
        parse_grade = lambda text: float(text) if "." in text else int(text)  # noqa: E731
        score = np.float32 if "float32" in options else float
        grade = np.int64 if "numpy int" in options else parse_grade
        qrels, run = (numbers(parsed(row["qrels"], "="), grade), numbers(parsed(row["run"], "@"), score))
    level = 2 if "relevance_level=2" in options or parameters.get("rel") == "2" else 1
    spellings = {case["id"]: word_of(*outcome(case["metric"])[:3]) for case in rows}
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, joined(spellings.values()), level, "judged_only" in parameters
    )
    evaluator.evaluate(run)  # a second call is as good as the first
    result = evaluator.evaluate(run)
    if not result:
        return dict.fromkeys(spellings, "empty result")
    names = {}
    for name, word in spellings.items():
        output_column = column(word, level, te9=True)
        names[name] = (
            output_column.label if output_column.label in next(iter(result.values())) else output_column.name
        )
    return {
        name: float(np.mean([values[column_name] for values in result.values()]))
        for name, column_name in names.items()
    }


REFUSALS = {
    "error: AssertionError": AssertionError,
    "error: TypeError": TypeError,
    "error: ValueError": ValueError,
    "error: exit 2": RankgateError,
    "error: exit 4": RankgateError,
}


def fits_a_face(row):
    """Whether the tool can be given the row: no file holds a query without documents."""
    return "[file" in row["metric"] or row["convention"] == "pytrec_eval" or all(texts_of(row))


FACED = [row for row in ROWS if fits_a_face(row)]


def options_of(row):
    """Equal for rows of a batch that one call computes; rows that fail are called alone."""
    name, parameters, cutoff, options = outcome(row["metric"])
    fails = row["value"].startswith("error")
    called_alone = fails or "[file" in row["metric"] or "=" in word_of(name, parameters, cutoff)
    return options, parameters.get("rel"), "judged_only" in parameters, called_alone and row["id"]


@pytest.mark.parametrize("batch", batches(FACED))
def test_the_interface_gives_what_the_tool_gives(batch, tmp_path):
    groups, values = defaultdict(list), {}
    for row in batch:
        groups[options_of(row)].append(row)
    for rows in groups.values():
        compute = by_pytrec_eval if rows[0]["convention"] == "pytrec_eval" else by_trec_eval
        if rows[0]["value"].startswith("error"):
            with pytest.raises(REFUSALS[rows[0]["value"]]) as caught:
                compute(rows, tmp_path)
            values[rows[0]["id"]] = caught.value
        else:
            values |= compute(rows, tmp_path)
    empty = [row for row in batch if row["value"] == "empty result"]
    assert all(values[row["id"]] == "empty result" for row in empty)
    assert_rows([row for row in batch if row not in empty], values)


def has_own_meaning(row):
    """Whether `evaluate` reads the row as the tool does: no options of its own, no files."""
    _, _, _, options = outcome(row["metric"])
    return (
        not row["value"].startswith("error")
        and "abc" not in row["run"]
        and set(options.split()) <= {"-c", "-J", "-M", "10"}
        and not row["metric"].startswith("SetRelP@")
    )


OWN = [row for row in ROWS if has_own_meaning(row)]


def call(row):
    metric, _, options = row["metric"].removesuffix("]").partition("[")
    convention = CONVENTIONS[row["convention"]]
    convention = replace(
        convention,
        missing="zero" if "-c" in options else convention.missing,
        judged_only="-J" in options,
        depth=10 if "-M 10" in options else None,
    )
    qrels, run = numbers(parsed(row["qrels"], "=")), numbers(parsed(row["run"], "@"))
    return Call(qrels, run, metric.strip(), convention)


@pytest.mark.parametrize("batch", batches(OWN))
def test_evaluate_gives_what_the_tool_gives(batch):
    values = evaluated({row["id"]: call(row) for row in batch})
    assert_rows([row for row in batch if row["value"] != "empty result"], values)


def test_no_row_is_missing():
    assert Counter(row["convention"] for row in ROWS) == {"trec": 994, "trec9": 971, "pytrec_eval": 714}
    assert (len(FACED), len(OWN)) == (2670, 2617)
    assert all(row in FACED or row in OWN for row in ROWS)
