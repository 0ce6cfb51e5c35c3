"""A message about an alert: as JSON for webhooks, and as text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.store.records.alerts import Alert


@dataclass(frozen=True)
class Message:
    """What a channel sends.

    Attributes:
        number: of the notification; the same in every try.
        event: ``fired``, ``resolved`` or ``test``.
        project: the name.
        alert: None in a test.
        link: the page of the alerts; empty where no server is known.
    """

    number: int
    event: str
    project: str
    alert: Alert | None
    link: str = ""

    @property
    def title(self) -> str:
        """One line."""
        if self.alert is None:
            return f"[{self.project}] test of rankgate's alerts"
        words = {"fired": "ALERT", "resolved": "over"}.get(self.event, self.event)
        return f"[{self.project}] {words}: {self.alert.message}"

    @property
    def text(self) -> str:
        """For people."""
        lines = [self.title]
        if self.alert is not None:
            lines += ["", f"since  {self.alert.first_at:%Y-%m-%d %H:%M} UTC",
                      f"rule   {self.alert.rule}"]  # fmt: skip
        return "\n".join([*lines, *(["", self.link] if self.link else []), ""])

    def body(self) -> dict[str, Any]:
        """For programs."""
        found: dict[str, Any] = {"event": self.event, "project": self.project, "text": self.title}
        if self.link:
            found["link"] = self.link
        if self.alert is not None:
            each = self.alert
            found["alert"] = {
                "id": each.id, "rule": each.rule, "metric": each.metric, "system": each.system,
                "slice": each.slice, "state": each.state, "message": each.message,
                "first_at": each.first_at.isoformat(), "last_at": each.last_at.isoformat(),
                "record": each.record, "evidence": dict(each.evidence),
            }  # fmt: skip
        return found
