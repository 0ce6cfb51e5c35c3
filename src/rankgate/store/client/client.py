"""A client of a server's REST API: ``rankgate.Client``."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, urlencode

from rankgate.core.errors import InputError, UsageError

if TYPE_CHECKING:
    import polars as pl
    import urllib3

    from rankgate.core.value_types import Json, JsonObject

TOKEN = "RANKGATE_TOKEN"  # noqa: S105 - the name of a variable
"""The environment variable that holds the token."""


class Client:
    """One project of a server of ``rankgate serve``.

    Args:
        url: the address of the server, such as ``https://judging.example.org``.
        project: its name.
        token: the token of the REST API; by default what ``RANKGATE_TOKEN`` holds.
        timeout: seconds for one request.

    Raises:
        UsageError: there is no token.
    """

    def __init__(self, url: str, project: str, *, token: str | None = None, timeout: float = 60.0) -> None:
        import urllib3

        secret = token or os.environ.get(TOKEN, "")
        if not secret:
            problem = f"there is no token; make one on the page of your account, and set {TOKEN}."
            raise UsageError(problem, code="missing-input")
        self._base = url.rstrip("/")
        self._project = f"/projects/{quote(project, safe='')}"
        self._headers = {"authorization": f"Bearer {secret}"}
        retries = urllib3.Retry(
            3,
            backoff_factor=0.5,
            status_forcelist=(429, 503),
            allowed_methods=None,
            redirect=False,
            raise_on_status=False,
        )
        self._http = urllib3.PoolManager(retries=retries, timeout=timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.clear()

    def __repr__(self) -> str:
        return f"Client({self._base!r}, {self._project.removeprefix('/projects/')!r})"

    def get(self, path: str = "", **query: Any) -> dict[str, Any]:
        """Read a page of the project as data: ``get("disputes")``.

        Raises:
            UsageError: the server refuses, with its code.
        """
        url_path = f"{self._project}/{path}" if path else self._project
        return self._ask_object("GET", f"{url_path}.json", query=query)

    def post(self, path: str, **values: Any) -> dict[str, Any]:
        """Do something in the project: ``post("ratings", task=1, grade=2)``.

        Raises:
            UsageError: the server refuses, with its code.
        """
        return self._ask_object("POST", f"{self._project}/{path}", json=values)

    def next_task(self, batch: int | None = None) -> dict[str, Any] | None:
        """The next task of the token's user, with its query and document; None if all is done."""
        query = {} if batch is None else {"batch": batch}
        task: dict[str, Json] | None = self.get("rate", **query)["task"]
        return task

    def rate(
        self,
        task: int,
        grade: float | None,
        *,
        reason: str | None = None,
        comment: str | None = None,
        rating_id: str | None = None,
    ) -> dict[str, Any]:
        """Rate a task; sent again after a lost connection, it counts once.

        Args:
            task: its number.
            grade: on the project's scale; None if it cannot be graded.
            reason: why not.
            comment: any further remark.
            rating_id: your own, to send it again later.

        Returns:
            ``rating_id``, ``new``, and the next ``task``.
        """
        values = {"task": task, "grade": grade, "reason": reason, "comment": comment}
        fields = {name: value for name, value in values.items() if value is not None}
        return self.post("ratings", rating_id=rating_id or str(uuid.uuid4()), **fields)

    def rate_many(self, answers: Sequence[JsonObject]) -> list[dict[str, Any]]:
        """Rate many tasks in one request: all are recorded, or none if one is refused.

        Args:
            answers: up to 1,000, each with ``task``, ``grade`` or ``reason``, and your own
                ``rating_id`` if it is to be sent again later.

        Returns:
            ``task``, ``rating_id`` and ``new`` of each.
        """
        rows = [{"rating_id": str(uuid.uuid4()), **answer} for answer in answers]
        results: list[dict[str, Json]] = self.post("ratings/many", answers=rows)["answers"]
        return results

    def add_batch(self, name: str, pool: str | Path, **more: Any) -> dict[str, Any]:
        """Add a batch of a pool's file; ``queries``, ``documents`` and ``gold`` are files too.

        Raises:
            InputError: a file that cannot be read.
            UsageError: the server refuses, with its code.
        """
        files = {"pool": pool} | {
            kind: more.pop(kind) for kind in ("queries", "documents", "gold") if kind in more
        }
        fields: dict[str, Any] = {"name": name} | {key: str(value) for key, value in more.items()}
        return self.send("batches", fields | {kind: _file(path) for kind, path in files.items()})

    def add_file(self, file: str | Path) -> dict[str, Any]:
        """Add what a file holds: queries, documents, a run or judgments."""
        return self.send("material", {"file": _file(file)})

    def models(self) -> dict[str, Any]:
        """The language models that rate here, their jobs, and the endpoints of the server."""
        return self.get("models")

    def start_model(self, endpoint: str, model: str, **more: Any) -> int:
        """Have a model rate a ``batch``, or what ``runs`` rank first to a ``depth``.

        Args:
            endpoint: one of the server.
            model: its name there.
            more: ``batch`` or ``runs`` and ``depth``; ``template``, ``confidence``, ``calls``,
                ``tokens``, ``ceiling`` and the other fields of the form.

        Returns:
            The number of the job.
        """
        return int(self.post("models", endpoint=endpoint, model=model, **more)["job"])

    def model_job(self, job: int) -> dict[str, Any]:
        """The progress of a job: ``state``, ``done`` of ``total``, requests, tokens, cost."""
        job_fields: dict[str, Json] = self.get(f"models/jobs/{job}")["job"]
        return job_fields

    def cancel_model(self, job: int) -> dict[str, Any]:
        """End a job; its answers stay."""
        return self.post(f"models/jobs/{job}/cancel")

    def resume_model(self, job: int, **limits: Any) -> dict[str, Any]:
        """Go on with a job that ended early, with other limits."""
        return self.post(f"models/jobs/{job}/resume", **limits)

    def admit_model(self, rater: int, **demands: Any) -> dict[str, Any]:
        """Compare a model with people; its ratings count if the ``verdict`` is pass."""
        return self.post(f"models/{rater}/admission", **demands)

    def send(self, path: str, fields: JsonObject) -> dict[str, Any]:
        """Send a form with files: ``send("batches", {"pool": ("pool.csv", content), …})``."""
        return self._ask_object("POST", f"{self._project}/{path}", fields=fields)

    def ratings(self) -> pl.DataFrame:
        """Every single rating, as a frame."""
        return self.table("ratings/file", format="parquet")

    def judgments(self, name: str) -> pl.DataFrame:
        """Judgments with their grades, as a frame."""
        return self.table(f"judgments/{quote(name, safe='')}/file", format="parquet")

    def table(self, path: str, **query: Any) -> pl.DataFrame:
        """A file in Parquet as a frame."""
        import io

        import polars as pl

        content = self._ask("GET", f"{self._project}/{path}", query=query)
        return pl.read_parquet(io.BytesIO(content))

    def _ask_object(self, method: str, path: str, **content: Any) -> dict[str, Any]:
        answer: dict[str, Json] = json.loads(self._ask(method, path, **content))
        return answer

    def _ask(self, method: str, path: str, *, query: JsonObject | None = None, **content: Any) -> bytes:
        import urllib3

        address = self._base + path + (f"?{urlencode(query)}" if query else "")
        try:
            answer = self._http.request(method, address, headers=self._headers, **content)
        except urllib3.exceptions.HTTPError as error:
            reason = type(getattr(error, "reason", error)).__name__
            problem = f"{self._base}: cannot connect: {reason}; is the server running?"
            raise UsageError(problem, code="cannot-connect") from None
        if answer.status != 200:
            raise _refusal(answer)
        return bytes(answer.data)


def _file(path: str | Path) -> tuple[str, bytes]:
    file_path = Path(path)
    try:
        return file_path.name, file_path.read_bytes()
    except OSError as error:
        problem = f"cannot be read: {error.strerror}."
        raise InputError(problem, source=str(path), code="cannot-read") from None


def _refusal(answer: urllib3.BaseHTTPResponse) -> UsageError:
    try:
        error = json.loads(answer.data)["error"]
        return UsageError(str(error["message"]), code=str(error["code"]))
    except (ValueError, KeyError, TypeError):
        problem = f"the server answered {answer.status}, which is not an answer of rankgate."
        return UsageError(problem, code="cannot-connect")
