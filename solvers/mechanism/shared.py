"""Cached properties that mechanisms with different parameters share.

Properties cached with `functools.cached_property` belong to one mechanism; those made from it compute them again.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, TypeVar

T = TypeVar("T")


class _Shared(cached_property[T]):
    """A property that is computed once and cached, in the mechanism and in a dictionary that others share (`store`)."""

    store: ClassVar[str]

    def __get__(self, mechanism: Any, owner: type | None = None) -> Any:
        if mechanism is None:
            return self
        attributes, name = mechanism.__dict__, self.attrname
        store = attributes[self.store]
        if name not in store:
            store[name] = self.func(mechanism)
        attributes[name] = value = store[name]
        return value


class structural(_Shared[T]):  # noqa: N801  # a decorator
    """A property that all mechanisms of one structure share, for any parameters."""

    store = "_structural"


class geometric(_Shared[T]):  # noqa: N801  # a decorator
    """A property that mechanisms of one structure share if their ports have the same places."""

    store = "_geometric"
