"""A controller of tuned and fixed blocks: connected by names, its matrix S, and its numbers in the scale of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, COARSE
from titop.solvers.lft.delta_blocks import slices
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.state_space import named_system, read_linear
from titop.solvers.signals.exported import REFERENCE, Signal
from titop.solvers.tuning.tunables import Parameter, Tunable
from titop.solvers.tuning.tuned_loop import AugmentedPlant, Wires

if TYPE_CHECKING:
    from control import StateSpace

#: How far from the ends of its range, in parts of the range, a bounded number starts.
_FROM_ENDS = COARSE


class Coordinate:
    """A tuned number as the search knows it: x in place of theta, of size one, without bounds.

    A number between bounds is the middle plus half the range times the hyperbolic tangent of x; one above a bound is that plus an
    exponential, so that positive numbers are sought by their logarithms; others are multiples of a unit.
    """

    def __init__(self, parameter: Parameter, unit: float) -> None:
        self.lower, self.upper, self.unit = parameter.lower, parameter.upper, unit
        self.is_fixed = self.lower == self.upper

    def value(self, x: Any) -> Any:
        """Return the number."""
        if self.is_fixed:
            return self.lower + 0 * x
        if np.isfinite(self.lower) and np.isfinite(self.upper):
            return (self.lower + self.upper) / 2 + (self.upper - self.lower) / 2 * np.tanh(x)
        if np.isfinite(self.lower):
            return self.lower + self.unit * np.exp(x)
        if np.isfinite(self.upper):
            return self.upper - self.unit * np.exp(x)
        return self.unit * x

    def slope(self, x: float) -> float:
        """Return the derivative of the number."""
        if self.is_fixed:
            return 0.0
        if np.isfinite(self.lower) and np.isfinite(self.upper):
            return (self.upper - self.lower) / 2 / float(np.cosh(x)) ** 2
        if np.isfinite(self.lower):
            return self.unit * float(np.exp(x))
        if np.isfinite(self.upper):
            return -self.unit * float(np.exp(x))
        return self.unit

    def place(self, value: float) -> float:
        """Return x of a number, away from the bounds."""
        if self.is_fixed:
            return 0.0
        if np.isfinite(self.lower) and np.isfinite(self.upper):
            part = (2 * value - self.lower - self.upper) / (self.upper - self.lower)
            return float(np.arctanh(np.clip(part, _FROM_ENDS - 1, 1 - _FROM_ENDS)))
        if np.isfinite(self.lower):
            return float(np.log(max((value - self.lower) / self.unit, CLOSE)))
        if np.isfinite(self.upper):
            return float(np.log(max((self.upper - value) / self.unit, CLOSE)))
        return value / self.unit


class ControllerBlocks:
    """Blocks of a controller.

    Parameters
    ----------
    controller : Tunable, control.StateSpace, or a sequence of these
    inputs, outputs : sequence of Signal
        Of the plant.
    sign : {-1, 1}
        Of the feedback: with -1 blocks take ``reference - y``.

    Attributes
    ----------
    wires : Wires
    taken, driven : list of str
        Names of the plant's outputs and inputs that blocks take and drive.
    references : list of str
        Names of outputs of the plant whose references blocks take.
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
        known, given = _by_name(outputs), {name: k for k, name in enumerate(f)}
        driven, referred = _by_name(inputs), dict.fromkeys(name for name in e if name.startswith(REFERENCE))
        measured, inner = np.zeros((len(e), len(outputs))), np.zeros((len(e), len(f)))
        by_reference, gives = np.zeros((len(e), len(referred))), np.zeros((len(inputs), len(f)))
        self.references = []
        for k, name in enumerate(referred):
            stem = name.removeprefix(REFERENCE)
            if stem not in known:
                raise ModelError(
                    Finding(
                        "unknown-signal",
                        "controller inputs",
                        name,
                        "a reference of an output of the plant",
                        did_you_mean(stem, list(known)),
                    )
                )
            self.references.append(outputs[known[stem]].path)
            by_reference[[j for j, other in enumerate(e) if other == name], k] = 1.0
        for j, name in enumerate(e):
            if name in referred:
                continue
            if name in given:
                for k, other in enumerate(f):
                    inner[j, k] += other == name
            elif name in known:
                measured[j, known[name]] = sign
            else:
                names = [*known, *given]
                raise ModelError(
                    Finding(
                        "unknown-signal",
                        "controller inputs",
                        name,
                        "an output of the plant or of a block",
                        did_you_mean(name, names),
                    )
                )
        for k, name in enumerate(f):
            if name in driven:
                gives[driven[name], k] = 1.0
            elif name not in e:
                raise ModelError(
                    Finding(
                        "unknown-signal",
                        "controller outputs",
                        name,
                        "an input of the plant or of a block",
                        did_you_mean(name, list(driven)),
                    )
                )
        self.taken = [outputs[k].path for k in np.flatnonzero(measured.any(axis=0))]
        self.driven = [inputs[k].path for k in np.flatnonzero(gives.any(axis=1))]
        if not self.driven:
            raise ModelError(
                Finding(
                    "open-loop", "controller", f, "an output that is an input of the plant", did_you_mean(f[0], list(driven))
                )
            )
        self.wires = Wires(states, measured, inner, by_reference, gives)

    # -- numbers -----------------------------------------------------------------------------------------------------------

    def scale(self, plant: AugmentedPlant, rate: float) -> list[Coordinate]:
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
                unit = gain if p.is_gain else 1.0
                if slopes is not None:
                    unit = float(units[slopes[k] > 0].max(initial=0.0)) or 1.0
                elif not np.isnan(p.start) and p.start - (p.lower if np.isfinite(p.lower) else 0.0):
                    unit = abs(p.start - (p.lower if np.isfinite(p.lower) else 0.0))
                else:
                    unit *= rate**p.rate
                result.append(Coordinate(p, unit))
        return result

    def gain(self, theta: Array, rho: Mapping[str, float]) -> Array:
        """Return S at numbers (n) and values of scheduling parameters."""
        S = np.zeros(self.sizes)
        for block, part, rows, columns in zip(self.blocks, self._ranges, self._rows, self._columns, strict=True):
            S[np.ix_(rows, columns)] = block.matrix_at(theta[part], rho)
        return S

    def chain(self, theta: Array, rho: Mapping[str, float]) -> list[Array]:
        """Return the derivatives of each block's part of S, for `pull`."""
        return [block.slopes_at(theta[part], rho) for block, part in zip(self.blocks, self._ranges, strict=True)]

    def pull(self, by_S: Array, chain: Sequence[Array]) -> Array:
        """Return the gradient with respect to the numbers (n) from that with respect to S."""
        parts = [
            np.tensordot(slopes, by_S[np.ix_(rows, columns)], axes=2)
            for slopes, rows, columns in zip(chain, self._rows, self._columns, strict=True)
        ]
        return np.concatenate(parts)

    # -- result ------------------------------------------------------------------------------------------------------------

    def system(self, theta: Array, rho: Mapping[str, float], period: float = 0.0) -> StateSpace:
        """Return the controller as one system with names, from what it takes of the plant and references to what it drives.

        With a period (s) it is sampled by Tustin's rule, block by block as it was tuned.
        """
        S, n = self.gain(theta, rho), self.wires.states
        law = Matrices(S[:n, :n], S[:n, n:], S[n:, :n], S[n:, n:])
        closed = _with_inner(law, self.wires.inner)
        columns = [k for k in range(self.wires.measured.shape[1]) if self.wires.measured[:, k].any()]
        by_y = np.abs(self.wires.measured[:, columns])
        into = np.hstack([by_y, self.wires.references])
        rows = np.flatnonzero(self.wires.driven.any(axis=1))
        out = self.wires.driven[rows]
        matrices = Matrices(closed.A, closed.B @ into, out @ closed.C, out @ closed.D @ into)
        names = [*self.taken, *(f"{REFERENCE}{name}" for name in self.references)]
        states = [Signal(f"{b.name}.x[{k}]", "") for b in self.blocks for k in range(b.states)]
        result = named_system(
            matrices, states, [Signal(name, "") for name in names], [Signal(name, "") for name in self.driven], "controller"
        )
        if not period:
            return result
        from control import sample_system

        return sample_system(result, period, "bilinear")


def _with_inner(law: Matrices, inner: Array) -> Matrices:
    """Return blocks connected with each other: ``e = e' + inner f``, e' what comes from outside."""
    if not inner.any():
        return law
    at_once = np.linalg.inv(np.eye(len(inner)) - inner @ law.D)
    by_x = at_once @ inner @ law.C
    return Matrices(law.A + law.B @ by_x, law.B @ at_once, law.C + law.D @ by_x, law.D @ at_once)


def _fixed(place: int, system: Any) -> Tunable:
    """Return a linear system as a block without tuned numbers."""
    block = read_linear(f"controller[{place}]", system)
    if block.dt:
        advice = "give it in continuous time: tune samples the controller"
        raise ModelError(Finding("sampled-block", f"controller[{place}]", f"a step of {block.dt} s", "continuous time", advice))
    A, B, C, D = Matrices.of(block)
    return Tunable(
        str(block.name),
        tuple(block.input_labels),
        tuple(block.output_labels),
        (),
        len(A),
        lambda theta, rho: (A, B, C, D),
        True,
    )


def _by_name(signals: Sequence[Signal]) -> dict[str, int]:
    """Return places of signals by path, and by name as python-control has it."""
    return {**{signal.name: k for k, signal in enumerate(signals)}, **{signal.path: k for k, signal in enumerate(signals)}}
