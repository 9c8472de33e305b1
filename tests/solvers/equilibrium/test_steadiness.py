"""Linear models about steady motions that change along them are told of; others are not."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import titop as tt
from titop.solvers.equilibrium.steadiness import steadiness_findings


def rotor(across: float) -> tt.Model:
    """Return a rotor in a sprung nacelle; its moments of inertia across its axis are `across` and 0.02 kg m^2."""
    s = tt.System("rotor", gravity=[0, 0, 0])
    nacelle = tt.RigidBody("nacelle", 1.0, inertia=[0.01, 0.01, 0.01])
    s.connect("world", nacelle, tt.Revolute("tilt", axis=[1, 0, 0], stiffness=1.0, damping=0.002))
    s.connect(nacelle, tt.RigidBody("blades", 0.2, inertia=[across, 0.02, 0.021]), tt.Revolute("spin", axis=[0, 0, 1]))
    return s.resolve()


def spinning(across: float) -> tt.OperatingPoint:
    return tt.trim(rotor(across), [], q={"spin": 0.3}, v={"spin": 20.0})


USES: list[Callable[[tt.OperatingPoint], object]] = [
    lambda p: p.stability,
    lambda p: tt.linearize(p.model, p),
    lambda p: tt.lft(p.model, p, {"tilt.stiffness": tt.percent(10)}, ["tilt"], ["tilt.q"]),
    lambda p: tt.lpv(
        p.model, {"tilt.stiffness": [1.0, 1.2]}, inputs=["tilt"], outputs=["tilt.q"], unknowns=[], q=p.q, v=p.v, progress=False
    ),
]


@pytest.mark.parametrize("use", USES, ids=["stability", "linearize", "lft", "lpv"])
def test_unsymmetric_rotors_give_a_warning_and_symmetric_ones_none(use: Callable[[tt.OperatingPoint], object]) -> None:
    with pytest.warns(tt.ModelWarning, match="time-varying"):
        use(spinning(0.01))
    with warnings.catch_warnings():
        warnings.simplefilter("error", tt.ModelWarning)
        use(spinning(0.02))


def test_the_change_is_that_of_the_matrices() -> None:
    """Two blades: what acts on the tilt changes with twice the angle, most of all after a quarter of a turn."""
    (finding,) = steadiness_findings(spinning(0.01))
    found = float(str(finding).split("by ")[1].split(" of")[0])
    p = spinning(0.01)
    A = [tt.linear_matrices(p.model, (p.model.integrate(p.q, [0.0, angle]), p.v, p.tau))[0] for angle in (0.0, 1.0, 2.2)]
    sizes = np.array([1.0, 1.0, 20.0, 20.0])
    noticed = np.maximum(np.abs(A[0][2:] * sizes).max(axis=1), 400.0)[:, None]
    assert found == pytest.approx(max(np.abs((other - A[0])[2:] * sizes / noticed).max() for other in A[1:]), rel=0.05)


@pytest.mark.parametrize("v", [{"base.rz": 0.5, "base.z": 2.0}, {"wheel": 300.0}])
def test_satellites_that_drift_and_spin_are_steady(v: dict[str, float]) -> None:
    """In axes that turn with it a spinning satellite stays as it is, whatever its shape; a symmetric wheel too."""
    s = tt.System("satellite", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("hub", 50.0, inertia=[4.0, 5.0, 6.0]), tt.Free("base"))
    s.connect(s["hub"], tt.RigidBody("rotor", 1.0, inertia=[0.01, 0.01, 0.02]), tt.Revolute("wheel", axis=[0, 0, 1]))
    m = s.resolve()
    point = tt.OperatingPoint(m, m.neutral(), m.velocity(v))
    assert np.abs(point.residual).max() < 1e-12
    assert not [*steadiness_findings(point)]


def test_motions_that_are_not_steady_are_others_concern() -> None:
    s = tt.System("pendulum", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", 1.0, com=[0, 0, -1.0]), tt.Revolute("hinge", axis=[0, 1, 0]))
    m = s.resolve()
    assert not [*steadiness_findings(tt.OperatingPoint(m, [0.0], [1.0]))]
