"""Chart of ``admit``: people's grades by the judge's grade."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.backend import altair
from rankgate.core.present.charts.parts import table
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.words import queries, short
from rankgate.core.present.numbers import grade
from rankgate.decisions.comparison.charts.ranked import shades_of

if TYPE_CHECKING:
    from rankgate.judging.admission.admission import JudgeAdmission

_ROW, _WIDTH = 34, 420


def draw(result: JudgeAdmission) -> Picture:
    """Draw a bar for each grade of the judge: the grades that people gave the same pairs."""
    rows = _rows(result)
    return Picture(
        "admission",
        f"Grades of {short(result.people[0])} for each grade of {short(result.judge[0])}",
        "Each bar: the pairs to which the judge gave one grade, by the grade that people gave. "
        "Right of it: the number of pairs and the mean of people's grades. If judge and people "
        "always agree, each bar has one colour.",
        f"{result.pairs:,} pairs of {queries(result.queries)}",
        {},
        tuple(rows),
        _chart(rows),
    )


def _rows(result: JudgeAdmission) -> list[dict[str, Any]]:
    pairs = result.bias.confusion.to_dicts()
    whole: dict[float, int] = {}
    for row in pairs:
        whole[row["judge"]] = whole.get(row["judge"], 0) + row["pairs"]
    return [
        {
            "judge": row["judge"],
            "grade": row["people"],
            "label": f"grade {grade(row['people'])}",
            "count": row["pairs"],
            "share": row["pairs"] / whole[row["judge"]],
        }
        for row in sorted(pairs, key=lambda row: (-row["judge"], -row["people"]))
    ]


def _chart(rows: list[dict[str, Any]]) -> Any:
    alt = altair()
    shades = shades_of(rows)
    order = list(shades)
    names = list(dict.fromkeys(_name(row["judge"]) for row in rows))
    shown = [
        row | {"name": _name(row["judge"]), "order": order.index(row["label"])} for row in rows
    ]
    y = alt.Y(
        "name:N",
        sort=names,
        title=None,
        axis=alt.Axis(domain=False, ticks=False, grid=False, labelPadding=8),
    )
    bars = (
        alt.Chart(table(shown))
        .mark_bar(height=18)
        .encode(
            y=y,
            x=alt.X("share:Q", title="share of the pairs, by people's grade", stack="zero",
                    scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%", tickCount=6)),
            color=alt.Color("label:N", title="people:", sort=order,
                            scale=alt.Scale(domain=order, range=list(shades.values()))),
            order=alt.Order("order:Q"),
            tooltip=["name:N", "label:N", "count:Q", "share:Q"],
        )
    )  # fmt: skip
    words = alt.Chart(table([_words(name, shown) for name in names])).mark_text(align="left")
    return alt.layer(bars, words.encode(y=y, x=alt.value(_WIDTH + 10), text="words:N")).properties(
        width=_WIDTH, height=_ROW * len(names)
    )


def _name(judge: float) -> str:
    return f"judge: {grade(judge)}"


def _words(name: str, rows: list[dict[str, Any]]) -> dict[str, str]:
    own = [row for row in rows if row["name"] == name]
    count = sum(row["count"] for row in own)
    mean = sum(row["grade"] * row["count"] for row in own) / count
    return {"name": name, "words": f"{count:,} pairs, people's mean {mean:.2f}"}
