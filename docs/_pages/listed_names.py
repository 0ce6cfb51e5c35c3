"""Names that shells complete, with their titles: metrics, conventions, formats, engines, KPIs."""

from __future__ import annotations

import json
from pathlib import Path

from rankgate.data.formats.registry import FORMATS
from rankgate.engines.engine_checks import engines
from rankgate.measurement.evaluation.metric_details import metrics
from rankgate.measurement.metrics.rating_errors import RATING_METRICS
from rankgate.measurement.scoring import CONVENTIONS
from rankgate.online.indicators.kpi_catalogue import KPIS

FILE = Path(__file__).parents[2] / "src/rankgate/interface/cli/names.json"


def page() -> str:
    """The names as JSON: by kind the title of each."""
    kinds = {
        "metrics": metrics().metrics,
        "conventions": CONVENTIONS.values(),
        "formats": FORMATS,
        "engines": engines().kinds,
        "kpis": KPIS.values(),
    }
    titles = {kind: {entry.name: entry.title for entry in entries} for kind, entries in kinds.items()}
    titles["rating_metrics"] = dict.fromkeys(RATING_METRICS, "metric of predicted ratings")
    return json.dumps(titles, ensure_ascii=False, indent=1) + "\n"
