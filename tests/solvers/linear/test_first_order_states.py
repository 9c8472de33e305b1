"""States of the first order in linear models, families and nonlinear systems: transfer functions and central differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.stated_systems import Lag, LaggingJoint, MaxwellJoint, interacting, jointed, looped

#: Central differences of a smooth vector field, in parts of its derivatives' largest.
DIFFERENCES = 1e-7


def rotor(joint: tt.Joint) -> tt.Model:
    """Return a rotor of 2 kg m^2 on a joint, without weight."""
    s = tt.System("rotor", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("wheel", mass=1.0, inertia=2.0), joint)
    return s.resolve()


def differences(function: Any, at: Any) -> Any:
    """Return the derivatives of a function by central differences."""
    step = 1e-6
    return np.array([(function(at + dx) - function(at - dx)) / (2 * step) for dx in step * np.eye(len(at))]).T


def test_lag_has_the_transfer_function_of_a_lag() -> None:
    m = rotor(LaggingJoint("hinge", stiffness=8.0, damping=0.4))
    system = tt.linearize(m, tt.trim(m), ["hinge.command"], ["hinge.q", "hinge.effort"])
    assert system.state_labels == ["hinge_q", "hinge_v", "hinge_effort"]
    for w in (0.3, 2.0, 20.0):
        s = 1j * w
        lag = 1.0 / (0.3 * s + 1.0)
        np.testing.assert_allclose(np.ravel(system(s)), [lag / (2.0 * s**2 + 0.4 * s + 8.0), lag], rtol=1e-12)


def test_maxwell_element_has_its_dynamic_stiffness() -> None:
    m = rotor(MaxwellJoint("hinge", stiffness=5.0))
    point = tt.trim(m)
    system = tt.linearize(m, point, ["hinge"], ["hinge.q"])
    for w in (0.3, 2.0, 20.0):
        s = 1j * w
        stiffness = 5.0 + 20.0 * 3.0 * s / (20.0 + 3.0 * s)
        np.testing.assert_allclose(complex(system(s)), 1.0 / (2.0 * s**2 + stiffness), rtol=1e-12)
    poles = np.roots([2.0 * 3.0, 2.0 * 20.0, 3.0 * (5.0 + 20.0), 5.0 * 20.0])
    np.testing.assert_allclose(np.sort_complex(point.eigenvalues), np.sort_complex(poles), rtol=1e-10)
    assert point.stability == "stable"


def test_linear_model_is_the_derivative_of_the_whole() -> None:
    m, rng = jointed().resolve(), np.random.default_rng(1)
    q, v, x = rng.normal(size=3), 0.3 * rng.normal(size=3), 0.01 * rng.normal(size=3)
    point = tt.OperatingPoint(m, q, v, None, [0.7], x=x)
    outputs = ["soft.creep", "soft.q", "c.dv", "soft.reaction", "driven", ("sum", lambda q, v, a, u: a.sum() + u[0])]
    with pytest.warns(tt.ModelWarning, match="acceler"):
        system = tt.linearize(m, point, ["driven.command", "rail"], outputs)

    def accelerations(z: Any) -> tuple[Any, ...]:
        q, v, x, u, tau = np.split(z, [3, 6, 9, 10])
        return q, v, x, u, m.forward_dynamics(q, v, np.array([0.0, tau[0], 0.0]), u=u, x=x)

    def rates(z: Any) -> Any:
        q, v, x, u, a = accelerations(z)
        return np.concatenate([v, a, m.state_rates(q, v, x, u)])

    def read(z: Any) -> Any:
        q, v, x, u, a = accelerations(z)
        parts = x[2:], q[2:], m.motion("c", q, v, a)[:3], m.reaction("soft", q, v, a, u=u, x=x), x[:1], [a.sum() + u[0]]
        return np.concatenate(parts)

    at = np.concatenate([q, v, x, [0.7, 0.0]])
    for found, function in ((np.hstack([system.A, system.B]), rates), (np.hstack([system.C, system.D]), read)):
        np.testing.assert_allclose(found, differences(function, at), atol=DIFFERENCES * np.abs(found).max())
    nonlinear = m.to_nlsys(["driven.command", "rail"], ["soft.creep"], point)
    np.testing.assert_allclose(nonlinear.dynamics(0, at[:9], at[9:]), rates(at), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(nonlinear.linearize(at[:9], at[9:]).A, system.A, rtol=1e-12, atol=1e-12)


@pytest.mark.long
def test_nonlinear_systems_on_quaternions_and_in_loops() -> None:
    m, rng = interacting().resolve(), np.random.default_rng(2)
    point = tt.OperatingPoint(m, m.random_configuration(rng), 0.3 * rng.normal(size=m.nv), None, [0.3], x=rng.normal(size=m.nx))
    loop = looped().resolve()
    q = loop.assemble(loop.configuration({"driven": 0.8, "soft": 0.5}), ["driven"])
    closed = tt.OperatingPoint(loop, q, None, None, [0.3], x=[0.1, 0.2])
    for each, outputs in ((point, ["last.v", "drag.reaction", "motor"]), (closed, ["driven.effort", "rocker.dv"])):
        system = each.model.to_nlsys(list(each.model.input_names), outputs, each)
        mechanical = system.nstates - each.model.nx
        z = np.concatenate([0.01 * rng.normal(size=mechanical), each.x])
        if each is closed:
            z[0] = q[0]
        linear = system.linearize(z, [0.3])
        A = differences(lambda x, system=system: system.dynamics(0, x, [0.3]), z)
        C = differences(lambda x, system=system: system.output(0, x, [0.3]), z)
        np.testing.assert_allclose(linear.A, A, atol=1e-6 * np.abs(A).max())  # loops are closed to 1e-13 at every step
        np.testing.assert_allclose(linear.C, C, atol=1e-6 * np.abs(C).max())


def test_loops_have_linear_models_with_states() -> None:
    m = looped().resolve()
    q = m.assemble(m.configuration({"driven": 0.8, "soft": 0.5}), ["driven"])
    point = tt.trim(m, ["driven", "soft", "hinge", "driven.command"], q=q)
    system = tt.linearize(m, point, ["driven.command"], ["driven.q"], independent=["driven"])
    assert system.state_labels == ["driven_q", "driven_v", "driven_effort", "soft_creep"]
    np.testing.assert_allclose(np.sort_complex(np.linalg.eigvals(system.A)), np.sort_complex(point.eigenvalues), rtol=1e-8)


def test_states_can_be_omitted() -> None:
    s = tt.System("idle", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("wheel", mass=1.0, inertia=2.0), tt.Revolute("hinge", stiffness=3.0))
    s.connect("world", tt.RigidBody("other", mass=1.0, inertia=2.0), tt.Revolute("free", stiffness=3.0))
    s.add_interaction(Lag("motor", 0.5), "free")
    m = s.resolve()
    system = tt.linearize(m, tt.trim(m), ["hinge"], ["hinge.q"], omit=["free"])
    assert system.state_labels == ["hinge_q", "hinge_v", "motor_effort"]
    system = tt.linearize(m, tt.trim(m), ["hinge"], ["hinge.q"], omit=["free", "motor.effort"])
    assert system.nstates == 2
    with pytest.raises(tt.ModelError, match=r"motor\.effort"):
        tt.linearize(m, tt.trim(m), ["hinge"], ["hinge.q"], omit=["motor.effort"])


def test_families_have_states(tmp_path: Path) -> None:
    m = jointed().resolve()
    family = tt.lpv(m, {"driven.command": [0.0, 0.3, 0.7]}, inputs=["driven.command"], outputs=["driven.q"], progress=False)
    point = tt.trim(m, u=[0.7])
    expected = tt.linearize(m, point, ["driven.command"], ["driven.q"])
    for found, matrix in ((family.at(driven_command=0.7).A, expected.A), (family.at(driven_command=0.7).B, expected.B)):
        np.testing.assert_allclose(found, matrix, rtol=1e-7, atol=1e-7)  # both equilibria are known to 1e-9
    trims = family.trim_at(driven_command=0.7)
    np.testing.assert_allclose(trims["x"], point.x, atol=1e-8)
    family.save(tmp_path / "family.npz")
    read = tt.LPVModel.load(tmp_path / "family.npz")
    np.testing.assert_array_equal(read.x, family.x)
    assert read.own_states == m.state_names


def test_changing_states_are_told_of() -> None:
    m = rotor(LaggingJoint("hinge", stiffness=8.0))
    with pytest.warns(tt.ModelWarning, match=r"hinge\.effort"):
        tt.linearize(m, tt.OperatingPoint(m, [0.125], None, None, [0.0], x=[1.0]), ["hinge.command"], ["hinge.q"])


def test_deviations_have_states() -> None:
    m = rotor(MaxwellJoint("hinge", stiffness=5.0))
    point = tt.OperatingPoint(m, [0.1], x=[0.1])
    np.testing.assert_allclose(point.deviation([0.3], [0.2], x=[0.5]), [0.2, 0.2, 0.4])
    assert point.state_names == ("hinge_q", "hinge_v", "hinge_creep")
