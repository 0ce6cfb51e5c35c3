"""Metrics estimated from judgments of a sample whose parts were drawn at different rates."""

from rankgate.measurement.metrics.sampling.estimated import StatAP, infNDCG, xinfAP

__all__ = ["SAMPLE_METRICS"]

SAMPLE_METRICS = (xinfAP, infNDCG, StatAP)
"""Every such metric, in the order in which they are listed."""
