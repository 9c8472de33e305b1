"""A resolved system as the functions of a model see it."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

from titop.solvers.model.mechanism import Mechanism


class Resolved:
    """A mechanism, and copies of the attributes that every call of a model's functions reads.

    Parameters
    ----------
    mechanism : Mechanism
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism, self.name = mechanism, mechanism.name
        self.nq, self.nv = mechanism.nq, mechanism.nv
        self.coordinate_names, self.configuration_names = mechanism.coordinate_names, mechanism.configuration_names
        self._shapes, self._stills = mechanism._shapes, mechanism._stills
        self._shared = self.__dict__.copy()

    @cached_property
    def _calls(self) -> Any:
        """The engine's kernels."""
        return self.mechanism.engine.calls

    def _on(self, mechanism: Mechanism) -> Self:
        """Return a model of this class on another mechanism."""
        model = object.__new__(type(self))
        Resolved.__init__(model, mechanism)
        return model

    def _alike(self, mechanism: Mechanism) -> Self:
        """Return a model of this class on a mechanism of the same structure."""
        model = object.__new__(type(self))
        model.__dict__ = self._shared | {"mechanism": mechanism, "_shared": self._shared}
        return model

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the kernels, which cannot be sent to another process."""
        return {name: part for name, part in self.__dict__.items() if name not in ("_calls", "_shared")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._shared = state
