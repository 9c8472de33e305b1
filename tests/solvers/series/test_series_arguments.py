"""Reading wrenches and inputs with derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.actuated_systems import satellite
from tests.refusals import refusal
from titop.solvers.mechanism.inputs import PortPush, Push
from titop.solvers.series.series_arguments import acting_series, at_start, read_numbers, read_stack, up_to


def read(wrenches: Any = None, u: Any = None, rows: int = 3) -> tuple[list[Push], Any]:
    m = satellite().resolve("reference")
    return acting_series(m.mechanism.inputs, m.mechanism.ports, wrenches, u, rows)


def test_constants_have_no_derivatives() -> None:
    (push,), driven = read({"arm.tip": [1, 2, 3, 4, 5, 6]})
    assert isinstance(push, PortPush)
    np.testing.assert_array_equal(push.wrench, [[1, 2, 3, 4, 5, 6], [0] * 6, [0] * 6])
    assert not driven.any()
    pushes, driven = read(u={"drive": 2.0, "thruster": [1.0, 2.0, 3.0]})
    second = satellite().resolve("reference").coordinate_names.index("elbow.second")
    np.testing.assert_array_equal(driven[:, second], [20.0, 0.0, 0.0])  # through a gear of ten
    thrust = next(push for push in pushes if isinstance(push, PortPush) and push.port == "hub.nozzle")
    np.testing.assert_array_equal(thrust.wrench[:, 1], [1.0, 2.0, 3.0])


def test_names_and_arrays_say_the_same() -> None:
    m = satellite().resolve("reference")
    u = np.random.default_rng(0).normal(size=(3, m.nu))
    for one, two in zip(read(u=u)[0], read(u=dict(zip(m.input_names, u.T, strict=True)))[0], strict=True):
        np.testing.assert_array_equal(one.wrench, two.wrench)  # type: ignore[union-attr]
    held = read(u=u[0])[0]
    for one, two in zip(held, read(u=u * [[1], [0], [0]])[0], strict=True):
        np.testing.assert_array_equal(one.wrench, two.wrench)  # type: ignore[union-attr]


def test_parts_of_pushes() -> None:
    pushes = read({"arm.tip": np.ones((3, 6))}, {"drive": 1.0})[0]
    assert all(len(push.wrench) == 2 for push in up_to(pushes, 1) if isinstance(push, PortPush))
    assert all(push.wrench.shape == (6,) for push in at_start(pushes) if isinstance(push, PortPush))


def test_arguments_are_not_written_to() -> None:
    wrench = np.ones((3, 6))
    (push,), _ = read({"arm.tip": wrench})
    assert isinstance(push, PortPush)
    assert not np.shares_memory(push.wrench, wrench)


@pytest.mark.parametrize("value", ["x", [[1, 2], [1]], np.array([1j]), lambda: 0, {"a": 1}], ids=lambda x: type(x).__name__)
def test_what_is_no_numbers_is_refused(value: Any) -> None:
    with refusal("wrong-type", "tau_series"):
        read_numbers("tau_series", value)


def test_stacks_of_other_shapes_are_refused() -> None:
    with refusal("wrong-shape", "got shape (2, 2); expected shape (3, 2); one row for each derivative, its entries a, b"):
        read_stack("tau_series", np.ones((2, 2)), 3, 2, ("a", "b"))
    with refusal("not-finite", "tau_series[1, 0]"):
        read_stack("tau_series", [[0, 0], [np.inf, 0]], 2, 2)
    assert read_stack("tau_series", [[1, 2]], 1, 2).dtype == float


def test_unknown_names_are_refused() -> None:
    with refusal("unknown-port", "arm.tp"):
        read({"arm.tp": np.zeros(6)})
    with refusal("unknown-input", "driv"):
        read(u={"driv": 1.0})
    with pytest.raises(tt.ModelError):
        read(u={"drive": [1.0, 2.0]})
