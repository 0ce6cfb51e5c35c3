"""The model jobs of a server: endpoints, requests and the queue.

The operator of the server lists the allowed endpoints in a file. A manager's request names an
endpoint, a model, a prompt and limits. The queue also has jobs for the documents of new runs.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, Literal

from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.errors import InputError, RankgateError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.judging.llm.judge import Judge, Prices
from rankgate.judging.llm.model_client import Client
from rankgate.judging.llm.protocols import WIRES, Template, with_parameters
from rankgate.judging.llm.rate import key_of
from rankgate.judging.models.job_run import JobRun
from rankgate.judging.models.model_jobs import Review, add_job, ensure_rater, identity_for, tasks_to_depth
from rankgate.store.blobs import stored_runs
from rankgate.store.models import model_admissions, model_jobs_table
from rankgate.store.people import audit

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.store.database import Connection
    from rankgate.store.models.model_admissions import ModelRule
    from rankgate.store.store import Store


_KEYS = {"url", "protocol", "key_from", "models", "prices", "concurrency"}


@dataclass(frozen=True)
class Endpoint:
    """An endpoint that projects may use; the operator sets its address and key.

    Attributes:
        name: the name in projects.
        url: the address.
        protocol: the protocol of its requests.
        key_from: the environment variable with its key.
        models: the allowed models; empty means any model.
        prices: the prices of a million tokens, by model.
        concurrency: the largest number of requests at the same time.
    """

    name: str
    url: str
    protocol: Literal["openai", "anthropic"] = "openai"
    key_from: str | None = None
    models: tuple[str, ...] = ()
    prices: Mapping[str, Prices] = field(default_factory=dict)
    concurrency: int = 4


def read_endpoints(path: str | Path) -> dict[str, Endpoint]:
    """The endpoints in a TOML file, one table each, by name.

    Raises:
        InputError: the file cannot be read; a key is unknown; a value has a wrong type. The error
            has the line.
        UsageError: an address is invalid or contains a secret; the variable of a key is not set.
    """
    file = TomlFile.read(path, code="invalid-endpoint")
    return {name: _endpoint(file, name, table) for name, table in file.values.items()}


def _endpoint(file: TomlFile, name: str, table: object) -> Endpoint:
    if not isinstance(table, dict):
        raise file.error(f"{name} is not a table; write [{name}] above its keys.", name)
    for key in table:
        if key not in _KEYS:
            raise file.error(f"no key {key!r}; there are {', '.join(sorted(_KEYS))}.", name, key)
    protocol = table.get("protocol", "openai")
    if protocol not in WIRES:
        problem = f"no protocol {protocol!r}; choose {', '.join(WIRES)}."
        raise file.error(problem, name, "protocol")
    url = _text(file, table, name, "url") or WIRES[protocol].url
    key_from = _text(file, table, name, "key_from") or None
    models = table.get("models", [])
    if not isinstance(models, list) or not all(isinstance(model, str) for model in models):
        raise file.error("models is a list of names.", name, "models")
    concurrency = table.get("concurrency", 4)
    if not isinstance(concurrency, int) or isinstance(concurrency, bool) or not 1 <= concurrency <= 256:
        raise file.error("concurrency is a whole number from 1 to 256.", name, "concurrency")
    Client(WIRES[protocol], url, key_of(key_from), timeout=60)  # refuses invalid endpoints
    price_table = table.get("prices", {})
    prices = {}
    for model, pair in price_table.items() if isinstance(price_table, dict) else [("", None)]:
        numbers = pair if isinstance(pair, list) else []
        valid_numbers = [e for e in numbers if isinstance(e, int | float) and not isinstance(e, bool)]
        if len(numbers) != 2 or len(valid_numbers) != 2 or min(valid_numbers) < 0:
            problem = "prices are two numbers a model: of a million tokens of input and of output."
            raise file.error(problem, name, "prices", model)
        prices[model] = Prices(float(valid_numbers[0]), float(valid_numbers[1]))
    return Endpoint(name, url, protocol, key_from, tuple(models), prices, concurrency)


def _text(file: TomlFile, table: JsonObject, name: str, key: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise file.error(f"{key} is not a text.", name, key)
    return value


REQUEST_KEYS = (
    "endpoint",
    "model",
    "template",
    "structure",
    "parameters",
    "confidence",
    "longest",
    "concurrency",
    "calls",
    "tokens",
    "ceiling",
    "price_input",
    "price_output",
    "distance",
    "doubt",
    "depth",
)
"""The keys of a manager's request."""


def judge_for(endpoints: Mapping[str, Endpoint], request: Mapping[str, Any]) -> Judge:
    """The judge for a request; the address and the key come from the endpoint.

    Raises:
        UsageError: the endpoint does not exist; it does not allow the model; options do not fit
            together.
        InputError: the prompt or the parameters cannot be read.
    """
    endpoint = endpoints.get(request["endpoint"])
    if endpoint is None:
        names = ", ".join(endpoints) or "none: start the server with --llm FILE"
        problem = f"no endpoint {request['endpoint']!r}; there are {names}."
        raise UsageError(problem, code="unknown-endpoint")
    model = request["model"]
    if endpoint.models and model not in endpoint.models:
        problem = f"{endpoint.name} offers {', '.join(endpoint.models)}, and not {model!r}."
        raise UsageError(problem, code="unknown-model")
    template_text = (request.get("template") or "").strip()
    requested_concurrency = request.get("concurrency") or endpoint.concurrency
    return Judge(
        model,
        protocol=endpoint.protocol,
        url=endpoint.url,
        key_from=endpoint.key_from,
        template=Template.parse(template_text, "prompt of the project") if template_text else None,
        structure=request.get("structure") or "schema",
        parameters=_parameters(request.get("parameters")),
        concurrency=min(max(requested_concurrency, 1), endpoint.concurrency),
        prices=_request_prices(request) or endpoint.prices.get(model),
        ceiling=request.get("ceiling"),
        calls=request.get("calls"),
        tokens=request.get("tokens"),
        longest=request.get("longest"),
        confidence=bool(request.get("confidence")),
    )


def _parameters(parameters_text: str | None) -> dict[str, Json]:
    if not parameters_text or not parameters_text.strip():
        return {}
    try:
        parameters = json.loads(parameters_text)
    except (ValueError, RecursionError):
        parameters = None
    if not isinstance(parameters, dict):
        problem = 'it is not an object of JSON, such as {"temperature": 0}.'
        raise InputError(problem, source="parameters", code="invalid-json")
    return with_parameters({}, parameters)


def _request_prices(request: Mapping[str, Any]) -> Prices | None:
    input_price, output_price = request.get("price_input"), request.get("price_output")
    if input_price is None and output_price is None:
        return None
    if input_price is None or output_price is None:
        raise UsageError("give both prices, of 0 or more.", code="out-of-range")
    return Prices(input_price, output_price)


_LOG = logging.getLogger("rankgate.models")
_AUTOMATIC = audit.Actor("new runs")


@dataclass
class ModelQueue:
    """Run waiting jobs, one thread each; several servers of a store share the jobs.

    If the server of a job is killed, the next server continues the job; answered pairs are not sent
    again.

    Attributes:
        store: an open store.
        endpoints: the endpoints that may be used, by name.
        threads: the largest number of jobs at the same time.
        seconds: the time between two checks.
    """

    store: Store
    endpoints: Mapping[str, Endpoint]
    threads: int = 2
    seconds: float = 2.0
    _busy: dict[int, Thread] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _wake: Event = field(default_factory=Event)
    _stop: Event = field(default_factory=Event)

    def start(self) -> None:
        """Start a thread that looks for jobs."""
        Thread(target=self._watch, daemon=True, name="models").start()

    def stop(self) -> None:
        """Take no more jobs; running jobs continue until the process ends."""
        self._stop.set()
        self._wake.set()

    def _watch(self) -> None:
        while not self._stop.is_set():
            try:
                self.look()
            except RankgateError as error:  # the database is not available; the thread tries again
                _LOG.warning("jobs of models: %s", error)
            except Exception:  # noqa: BLE001 - one bad job must not end all others
                _LOG.exception("jobs of models")
            self._wake.wait(self.seconds)
            self._wake.clear()

    def look(self) -> None:
        """Add jobs for new runs, and start waiting jobs."""
        with self.store.read() as connection:
            due_rules = model_admissions.find_due_rules(connection)
            waiting_jobs = list(model_jobs_table.waiting_jobs(connection))
        for rule, numbers in due_rules:
            self._new_runs(rule, numbers)
            self._wake.set()
        with self._lock:
            self._busy = {job: thread for job, thread in self._busy.items() if thread.is_alive()}
            for job in waiting_jobs:
                if len(self._busy) >= self.threads:
                    return
                endpoint = self.endpoints.get(job.endpoint or "")
                if endpoint is not None and job.id not in self._busy:
                    work = Thread(target=self._work, args=(job.id, endpoint), daemon=True)
                    self._busy[job.id] = work
                    work.start()

    def _work(self, job: int, endpoint: Endpoint) -> None:
        with suppress(RankgateError):  # the job records the error
            JobRun(self.store, job, endpoint.key_from).run()

    def _new_runs(self, rule: ModelRule, numbers: list[int]) -> None:
        """Add a job for the first documents of new runs, by the rule of their project."""
        with self.store.write() as connection:
            current = model_admissions.rule_of_project(connection, rule.project)
            if current is None or current.after_run >= numbers[-1]:
                return  # another server added the jobs
            names = [e.name for e in stored_runs.list_runs(connection, rule.project) if e.id in numbers]
            model_admissions.mark_checked(connection, rule.project, numbers[-1])
            problem = ""
            try:
                with connection.begin_nested():
                    self._add_job(connection, rule, names, numbers[-1])
            except RankgateError as error:
                problem = str(error)
            details: dict[str, Any] = {"problem": problem} if problem else {}
            _AUTOMATIC.record(
                connection, "model.automatic", ", ".join(names), project=rule.project, **details
            )

    def _add_job(self, connection: Connection, rule: ModelRule, names: list[str], last: int) -> None:
        settings: Mapping[str, Any] = rule.settings
        judge = judge_for(self.endpoints, settings)
        identity = identity_for(connection, rule.project, judge)
        rater = ensure_rater(connection, identity)
        description = f"{', '.join(names)[:60]} to depth {settings['depth']}"
        numbers = tasks_to_depth(
            connection,
            self.store.blobs,
            rule.project,
            names,
            settings["depth"],
            batch=f"model: {description} ({last})",
            rater=rater.id,
        )
        active_jobs = [
            e
            for e in model_jobs_table.list_jobs(connection, rule.project, rater.id)
            if e.state in model_jobs_table.UNDER_WAY
        ]
        if active_jobs:  # the active job takes these tasks, too
            model_jobs_table.update_job(connection, active_jobs[0].id, active_jobs[0].settings, numbers)
            raise UsageError(f"job {active_jobs[0].id} took the tasks.", code="job-active")
        if numbers:
            review = Review(settings.get("distance"), settings.get("doubt"))
            add_job(
                connection,
                rule.project,
                judge,
                numbers,
                name=description,
                review=review,
                endpoint=settings["endpoint"],
            )
