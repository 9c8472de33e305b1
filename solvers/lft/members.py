"""Members of an uncertain family: values by name, made anew by `linearize`, and how far models are from them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, ModelWarning
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CANCELLED, CLOSE, COARSE, SAME
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.lft.delta_blocks import DeltaBlock
from titop.solvers.lft.feedback import Closing
from titop.solvers.lft.moving_equilibria import Equilibria
from titop.solvers.lft.other_values import held_point, is_of_point
from titop.solvers.lft.uncertainty import Uncertain, Uncertainty, gains_of
from titop.solvers.linear.linearize import linearize
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.path_series import without_fractions
from titop.solvers.signals.exported import numbers_by_name

if TYPE_CHECKING:
    from control import StateSpace


# -- values -----------------------------------------------------------------------------------------------------------------


def read_values(
    where: str, values: Mapping[str, Any], uncertain: Sequence[Uncertain], blocks: Sequence[DeltaBlock]
) -> dict[str, float]:
    """Return values of uncertain numbers by name, from any of their names; complex and full blocks are left out.

    Raises `ModelError` for names that are unknown, what are no finite numbers, and names of one number that contradict each
    other.
    """
    paths = [member.path for each in uncertain for member in each.members]
    others = {block.name for block in blocks if block.kind != "real"}
    given = numbers_by_name(where, {name: value for name, value in values.items() if name not in others}, paths)
    result: dict[str, float] = {}
    for each in uncertain:
        said = [(member, member.delta_at(given[member.path])) for member in each.members if member.path in given]
        for member, delta in said:
            if abs(delta - said[0][1]) > SAME * max(1.0, abs(delta)):
                first, value = said[0][0].path, given[member.path]
                expected = f"what goes with {first} = {given[first]:.6g}"
                advice = "give one of them: the family ties them together"
                raise ModelError(Finding("contradiction", f"{where}: {member.path}", value, expected, advice))
        if said:
            result[each.name] = each.members[0].at(said[0][1])
    return result


def refuse_complex(where: str, values: Mapping[str, Any], blocks: Sequence[DeltaBlock]) -> None:
    """Refuse values of complex and full blocks that are not zero, with which no real system has a response."""
    for block in blocks:
        if block.kind != "real" and np.any(values.get(block.name, 0.0)):
            expected, advice = "zero", "its response is complex: close M by hand, or leave it out for the real parameters'"
            raise ModelError(Finding("complex-value", f"{where}: {block.name}", values[block.name], expected, advice))


# -- members ----------------------------------------------------------------------------------------------------------------


class Family(NamedTuple):
    """What makes members: the arguments of `lft`, accelerations `a` (nv) of the point, equilibria, closed controllers.

    `signals` are the arguments of `linearize`: inputs, outputs, states to omit, to hold, and independent ones.
    `timed` are the signals whose delays these have, instead of fractions.
    """

    point: OperatingPoint
    uncertainty: Uncertainty
    a: Array
    signals: tuple[Any, ...]
    equilibria: Equilibria | None = None
    closings: tuple[Closing, ...] = ()
    timed: tuple[str, ...] = ()

    def point_at(self, values: Mapping[str, float]) -> OperatingPoint:
        """Return the operating point with values by path, its efforts those that hold it."""
        if self.equilibria is not None:
            point = self.equilibria.at(values)
        else:
            point = held_point(self.point, self.uncertainty.model_at(values), values, self.a)
        return replace(point, parameters=self.uncertainty.model_values(values))

    def gains(self, values: Mapping[str, float]) -> list[str]:
        """Return the gains among values that are not one: of signals, not of the system."""
        model = self.point.model
        of_system = {path for path in values if path in model.mechanism.parameter_names or is_of_point(model, path)}
        return [path for path, value in values.items() if path not in of_system and value != 1.0]

    def member(self, values: Mapping[str, float]) -> StateSpace:
        """Return the member at values by path, gains included."""
        point = self.point_at(values)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)  # of the point, which `lft` has warned of once
            system = linearize(point.model, point, *self.signals)
        sides = system.input_labels, system.output_labels
        inputs, outputs = ([system.signals[label].path for label in labels] for labels in sides)
        columns, rows = (
            np.array([1.0 if name is None else values[name] for name in names]) for names in gains_of(values, inputs, outputs)
        )
        system.B, system.C, system.D = system.B * columns, system.C * rows[:, None], rows[:, None] * system.D * columns
        return without_fractions(system, self.timed) if self.timed else system

    def response(self, values: Mapping[str, float], omega: Array, points: Array) -> Array:
        """Return the member's response (n, outputs, inputs), all controllers closed, at frequencies (rad/s), and s or z there.

        Inputs that are held are sampled exactly. Delays in continuous time are exact unless the loop is sampled later.
        """
        system, closings = self.member(values), self.closings
        sampling = max((k + 1 for k, closing in enumerate(closings) if closing.is_of_intervals), default=0)
        matrices = Matrices.of(system)
        for closing in closings[:sampling]:
            matrices = closing.exact(matrices)
        result = matrices.responses(points)
        for closing in closings[sampling:]:
            result = np.array([closing.of_response(*each) for each in zip(result, points, omega, strict=True)])
        return result


# -- responses --------------------------------------------------------------------------------------------------------------


def frequencies_around(system: StateSpace) -> Array:
    """Return frequencies (rad/s), evenly spaced in their logarithm, from below the slowest pole to beyond the fastest.

    Of sampled systems they end below half the sampling frequency.
    """
    sizes, rate = np.abs(Matrices.of(system).poles_in_time(float(system.dt or 0.0))), _rate(system)
    sizes = sizes[sizes > CLOSE * sizes.max(initial=0.0)]
    low, high = (sizes.min(), sizes.max()) if sizes.max(initial=0.0) > np.sqrt(CANCELLED) * rate else (rate or 1.0, rate or 1.0)
    end = 0.99 * np.pi / system.dt if system.dt else np.inf
    return np.geomspace(min(0.1 * low, 0.01 * end), min(10.0 * high, end), 40)


def _rate(system: StateSpace) -> float:
    """Return how fast states drive each other (1/s): what poles that are zero are rounding of."""
    from scipy.linalg import matrix_balance

    return float(np.abs(matrix_balance(system.A, permute=False)[0]).max(initial=0.0)) if not system.dt else 1.0 / system.dt


def points_at(system: StateSpace, omega: Array) -> Array:
    """Return the values of s, or of z of sampled systems, at frequencies (rad/s)."""
    return np.exp(1j * omega * system.dt) if system.dt else 1j * omega


def largest_difference(found: Array, right: Array) -> float:
    """Return the largest difference of two responses over frequencies, in parts of the norm of the response there."""
    if not right.size:
        return 0.0
    sizes = np.linalg.norm(right, axis=(1, 2))
    return float((np.linalg.norm(found - right, axis=(1, 2)) / np.where(sizes > 0, sizes, 1.0)).max())


def response_error(system: StateSpace, right: Callable[[Array, Array], Array]) -> float:
    """Return the largest difference from a response at frequencies (rad/s) and s or z there, in parts of its norm."""
    omega = frequencies_around(system)
    points = points_at(system, omega)
    return largest_difference(Matrices.of(system).responses(points), right(omega, points))


def coarse_findings(closing: Closing, members: Iterable[tuple[StateSpace, StateSpace]]) -> list[Finding]:
    """Return what is to be warned of: stages too few for the period, or motions too fast for any number of them.

    `members`: members of the model in continuous time, and those of the sampled loop at the same values.
    """

    def error(plant: StateSpace, loop: StateSpace) -> float:
        exact = closing.exact(Matrices.of(plant))
        return response_error(loop, lambda _, points: exact.responses(points))

    pairs = [*members]
    worst = max((error(plant, loop) for plant, loop in pairs), default=0.0)
    if worst <= COARSE:
        return []
    where, found = f"close: stages={closing.stages}", f"errors up to {worst:.2g} of the response"
    advice = f"try stages={closing.stages + 1}, or sample faster; see check"
    half, fastest = np.pi / closing.step, max(np.abs(plant.poles()).max(initial=0.0) for plant, _ in pairs)
    if fastest > half:
        found = f"{found}, with poles up to {fastest:.4g} rad/s"
        advice = (
            f"hold what is faster than half the sampling frequency, {half:.4g} rad/s, with hold= of tt.lft, or sample faster: "
            "more stages are no cure there"
        )
    return [Finding("coarse-stages", where, found, f"{COARSE:g} or less", advice)]
