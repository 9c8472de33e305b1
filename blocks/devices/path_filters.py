"""Filters of signal paths: read from linear systems of python-control, or of kinds whose numbers are parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.contract.own_coordinates import rate_unit


@dataclass(frozen=True)
class LinearFilter:
    """A filter of one channel, or of all channels of a device together: ``dx/dt = A x + B s, y = C x + D s``."""

    kind: str  #: ``"lag"``, ``"second_order"`` or ``"filter"``.
    numbers: Mapping[str, Any]  #: Of the first two kinds, by name: they are parameters.
    matrices: tuple[Array, Array, Array, Array] | None = None  #: A, B, C and D of a ``"filter"``.

    #: Numbers of the kinds that have names, and their units.
    UNITS: ClassVar[dict[str, dict[str, str]]] = {
        "lag": {"time_constant": "s"},
        "second_order": {"frequency": "rad/s", "damping": "1"},
    }

    @property
    def channels(self) -> int:
        """Its number of channels: one, or the rows of D."""
        return 1 if self.matrices is None else len(self.matrices[3])

    @property
    def order(self) -> int:
        """Its number of states."""
        return len(self.UNITS[self.kind]) if self.matrices is None else len(self.matrices[0])

    @property
    def law(self) -> tuple[Array, Array, Array, Array]:
        """A, B, C and D. The first state of a lag and of a filter of second order is the output, the second its rate."""
        if self.matrices is not None:
            return self.matrices
        if self.kind == "lag":
            fast = 1.0 / self.numbers["time_constant"]
            return np.array([[-fast]]), np.array([[fast]]), np.eye(1), np.zeros((1, 1))
        omega, damping = self.numbers["frequency"], self.numbers["damping"]
        stiff = omega * omega
        A = np.array([[0.0, 1.0], [-stiff, -2.0 * damping * omega]])
        return A, np.array([[0.0], [stiff]]), np.eye(1, 2), np.zeros((1, 1))

    def described(self) -> dict[str, Any]:
        """Return the kind and numbers, or the matrices, as a table."""
        if self.matrices is None:
            return {"kind": self.kind, **self.numbers}
        return {name: matrix.tolist() for name, matrix in zip("ABCD", self.matrices, strict=True)}

    @classmethod
    def of_table(cls, table: Mapping[str, Any]) -> LinearFilter:
        """Return the filter that `described` gave."""
        units = cls.UNITS.get(str(table.get("kind")), None)
        if units is not None and set(table) == {"kind", *units}:
            return cls(str(table["kind"]), {name: table[name] for name in units})
        if set(table) == set("ABCD"):
            D = np.atleast_2d(np.asarray(table["D"], dtype=float))
            n, m = np.size(table["A"]), len(D)
            n = round(n**0.5)
            shapes = {"A": (n, n), "B": (n, m), "C": (m, n), "D": (m, m)}
            if all(np.size(table[name]) == rows * columns for name, (rows, columns) in shapes.items()):
                A, B, C, D = (np.reshape(np.asarray(table[name], dtype=float), shape) for name, shape in shapes.items())
                return cls("filter", {}, (A, B, C, D))
        kinds = "; ".join(f'kind = "{kind}", {", ".join(numbers)}' for kind, numbers in cls.UNITS.items())
        expected, advice = f"{kinds}; or matrices A, B, C, D", "see what System.save writes"
        raise ModelError(Finding("bad-filter", "filter", dict(table), expected, advice))

    def state_units(self, unit: str) -> tuple[str, ...]:
        """Return the unit of each state of one channel, whose signal has a `unit`."""
        if self.matrices is not None:
            return ("1",) * len(self.matrices[0])
        return (unit, rate_unit(unit))[: self.order]


def read_filter(reader: FieldReader, value: Any) -> Any:
    """Read a filter: None, one, or one for each channel."""
    if value is None or isinstance(value, LinearFilter):
        return value
    if isinstance(value, list | tuple):
        if not value:
            reader.report("wrong-length", "filter", value, "one filter for each channel", "leave it out for no filter")
        return tuple(_read_one(reader, f"filter[{k}]", each, False) for k, each in enumerate(value))
    return _read_one(reader, "filter", value, True)


def _read_one(reader: FieldReader, where: str, value: Any, several: bool) -> LinearFilter:
    """Read a linear system: of one channel, or if allowed of `several`."""
    if isinstance(value, LinearFilter):
        return value
    passing = LinearFilter("filter", {}, (np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), np.eye(1)))
    if len(getattr(value, "filters", ())) == 1:  # of a signal path
        return value.filters[0]  # type: ignore[no-any-return]
    if not all(hasattr(value, name) for name in ("dt", "ninputs", "noutputs")):
        advice = "use control.tf or control.ss, or tt.SignalPath.lag and .second_order"
        reader.report("wrong-type", where, value, "a linear system of python-control", advice)
        return passing
    if value.dt:
        advice = "a digital filter is part of the controller: put it in series with it"
        reader.report("discrete-filter", where, f"a sample time of {value.dt}", "a filter in continuous time", advice)
        return passing
    if value.ninputs != value.noutputs or (value.ninputs != 1 and not several):
        got, advice = f"{value.ninputs} inputs, {value.noutputs} outputs", "give one filter for each channel, in a list"
        reader.report("wrong-shape", where, got, "as many outputs as inputs, one in a list", advice)
        return passing
    if not hasattr(value, "A"):
        if value.ninputs > 1:
            advice = "give control.ss of it, or a list with one filter for each channel"
            reader.report("wrong-type", where, value, "a transfer function of one channel", advice)
            return passing
        numerator, denominator = np.trim_zeros(value.num[0][0], "f"), np.trim_zeros(value.den[0][0], "f")
        if len(numerator) > len(denominator):
            advice = "add poles: a filter that differentiates amplifies noise without bound"
            reader.report("improper", where, value, "no more zeros than poles", advice)
            return passing
        from scipy.signal import tf2ss

        matrices = tf2ss(numerator if len(numerator) else [0.0], denominator)
        if len(denominator) == 1:  # a gain, to which scipy gives a state
            matrices = (np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), matrices[3])
    else:
        matrices = tuple(getattr(value, name) for name in "ABCD")
    arrays = A, B, C, D = tuple(np.array(matrix, dtype=float) for matrix in matrices)
    if not all(np.isfinite(matrix).all() for matrix in arrays):
        reader.report("not-finite", where, value, "finite numbers", "look at what the system was made from")
        return passing
    return LinearFilter("filter", {}, (A, B, C, D))
