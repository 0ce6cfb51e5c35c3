"""The kinds of engines: those of rankgate, then those of installed plug-ins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from rankgate.core.declare import Declared, Parameter, Registry, fields_of
from rankgate.core.declare.signature import parse_docstring_section
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.engines.engine import Engine


@dataclass(frozen=True)
class EngineKind(Declared):
    """A kind of engine.

    Attributes:
        declaration: the class whose fields are the keys of ``[engine]``.
    """

    declaration: type[Engine]

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The keys of ``[engine]``."""
        from rankgate.engines.engine import Engine

        shared_help = parse_docstring_section(Engine.__doc__ or "", "Attributes")
        parameters = {
            name: parameter
            if parameter.help
            else replace(parameter, help=shared_help.get(name, ""))
            for name, parameter in fields_of(self.declaration).items()
        }
        order = sorted(
            parameters, key=lambda name: (not parameters[name].required, name in shared_help)
        )
        return {name: parameters[name] for name in order}


def _kinds() -> Iterator[EngineKind]:
    import pkgutil
    from importlib import import_module

    from rankgate.engines import kinds
    from rankgate.engines.engine import Engine

    for module_info in pkgutil.iter_modules(kinds.__path__):
        module = import_module(f"{kinds.__name__}.{module_info.name}")
        for value in vars(module).values():
            is_of_module = isinstance(value, type) and value.__module__ == module.__name__
            if is_of_module and issubclass(value, Engine):
                declaration = cast("type[Engine]", value)
                yield EngineKind(
                    declaration.engine_kind,
                    declaration,
                    title=declaration.title,
                    source=declaration.source,
                    aliases=declaration.aliases,
                )


ENGINES: Registry[EngineKind] = Registry(EngineKind, "kind of engine", _kinds, "rankgate.engines")
"""Every kind of engine by name."""
