"""A system in which one parameter has taken a step, as far as it is asked for."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from titop.blocks.basics.paths import entry_of, owner_of
from titop.graph.network.assembly import Assembly
from titop.solvers.mechanism.parameters import changed_block, perturbed_assembly


class Stepped:
    """A system with another value of a parameter, real or complex, unchecked.

    Parameters
    ----------
    assembly : Assembly
    name : str
        Of the parameter.
    value : float or complex
    """

    def __init__(self, assembly: Assembly, name: str, value: complex) -> None:
        self._assembly, self._name, self._value = assembly, name, value

    @cached_property
    def block(self) -> Any:
        """The parameter's block."""
        block: Any = self._assembly.blocks[owner_of(self._name)]
        return changed_block(block, {entry_of(self._name): self._value})

    @cached_property
    def assembly(self) -> Assembly:
        """The whole system: all that depends on the block is changed too."""
        return perturbed_assembly(self._assembly, {self._name: self._value})
