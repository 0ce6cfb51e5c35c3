"""The extension points: the objects that plug-ins can add, and their entry points."""

from __future__ import annotations

from rankgate.core.frozen import dataclass
from rankgate.core.present.lazy_names import load_name


@dataclass(frozen=True)
class ExtensionPoint:
    """Something that plug-ins can add.

    Attributes:
        name: the object that is added.
        group: the entry points under which a package names it.
        declared: ``module:class`` of the objects.
        page: the page of the manual; empty for points without one, which may change with a release.
    """

    name: str
    group: str
    declared: str
    page: str = ""

    @property
    def kind(self) -> type:
        """The class of the objects."""
        declared_class: type = load_name(self.declared)
        return declared_class


EXTENSION_POINTS = (
    ExtensionPoint(
        "metric",
        "rankgate.metrics",
        "rankgate.measurement.metrics.metric_declaration:Metric",
        "extend/metric.md",
    ),
    ExtensionPoint(
        "convention",
        "rankgate.conventions",
        "rankgate.measurement.scoring.convention:Convention",
        "extend/convention.md",
    ),
    ExtensionPoint("format", "rankgate.formats", "rankgate.data.formats.format:Format", "extend/format.md"),
    ExtensionPoint(
        "engine", "rankgate.engines", "rankgate.engines.configuration:EngineKind", "extend/engine.md"
    ),
    ExtensionPoint("rule", "rankgate.rules", "rankgate.decisions.gating.rule:RuleKind", "extend/rule.md"),
    ExtensionPoint(
        "report block",
        "rankgate.report_blocks",
        "rankgate.workspace.reports.report:ReportBlock",
        "extend/report-block.md",
    ),
    ExtensionPoint("KPI", "rankgate.kpis", "rankgate.online.indicators.kpi:Kpi", "extend/kpi.md"),
    ExtensionPoint("fusion method", "rankgate.fusion", "rankgate.measurement.fusion.fusion_method:Method"),
    ExtensionPoint(
        "rule of ratings", "rankgate.resolve_rules", "rankgate.judging.resolution.resolution:ResolveRule"
    ),
    ExtensionPoint("check of logs", "rankgate.log_checks", "rankgate.online.events.log_checks:Check"),
    ExtensionPoint("click model", "rankgate.click_models", "rankgate.online.clicks.click_model:ClickModel"),
    ExtensionPoint(
        "interleaving method",
        "rankgate.interleavings",
        "rankgate.online.interleaving.interleaving_method:Interleaving",
    ),
    ExtensionPoint(
        "off-policy estimator",
        "rankgate.off_policy_estimators",
        "rankgate.online.off_policy.estimators:Estimator",
    ),
    ExtensionPoint("alert", "rankgate.alerts", "rankgate.workspace.records.alerts.alert_kinds:AlertKind"),
    ExtensionPoint("scheduled job", "rankgate.jobs", "rankgate.workspace.records.schedule.job_kinds:JobKind"),
)
"""The extension points; those with a page are stable within a version."""
