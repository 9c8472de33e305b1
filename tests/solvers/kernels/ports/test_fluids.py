"""Bodies in fluids, and pushed by followers, against closed forms."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import titop as tt
from tests.flexible import UNIT
from titop.blocks.basics.spatial import Array, rigid_inertia, twist_transport

GRAVITY = 9.81


class Ball(tt.Block):
    """A ball at a distance below its port, in a fluid: added mass, buoyancy, drag by the square of the speed."""

    parameter_units: ClassVar = {"mass": "kg", "displaced": "kg", "added": "kg", "drag": "kg/m", "below": "m"}

    def __init__(self, name: str, mass: float, **fields: float):
        super().__init__(name)
        self.mass, self.displaced, self.added, self.drag, self.below = mass, 0.0, 0.0, 0.0, 0.0
        vars(self).update(fields)

    @property
    def center(self) -> Array:
        """Where the ball is."""
        return np.array([0.0 * self.below, 0.0 * self.below, -self.below])

    def mass_matrix(self, q: Array) -> Array:
        """Return the inertia of the ball, and of the fluid that it moves along."""
        return rigid_inertia(self.mass + self.added, self.center, 0.01 * np.eye(3))

    def weight(self, q: Array) -> tuple[Any, Array]:
        """Return the ball's mass less the displaced one."""
        weight = self.mass - self.displaced
        return weight, weight * self.center

    def applied_efforts(self, q: Array, v: Array, twist: Array, rotation: Array, position: Array) -> Array:
        """Return the drag, at the ball's centre."""
        velocity = twist[:3] + np.cross(twist[3:], self.center)
        force = -self.drag * np.sqrt(velocity @ velocity + 1e-24) * velocity
        return np.concatenate([force, np.cross(self.center, force)])


class Heavy(Ball):
    """The same, all of whose inertia weighs."""

    def weight(self, q: Array) -> tuple[Any, Array]:
        """Return mass and added mass."""
        return tt.Block.weight(self, q)


def sinking(ball: tt.Block, gravity: float = GRAVITY) -> tt.Model:
    s = tt.System("sinking", gravity=[0, 0, -gravity])
    s.connect("world", ball, tt.Prismatic("fall", axis=[0, 0, 1]))
    return s.resolve()


def pendulum(ball: tt.Block) -> tt.System:
    s = tt.System("pendulum", gravity=[0, 0, -GRAVITY])
    s.connect("world", ball, tt.Revolute("hinge", axis=[0, 1, 0]))
    return s


def test_terminal_velocity() -> None:
    """From rest ``v = v_t tanh(t/T)``, ``v_t = sqrt((m - m_f) g / c)`` and ``T = (m + m_a) / sqrt((m - m_f) g c)``."""
    m = sinking(Ball("ball", mass=2.0, displaced=0.5, added=0.25, drag=3.0))
    times = np.linspace(0, 2, 21)
    trajectory = tt.simulate(m, times, [0.0], [0.0], rtol=1e-11, atol=1e-13)
    pull = 1.5 * GRAVITY
    expected = -np.sqrt(pull / 3.0) * np.tanh(times / (2.25 / np.sqrt(pull * 3.0)))
    # what rtol leaves; the drag's smoothing 1e-12 m/s is less
    np.testing.assert_allclose(trajectory.v[:, 0], expected, rtol=0, atol=1e-9)


def test_decay_of_quadratic_drag() -> None:
    """Without weight ``v = v0 / (1 + c v0 t / m)``."""
    m = sinking(Ball("ball", mass=2.0, drag=3.0), gravity=0.0)
    times = np.linspace(0, 3, 11)
    trajectory = tt.simulate(m, times, [0.0], [4.0], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(trajectory.v[:, 0], 4.0 / (1 + 3.0 * 4.0 / 2.0 * times), rtol=1e-9)


def test_submerged_pendulum() -> None:
    """``w^2 = (m - m_f) g l / ((m + m_a) l^2 + J)``; a ball that weighs with all its inertia swings faster."""
    fields = {"mass": 2.0, "displaced": 0.7, "added": 0.35, "below": 0.8}
    squared = 1.3 * GRAVITY * 0.8 / (2.35 * 0.64 + 0.01)
    for engine in ("compiled", "reference"):
        m = pendulum(Ball("ball", **fields)).resolve(engine)
        poles = tt.linearize(m, tt.trim(m, ["hinge"], q={"hinge": 0.1})).poles()
        np.testing.assert_allclose(np.sort(poles.imag), [-np.sqrt(squared), np.sqrt(squared)], rtol=1e-12)
        np.testing.assert_allclose(m.gravity_effects([0.3]), 1.3 * GRAVITY * 0.8 * np.sin(0.3), rtol=1e-13)
        slopes = m.forward_dynamics_sensitivities([0.3], [0.0], [0.0], ["gravity.z", "ball.displaced", "ball.added"])
        lever = 0.8 * np.sin(0.3) / (2.35 * 0.64 + 0.01)
        np.testing.assert_allclose(slopes["gravity.z"], [1.3 * lever], rtol=1e-12)
        np.testing.assert_allclose(slopes["ball.displaced"], [GRAVITY * lever], rtol=1e-12)
        expected = 1.3 * GRAVITY * lever * 0.64 / (2.35 * 0.64 + 0.01)
        np.testing.assert_allclose(slopes["ball.added"], [expected], rtol=1e-12)
    heavy = pendulum(Heavy("ball", **fields)).resolve()
    poles = tt.linearize(heavy, tt.trim(heavy, ["hinge"])).poles()
    np.testing.assert_allclose(poles.imag.max() ** 2, 2.35 * GRAVITY * 0.8 / (2.35 * 0.64 + 0.01), rtol=1e-12)


def test_energy_of_a_submerged_pendulum() -> None:
    """Without drag it is kept; the control counts gravity's energy on all inertia."""
    m = pendulum(Ball("ball", mass=2.0, displaced=0.7, added=0.35, below=0.8)).resolve()
    trajectory = tt.simulate(m, np.linspace(0, 3, 31), [1.2], [0.5], rtol=1e-10, atol=1e-12)
    assert np.ptp(trajectory.energy().sum(axis=1)) < 1e-8  # J of some 10, what rtol leaves
    heavy = pendulum(Heavy("ball", mass=2.0, displaced=0.7, added=0.35, below=0.8)).resolve()
    false = [sum(heavy.energy(q, v)) for q, v in zip(trajectory.q, trajectory.v, strict=True)]
    assert np.ptp(false) > 1.0


def test_weight_of_a_spinning_body_with_added_mass() -> None:
    """A free body whose added mass differs along its axes keeps its energy in a field of gravity."""

    class Hull(tt.RigidBody):
        def mass_matrix(self, q: Array | None = None) -> Array:
            """Return the inertia with a full added one."""
            J = np.random.default_rng(0).normal(size=(6, 6))
            return super().mass_matrix(q) + 0.2 * J @ J.T

        def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
            """Return what follows from all of it."""
            return tt.Block.gyroscopic(self, q, v, twist)

        def weight(self, q: Array) -> tuple[Any, Array]:
            """Return what is left of the mass, its centre below that of buoyancy."""
            return 0.1, np.array([0.02, 0.0, -0.3])

    class Weighty(Hull):
        weight = tt.Block.weight

    def change(hull: tt.Block) -> float:
        s = tt.System("hull", gravity=[0, 0, -GRAVITY])
        s.connect("world", hull, tt.Free("base"))
        m = s.resolve()
        v = m.velocity({"base": [0.3, 0.1, -0.2, 0.4, 1.0, -0.5]})
        trajectory = tt.simulate(m, np.linspace(0, 2, 11), m.neutral(), v, rtol=1e-10, atol=1e-12)
        return float(np.ptp(trajectory.energy().sum(axis=1)))

    assert change(Hull("hull", 2.0, inertia=[0.1, 0.2, 0.3])) < 1e-8
    with pytest.warns(tt.ModelWarning, match=r"hull\.mass_matrix.*weight\(q\)"):
        assert change(Weighty("hull", 2.0, inertia=[0.1, 0.2, 0.3])) > 1e-2


class Float(tt.Block):
    """An upright cylinder that floats, its port at the bottom's centre: buoyancy ``rho g A`` times its depth."""

    parameter_units: ClassVar = {"mass": "kg", "area": "m^2", "damping": "N s/m"}

    def __init__(self, name: str, mass: float, area: float, damping: float):
        super().__init__(name)
        self.mass, self.area, self.damping = mass, area, damping

    def mass_matrix(self, q: Array) -> Array:
        """Return the float's inertia."""
        return rigid_inertia(self.mass, [0, 0, 0.1], 0.1 * np.eye(3))

    def applied_efforts(self, q: Array, v: Array, twist: Array, rotation: Array, position: Array) -> Array:
        """Return buoyancy at the bottom and the damping of waves."""
        lift = -1000.0 * GRAVITY * self.area * position[2]
        return np.concatenate([rotation.T @ np.array([0.0, 0.0, 1.0]) * lift - self.damping * twist[:3], np.zeros(3)])

    def applied_energy(self, q: Array, rotation: Array, position: Array) -> Any:
        """Return the energy of buoyancy."""
        return 0.5 * 1000.0 * GRAVITY * self.area * position[2] ** 2


def floating() -> tt.System:
    s = tt.System("floating", gravity=[0, 0, -GRAVITY])
    s.connect("world", Float("float", mass=50.0, area=0.2, damping=30.0), tt.Prismatic("heave", axis=[0, 0, 1]))
    return s


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_a_floating_body(engine: str) -> None:
    """Its draught is ``m / (rho A)``; heave obeys ``m s^2 + d s + rho g A = 0``; a deeper or heavier float sinks in."""
    m = floating().resolve(engine)
    point = tt.trim(m, ["heave"])
    np.testing.assert_allclose(point.q, [-50.0 / 200.0], rtol=1e-12)
    poles = np.sort_complex(tt.linearize(m, point).poles())
    np.testing.assert_allclose(poles, np.sort_complex(np.roots([50.0, 30.0, 1000 * GRAVITY * 0.2])), rtol=1e-10)
    slopes = m.forward_dynamics_sensitivities(point.q, [0.1], [0.0], ["float.mass", "float.area", "float.damping"])
    a = m.forward_dynamics(point.q, [0.1])[0]
    np.testing.assert_allclose(slopes["float.mass"], [(-GRAVITY - a) / 50.0], rtol=1e-10)
    np.testing.assert_allclose(slopes["float.area"], [1000 * GRAVITY * 0.25 / 50.0], rtol=1e-12)
    np.testing.assert_allclose(slopes["float.damping"], [-0.1 / 50.0], rtol=1e-12)
    np.testing.assert_allclose(m.passive_efforts(point.q, [0.1]), [50.0 * GRAVITY - 3.0], rtol=1e-12)
    np.testing.assert_allclose(m.nonlinear_effects(point.q, [0.1]), [50.0 * GRAVITY], rtol=1e-12)  # its weight alone
    np.testing.assert_allclose(m.reaction("heave", point.q, [0.0], [0.0]), 0.0, atol=1e-10)  # N, it floats
    deeper = m.with_parameters({"float.mass": 80.0})
    np.testing.assert_allclose(tt.trim(deeper, ["heave"]).q, [-0.4], rtol=1e-12)
    energy = [sum(m.energy([z], [0.0])) for z in (-0.26, -0.25, -0.24)]
    np.testing.assert_allclose(np.diff(energy, 2), 1000 * GRAVITY * 0.2 * 1e-4, rtol=1e-9)


class Rocket(tt.Beam):
    """A beam pushed at its tip along the tip's own axis, wherever that points."""

    thrust = 5.0

    def applied_efforts(self, q: Array, v: Array, twist: Array, rotation: Array, position: Array) -> Array:
        """Return the thrust on parent port and modes."""
        R, r, S = self.pose_and_subspace("C", q)
        return np.hstack([twist_transport(R, r), S]).T @ np.array([-self.thrust, 0.0, 0.0, 0.0, 0.0, 0.0])


def test_a_follower_load() -> None:
    """Its stiffness is not symmetric, unlike that of the beam alone, and the beam's own ports see it turn."""

    def clamped(cls: type[tt.Beam], engine: str = "compiled") -> tt.Model:
        s = tt.System("column", gravity=[0, 0, 0])
        base = tt.RigidBody("base", mass=1.0, inertia=0.1, ports={"top": [0.1, 0, 0]})
        s.connect("world", base, tt.Revolute("pivot", axis=[0, 0, 1]))
        s.connect(base.port("top"), cls("beam", **UNIT), tt.Weld("clamp"))
        return s.resolve(engine)

    m = clamped(Rocket)
    q, nothing = 0.05 * np.random.default_rng(0).normal(size=m.nv), np.zeros(m.nv)
    K = m.inverse_dynamics_derivatives(q, nothing, nothing)[0]
    stepped = clamped(Rocket, "reference").inverse_dynamics_derivatives(q, nothing, nothing)[0]
    np.testing.assert_allclose(K, stepped, rtol=0, atol=1e-10 * np.abs(K).max())  # exact but for rounding of stiff efforts
    still = clamped(tt.Beam).inverse_dynamics_derivatives(q, nothing, nothing)[0]
    assert np.abs(still - still.T).max() < 1e-12 * np.abs(still).max()  # rounding
    assert np.abs(K - K.T).max() > 1.0  # N/m, of a thrust of 5 N


def test_a_part_that_is_borne_weighs_as_much_less() -> None:
    """`borne` says the same as a weight of its own, in both engines."""

    class Borne(Heavy):
        borne = 0.3

    for engine in ("compiled", "reference"):
        found, expected = (
            pendulum(ball).resolve(engine=engine)
            for ball in (Borne("ball", mass=2.0, below=0.4), Ball("ball", mass=2.0, displaced=0.6, below=0.4))
        )
        for name in ("inverse_dynamics", "inverse_dynamics_derivatives"):
            one, two = (np.hstack(getattr(m, name)([0.3], [0.4], [0.5])) for m in (found, expected))
            np.testing.assert_allclose(one, two, rtol=1e-12)  # rounding; differences through a weight of its own
        assert found.energy([0.3], [0.0]).gravity == pytest.approx(expected.energy([0.3], [0.0]).gravity, rel=1e-14)
