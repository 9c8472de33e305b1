"""The signals of a control loop over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EPS, SAME
from titop.solvers.support.archive import Archive

#: Kinds of signals and the arrays that hold them.
KINDS = {"outputs": "y", "references": "r", "commands": "u", "states": "x"}


@dataclass(frozen=True)
class ControlHistory:
    """The signals of a control loop: at the samples of a sampled controller, at the output times of a continuous one.

    Attributes
    ----------
    t : (n,) array, s
    y : (n, ny) array
        Measured outputs, with noise.
    r : (n, nr) array
        References.
    u : (n, nc) array
        Commands of the controller, before delay and limits; trims included.
    x : (n, nx) array
        States of the controller at its calls.
    names : dict of kind (``"outputs"``, ``"references"``, ``"commands"``, ``"states"``) to tuple of str
        References are named ``r_<output>``, states ``controller.<state>``.
    units : dict of kind to tuple of str
        Units of the columns of `y`, `r`, `u` and `x`.
    sampled : bool
        Whether commands are held between the times.

    Notes
    -----
    Arguments of the methods: `name`, of a signal; `times`, an array (s).
    """

    t: Array
    y: Array
    r: Array
    u: Array
    x: Array
    names: dict[str, tuple[str, ...]]
    units: dict[str, tuple[str, ...]]
    sampled: bool

    @property
    def signal_names(self) -> tuple[str, ...]:
        """Names of all signals."""
        return tuple(name for kind in KINDS for name in self.names[kind])

    def signal(self, name: str) -> Array:
        """Return one signal (n,) at the times `t`, in its own unit (see `unit`).

        Raises
        ------
        ModelError
            If the name is unknown.
        """
        for kind, array in KINDS.items():
            if name in self.names[kind]:
                return getattr(self, array)[:, self.names[kind].index(name)]
        raise ModelError(Finding("unknown-signal", "name", name, "a signal of the loop", did_you_mean(name, self.signal_names)))

    def unit(self, name: str) -> str:
        """Return the unit of a signal."""
        return {n: u for kind in KINDS for n, u in zip(self.names[kind], self.units[kind], strict=True)}[name]

    def held(self, name: str, times: Array) -> Array:
        """Return one signal (k,) at k other times, in its own unit.

        The value of the last sample, or linear interpolation between the times of a continuous loop.
        """
        if not self.sampled:
            return np.interp(times, self.t, self.signal(name))
        return self.signal(name)[last_before(self.t, times)]

    def to_arrays(self) -> dict[str, Array]:
        """Return arrays with all contents: times (n, s), signals (n, .) in their own units, names and units."""
        arrays = {name: getattr(self, name) for name in ("t", *KINDS.values())}
        arrays |= {f"{kind}.names": np.array(self.names[kind], dtype=np.str_) for kind in KINDS}
        arrays |= {f"{kind}.units": np.array(self.units[kind], dtype=np.str_) for kind in KINDS}
        return arrays | {"sampled": np.array(self.sampled)}

    @classmethod
    def from_archive(cls, archive: Archive, prefix: str) -> ControlHistory:
        """Return the history whose `to_arrays` are in an `archive`, under names with a `prefix`.

        Raises
        ------
        ModelError
            If it is incomplete.
        """
        names, units = ({kind: archive.names(f"{prefix}{kind}.{part}") for kind in KINDS} for part in ("names", "units"))
        t = archive.array(f"{prefix}t", None)
        y, r, u, x = (archive.array(prefix + name, len(t), len(names[kind])) for kind, name in KINDS.items())
        if any(len(units[kind]) != len(names[kind]) for kind in KINDS):
            archive.refuse("other numbers of names and units")
        return cls(t, y, r, u, x, names, units, archive.scalar(f"{prefix}sampled", "b"))


def last_before(instants: Array, times: Any) -> Any:
    """Return the index of the last of increasing instants at or before each time, up to rounding."""
    margin = margin_of(instants[1] - instants[0], instants) if len(instants) > 1 else 0.0
    return np.maximum(np.searchsorted(instants, np.asarray(times) + margin, side="right") - 1, 0)


def margin_of(step: float, times: Sequence[float] | Array) -> float:
    """Return within what time (s) instants are the same: a small part of a step (s), and rounding of all `times` (s)."""
    return SAME * step + 4 * EPS * float(max(abs(times[0]), abs(times[-1])))
