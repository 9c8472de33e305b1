"""Linear fractional models, as what they are used for: members, closed loops, samples, files."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.solvers.lft.closing import closed_loop, with_neglected
from titop.solvers.lft.delta_blocks import DeltaBlock
from titop.solvers.lft.fractional import closed
from titop.solvers.lft.lft_files import load_lft, save_lft
from titop.solvers.lft.members import Members
from titop.solvers.lft.responses import frequencies_around, largest_difference, response
from titop.solvers.lft.structured_reduction import Fractional
from titop.solvers.lft.uncertain import Uncertain, read_value
from titop.solvers.linear.linearize import named_system
from titop.solvers.signals.exported import Signal, exported

if TYPE_CHECKING:
    from control import StateSpace

#: Members at corners are taken all up to so many, else as many of them at random.
_CORNERS = 64


@dataclass(frozen=True, eq=False)
class LFTModel:
    """A linear model closed by normalised uncertain blocks: ``w = Δ z``; made by `lft`.

    Attributes
    ----------
    M : control.StateSpace
        Inputs w then u, outputs z then y, the channels of each block together, in the order of `blocks`.
    blocks : tuple of DeltaBlock
        Names, kinds, repetitions, ranges, and the least number of repetitions that any model of the response has.
    uncertain : tuple of Uncertain
        Which names of the model each real block stands for.
    members : Members or None
        What `linearize` needs to make members of the system; a loaded or changed model knows them no more.

    Notes
    -----
    Arguments of the methods: `values` physical values of uncertain parameters by name, also as keywords `named` with
    underscores for dots; those left out are nominal. `deltas` normalised values, one of each block (no unit). `n` how many
    random values, `seed` of which. `path` a file's.
    """

    M: StateSpace
    blocks: tuple[DeltaBlock, ...]
    uncertain: tuple[Uncertain, ...]
    members: Members | None = None

    # -- members -------------------------------------------------------------------------------------------------------

    @property
    def nominal(self) -> StateSpace:
        """The member with nominal values."""
        return self.at()

    def at(self, values: Mapping[str, float] | None = None, **named: float) -> StateSpace:
        """Return the member at some values of the parameters.

        Write ``model.at({"hub.mass": 95.0})`` or ``model.at(hub_mass=95.0)``; complex and full blocks are zero.

        Raises
        ------
        ModelError
            For unknown names, and values at which the system has no response (a mass matrix that is singular).
        """
        return self.closed_by(self.deltas({**(values or {}), **named}))

    def deltas(self, values: Mapping[str, float]) -> Array:
        """Return the normalised values (n, no unit) of the n blocks; zero of complex and full ones."""
        paths = [member.path for uncertain in self.uncertain for member in uncertain.members]
        known = {path: path for path in paths} | {exported(path): path for path in paths}
        given: dict[str, float] = {}
        for name, value in values.items():
            if name not in known:
                expected, advice = "an uncertain parameter", did_you_mean(name, paths)
                raise ModelError(Finding("unknown-parameter", "at", name, expected, advice))
            try:
                given[known[name]] = float(value)
            except (TypeError, ValueError):
                raise ModelError(Finding("wrong-type", f"at: {name}", value, "a number", "give one value of each")) from None
        found = {uncertain.name: read_value(uncertain, given) for uncertain in self.uncertain}
        result = np.zeros(len(self.blocks))
        for k, block in enumerate(self.blocks):
            own = found.get(block.name)
            result[k] = 0.0 if own is None else block.normalised(own)
        return result

    def closed_by(self, deltas: Sequence[float] | Array) -> StateSpace:
        """Return the member at normalised values, one of each block; complex and full blocks are zero.

        Raises
        ------
        ModelError
            Where the system has no response.
        """
        values: list[float | None] = [
            float(x) if block.kind == "real" else 0.0 for x, block in zip(deltas, self.blocks, strict=True)
        ]
        try:
            small = closed(self._fractional, [*values, None])
        except np.linalg.LinAlgError:
            small = None
        if small is None or not all(np.isfinite(part).all() for part in small[:4]):
            shown = ", ".join(
                f"{block.name} = {block.value(float(x)):.6g}" for x, block in zip(deltas, self.blocks, strict=True)
            )
            advice = "a mass matrix is singular there: narrow the ranges"
            raise ModelError(Finding("ill-posed", "at", shown, "values at which the system has a response", advice))
        return self._named(small)

    def _named(self, small: Fractional) -> StateSpace:
        states, inputs, outputs = self._signals()
        return named_system(small[:4], states, inputs, outputs, str(self.M.name))

    def _signals(self) -> tuple[list[Signal], list[Signal], list[Signal]]:
        """Return states, and inputs and outputs without channels."""
        table = getattr(self.M, "signals", {})
        groups = self.M.state_labels, self.M.input_labels[self.channels[0] :], self.M.output_labels[self.channels[1] :]
        states, inputs, outputs = ([table.get(label, Signal(label, "")) for label in labels] for labels in groups)
        return states, inputs, outputs

    @property
    def channels(self) -> tuple[int, int]:
        """How many entries w and z have."""
        return sum(block.repetitions for block in self.blocks), sum(block.columns for block in self.blocks)

    @property
    def _fractional(self) -> Fractional:
        """The model with 1/s as its last delta; its blocks square."""
        w, z = self.channels
        M = self.M
        A = np.block([[M.D[:z, :w], M.C[:z]], [M.B[:, :w], M.A]])
        B, C = np.vstack([M.D[:z, w:], M.B[:, w:]]), np.hstack([M.D[z:, :w], M.C[z:]])
        return Fractional(A, B, C, np.asarray(M.D[z:, w:]), (*(block.repetitions for block in self.blocks), M.nstates))

    def samples(self, n: int, seed: int = 0) -> list[dict[str, float]]:
        """Return n random sets of values, uniform in the ranges, of the first name of each parameter; see `at`."""
        rng = np.random.default_rng(seed)
        real = [block for block in self.blocks if block.kind == "real"]
        return [{block.name: float(rng.uniform(block.lower, block.upper)) for block in real} for _ in range(n)]

    def corners(self, most: int = _CORNERS) -> list[dict[str, float]]:
        """Return the sets of values at the ends of all ranges; of more than `most`, as many at random."""
        real = [block for block in self.blocks if block.kind == "real"]
        if 2 ** len(real) <= most:
            ends = [*itertools.product((0, 1), repeat=len(real))]
        else:
            ends = [tuple(row) for row in np.random.default_rng(0).integers(0, 2, (most, len(real))).tolist()]
        return [{b.name: (b.lower, b.upper)[end] for b, end in zip(real, row, strict=True)} for row in ends]

    def values(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return the values of all names of the model for those of the first names: for `m.with_parameters`."""
        result: dict[str, float] = {}
        for uncertain in self.uncertain:
            value = read_value(uncertain, values)
            result |= uncertain.values(uncertain.block.nominal if value is None else value)
        return result

    def check(self, n: int = 10, corners: bool = True, seed: int = 1) -> float:
        """Return the largest difference of members from what `linearize` makes of the changed model.

        Parameters
        ----------
        n : int
            Random members.
        corners : bool
            Whether to compare members at the ends of the ranges too.
        seed : int

        Returns
        -------
        float
            In parts of the norm of the response, over 40 frequencies around the poles.

        Raises
        ------
        ModelError
            For a model that was loaded, or changed: it knows its members no more.
        """
        if self.members is None:
            advice = "check what tt.lft returns"
            raise ModelError(Finding("no-model", "check", "a loaded or changed model", "a model with its system", advice))
        worst = 0.0
        for values in (*self.samples(n, seed), *(self.corners() if corners else ())):
            right, found = self.members.linearized(self.values(values)), self.at(values)
            omega = frequencies_around(right)
            worst = max(worst, largest_difference(response(found, omega), response(right, omega)))
        return worst

    # -- what is made of it --------------------------------------------------------------------------------------------

    def close(self, controller: StateSpace) -> LFTModel:
        """Return the loop closed by a controller, connected by names: ``u = u_outside + K y``.

        Parameters
        ----------
        controller : control.StateSpace
            In continuous time; its inputs named as outputs of the model, its outputs as inputs of the model.

        Returns
        -------
        LFTModel
            The same inputs, outputs and blocks; the controller's states after the model's.

        Raises
        ------
        ModelError
            For unknown names, sampled controllers, and loops without a solution at once.
        """
        return replace(self, M=closed_loop(self, controller), members=None)

    def append(self, name: str, signal: str, weight: Any = 1.0) -> LFTModel:
        """Return the model with neglected dynamics: an input or output times ``1 + weight δ(s)``, ``|δ| <= 1``.

        Parameters
        ----------
        name : str
            Of the new complex block.
        signal : str
            An input or an output.
        weight : float or control.StateSpace
            Relative size, perhaps over frequency (one input, one output, stable).

        Raises
        ------
        ModelError
            For unknown signals, names that are taken, and unusable weights.
        """
        M = with_neglected(self, name, signal, weight)
        return replace(self, M=M, blocks=(*self.blocks, DeltaBlock.complex(name)), members=None)

    def save(self, path: str | Path) -> None:
        """Write the model to a ``.npz`` or ``.mat`` file; `load` reads both.

        A ``.mat`` file has ``A, B, C, D``, delta channels first, and ``blk`` as mussv takes it: ``[-r 0]`` of a real block
        repeated r times, ``[r 0]`` of a complex one, ``[rows columns]`` of a full one.

        Raises
        ------
        ModelError
            If the path has another suffix.
        """
        save_lft(self, path)

    @classmethod
    def load(cls, path: str | Path) -> LFTModel:
        """Read a file that `save` wrote.

        Raises
        ------
        ModelError
            If the file is none of these.
        """
        return cls(*load_lft(path))

    def __repr__(self) -> str:
        blocks = ", ".join(f"{block.name}: {block.repetitions}" for block in self.blocks)
        w, z = self.channels
        sizes = f"{self.M.nstates} states, {self.M.ninputs - w} inputs, {self.M.noutputs - z} outputs"
        return f"LFTModel({self.M.name!r}, {blocks}; {sizes})"
