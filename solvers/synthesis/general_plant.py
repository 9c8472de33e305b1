"""Plants with disturbances w, errors z, measurements y and controls u: read, checked, in balanced units, closed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import matrix_balance

from titop.blocks.basics.errors import Finding, ModelError, refuse
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import NEAR_AXIS, ROUNDING, SINGULAR
from titop.solvers.linear.matrices import Matrices, side_by_side
from titop.solvers.linear.state_space import middle_rate, named_signals, named_system, period_of, positions, read_linear, unlike
from titop.solvers.robust.uncertain_loop import to_continuous, to_sampled
from titop.solvers.signals.exported import Signal
from titop.solvers.synthesis.riccati import Parts

if TYPE_CHECKING:
    from control import StateSpace

#: Of an unstable mode in a message, states that move at least so much of what moves most.
_SHARE = 0.3


class Units(NamedTuple):
    """What one stands for in balanced units: of states, controls and measurements; errors, disturbances; rad/s."""

    x: Array
    u: Array
    y: Array
    z: float
    w: float
    rate: float

    @property
    def gain(self) -> float:
        """Of gains from disturbances to errors."""
        return self.z * self.w


@dataclass(frozen=True)
class GeneralPlant:
    """A plant ``(w, u) -> (z, y)``.

    - `system`: in the user's units and time;
    - `period`: sample time (s), zero in continuous time.
    """

    system: Matrices
    period: float
    states: list[Signal]
    disturbances: list[Signal]
    controls: list[Signal]
    errors: list[Signal]
    measurements: list[Signal]

    @cached_property
    def continuous(self) -> Matrices:
        """The plant in continuous time, a sampled one by the bilinear map, which keeps stability and gains."""
        return to_continuous(self.system, self.period, "plant") if self.period else self.system

    @property
    def named(self) -> StateSpace:
        """The plant with names."""
        inputs, outputs = [*self.disturbances, *self.controls], [*self.errors, *self.measurements]
        return named_system(self.system, self.states, inputs, outputs, "plant", self.period)

    def balance(self, system: Matrices, is_sampled: bool = False) -> tuple[Parts, Units]:
        """Return the plant's parts in units in which all is about one, and these; of frequencies unless it is sampled.

        States are balanced with what drives them and what sees them; controls and measurements have norm one.
        """
        z, w, n = len(self.errors), len(self.disturbances), len(system.A)
        x = matrix_balance(system.A, permute=False, separate=True)[1][0] if n else np.ones(0)
        A, B, C, D = system.A * x / x[:, None], system.B / x[:, None], system.C * x, system.D
        u, y = 1 / _sizes(np.vstack([B[:, w:], D[:z, w:]]), 0), 1 / _sizes(np.hstack([C[z:], D[z:, :w]]), 1)
        into, out = (np.linalg.norm(each, axis=1) for each in (B[:, :w], B[:, w:] * u)), (C[:z], y[:, None] * C[z:])
        # what is outside, and the controller, as two more states
        around = np.zeros((n + 2, n + 2))
        around[:n, :n] = A
        around[:n, n:], around[n:, :n] = np.stack(list(into), axis=1), [np.linalg.norm(each, axis=0) for each in out]
        around[n, n + 1] = np.linalg.norm(D[:z, w:] * u) or np.linalg.norm(around[n, :n]) * np.linalg.norm(around[:n, n + 1])
        around[n + 1, n] = np.linalg.norm(y[:, None] * D[z:, :w]) or np.linalg.norm(around[n + 1, :n]) * np.linalg.norm(
            around[:n, n]
        )
        scales = matrix_balance(around, permute=False, separate=True)[1][0][:n]
        x = x * scales
        A, B, C = system.A * x / x[:, None], system.B / x[:, None], system.C * x
        rate = 1.0 if is_sampled else middle_rate(A)
        B2, C2 = B[:, w:] / rate, C[z:]
        u = 1 / _sizes(np.vstack([B2, D[:z, w:]]), 0)
        y = _sizes(np.hstack([C2, D[z:, :w]]), 1)
        error, disturbance = (
            (float(np.linalg.norm(part, 2)) if part.size else 0.0) or 1.0 for part in (C[:z], B[:, :w] / rate)
        )
        units = Units(x, u, y, error, disturbance, rate)
        return self.in_units(system, units), units

    def in_units(self, system: Matrices, units: Units) -> Parts:
        """Return the parts of a system with the plant's channels in units that are known."""
        z, w, (A, B, C, D) = len(self.errors), len(self.disturbances), system
        x, u, y, error, disturbance, rate = units
        inputs, outputs = np.r_[np.full(w, 1 / disturbance), u], np.r_[np.full(z, error), y][:, None]
        A, B, C, D = A * x / x[:, None] / rate, B / x[:, None] / rate * inputs, C * x / outputs, D * inputs / outputs
        return Parts(A, B[:, :w], B[:, w:], C[:z], C[z:], D[:z, :w], D[:z, w:], D[z:, :w])

    def controller(self, central: Matrices, units: Units, is_sampled: bool = False) -> Matrices:
        """Return a controller of the user's plant from one of `balance`'s parts.

        Raises `LinAlgError` where the loop through what passes from u to y at once has no solution.
        """
        x, u, y, _, _, rate = units
        system = self.system if is_sampled else self.continuous
        through = system.D[len(self.errors) :, len(self.disturbances) :] * u / y[:, None]
        A, B, C, D = central
        if through.any():
            loop = np.eye(len(C)) + D @ through
            if not np.linalg.svd(loop, compute_uv=False)[-1] > SINGULAR * (1 + np.linalg.norm(loop, 2)):
                raise np.linalg.LinAlgError("the loop has no solution at once")
            C, D = np.linalg.solve(loop, C), np.linalg.solve(loop, D)
            A, B = A - B @ through @ C, B - B @ through @ D
        K = Matrices(rate * A * x[:, None] / x, rate * B * x[:, None] / y, C * u[:, None] / x, D * u[:, None] / y)
        return to_sampled(K, self.period) if self.period and not is_sampled else K

    def close(self, K: Matrices) -> Matrices:
        """Return the loop ``w -> z`` with ``u = K y``, the plant's states first."""
        return close(self.system, K, len(self.errors), len(self.disturbances))

    def name_controller(self, K: Matrices, observes: bool = True) -> StateSpace:
        """Return a controller with names; states that estimate the plant's (`observes`) are named after these."""
        states = [Signal(f"{s.path}.estimate", s.unit) for s in self.states]
        if len(states) != len(K.A) or not observes:
            states = [Signal(f"controller.x[{k}]", "") for k in range(len(K.A))]
        return named_system(K, states, self.measurements, self.controls, "controller", self.period)

    def name_loop(self, K: StateSpace) -> StateSpace:
        """Return the loop with names."""
        states = [*self.states, *unlike(named_signals(K)[0], self.states)]
        return named_system(self.close(Matrices.of(K)), states, self.disturbances, self.errors, "loop", self.period)


def close(plant: Matrices, K: Matrices, z: int, w: int) -> Matrices:
    """Return a loop of ``u = K y``, the last channels of a plant with z other outputs and w other inputs.

    Raises `LinAlgError` if it is ill-posed.
    """
    both, p, m = side_by_side([plant, K]), K.B.shape[1], len(K.C)
    # y, u of the controller, then z; u, y of the controller, then w
    outputs, inputs = np.r_[z : z + p + m, :z], np.r_[w : w + m + p, :w]
    across = np.zeros((m + p, p + m))
    across[:m, p:], across[m:, :p] = np.eye(m), np.eye(p)
    return both.part(outputs, inputs).close_loop(across).part(np.arange(p + m, p + m + z), np.arange(m + p, m + p + w))


def sensitivity_plant(G: Matrices, sign: int) -> Matrices:
    """Return a plant with disturbances at its inputs and noise on its outputs: ``(d, n, u) -> (u, y + n, sign (y + n))``."""
    A, B, C, D = G
    m, p, n = B.shape[1], len(C), len(A)
    return Matrices(
        A,
        np.hstack([B, np.zeros((n, p)), B]),
        np.vstack([np.zeros((m, n)), C, sign * C]),
        np.block([[np.zeros((m, m + p)), np.eye(m)], [D, np.eye(p), D], [sign * D, sign * np.eye(p), sign * D]]),
    )


def read_plant(plant: Any, measurements: Any, controls: Any, nmeas: Any = None, ncon: Any = None) -> GeneralPlant:
    """Return a plant with its channels by name, or the last ones by number.

    Raises `ModelError` for what is no linear model, unknown signals, no channels left, and unstable modes that no control
    moves or no measurement sees.
    """
    model = read_linear("plant", plant)
    states, inputs, outputs = named_signals(model)
    y = _channels("measurements", measurements, nmeas, outputs)
    u = _channels("controls", controls, ncon, inputs)
    z, w = ([k for k in range(len(every)) if k not in taken] for every, taken in ((outputs, y), (inputs, u)))
    for where, left, count in (("measurements", z, len(outputs)), ("controls", w, len(inputs))):
        if not left:
            expected = "an error to be kept small besides" if where == "measurements" else "a disturbance besides"
            advice = "append the weighted signals to the plant: tt.connect_blocks, or tt.mixsyn"
            raise ModelError(Finding("no-channel", where, f"all {count} of the plant", expected, advice))
    period = period_of(model)
    part = Matrices.of(model).part(np.r_[z, y].astype(int), np.r_[w, u].astype(int))
    result = GeneralPlant(
        part, period, states, [inputs[k] for k in w], [inputs[k] for k in u], [outputs[k] for k in z], [outputs[k] for k in y]
    )
    refuse_hidden_modes(result)
    return result


def _channels(where: str, names: Any, count: Any, known: Sequence[Signal]) -> list[int]:
    """Return the places of channels given by name, or of the last ones by their number."""
    if names is not None and count is not None:
        short = "nmeas" if where == "measurements" else "ncon"
        advice = f"{where} are {names!r}: leave one of them out"
        raise ModelError(Finding("given-twice", short, count, f"{where} or {short}", advice))
    names = count if names is None else names
    if isinstance(names, int | np.integer) and not isinstance(names, bool):
        if not 0 < names <= len(known):
            raise ModelError(Finding("bad-value", where, names, f"a number from 1 to {len(known)}", "or name the signals"))
        return list(range(len(known) - int(names), len(known)))
    if isinstance(names, str):
        names = [names]
    if not isinstance(names, Sequence) or not names:
        expected, listed = "names of signals, or how many of the last ones", ", ".join(signal.name for signal in known)
        raise ModelError(Finding("wrong-type", where, names, expected, f"there are {listed}"))
    return positions(where, names, known)


def refuse_hidden_modes(plant: GeneralPlant) -> None:
    """Refuse unstable modes that no control moves, or no measurement sees (Popov, Belevitch and Hautus)."""
    refuse(_hidden_modes(plant))


def _hidden_modes(plant: GeneralPlant) -> Iterator[Finding]:
    parts, units = plant.balance(plant.continuous)
    size = float(np.linalg.norm(parts.A, 2)) if len(parts.A) else 0.0
    poles = np.linalg.eigvals(parts.A)
    poles = poles[(poles.real >= -ROUNDING * size) & (poles.imag >= 0)]
    poles = np.where(np.abs(poles) < NEAR_AXIS * size, 0.0, poles)  # double ones at zero are known to half the digits
    for unit in np.unique(poles):
        pole, shifted = unit * units.rate, parts.A - unit * np.eye(len(parts.A))
        for code, where, matrix, hidden in (
            ("unstabilizable-mode", "controls", np.hstack([shifted, parts.B2]).T, "no control moves it"),
            ("undetectable-mode", "measurements", np.vstack([shifted, parts.C2]), "no measurement sees it"),
        ):
            _, sizes, right = np.linalg.svd(matrix)
            if sizes[-1] <= SINGULAR * (1 + size):
                # the shape of a mode that is not seen; of one that is not moved, what would have to be
                shares = np.abs(right[-1]) * (units.x if where == "measurements" else 1 / units.x)
                main = [s.path for s, part in zip(plant.states, shares, strict=True) if part >= _SHARE * shares.max()]
                value = f"a mode at {pole.real if not pole.imag else pole:.6g} rad/s of {', '.join(main)}"
                advice = f"{hidden}: add one that does, or leave the mode out"
                yield Finding(code, where, value, "every unstable mode moved and seen", advice)


def _sizes(matrix: Array, axis: int) -> Array:
    sizes = np.linalg.norm(matrix, axis=axis)
    sizes[sizes == 0] = 1.0
    return np.asarray(sizes)
