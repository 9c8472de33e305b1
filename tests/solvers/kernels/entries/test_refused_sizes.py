"""Entry points: what has not the system's size is refused before memory is touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.solvers.kernels.entries.wrong_sizes import assert_sizes_matter, of_a_linkage, of_a_tree
from tests.solvers.kernels.packed_trees import Packed
from titop.solvers.engines.compiled.compiled_readings import ReadingRow, reading_tables
from titop.solvers.kernels.entries import (
    closure_entries,
    derivative_entries,
    directional_entries,
    dynamics_entries,
    effort_entries,
    hybrid_entries,
    moving_entries,
    observation_entries,
    reading_entries,
    series_entries,
)
from titop.solvers.kernels.entries.pair import Pair
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.ports import sensor_readings


class Row(NamedTuple):
    """An entry point, which of its arguments are looked at, and further ones: their shape or value.

    In shapes n stands for the number of rates, k for that of constraints, e for that of elements.
    """

    entry: Any
    checked: str
    more: dict[str, Any]
    system: Callable[[], dict[str, Any]] = of_a_tree


NO_ROWS = np.zeros((1, 0), dtype=np.int64)
SQUARE, SLOPES = ("n", "n"), (3, "n", "n")
EFFORTS: dict[str, Any] = {"unknown": np.bool_(True), "driven": ("n",)}
RESULTS = {"accelerations": ("n",), "efforts": ("n",)}
BODY_FRAMES = np.tile([*np.eye(3).ravel(), 0.0, 0.0, 0.0, 1.0], (2, 1))
WHAT, FRAMES, _ = reading_tables([ReadingRow(sensor_readings.RATE, 0)])

TREES = [
    Row(dynamics_entries.inverse_dynamics, "q v a tau", {}),
    Row(dynamics_entries.forward_dynamics, "q v tau a", {}),
    Row(dynamics_entries.whole_mass_matrix, "q matrix", {"matrix": SQUARE}),
    Row(dynamics_entries.mass_inverse_dynamics, "q v a tau matrix", {"matrix": SQUARE}),
    Row(hybrid_entries.hybrid_dynamics, "q v tau a", {"imposed": np.bool_(True), **RESULTS}),
    Row(derivative_entries.inverse_derivatives, "q v a result", {"result": SLOPES}),
    Row(derivative_entries.forward_derivatives, "q v tau result", {"result": SLOPES}),
    Row(derivative_entries.linear_matrices, "q v tau a A B", {"A": ("2n", "2n"), "B": ("2n", "n")}),
    Row(
        derivative_entries.motion_derivatives,
        "q v a result",
        {"places": np.array([[1, -1, -1]]), "frames": (1, 12), "result": (4, 6, "n")},
    ),
    Row(effort_entries.passive_efforts, "q v efforts", {"bare": "ints", "asked": NO_ROWS, "efforts": ("n",)}),
    Row(
        effort_entries.actuation_rows,
        "q result",
        {"places": NO_ROWS, "acting": np.zeros((0, 3), dtype=np.int64), "motors": (2, "n"), "result": (2, "n")},
    ),
    Row(observation_entries.port_pose, "q pose", {"pose": (1, 12)}),
    Row(observation_entries.port_jacobian, "q jacobian", {"jacobian": (6, "n")}),
    Row(observation_entries.port_motion, "q v a motion", {"motion": (1, 24)}),
    Row(observation_entries.port_twist, "q v twist", {"twist": (1, 6)}),
    Row(observation_entries.port_acceleration, "q v a acceleration", {"acceleration": (1, 6)}),
    Row(observation_entries.momentum_matrix, "q matrix", {"matrix": (6, "n")}),
    Row(observation_entries.coriolis_matrix, "q v matrix", {"matrix": SQUARE}),
    Row(observation_entries.inverse_mass_matrix, "q inverse", {"inverse": SQUARE}),
    Row(
        observation_entries.energies, "q v result", {"work": ("e", layout.INVERSE_COLUMNS), "world": ("e", 12), "result": (3,)}
    ),
    Row(observation_entries.momentum, "q v result", {"result": (6,)}),
    Row(observation_entries.center_of_mass, "q result", {"result": (4,)}),
    Row(
        observation_entries.regressor,
        "q v a result",
        {"chosen": np.array([[1, 0, *[-1] * 9], [2, *range(1, 11)]]), "frames": BODY_FRAMES, "result": (11, "n")},
    ),
    Row(reading_entries.readings, "q v a", {"what": WHAT, "frames": FRAMES, "result": (1,)}),
    Row(
        directional_entries.forward_tangent,
        "q v tau dq dv dtau result",
        dict.fromkeys(("dq", "dv", "dtau", "result"), (2, "n")),
    ),
    Row(
        directional_entries.forward_adjoint,
        "q v tau weights by_q by_v by_tau",
        dict.fromkeys(("weights", "by_q", "by_v", "by_tau"), (2, "n")),
    ),
    Row(directional_entries.responses, "q efforts result", dict.fromkeys(("efforts", "result"), (2, "n"))),
    Row(directional_entries.inverse_tangent, "q v a dq dv da result", dict.fromkeys(("dq", "dv", "da", "result"), (2, "n"))),
    Row(
        directional_entries.inverse_adjoint,
        "q v a weights by_q by_v by_a",
        dict.fromkeys(("weights", "by_q", "by_v", "by_a"), (2, "n")),
    ),
    Row(series_entries.inverse_dynamics_series, "q", {"v_series": (4, "n"), "efforts": (3, "n"), "changes": (0, 6)}),
    Row(series_entries.forward_dynamics_series, "q v", {"tau_series": (3, "n"), "a_series": (3, "n"), "changes": (0, 6)}),
    Row(series_entries.motion_series, "q", {"element": 1, "frame": (12,), "v_series": (3, "n"), "result": (4, 18)}),
    Row(
        series_entries.hybrid_dynamics_series,
        "imposed q v accelerations efforts",
        {
            **dict.fromkeys(("tau_series", "a_series", "accelerations", "efforts"), (3, "n")),
            "changes": (0, 6),
            "imposed": np.bool_(True),
        },
    ),
]
#: With their only free motion imposed no constraint acts on what is imposed, and all act on the rest.
LINKAGES = [
    Row(closure_entries.constrained_forward, "q v tau a", {}),
    Row(closure_entries.constrained_inverse, "q v a tau driven", EFFORTS),
    Row(closure_entries.constrained_mass_inverse, "q v a tau driven matrix", {**EFFORTS, "matrix": SQUARE}),
    Row(closure_entries.nearest_motion, "q v x", {"second": False, "sizes": 1.0, "held": np.bool_(False), "x": "v"}),
    Row(hybrid_entries.constrained_hybrid, "q v tau a", {"imposed": "first", **RESULTS}),
    Row(derivative_entries.constrained_derivatives, "q v tau result", {"result": SLOPES}),
    Row(derivative_entries.constrained_linear_matrices, "q v tau a A B", {"A": ("2n", "2n"), "B": ("2n", "n")}),
    Row(closure_entries.least_shares, "q v needed result", {**EFFORTS, "needed": (2, "n"), "result": (2, "n")}),
    Row(derivative_entries.shared_derivatives, "q v a driven result", {**EFFORTS, "result": SLOPES}),
    Row(
        derivative_entries.inverse_slopes_with_closures,
        "q v a",
        {"multipliers": ("k",), "changes": SLOPES, "rows": (4, "k", "n")},
    ),
]
ROWS = [*TREES, *(row._replace(system=of_a_linkage) for row in LINKAGES)]


def kernel_of(entry: Any) -> Any:
    return entry.rigid if isinstance(entry, Pair) else entry


@pytest.mark.parametrize("row", ROWS, ids=lambda row: kernel_of(row.entry).title)
def test_other_sizes_are_refused(row: Row) -> None:
    given = row.system()
    n, elements = given["nv"], given["ints"][0, layout.ELEMENTS]
    lengths = {"n": n, "2n": 2 * n, "e": elements, "k": 0 if given["loops"] is None else given["loops"][0, layout.ROWS]}
    for name, value in row.more.items():
        if isinstance(value, tuple):
            given[name] = np.random.default_rng(0).normal(size=[lengths.get(length, length) for length in value])
        elif isinstance(value, np.bool_ | float):
            given[name] = np.full(n, value)
        elif isinstance(value, str):
            given[name] = np.arange(n) == 0 if value == "first" else given[value].copy()
        else:
            given[name] = value
    assert_sizes_matter(kernel_of(row.entry), given, row.checked.split())


#: By entry point for moving between configurations: names of its arguments behind q, and of its results.
MOVING = {
    "integrate": (("q", "dq"), ("result",)),
    "difference": (("q0", "q1"), ("result",)),
    "integrate_derivatives": (("q", "dq"), ("by_q", "by_step")),
    "difference_derivatives": (("q0", "q1"), ("by_q0", "by_q1")),
    "configuration_rate": (("q", "v"), ("rates",)),
    "configuration_derivatives": (("q",), ("result",)),
}


@pytest.mark.parametrize("name", MOVING)
def test_stacks_of_other_sizes_are_refused(name: str) -> None:
    packed = Packed(1, bodies=4)
    plain, n = packed.model.mechanism.plain_coordinates, packed.model.nv
    arguments, results = MOVING[name]
    given = {"ints": packed.ints, "plain": np.array([plain.in_q, plain.in_v])}
    for argument in arguments:
        given[argument] = np.tile(packed.v if argument in ("dq", "v") else packed.q, (2, 1))
    sizes = {"difference": (n,), "configuration_derivatives": (packed.model.nq, n)}
    for result in results:
        given[result] = np.zeros((2, *((n, n) if len(results) == 2 else sizes.get(name, (packed.model.nq,)))))
    assert_sizes_matter(getattr(moving_entries, name), given, (*arguments, *results))
