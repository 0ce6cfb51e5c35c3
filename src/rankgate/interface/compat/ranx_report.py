"""The report of `rankgate.interface.compat.ranx.compare`: means, p-values of pairs, a table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.core.present.document_forms import render_latex
from rankgate.core.present.document_model import Grid, Table, make_document
from rankgate.measurement.stats.resampling_tests import randomization

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = Mapping[str, Mapping[str, NDArray[np.float64]]]

_TESTS = {
    "student": "paired Student's t-test",
    "fisher": "Fisher's randomization test",
    "tukey": "Tukey's HSD test",
}
_SUPERSCRIPTS = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖ𐞥ʳˢᵗᵘᵛʷˣʸᶻ"


@dataclass(frozen=True)
class Significance:
    """A two-sided paired test.

    Attributes:
        method: ``t`` or ``randomization``.
        samples: the number of samples of the randomization.
        seed: the seed of its random numbers.
    """

    method: str
    samples: int
    seed: int

    def p_value(self, first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
        """The p-value; NaN if all differences are equal."""
        difference = first - second
        if self.method == "randomization":
            return float(randomization(difference[:, None], samples=self.samples, seed=self.seed).p_value[0])
        from scipy.stats import ttest_1samp

        has_spread = len(difference) > 1 and float(np.ptp(difference)) > 0
        return float(ttest_1samp(difference, 0.0).pvalue) if has_spread else float("nan")


class Report:
    """Means of runs, and for each pair a p-value."""

    def __init__(
        self,
        model_names: Sequence[str],
        metrics: Sequence[str],
        values: Values,
        test: Significance,
        stat_test: str,
        max_p: float,
        rounding_digits: int,
        show_percentages: bool,  # noqa: FBT001 - the library's signature
    ) -> None:
        self.model_names = list(model_names)
        self.metrics = list(metrics)
        self.stat_test = stat_test
        self.max_p = max_p
        self.rounding_digits = rounding_digits
        self.show_percentages = show_percentages
        self._values = values
        self.results = {
            model: {metric: float(np.mean(query_values)) for metric, query_values in by_metric.items()}
            for model, by_metric in values.items()
        }
        self._p: dict[tuple[str, str], dict[str, float]] = {}
        for index, first in enumerate(self.model_names):
            for second in self.model_names[index + 1 :]:
                p_values = {
                    metric: test.p_value(values[first][metric], values[second][metric]) for metric in metrics
                }
                self._p[first, second] = self._p[second, first] = p_values

    def to_dict(self) -> dict[str, Any]:
        """The library's dictionary: scores, p-values, wins, ties and losses by model."""
        return {
            "stat_test": self.stat_test,
            "metrics": self.metrics,
            "model_names": self.model_names,
            **{model: self._details(model) for model in self.model_names},
        }

    def to_dataframe(self) -> Any:
        """Means as a pandas frame, a row for each model."""
        import pandas as pd

        return pd.DataFrame([{"model_names": model, **scores} for model, scores in self.results.items()])

    def get_stat_test_label(self, stat_test: str) -> str:
        """The name of a test for people."""
        return _TESTS[stat_test]

    def to_table(self) -> str:
        """The table as text."""
        return str(self)

    def save(self, path: str) -> None:
        """Write `to_dict` to a JSON file."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=4), encoding="utf-8")

    def print_results(self) -> None:
        """Print the means of all models as JSON."""
        print(json.dumps(self.results, indent=4))  # noqa: T201 - as the library does

    def to_latex(self) -> str:
        """A LaTeX table."""
        rows = tuple((sign, name, *cells) for sign, name, *cells in self._rows())
        grid = Grid(self._header(), rows, frozenset({0, 1}))
        test = f"Letters mark significant differences in {_TESTS[self.stat_test]} with p ≤ {self.max_p:g}."
        return render_latex(make_document("", Table("", grid), test))

    def __str__(self) -> str:
        """A table; letters name the models that one is significantly better than."""
        rows = [self._header(), *self._rows()]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])

    __repr__ = __str__

    def _header(self) -> tuple[str, ...]:
        return ("#", "Model", *(metric.upper() for metric in self.metrics))

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (chr(ord("a") + index), model, *(self._cell(model, metric) for metric in self.metrics))
            for index, model in enumerate(self.model_names)
        ]

    def _cell(self, model: str, metric: str) -> str:
        value = self.results[model][metric]
        digits = max(0, self.rounding_digits - 2) if self.show_percentages else self.rounding_digits
        text = f"{100 * value if self.show_percentages else value:.{digits}f}"
        signs = [
            _SUPERSCRIPTS[index]
            for index, other_model in enumerate(self.model_names)
            if other_model != model
            and self._p[model, other_model][metric] <= self.max_p
            and value > self.results[other_model][metric]
        ]
        return text + "".join(signs)

    def _details(self, model: str) -> dict[str, Any]:
        other_models = [other_model for other_model in self.model_names if other_model != model]
        return {
            "scores": self.results[model],
            "comparisons": {other_model: self._p[model, other_model] for other_model in other_models},
            "win_tie_loss": {
                other_model: {metric: self._wins(model, other_model, metric) for metric in self.metrics}
                for other_model in other_models
            },
        }

    def _wins(self, model: str, other_model: str, metric: str) -> dict[str, int]:
        difference = self._values[model][metric] - self._values[other_model][metric]
        counts = ((difference > 0).sum(), (difference == 0).sum(), (difference < 0).sum())
        return dict(zip("WTL", map(int, counts), strict=True))
