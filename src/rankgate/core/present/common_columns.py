"""Columns that many tables have with the same meaning."""

from __future__ import annotations

import polars as pl

from rankgate.core.present.columns import Column

QUERY_ID = Column("query_id", pl.String, "the id of the query", header="query")
DOC_ID = Column("doc_id", pl.String, "the id of the document", header="document")
METRIC = Column("metric", pl.String, "the metric")
SYSTEM = Column("system", pl.String, "the name of the system")
RUN = Column("run", pl.String, "the name of the run")
KPI = Column("kpi", pl.String, "the name of the KPI", header="KPI")
VARIANT = Column("variant", pl.String, "the variant of the system that users had")
TAG = Column("tag", pl.String, "the name of the tag that divides the queries")
TAG_VALUE = Column("value", pl.String, "the value of the tag that the queries have")
LOW = Column("low", pl.Float64, "the low end of the interval")
HIGH = Column("high", pl.Float64, "the high end of the interval")
LEVEL = Column("level", pl.Float64, "the confidence level of the interval")
SHOWN_GRADE = Column(
    "grade",
    pl.Float64,
    "the grade; null: unjudged; where there are many grades, 1 for all above 0 and 0 for the others",
    "grade",
)
GRADE_LABEL = Column("label", pl.String, "the name of the grade")
P_RAW = Column("p_raw", pl.Float64, "the p-value of the test alone", "p", header="p")
P_VALUE = Column("p_value", pl.Float64, "the p-value", "p", header="p")
