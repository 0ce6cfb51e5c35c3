"""Audits call no true table impossible, and find planted numbers that are."""

import json
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate.core.errors import InputError, UsageError
from rankgate.decisions.reproduction.printed_cells import read_cell, read_count
from rankgate.measurement.stats.possible_means import (
    discounted_gap,
    ends_possible,
    multiples_possible,
    reciprocal_ranks_possible,
)
from support.wording import raises

DEPTH = 20
COLUMNS = ("P@5", "P@10", "Success@5", "RR@3", "RR@10", "RR@20", "RR", "nDCG@5", "nDCG@10")


def means(grades):
    """Metrics by their definitions, of (n, DEPTH) grades of ranked documents; all are retrieved."""
    hit = grades > 0
    ranks = np.where(hit.any(axis=1), hit.argmax(axis=1) + 1, np.inf)
    found = {f"P@{k}": hit[:, :k].mean(axis=1) for k in (5, 10)}
    found["Success@5"] = hit[:, :5].any(axis=1)
    found |= {f"RR@{k}": np.where(ranks <= k, 1 / ranks, 0) for k in (3, 10, 20)}
    found["RR"] = 1 / ranks
    ideal = -np.sort(-grades, axis=1)
    for k in (5, 10):
        weight = 1 / np.log2(np.arange(2, k + 2))
        best = ideal[:, :k] @ weight
        found[f"nDCG@{k}"] = np.where(best > 0, grades[:, :k] @ weight / np.maximum(best, 1e-9), 0)
    return {name: float(found[name].mean()) for name in COLUMNS}


def written(place, rows, places, scale=1):
    """A table in a form that depends on the number of its rows."""
    cells = [
        (f"s{at}", *(f"{scale * row[name]:.{places}f}" for name in COLUMNS)) for at, row in enumerate(rows)
    ]
    head = ("system", *COLUMNS)
    if len(rows) == 2:
        lines = [",".join(row) for row in (head, *cells)]
    elif len(rows) == 3:
        lines = [f"| {' | '.join(row)} |" for row in (head, ["--"] * len(head), *cells)]
    else:
        lines = [rf"{' & '.join(row)} \\" for row in (head, *cells)]
    place.write_text("\n".join(lines))
    return place


def test_a_hundred_true_tables_are_possible(tmp_path):
    random = np.random.default_rng(3)
    for number in range(100):  # 10,000 are in validity/studies/published_tables.py
        n = int(random.choice([1, 2, 3, 5, 10, 30, 43, 50, 100, 450]))
        skill = random.uniform(0.02, 0.98)
        rows = []
        for _ in range(2 + number % 3):
            relevant = random.random((n, DEPTH)) < skill ** np.arange(1, DEPTH + 1) ** 0.3
            rows.append(means(relevant * random.integers(1, 4, (n, DEPTH))))
        percent = number % 4 == 0 and max(row["RR"] for row in rows) > 0.02
        places = int(random.integers(1, 6))
        table = written(tmp_path / "table", rows, places, 100 if percent else 1)
        found = rankgate.audit(table, queries=n, grades=3)
        assert found.verdict != "impossible", found.notices
        assert (found.cells["status"] == "possible").all()


@pytest.mark.parametrize(("k", "n"), [(3, 1), (3, 4), (10, 2), (10, 3)])
def test_reciprocal_ranks_are_those_of_all_multisets(k, n):
    values = [Fraction(0), *(Fraction(1, rank) for rank in range(1, k + 1))]
    sums = {sum(chosen) / n for chosen in combinations_with_replacement(values, n)}
    for printed in range(1001):
        low, high = Fraction(2 * printed - 1, 2000), Fraction(2 * printed + 1, 2000)
        true = any(low <= mean <= high for mean in sums)
        assert reciprocal_ranks_possible(k, n, float(low), float(high)) == true, printed


def test_many_reciprocal_ranks_are_listed_at_the_ends():
    assert reciprocal_ranks_possible(10, 5000, 1 - 0.5001 / 5000, 1 - 0.4999 / 5000)
    assert not reciprocal_ranks_possible(10, 5000, 1 - 0.49 / 5000, 1 - 0.01 / 5000)
    assert not reciprocal_ranks_possible(10, 5000, 0.01 / 5000, 0.09 / 5000)
    assert reciprocal_ranks_possible(10, 5000, 0.5, 0.5)
    assert not reciprocal_ranks_possible(None, 450, 1 - 0.4 / 450, 1 - 0.1 / 450)


def test_planted_numbers_are_found(tmp_path):
    random = np.random.default_rng(5)
    found = total = 0
    for _ in range(300):
        n, k = int(random.choice([20, 43, 50])), 10
        count = int(random.integers(1, n * k))
        between = (count + 0.5) / (n * k)  # no mean is near
        table = tmp_path / "t.csv"
        table.write_text(f"system,P@{k},topics\na,{between:.4f},{n}\nb,{count / n / k:.4f},{n}\n")
        cells = rankgate.audit(table).cells
        total += 1
        found += cells["status"].to_list() == ["impossible", "possible"]
    assert found == total


def test_values_near_the_ends_are_far_enough_from_them():
    least, gap = discounted_gap(1, 10, None)
    assert least == pytest.approx((1 / np.log2(11)) / (1 / np.log2(np.arange(2, 12))).sum())
    assert ends_possible(least, gap, 5, 0.9999, 1)
    assert not ends_possible(0.2, 0.2, 5, 0.97, 0.99)
    assert not ends_possible(0.2, 0.2, 5, 0.01, 0.03)
    assert ends_possible(0.2, 0.2, 5, 0.04, 0.04)
    assert not multiples_possible(Fraction(1), 3, 0.34, 0.66)


TEX = r"""
\begin{tabular}{lcc}
\toprule
System & n & P@10 (\%) & Prec. \\ \midrule % 12.5 & 3
BM25 & 50 & 45.2 & 0.5 \\
Dense & 50 & \textbf{45.3}$^{\dagger}$ & 0.52 \\
\bottomrule
\end{tabular}
"""


def test_marks_and_percentages(tmp_path):
    table = tmp_path / "t.tex"
    table.write_text(TEX)
    found = rankgate.audit(table, columns={"Prec.": "P@5"})
    rows = found.cells.select("system", "printed", "line", "status").rows()
    assert rows[:2] == [("BM25", "45.2", 5, "possible"), ("Dense", "45.3", 6, "impossible")]
    assert found.cells["metric"].to_list() == ["P@10", "P@10", "P@5", "P@5"]
    assert [notice.code for notice in found.notices] == ["impossible-mean"]


def verdict(tmp_path, text, **chosen):
    place = tmp_path / "table.md"
    place.write_text(text)
    return rankgate.audit(place, **chosen).verdict


def test_whether_systems_are_told_apart(tmp_path):
    table = "| s | P@10 |\n|--|--|\n| a | 0.450 |\n| b | {} |\n"
    assert verdict(tmp_path, table.format("0.452"), queries=50) == "unresolvable"
    assert verdict(tmp_path, table.format("0.550"), queries=50) == "consistent"
    assert verdict(tmp_path, table.format("0.550"), queries=50, sd=0.5) == "unresolvable"
    assert verdict(tmp_path, table.format("0.453"), queries=50) == "impossible"
    assert verdict(tmp_path, table.format("0.453")) == "unknown"
    assert verdict(tmp_path, table.replace("P@10", "Speed").format("3"), queries=50) == "unknown"
    low = "| s | Success@1 |\n|--|--|\n| a | 0.94 |\n| b | 1.00 |\n"
    assert verdict(tmp_path, low, queries=50, sd=0.001) == "unresolvable"  # three queries


CELLS = {
    "0.452": (0.452, 3),
    "**0.452**": (0.452, 3),
    "<u>0.452</u>": (0.452, 3),
    r"\textbf{0.452}": (0.452, 3),
    r"\cellcolor{gray!20}0.452": (0.452, 3),
    r"\cellcolor[HTML]{FFCC00}{\bfseries 0.452}": (0.452, 3),
    r"\color{red}0.452": (0.452, 3),
    r"\textcolor{red}{0.452}": (0.452, 3),
    r"\num{0.452}": (0.452, 3),
    "$0.452^{12}$": (0.452, 3),
    r"0.452$^{\dagger\ddagger}$": (0.452, 3),
    "0.452²": (0.452, 3),
    "0.452[^1]": (0.452, 3),
    r"0.452\footnote{Over 3 runs.}": (0.452, 3),
    r"0.452\tnote{a}": (0.452, 3),
    "0.452<sup>ab</sup>": (0.452, 3),
    "0.452 ± 0.013": (0.452, 3),
    r"$0.452_{\pm 0.013}$": (0.452, 3),
    r"0.452 {\small $\pm$ 0.01}": (0.452, 3),
    "0,452": (0.452, 3),
    ".452": (0.452, 3),
    "0.452 (n=50)": (0.452, 3),
    "0.452 (+2.7 %)": (0.452, 3),
    "0.452 [0.41, 0.49]": (0.452, 3),
    "45.2 %": (45.2, 1),
    r"45.2\,\%": (45.2, 1),
    "45.2 ± 1.3 %": (45.2, 1),
    r"\SI{45.2}{\percent}": (45.2, 1),
    "4.52e-1": (0.452, 3),
    "−0.3": (-0.3, 1),
}


@pytest.mark.parametrize("cell", CELLS)
def test_the_number_of_a_cell_is_read_in_each_style(cell):
    number = read_cell(cell, "")
    assert (number.value, number.places) == pytest.approx(CELLS[cell])
    assert number.percent == (CELLS[cell][0] == 45.2)


def test_cells_without_one_exact_number_are_not_read():
    for cell, why in (
        ("0.41–0.45", "not one number"),
        ("12/50", "not one number"),
        ("~0.4", "not exact"),
        ("<0.001", "not exact"),
        (r"$\sim$0.4", "not exact"),
        ("0.45 0.46", "not one number"),
        ("10^{3}", "power of 10"),
        ("1.2.3,4,5", "not one number"),
    ):
        assert why in read_cell(cell, ".").why, cell
    assert "thousands or decimals" in read_cell("45,200", ".").why
    assert [read_cell(cell, ".") for cell in ("", "–", "n/a", "--", r"\textbf{}")] == [None] * 5


def test_numbers_of_queries_are_whole():
    for cell in (
        "6,980",
        "6.980",
        "6 980",
        "6\u202f980",
        "6'980",
        "6{,}980",
        r"6\,980",
        "n=6980",
        "6980 queries",
        "6980.0",
    ):
        assert read_count(cell, "") == 6980, cell
    assert read_count("50,000", ".") == read_count("50.000", ",") == 50_000
    assert read_count("50.000", ".").why == "it can be 50 or 50,000"
    assert "number of queries" in read_count("49.5", ".").why


def test_changes_and_counts_turn_no_column_into_percentages(tmp_path):
    place = tmp_path / "table.md"
    place.write_text(
        "| System | P@10 | RR@10 |\n|--|--|--|\n| #queries | 50 | 6,980 |\n| a | 0.452 | 0.2 |\n"
        "| b | 0.464 | 0.3 |\n| b vs. a | +2.7 % | -50.0 % |\n"
    )
    rows = rankgate.audit(place).cells.select("system", "n", "low", "status", "why").rows()
    assert [row[1] for row in rows] == [50, 50, 50, 6980, 6980, 6980]
    assert rows[0][2] == pytest.approx(0.4515)
    assert [row[3] for row in rows] == ["possible"] * 6  # 2.7 % of 0.452; 0.2 and 0.3 can be 0.15 and 0.30


def test_percent_signs_count_for_their_own_cell(tmp_path):
    place = tmp_path / "table.md"
    place.write_text("| s | P@10 |\n|--|--|\n| a | 0.5 % |\n| b | 1.0 % |\n| c | 0.45 |\n")
    cells = rankgate.audit(place, queries=20).cells
    assert cells["low"].to_list() == pytest.approx([0.0045, 0.0095, 0.445])
    assert cells["status"].to_list() == ["possible"] * 3


def test_what_is_not_read_is_reported(tmp_path, run):
    place = tmp_path / "table.csv"
    place.write_text("System,P@10,queries\na,0.41-0.45,50\nb,0.452,~50\nc,0.452,50\n")
    result = rankgate.audit(place)
    assert result.cells["status"].to_list() == ["unread", "unread", "possible"]
    assert [notice.code for notice in result.notices] == ["unread-cell"] * 2
    assert "its number of queries '~50' is not read: it is not exact" in run("audit", str(place)).out


def test_columns_that_span_and_heads_of_two_rows(tmp_path):
    place = tmp_path / "table.tex"
    place.write_text(r"""\begin{tabular}{l@{}rr}
 & \multicolumn{2}{c}{\textbf{DL 19}} & \multicolumn{2}{c}{DL 20} \\ \cmidrule(lr){2-3}
System & P@10 & RR@10 & P@10 & RR@10 \\ \midrule
\# topics & 43 & 43 & 54 & 54 \\
\multicolumn{2}{l}{first stage} & & \\
BM25 & 0.430 & \textbf{0.500} & 0.452 & 0.600 \\[2pt]
\bottomrule \end{tabular}""")
    cells = rankgate.audit(place).cells
    assert cells["column"].to_list() == ["P@10 (DL 19)", "RR@10 (DL 19)", "P@10 (DL 20)", "RR@10 (DL 20)"]
    assert cells["n"].to_list() == [43, 43, 54, 54]
    assert cells["low"].to_list() == pytest.approx([0.4295, 0.4995, 0.4515, 0.5995])


def test_what_is_not_a_table(tmp_path):
    place = tmp_path / "table.md"
    for text, code in (
        ("words alone", "no-table"),
        ("a,b\n1,2,3\n", "too-many-cells"),
        ("s,P@10\na,x\n", "no-numbers"),
    ):
        place.write_text(text)
        with raises(code, InputError):
            rankgate.audit(place)
    with raises("unreadable-table", InputError):
        rankgate.audit(tmp_path / "none.csv")
    place.write_text("s,P@10\na,0.5\n")
    with raises("unknown-column", UsageError):
        rankgate.audit(place, columns={"x": "P@5"})


def test_the_command_ends_as_its_verdict(run, tmp_path):
    place = tmp_path / "t.csv"
    place.write_text("s,Prec.\na,0.453\nb,0.9\n")
    done = run("audit", str(place), "-n", "50", "--column", "Prec.=P@10", "--format", "json")
    assert done.code == 1, done.err
    assert json.loads(done.out)["verdict"] == "impossible"
    assert run("audit", str(place), "-n", "1000", "--column", "Prec.=P@10").code == 0
    assert run("audit", str(place)).code == 3
    assert run("audit", str(place), "--column", "Prec").code == 2


AVERAGES = ("Avg", "Avg.", "Average", "Mean", "Macro avg", "Macro-average", "average (all)", "Overall")


@pytest.mark.parametrize("name", AVERAGES)
def test_averages_are_checked_against_their_rows(tmp_path, name):
    place = tmp_path / "table.md"
    rows = "| s | P@10 | RR@10 |\n|--|--|--|\n| a | 0.452 | 0.2 |\n| b | 0.460 | 0.3 |\n| c | 0.471 | 0.4 |"
    text = f"{rows}\n| {name} | {{}} | 0.3 |\n"
    for printed, status in (
        ("0.461", "possible"),
        ("0.4610", "possible"),
        ("0.4651", "unknown"),
        ("0.4723", "impossible"),
    ):
        place.write_text(text.format(printed))
        result = rankgate.audit(place, queries=100)
        assert result.cells.filter(system=name)["status"].to_list() == [status, "possible"]
        assert name not in {*result.pairs["best"], *result.pairs["second"]}


def test_each_kind_of_summary_is_checked_as_such(tmp_path):
    place = tmp_path / "table.csv"
    rows = {
        "Median": ("46.0", "possible"),
        "Std": ("0.9", "possible"),
        "Std. dev.": ("1.0", "possible"),
        "sd": ("12.5", "unknown"),
        "standard deviation": ("80.1", "impossible"),
        "p": ("0.0312", "possible"),
        "p-value": ("1.2", "impossible"),
        "Gain": ("1.9", "possible"),  # 47.1 - 45.2
        "Improvement (%)": ("4.2", "possible"),  # 47.1 / 45.2 - 1
        "Δ": ("7.7", "unknown"),
        "Mean pooling": ("45.4", "possible"),
        "Mean of passages": ("45.45", "impossible"),  # systems; 100 queries give multiples of 0.1
    }
    head = "s,P@10\na,45.2\nb,46.0\nc,47.1\n"
    for name, (printed, status) in rows.items():
        place.write_text(f"{head}{name},{printed}\n")
        assert rankgate.audit(place, queries=100).cells["status"].to_list() == ["possible"] * 3 + [status], (
            name
        )


def test_averages_of_blocks_and_of_unequal_data_sets(tmp_path):
    place = tmp_path / "table.csv"
    place.write_text(
        "set,P@10,queries\na,0.20,50\nb,0.40,50\nAverage,0.30,\nc,0.70,50\nd,0.90,150\nAverage,0.80,\n"
        "Overall,0.667,\nAvg,0.55,\nMean,0.97,\n"
    )
    status = rankgate.audit(place).cells.filter(pl.col("system").is_in(["a", "b", "c", "d"]).not_())["status"]
    assert status.to_list() == ["possible"] * 3 + ["possible", "unknown"]


def test_the_number_of_queries_may_be_in_the_name_of_a_system_or_a_metric(tmp_path):
    table_path = tmp_path / "table.md"
    table_path.write_text(
        "| s | P@10 | R@10 (n = 43) |\n|--|--|--|\n| a (n = 50) | 0.452 | 0.3 |\n| b | 0.4 | 0.3 |\n"
    )
    counts = rankgate.audit(table_path, queries=20).cells.select("system", "metric", "n").rows()
    assert {(system[0], metric): n for system, metric, n in counts} == {
        ("a", "P@10"): 50,
        ("a", "R@10"): 50,
        ("b", "P@10"): 20,
        ("b", "R@10"): 43,
    }
