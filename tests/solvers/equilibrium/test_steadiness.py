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
    """A radian's change at the point, by differences to both sides; that to one side of 0.01 rad is told, to two digits."""
    (finding,) = steadiness_findings(spinning(0.01))
    found = float(str(finding).split("by ")[1].split(" of")[0])
    p = spinning(0.01)
    before, at, after = (
        tt.linear_matrices(p.model, (p.model.integrate(p.q, [0.0, angle]), p.v, p.tau))[0][2:] * [1.0, 1.0, 20.0, 20.0]
        for angle in (-1e-3, 0.0, 1e-3)
    )
    rows = np.abs(at).max(axis=1)
    noticed = np.maximum(rows, 1e-4 * rows.max())[:, None]
    assert found == pytest.approx(np.abs((after - before) / 2e-3 / noticed).max(), rel=0.05)


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


def test_loops_are_judged_by_their_independent_coordinates() -> None:
    """A parallelogram that turns: its arms change against each other, its linear model does not."""
    s = tt.System("parallelogram", gravity=[0, 0, 0])
    s.world.add_port("far", [1.0, 0, 0])
    left, right = (tt.RigidBody(name, 1.0, inertia=[0.1, 0.1, 0.1], ports={"end": [0, 0.3, 0]}) for name in ("left", "right"))
    bar = tt.RigidBody("bar", 1.0, com=[0.5, 0, 0], inertia=[0.1, 0.1, 0.1], ports={"end": [1.0, 0, 0]})
    s.connect("world", left, tt.Revolute("q1"))
    s.connect(left.port("end"), bar, tt.Revolute("q2"))
    s.connect(s.world.port("far"), right, tt.Revolute("q3"))
    s.close_loop(bar.port("end"), right.port("end"), tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    m = s.resolve()
    q = m.assemble([0.7, -0.7, 0.7])
    assert not [*steadiness_findings(tt.OperatingPoint(m, q, m.assemble_velocity(q, [3.0, -3.0, 3.0])))]


@pytest.mark.parametrize("wheel", [0.0, 600.0])
def test_fast_wheels_do_not_hide_slow_rotors(wheel: float) -> None:
    s = tt.System("satellite", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("hub", 50.0, inertia=[4.0, 5.0, 6.0]), tt.Free("base"))
    s.connect(s["hub"], tt.RigidBody("rotor", 1.0, inertia=[0.005, 0.005, 0.01]), tt.Revolute("wheel", axis=[0, 0, 1]))
    s.connect(s["hub"], tt.RigidBody("payload", 5.0, inertia=[0.5, 1.5, 1.5]), tt.Revolute("scan", axis=[0, 0, 1]))
    m = s.resolve()
    (finding,) = steadiness_findings(tt.OperatingPoint(m, m.neutral(), m.velocity({"wheel": wheel, "scan": 1.0})))
    assert finding.code == "time-varying"


@pytest.mark.parametrize("rate", [1e-300, 1e-16, 1e-9])
def test_what_hardly_moves_stands_still(rate: float) -> None:
    model = rotor(0.01)
    assert not [*steadiness_findings(tt.OperatingPoint(model, model.neutral(), [0.0, rate]))]


def test_modes_that_move_alone() -> None:
    s = tt.System("boom", gravity=[0, 0, 0])
    s.connect("world", tt.Beam("boom", length=1.0, density=1.0, area=1.0, young=1e4, iy=1e-4, iz=1e-4), tt.Weld("root"))
    m = s.resolve()
    assert not [*steadiness_findings(tt.OperatingPoint(m, m.neutral(), np.ones(m.nv)))]
