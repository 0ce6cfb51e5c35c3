"""Frozen dataclasses of rankgate behave like those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from functools import cached_property
from typing import Any, ClassVar

import pytest

from rankgate.core import frozen

BOTH = pytest.mark.parametrize("dataclass", [dataclasses.dataclass, frozen.dataclass])


@frozen.dataclass(frozen=True)
class Kept:
    """At the top of a module, so that it can be pickled."""

    name: str
    values: tuple[int, ...] = (1, 2)
    note: str = dataclasses.field(default="", compare=False, repr=False)

    @cached_property
    def size(self) -> int:
        """Computed once."""
        return len(self.values)


def classes(dataclass: Any, **options: bool) -> Any:
    """One class of many kinds of fields."""

    @dataclass(frozen=True, **options)
    class Made:
        name: str
        values: list[int] = dataclasses.field(default_factory=list)
        weight: float = 0.5
        note: str = dataclasses.field(default="", compare=False, repr=False)
        size: int = dataclasses.field(init=False, default=0)
        kind: ClassVar[str] = "made"

        def __post_init__(self) -> None:
            object.__setattr__(self, "size", len(self.values))

    return Made


@BOTH
def test_values_are_shown_compared_and_replaced(dataclass):
    tested_class = classes(dataclass)
    instance = tested_class("a", [1], note="x")
    assert repr(instance).endswith("<locals>.Made(name='a', values=[1], weight=0.5, size=1)")
    assert instance == tested_class("a", [1], note="y")
    assert instance != tested_class("a", [1], 0.25)
    assert instance != classes(dataclass)("a", [1])
    assert instance.__eq__("a") is NotImplemented
    assert dataclasses.replace(instance, values=[1, 2]).size == 2
    assert dataclasses.asdict(instance)["note"] == "x"
    assert tested_class.__match_args__ == ("name", "values", "weight", "note")
    with pytest.raises(TypeError, match="unhashable"):
        hash(instance)


@BOTH
def test_nothing_can_be_set_or_deleted(dataclass):
    instance = classes(dataclass)("a")
    for name in ("name", "size", "other"):
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"assign to field '{name}'"):
            setattr(instance, name, 1)
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"delete field '{name}'"):
            delattr(instance, name)


@BOTH
def test_hashes_are_of_what_is_compared(dataclass):
    @dataclass(frozen=True)
    class Pair:
        left: int
        right: int = 2
        note: str = dataclasses.field(default="", compare=False)

    @dataclass(frozen=True)
    class Empty:
        pass

    @dataclass(frozen=True)
    class Own:  # noqa: PLW1641
        left: int

        def __eq__(self, other: object) -> bool:
            return True

        def __repr__(self) -> str:
            return "own"

    assert hash(Pair(1)) == hash(Pair(1, note="x")) == hash((1, 2))
    assert len({Pair(1), Pair(1, 2), Pair(2)}) == 2
    assert Empty() == Empty()
    assert hash(Empty()) == hash(Empty())
    assert Own(1) == Own(2)
    assert hash(Own(1)) != hash(Own(2))
    assert repr(Own(1)) == "own"


@BOTH
def test_without_equality_an_object_equals_itself_only(dataclass):
    tested_class = classes(dataclass, eq=False, repr=False)
    instance = tested_class("a")
    assert instance != tested_class("a")
    assert len({instance, tested_class("a")}) == 2
    assert "object at" in repr(instance)


@BOTH
@pytest.mark.parametrize("derive", [dataclasses.dataclass, frozen.dataclass])
def test_classes_are_derived_from_each_other(dataclass, derive):
    base = classes(dataclass)

    @derive(frozen=True)
    class Derived(base):
        extra: int = 7

    instance = Derived("a", [1])
    assert repr(instance).endswith("Derived(name='a', values=[1], weight=0.5, size=1, extra=7)")
    assert instance == Derived("a", [1])
    assert instance != Derived("a", [1], extra=8)
    assert instance != base("a", [1])
    with pytest.raises(dataclasses.FrozenInstanceError):
        instance.extra = 1
    with pytest.raises(TypeError, match="frozen"):
        derive(type("Loose", (base,), {}))


@BOTH
def test_slots_and_fields_by_name_only(dataclass):
    @dataclass(frozen=True, slots=True)
    class Slotted:
        left: int

    @dataclass(frozen=True, kw_only=True)
    class Named:
        left: int

    assert not hasattr(Slotted(1), "__dict__")
    assert Named(left=1) == Named(left=1)
    with pytest.raises(TypeError, match="positional"):
        Named(1)


def test_they_are_copied_pickled_and_cached():
    instance = Kept("a", note="x")
    assert instance.size == 2
    pickled = pickle.loads(pickle.dumps(instance))  # noqa: S301
    for duplicate in (copy.copy(instance), copy.deepcopy(instance), pickled):
        assert duplicate == instance
        assert duplicate.note == "x"
        assert duplicate.size == 2


def test_an_object_in_itself_is_shown():
    holder: list[Any] = []
    instance = Kept("a", (holder,))  # type: ignore[arg-type]
    holder.append(instance)
    assert repr(instance) == "Kept(name='a', values=([...],))"
