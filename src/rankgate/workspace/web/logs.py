"""Logs of the server as JSON lines, with the number of the request; never with secrets."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

REQUEST_NUMBER: ContextVar[str] = ContextVar("rankgate_request", default="")
"""The number of the request that is answered."""

DETAILS_KEY = "rankgate"
"""The key of ``extra`` whose values a line has as its own keys."""


class JsonLines(logging.Formatter):
    """One object a line: time, level, logger, message, request, details, traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a log record as a line of JSON."""
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if number := REQUEST_NUMBER.get():
            line["request"] = number
        line |= getattr(record, DETAILS_KEY, {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def json_logging() -> Mapping[str, Any]:
    """Settings of logging, for `logging.config.dictConfig`, in every process of the server."""
    handler = {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "rankgate.workspace.web.logs.JsonLines"}},
        "handlers": {"lines": handler},
        "root": {"handlers": ["lines"], "level": "WARNING"},
        "loggers": {"rankgate": {"level": "INFO"}},
    }
