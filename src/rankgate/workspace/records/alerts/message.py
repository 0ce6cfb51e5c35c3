"""A message about an alert: as JSON for webhooks, and as text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.store.records.alerts import Alert


@dataclass(frozen=True)
class Message:
    """A message about an alert, as a channel sends it.

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
        """The title, in one line."""
        if self.alert is None:
            return f"[{self.project}] test of rankgate's alerts"
        label = {"fired": "ALERT", "resolved": "over"}.get(self.event, self.event)
        return f"[{self.project}] {label}: {self.alert.message}"

    @property
    def text(self) -> str:
        """The message as text for people."""
        lines = [self.title]
        if self.alert is not None:
            lines += [
                "",
                f"since  {self.alert.first_at:%Y-%m-%d %H:%M} UTC",
                f"rule   {self.alert.rule}",
            ]
        return "\n".join([*lines, *(["", self.link] if self.link else []), ""])

    def body(self) -> dict[str, Any]:
        """The message as JSON for programs."""
        payload: dict[str, Any] = {"event": self.event, "project": self.project, "text": self.title}
        if self.link:
            payload["link"] = self.link
        if self.alert is not None:
            alert = self.alert
            payload["alert"] = {
                "id": alert.id,
                "rule": alert.rule,
                "metric": alert.metric,
                "system": alert.system,
                "slice": alert.slice,
                "state": alert.state,
                "message": alert.message,
                "first_at": alert.first_at.isoformat(),
                "last_at": alert.last_at.isoformat(),
                "record": alert.record,
                "evidence": dict(alert.evidence),
            }
        return payload
