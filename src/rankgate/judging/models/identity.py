"""The identity of a model as a rater: a changed model, prompt or setting is another rater."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.judging.llm.judge import Judge
from rankgate.judging.llm.prompts import Template
from rankgate.judging.llm.protocols import WIRES
from rankgate.judging.llm.rate import template_of
from rankgate.store.material import projects
from rankgate.store.people import raters

if TYPE_CHECKING:
    from rankgate.store.database import Connection
    from rankgate.store.people.raters import Rater

_HASH_LETTERS = 8


@dataclass(frozen=True)
class Identity:
    """The model, prompt and settings that a model's grades depend on.

    Attributes:
        values: model, protocol, endpoint, prompt, scale and settings of requests, as JSON; never a
            key.
    """

    values: Mapping[str, Any]

    @classmethod
    def of(cls, judge: Judge, template: Template, scale: Mapping[float, str]) -> Identity:
        """The identity of a judge that uses a template on a scale."""
        return cls(
            {
                "model": judge.model,
                "protocol": judge.protocol,
                "url": (judge.url or WIRES[judge.protocol].url).rstrip("/"),
                "structure": judge.structure,
                "parameters": judge.sent_parameters,
                "longest": judge.longest,
                "confidence": judge.confidence,
                "scale": [[grade, label] for grade, label in scale.items()],
                "template": {
                    "name": template.name,
                    "sha256": template.sha256,
                    "system": template.system,
                    "user": template.user,
                },
            }
        )

    @property
    def sha256(self) -> str:
        """The hash of all values but the template's name."""
        prompt = {k: v for k, v in self.values["template"].items() if k != "name"}
        json_text = json.dumps({**self.values, "template": prompt}, sort_keys=True)
        return hashlib.sha256(json_text.encode()).hexdigest()

    @property
    def name(self) -> str:
        """The name of the rater: the model, and the beginning of the hash."""
        return f"{self.values['model']} {self.sha256[:_HASH_LETTERS]}"

    @property
    def template(self) -> Template:
        """The prompt."""
        template_fields = self.values["template"]
        return Template(template_fields["name"], template_fields["system"], template_fields["user"])

    @property
    def scale(self) -> dict[float, str]:
        """The grades with their labels."""
        return {float(grade): str(label) for grade, label in self.values["scale"]}

    def judge(self, **how: Any) -> Judge:
        """The judge of this identity; ``how`` are limits, speed, and where the key is."""
        names = ("model", "protocol", "url", "structure", "parameters", "longest", "confidence")
        return Judge(**{name: self.values[name] for name in names}, **how)


def scale_of_project(connection: Connection, project: int) -> dict[float, str]:
    """The grades of a project with their labels.

    Raises:
        UsageError: it has no scale.
    """
    grades = projects.grades(connection, project)
    if not grades:
        raise UsageError(
            "the project has no scale; give it one before a model rates.",
            code="scale-without-grades",
        )
    return {grade_row.grade: grade_row.label or f"{grade_row.grade:g}" for grade_row in grades}


def identity_for(connection: Connection, project: int, judge: Judge) -> Identity:
    """The identity of a judge in a project.

    Raises:
        UsageError: the project has no scale; no template fits it.
        InputError: a template that cannot be read.
    """
    scale = scale_of_project(connection, project)
    return Identity.of(judge, template_of(judge.template, tuple(scale)), scale)


def ensure_rater(connection: Connection, identity: Identity) -> Rater:
    """The rater that a model of this identity is; added if there is none."""
    rater_of_name = {
        rater.name: rater for rater in raters.list_raters(connection) if rater.kind == raters.MODEL
    }
    rater = rater_of_name.get(identity.name)
    if rater is not None and Identity(rater.identity).sha256 == identity.sha256:
        return rater
    return raters.ensure(connection, identity.name, raters.MODEL, identity.values)
