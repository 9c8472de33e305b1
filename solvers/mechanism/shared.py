"""What is found once for all models that it holds of, whose parameters differ.

Other properties that a model keeps (`functools.cached_property`) hold of this model alone: models made of it begin without.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, TypeVar

T = TypeVar("T")


class _Shared(cached_property[T]):
    """A property that a model finds once and keeps, also in a room that it has in common with others."""

    room: ClassVar[str]

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self
        own, name = model.__dict__, self.attrname
        room = own[self.room]
        if name not in room:
            room[name] = self.func(model)
        own[name] = value = room[name]
        return value


class structural(_Shared[T]):  # noqa: N801  # a decorator
    """A property that models of one structure share, whatever their parameters."""

    room = "_structural"


class geometric(_Shared[T]):  # noqa: N801  # a decorator
    """A property that models of one structure share whose ports stand alike."""

    room = "_geometric"
