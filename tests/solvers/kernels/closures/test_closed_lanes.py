"""Stacks of closed systems in lanes: the bits of single calls, where each lane chooses rows of its own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import titop as tt
from tests import every_kind
from tests.closed_systems import four_bar
from tests.systems import Array
from titop.solvers.constraints.multipliers import independent_rows
from titop.solvers.mechanism.kernel_calls import DONE

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")

ROWS = 11


SYSTEMS: dict[str, Callable[[], tt.System]] = {
    "redundant": four_bar,
    **{name: every_kind.SYSTEMS[name] for name in ("gears", "gears in a loop")},
}

#: Kernels by name: their states, and the axes of nv numbers of their results, and how many such.
KERNELS: dict[str, tuple[str, tuple[tuple[int, ...], ...]]] = {
    "forward": ("q v tau", ((),)),
    "inverse": ("q v a", ((),)),
    "mass_inverse": ("q v a", ((), (0,))),
    "hybrid": ("q v tau a", ((), ())),
    "forward_derivatives": ("q v tau", ((3,),)),
    "inverse_derivatives": ("q v a", ((3,),)),
    "hybrid_derivatives": ("q v tau a", ((8,),)),
}


def states(model: tt.Model) -> dict[str, Array]:
    """Return stacked states with the loops closed, and efforts."""
    rng, start = np.random.default_rng(0), model.mechanism.regular_configuration
    rows = []
    for _ in range(ROWS):
        q = model.assemble(start + rng.normal(size=model.nq))
        v = model.assemble_velocity(q, rng.normal(size=model.nv))
        rows.append((q, v, model.assemble_acceleration(q, v, rng.normal(size=model.nv)), rng.normal(size=model.nv)))
    return {name: np.array(part) for name, part in zip(("q", "v", "a", "tau"), zip(*rows, strict=True), strict=True)}


@pytest.mark.parametrize("system", SYSTEMS)
def test_stacks_have_the_bits_of_single_calls_in_any_order(system: str) -> None:
    model = SYSTEMS[system]().resolve()
    given, order = states(model), np.random.default_rng(1).permutation(ROWS)
    for name, (arguments, axes) in KERNELS.items():
        kernel = model._calls.kernels[name, tuple(model.coordinate_names[:1]) if "hybrid" in name else None]
        stack = [given[each] for each in arguments.split()]
        square = (model.nv, model.nv)
        shapes = [square if each == (0,) else (*each, *square) if each else (model.nv,) for each in axes]
        whole, mixed = ([np.zeros((ROWS, *shape)) for shape in shapes] for _ in range(2))
        driven = [np.zeros((ROWS, model.nv))] if kernel.shares else []  # efforts of motors, of each state
        stacked = (kernel.beside if kernel.shares else kernel).stacked
        assert stacked.call(*driven, *stack, *whole) == DONE, name
        assert stacked.call(*driven, *(part[order].copy() for part in stack), *mixed) == DONE, name
        for k in range(ROWS):
            single = [np.zeros(shape) for shape in shapes]
            assert kernel.call(*(part[k] for part in stack), *single) == DONE
            for one, all_at_once in zip(single, whole, strict=True):
                assert np.array_equal(one, all_at_once[k]), name
        for one, other in zip(whole, mixed, strict=True):
            assert np.array_equal(one[order], other), name


def test_lanes_choose_different_rows() -> None:
    """Otherwise the test above would not show that they may."""
    model = SYSTEMS["gears in a loop"]().resolve()
    assert len({tuple(independent_rows(model.closure_jacobian(q)).tolist()) for q in states(model)["q"]}) > 1


def test_a_stack_with_a_singular_state_gives_what_single_calls_give() -> None:
    """Where a parallelogram lies flat, fewer rows are independent than in the other lanes."""
    model = four_bar(lengths=(1.0, 0.5, 1.0, 0.5)).resolve()
    bent, flat = (np.array([[angle, -angle, angle + np.pi] for angle in angles]) for angles in ((0.5, 0.9), (0.0,)))

    def told(q: Array) -> list[float] | str:
        try:
            return model.forward_dynamics(q, np.zeros_like(q), np.zeros_like(q)).ravel().tolist()
        except tt.ModelError as error:
            return error.findings[0].code

    regular, singular = [told(q) for q in bent], told(flat[0])
    assert told(bent) == [*regular[0], *regular[1]]
    assert told(np.vstack([bent, flat])) == (singular if isinstance(singular, str) else [*regular[0], *regular[1], *singular])
