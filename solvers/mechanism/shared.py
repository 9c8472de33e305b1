"""Cached properties that models with different parameters share.

Properties cached with `functools.cached_property` belong to one model; models made from it compute them again.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, TypeVar

T = TypeVar("T")


class _Shared(cached_property[T]):
    """A property that is computed once and cached, in the model and in a dictionary that it shares with others (`room`)."""

    room: ClassVar[str]

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self
        attributes, name = model.__dict__, self.attrname
        room = attributes[self.room]
        if name not in room:
            room[name] = self.func(model)
        attributes[name] = value = room[name]
        return value


class structural(_Shared[T]):  # noqa: N801  # a decorator
    """A property that all models of one structure share, for any parameters."""

    room = "_structural"


class geometric(_Shared[T]):  # noqa: N801  # a decorator
    """A property that models of one structure share if their ports have the same places."""

    room = "_geometric"
