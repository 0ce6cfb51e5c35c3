"""Endpoints of models that a server may ask: named in a file by who runs the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from rankgate.core.declare.toml import TomlFile
from rankgate.core.frozen import dataclass
from rankgate.judging.llm.client import Client
from rankgate.judging.llm.costs import Prices
from rankgate.judging.llm.protocols import WIRES
from rankgate.judging.llm.rate import key_of

_KEYS = {"url", "protocol", "key_from", "models", "prices", "concurrency"}


@dataclass(frozen=True)
class Endpoint:
    """An endpoint that projects may use; its address and its key are not theirs to choose.

    Attributes:
        name: what projects call it.
        url: the address.
        protocol: the protocol of its requests.
        key_from: the environment variable with its key.
        models: those that may be used; empty is any.
        prices: by model, of a million tokens.
        concurrency: requests at the same time, at most.
    """

    name: str
    url: str
    protocol: Literal["openai", "anthropic"] = "openai"
    key_from: str | None = None
    models: tuple[str, ...] = ()
    prices: Mapping[str, Prices] = field(default_factory=dict)
    concurrency: int = 4


def read_endpoints(path: str | Path) -> dict[str, Endpoint]:
    """The endpoints of a TOML file, a table each, by name.

    Raises:
        InputError: a file that cannot be read, a key that there is not, a value of another kind;
            with the line.
        UsageError: an invalid address, or one with a secret; the variable of a key is not set.
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
    if (
        not isinstance(concurrency, int)
        or isinstance(concurrency, bool)
        or not 1 <= concurrency <= 256
    ):
        raise file.error("concurrency is a whole number from 1 to 256.", name, "concurrency")
    Client(WIRES[protocol], url, key_of(key_from), timeout=60)  # refuses what cannot be asked
    prices = _prices(file, name, table.get("prices", {}))
    return Endpoint(name, url, protocol, key_from, tuple(models), prices, concurrency)


def _text(file: TomlFile, table: Mapping[str, Any], name: str, key: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise file.error(f"{key} is not a text.", name, key)
    return value


def _prices(file: TomlFile, name: str, table: object) -> dict[str, Prices]:
    prices = {}
    for model, pair in table.items() if isinstance(table, dict) else [("", None)]:
        numbers = pair if isinstance(pair, list) else []
        valid_numbers = [
            e for e in numbers if isinstance(e, int | float) and not isinstance(e, bool)
        ]
        if len(numbers) != 2 or len(valid_numbers) != 2 or min(valid_numbers) < 0:
            problem = "prices are two numbers a model: of a million tokens of input and of output."
            raise file.error(problem, name, "prices", model)
        prices[model] = Prices(float(valid_numbers[0]), float(valid_numbers[1]))
    return prices
