"""The chart of ``admit``: people's grades for each grade of the judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.chart_parts import inline_data, load_altair
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.document_model import shorten_name
from rankgate.core.present.number_formats import count_noun, count_queries, format_grade
from rankgate.decisions.comparison.system_charts import shades_of

if TYPE_CHECKING:
    from rankgate.judging.admission.admit import JudgeAdmission


_ROW, _WIDTH = 34, 420


def draw_admission(result: JudgeAdmission) -> Picture:
    """Draw a bar for each grade of the judge: people's grades of the same pairs."""
    rows = _rows(result)
    return Picture(
        "admission",
        f"Grades of {shorten_name(result.people[0])} for each grade of {shorten_name(result.judge[0])}",
        "Each bar: the pairs to which the judge gave one grade, by the grade that people gave. Right of it: "
        "the number of pairs and the mean of people's grades. If judge and people always agree, each bar has "
        "one colour.",
        f"{count_noun(result.pairs, 'pair')} of {count_queries(result.queries)}",
        {},
        tuple(rows),
        _chart(rows),
    )


def _rows(result: JudgeAdmission) -> list[dict[str, Any]]:
    pairs = result.bias.confusion.to_dicts()
    total_by_grade: dict[float, int] = {}
    for row in pairs:
        total_by_grade[row["judge"]] = total_by_grade.get(row["judge"], 0) + row["pairs"]
    return [
        {
            "judge": row["judge"],
            "grade": row["people"],
            "label": f"grade {format_grade(row['people'])}",
            "count": row["pairs"],
            "share": row["pairs"] / total_by_grade[row["judge"]],
        }
        for row in sorted(pairs, key=lambda row: (-row["judge"], -row["people"]))
    ]


def _chart(rows: list[dict[str, Any]]) -> Any:
    alt = load_altair()
    shades = shades_of(rows)
    order = list(shades)
    names = list(dict.fromkeys(_judge_label(row["judge"]) for row in rows))
    bar_rows = [
        row | {"name": _judge_label(row["judge"]), "order": order.index(row["label"])} for row in rows
    ]
    y = alt.Y(
        "name:N", sort=names, title=None, axis=alt.Axis(domain=False, ticks=False, grid=False, labelPadding=8)
    )
    bars = (
        alt.Chart(inline_data(bar_rows))
        .mark_bar(height=18)
        .encode(
            y=y,
            x=alt.X(
                "share:Q",
                title="share of the pairs, by people's grade",
                stack="zero",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format=".0%", tickCount=6),
            ),
            color=alt.Color(
                "label:N",
                title="people:",
                sort=order,
                scale=alt.Scale(domain=order, range=list(shades.values())),
            ),
            order=alt.Order("order:Q"),
            tooltip=["name:N", "label:N", "count:Q", "share:Q"],
        )
    )
    labels = alt.Chart(inline_data([_bar_label(name, bar_rows) for name in names])).mark_text(align="left")
    return alt.layer(bars, labels.encode(y=y, x=alt.value(_WIDTH + 10), text="words:N")).properties(
        width=_WIDTH, height=_ROW * len(names)
    )


def _judge_label(judge: float) -> str:
    return f"judge: {format_grade(judge)}"


def _bar_label(name: str, rows: list[dict[str, Any]]) -> dict[str, str]:
    rows_of_bar = [row for row in rows if row["name"] == name]
    count = sum(row["count"] for row in rows_of_bar)
    mean = sum(row["grade"] * row["count"] for row in rows_of_bar) / count
    return {"name": name, "words": f"{count_noun(count, 'pair')}, people's mean {mean:.2f}"}
