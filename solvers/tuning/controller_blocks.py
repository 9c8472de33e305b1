"""A controller of tuned and fixed blocks: connected by names, its matrix S, and its numbers in the scale of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, COARSE
from titop.solvers.lft.delta_blocks import slices
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.state_space import named_system, read_linear
from titop.solvers.signals.exported import REFERENCE, Signal
from titop.solvers.tuning.tunable_parameters import Parameter
from titop.solvers.tuning.tunables import Tunable
from titop.solvers.tuning.tuned_loop import AugmentedPlant, BlockWires

if TYPE_CHECKING:
    from control import StateSpace

#: How far from the ends of its range, in parts of the range, a bounded number starts.
_FROM_ENDS = COARSE


class Coordinates:
    """Tuned numbers as the search knows them: x (n) in place of theta, of size one, without bounds.

    Numbers between bounds are the middle plus half the range times the sine of x, their logarithms where both are positive:
    other than a hyperbolic tangent, a sine is nowhere flat for long, so that no search is stuck at a bound. Those above a bound
    are that plus an exponential, so that positive numbers are sought by their logarithms; others are multiples of a unit.

    `units` (n) are those of the parameters.
    """

    def __init__(self, parameters: Sequence[Parameter], units: Array) -> None:
        lower, upper = np.array([p.lower for p in parameters]), np.array([p.upper for p in parameters])
        above, below = np.isfinite(lower), np.isfinite(upper)
        self._both, self._one = above & below, above ^ below
        self._log = self._both & (lower > 0)
        lower[self._log], upper[self._log] = np.log(lower[self._log]), np.log(upper[self._log])
        self._base = np.where(above, lower, np.where(below, upper, 0.0))
        self._size = np.where(below & ~above, -units, units)
        self._base[self._both] = (lower[self._both] + upper[self._both]) / 2
        self._size[self._both] = (upper[self._both] - lower[self._both]) / 2
        self.are_plain = not (above | below).any()

    def __len__(self) -> int:
        return len(self._size)

    def values(self, x: Array) -> Array:
        """Return the numbers (n)."""
        if self.are_plain:
            return self._size * x
        shape = x.copy()
        shape[self._both] = np.sin(x[self._both])
        with np.errstate(over="ignore"):
            shape[self._one] = np.exp(x[self._one])
            result = self._base + self._size * shape
        result[self._log] = np.exp(result[self._log])
        return result

    def reach(self, x: Array) -> float:
        """Return how many units the farthest number is from its base, or the nearest one to it is smaller than one."""
        sizes = np.abs(x)
        if self.are_plain:
            return float(sizes.max(initial=0.0))
        with np.errstate(over="ignore"):
            sizes[self._one] = np.exp(sizes[self._one])
        return float(sizes.max(initial=0.0))

    def slopes(self, x: Array) -> Array:
        """Return the derivatives of the numbers (n)."""
        if self.are_plain:
            return self._size
        shape = np.ones(len(x))
        shape[self._both] = np.cos(x[self._both])
        shape[self._one] = np.exp(x[self._one])
        shape[self._log] *= self.values(x)[self._log]
        return self._size * shape

    def places(self, values: Array) -> Array:
        """Return x of numbers, away from the bounds; zero where a number is not known (NaN)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            x = (np.where(self._log, np.log(values), values) - self._base) / self._size
            x[self._both] = np.arcsin(np.clip(x[self._both], _FROM_ENDS - 1, 1 - _FROM_ENDS))
            x[self._one] = np.log(np.maximum(x[self._one], CLOSE))
        return np.where(np.isnan(x), 0.0, x)


class ControllerBlocks:
    """Blocks of a controller.

    - `inputs`, `outputs`: of the plant;
    - `sign`: of the feedback: with -1 blocks take ``reference - y``, or y itself where some take references;
    - `taken`, `driven`: names of the plant's outputs and inputs that blocks take and drive;
    - `references`: outputs of the plant whose references blocks take.
    """

    def __init__(self, controller: Any, inputs: Sequence[Signal], outputs: Sequence[Signal], sign: int) -> None:
        blocks = list(controller) if isinstance(controller, Sequence) else [controller]
        self.blocks = [b if isinstance(b, Tunable) else _fixed(k, b) for k, b in enumerate(blocks)]
        self.names = [name for block in self.blocks for name in block.names]
        if not self.names:
            advice = "such as tt.Tunable.pid('pid', 'hinge.q', 'hinge.tau')"
            raise ModelError(Finding("nothing-to-tune", "controller", controller, "a Tunable among its blocks", advice))
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise ModelError(Finding("duplicate-name", "controller", twice, "blocks of different names", "rename one"))
        self.parameters = [p for block in self.blocks for p in block.parameters]
        self._ranges = slices([len(block.parameters) for block in self.blocks])
        states = slices([block.states for block in self.blocks])
        count = sum(block.states for block in self.blocks)
        e = [name for block in self.blocks for name in block.inputs]
        f = [name for block in self.blocks for name in block.outputs]
        of_e, of_f = slices([len(b.inputs) for b in self.blocks]), slices([len(b.outputs) for b in self.blocks])
        self._rows = [np.r_[np.r_[x], count + np.r_[o]].astype(int) for x, o in zip(states, of_f, strict=True)]
        self._columns = [np.r_[np.r_[x], count + np.r_[i]].astype(int) for x, i in zip(states, of_e, strict=True)]
        self.sizes = count + len(f), count + len(e)
        self._connect(count, e, f, list(inputs), list(outputs), sign)

    def _connect(self, states: int, e: list[str], f: list[str], inputs: list[Signal], outputs: list[Signal], sign: int) -> None:
        known, inner_names, driven = _by_name(outputs), set(f), _by_name(inputs)
        referred = list(dict.fromkeys(name for name in e if name.startswith(REFERENCE) and name not in {*known, *f}))
        measured, inner = np.zeros((len(e), len(outputs))), np.zeros((len(e), len(f)))
        by_reference, gives = np.zeros((len(e), len(referred))), np.zeros((len(inputs), len(f)))
        for name in referred:
            if (stem := name.removeprefix(REFERENCE)) not in known:
                raise _unknown(
                    "inputs", name, "a reference of an output of the plant", [REFERENCE + other for other in known], stem
                )
        self.references = [outputs[known[name.removeprefix(REFERENCE)]] for name in referred]
        for j, name in enumerate(e):
            if name in referred:
                by_reference[j, referred.index(name)] = 1.0
            elif name in inner_names:
                inner[j] = [other == name for other in f]
            elif name in known:
                measured[j, known[name]] = 1.0 if referred else sign
            else:
                raise _unknown("inputs", name, "an output of the plant or of a block", [*known, *f])
        for k, name in enumerate(f):
            if name in driven:
                gives[driven[name], k] = 1.0
            elif name not in e:
                raise _unknown("outputs", name, "an input of the plant or of a block", [*driven])
        self.taken = [outputs[k].path for k in np.flatnonzero(measured.any(axis=0))]
        self.driven = [inputs[k].path for k in np.flatnonzero(gives.any(axis=1))]
        if not (self.driven and self.taken):
            expected, advice = "blocks from outputs to inputs of the plant", f"connect {e[0]!r} or {f[-1]!r}"
            raise ModelError(Finding("open-loop", "controller", [*e, *f], expected, advice))
        self.wires = BlockWires(states, measured, inner, by_reference, gives)

    # -- numbers -----------------------------------------------------------------------------------------------------------

    def scale(self, plant: AugmentedPlant, rate: float) -> Coordinates:
        """Return the coordinates of a search: gains in the units that the plant gives what blocks take and drive.

        `rate` (rad/s) is that of the plant.
        """
        states = self.wires.states
        driven = np.linalg.norm(np.vstack([plant.B2, plant.D12]), axis=0)
        taken = np.linalg.norm(np.hstack([plant.C2, plant.D21]), axis=1)
        driven[:states], taken[:states] = 1 / rate, 1.0
        driven[driven == 0], taken[taken == 0] = 1.0, 1.0
        result = []
        for block, rows, columns in zip(self.blocks, self._rows, self._columns, strict=True):
            units = 1 / np.outer(driven[rows], taken[columns])
            gain = float(np.exp(np.mean(np.log(units[block.states :, block.states :]))))
            slopes = np.abs(block.slopes_at(np.ones(len(block.parameters)), {})) if block.is_affine else None
            for k, p in enumerate(block.parameters):
                beyond = p.start - (p.lower if np.isfinite(p.lower) else 0.0)
                if slopes is not None:
                    result.append(float(units[slopes[k] > 0].max(initial=0.0)) or 1.0)
                elif beyond and not np.isnan(beyond):
                    result.append(abs(beyond))
                else:
                    result.append((gain if p.is_gain else 1.0) * rate**p.rate)
        return Coordinates(self.parameters, np.array(result))

    def gain(self, theta: Array, rho: Mapping[str, float]) -> Array:
        """Return S at numbers (n) and values of scheduling parameters."""
        if self.are_affine:
            constant, slopes = self._affine
            return (constant + theta @ slopes).reshape(self.sizes)
        S = np.zeros(self.sizes)
        with np.errstate(all="ignore"):  # time constants of zero
            for block, part, rows, columns in zip(self.blocks, self._ranges, self._rows, self._columns, strict=True):
                S[np.ix_(rows, columns)] = block.matrix_at(theta[part], rho)
        return S

    def chain(self, theta: Array, rho: Mapping[str, float]) -> Array:
        """Return the derivatives (n, entries of S) of S, row by row, with respect to the numbers."""
        if self.are_affine:
            return self._affine[1]
        result = np.zeros((len(theta), *self.sizes))
        for block, part, rows, columns in zip(self.blocks, self._ranges, self._rows, self._columns, strict=True):
            result[np.ix_(np.r_[part].astype(int), rows, columns)] = block.slopes_at(theta[part], rho)
        return result.reshape(len(theta), -1)

    @cached_property
    def are_affine(self) -> bool:
        """Whether S is affine in the numbers."""
        return all(block.is_affine for block in self.blocks)

    @cached_property
    def _affine(self) -> tuple[Array, Array]:
        """S without its tuned part, and its derivatives, both row by row."""
        constant, slopes = np.zeros(self.sizes), np.zeros((len(self.parameters), *self.sizes))
        for block, part, rows, columns in zip(self.blocks, self._ranges, self._rows, self._columns, strict=True):
            zeros = np.zeros(len(block.parameters))
            constant[np.ix_(rows, columns)] = block.matrix_at(zeros, {})
            slopes[np.ix_(np.r_[part].astype(int), rows, columns)] = block.slopes_at(zeros, {})
        return constant.ravel(), slopes.reshape(len(slopes), -1)

    # -- result ------------------------------------------------------------------------------------------------------------

    def system(self, theta: Array, rho: Mapping[str, float], period: float = 0.0) -> StateSpace:
        """Return the controller as one system with names, from what it takes of the plant and references to what it drives.

        With a period (s) it is sampled by Tustin's rule, block by block as it was tuned.
        """
        S, n = self.gain(theta, rho), self.wires.states
        closed = Matrices(S[:n, :n], S[:n, n:], S[n:, :n], S[n:, n:]).close_loop(self.wires.inner)
        columns = [k for k in range(self.wires.measured.shape[1]) if self.wires.measured[:, k].any()]
        by_y = np.abs(self.wires.measured[:, columns])
        into = np.hstack([by_y, self.wires.references])
        rows = np.flatnonzero(self.wires.driven.any(axis=1))
        out = self.wires.driven[rows]
        matrices = Matrices(closed.A, closed.B @ into, out @ closed.C, out @ closed.D @ into)
        names = [*self.taken, *(f"{REFERENCE}{signal.path}" for signal in self.references)]
        states = [Signal(f"{b.name}.x[{k}]", "") for b in self.blocks for k in range(b.states)]
        inputs, outputs = ([Signal(name, "") for name in labels] for labels in (names, self.driven))
        result = named_system(matrices, states, inputs, outputs, "controller")
        if not period:
            return result
        from control import sample_system

        return sample_system(result, period, "bilinear")


def _fixed(place: int, system: Any) -> Tunable:
    block = read_linear(f"controller[{place}]", system)
    if block.dt:
        advice = "give it in continuous time: tune samples the controller"
        raise ModelError(Finding("sampled-block", f"controller[{place}]", f"a step of {block.dt} s", "continuous time", advice))
    A, B, C, D = Matrices.of(block)
    inputs, outputs = tuple(block.input_labels), tuple(block.output_labels)
    return Tunable(str(block.name), inputs, outputs, (), len(A), lambda theta, rho: (A, B, C, D), is_affine=True)


def _unknown(where: str, name: str, expected: str, known: Sequence[str], like: str = "") -> ModelError:
    return ModelError(Finding("unknown-signal", f"controller {where}", name, expected, did_you_mean(like or name, known)))


def _by_name(signals: Sequence[Signal]) -> dict[str, int]:
    """Return places of signals by path, and by name as python-control has it."""
    return {**{signal.name: k for k, signal in enumerate(signals)}, **{signal.path: k for k, signal in enumerate(signals)}}
