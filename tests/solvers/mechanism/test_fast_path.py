"""From a user's call into a kernel: how many Python functions are on the way, and what comes where it fails."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import four_bar
from tests.solvers.engines.compiled.instrumented import instrumented
from titop.solvers.mechanism.fast_path import NO_CALLS, UNREADY


def called(function: Callable[[], Any]) -> list[str]:
    """Return the names of the Python functions that a call goes through, `function` left out."""
    function()  # binds kernels
    names: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            names.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return names[1:]


def arm() -> tt.System:
    """Return three links with an accelerometer at the tip."""
    s, at = tt.System("arm", gravity=[0, 0, -9.81]), "world"
    for k in range(3):
        link = tt.RigidBody(f"link{k}", 1.0, [0.2, 0, 0], [0.1, 0.2, 0.2], ports={"tip": [0.4, 0, 0]})
        s.connect(at, link, tt.Revolute(f"hinge{k}", axis=[0, 1, k], damping=0.1))
        at = link.port("tip")
    s.add_sensor(tt.Accelerometer("accelerometer", at))
    return s


def functions(m: tt.Model) -> dict[str, tuple[int, Callable[[], Any]]]:
    """Return how many Python functions each of a model's functions is, and calls of it."""
    rng = np.random.default_rng(0)
    q = m.assemble(m.random_configuration(rng)) if m.is_constrained else m.random_configuration(rng)
    v, tau = rng.normal(size=(2, m.nv))
    v = m.assemble_velocity(q, v)
    a = m.forward_dynamics(q, v, tau)
    port = m.port_names[-1]
    one: dict[str, Callable[[], Any]] = {
        "forward_dynamics": lambda: m.forward_dynamics(q, v, tau),
        "inverse_dynamics": lambda: m.inverse_dynamics(q, v, a),
        "forward_dynamics_derivatives": lambda: m.forward_dynamics_derivatives(q, v, tau),
        "inverse_dynamics_derivatives": lambda: m.inverse_dynamics_derivatives(q, v, a),
        "mass_matrix": lambda: m.mass_matrix(q),
        "inverse_mass_matrix": lambda: m.inverse_mass_matrix(q),
        "inertial_inverse_dynamics": lambda: m.inertial_inverse_dynamics(q, v, a),
        "mass_inverse_dynamics": lambda: m.mass_inverse_dynamics(q, v, a),
        "mass_inertial_inverse_dynamics": lambda: m.mass_inertial_inverse_dynamics(q, v, a),
        "nonlinear_effects": lambda: m.nonlinear_effects(q, v),
        "gravity_effects": lambda: m.gravity_effects(q),
        "coriolis_matrix": lambda: m.coriolis_matrix(q, v),
        "passive_efforts": lambda: m.passive_efforts(q, v),
        "momentum": lambda: m.momentum(q, v),
        "momentum_matrix": lambda: m.momentum_matrix(q),
        "regressor": lambda: m.regressor(q, v, a),
        "pose": lambda: m.pose(port, q),
        "twist": lambda: m.twist(port, q, v),
        "jacobian": lambda: m.jacobian(port, q),
        "acceleration": lambda: m.acceleration(port, q, v, a),
        "integrate": lambda: m.integrate(q, v),
        "difference": lambda: m.difference(q, q),
        "difference_derivatives": lambda: m.difference_derivatives(q, q),
    }
    two: dict[str, Callable[[], Any]] = {
        "center_of_mass": lambda: m.center_of_mass(q),
        "energy": lambda: m.energy(q, v),
        "outputs": lambda: m.outputs(q, v, a),
        "accelerometer": lambda: m.accelerometer(port, q, v, a),
    }
    return {name: (1, f) for name, f in one.items()} | {name: (2, f) for name, f in two.items()}


@pytest.mark.parametrize("closed", [False, True])
def test_one_python_function_from_user_to_kernel(closed: bool) -> None:
    """Two for what is put into other words, or bound for itself: energies, centres, readings."""
    m = (four_bar() if closed else arm()).resolve()
    for name, (most, function) in functions(m).items():
        through = [each for each in called(function) if each not in ("__new__", "<lambda>")]
        assert len(through) <= most, (name, through)


def test_a_way_round_the_kernel_is_seen() -> None:
    """The negative control: a list has to be read, which takes more functions."""
    m = arm().resolve()
    assert len(called(lambda: m.mass_matrix([0.1, 0.2, 0.3]))) > 3
    reference = arm().resolve(engine="reference")
    assert len(called(lambda: reference.mass_matrix(np.zeros(3)))) > 3


def test_named_listed_and_stacked_arguments_are_read() -> None:
    for s in (arm(), instrumented("beam")):
        m = s.resolve()
        q = m.random_configuration(np.random.default_rng(1))
        expected = m.mass_matrix(q)
        for found in (m.mass_matrix(q=q), m.mass_matrix(q.tolist()), *m.mass_matrix(np.stack([q, q]))):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14 * np.abs(expected).max())  # q with unit quaternions
        with pytest.raises(TypeError, match="mass_matrix\\(\\) too many positional"):
            m.mass_matrix(q, q)
        with pytest.raises(TypeError, match="mass_matrix\\(\\) got an unexpected keyword argument 'out'"):
            m.mass_matrix(q, out=expected)
        with pytest.raises(TypeError, match="section_poses\\(\\) missing a required argument"):
            m.section_poses(q=np.stack([q, q]), where=3)
        with pytest.raises(tt.ModelError, match="stack all along the first axis"):
            m.momentum(np.stack([q, q]), np.zeros(m.nv))


def test_an_engine_without_kernels() -> None:
    assert NO_CALLS.forward is None
    assert NO_CALLS.at_ports["hub"].pose is None
    with pytest.raises(UNREADY):
        NO_CALLS.forward(np.zeros(1))
