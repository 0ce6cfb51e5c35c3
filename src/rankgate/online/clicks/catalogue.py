"""All click models: those of rankgate, then those of installed plug-ins."""

from __future__ import annotations

from rankgate.core.declare import Registry
from rankgate.online.clicks import baselines, bayesian, cascade, examination
from rankgate.online.clicks.model import ClickModel

MODELS = Registry(
    ClickModel,
    "click model",
    (*baselines.MODELS, *examination.MODELS, *cascade.MODELS, *bayesian.MODELS),
    "rankgate.click_models",
)
"""Click models by name."""
