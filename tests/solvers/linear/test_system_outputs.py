"""Linear models with functions of users, in other units of length, mass and time."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal
from tests.solvers.scaled_systems import SI, UNITS, Units, bar, pendulum_on_a_slider
from tests.systems import Array


@pytest.mark.parametrize("units", [SI, *UNITS], ids=str)
class TestLinearModels:
    def test_of_functions_that_take_no_complex_numbers(self, units: Units) -> None:
        """A function that bends within the unit of length: its derivatives by position and rate, and by an input."""
        m = pendulum_on_a_slider(units)

        def bent(q: Array, v: Array, a: Array, u: Array) -> Array:
            x, rate = float(q[0]) / units.length, float(v[0]) * units.time / units.length
            return np.array([np.sin(x), 1e-3 * rate**3, float(a[0]) * units.time**2 / units.length])

        at = tt.OperatingPoint(m, [0.3 * units.length, 0.0], [0.2 * units.length / units.time, 0.0])
        with pytest.warns(tt.ModelWarning, match="no-equilibrium"):
            system = tt.linearize(m, at, inputs=["rail"], outputs=[("bent", bent), "rail.a"])
        # differences of sixth order at the step that suits them: 1e-10
        assert system.C[0, 0] * units.length == pytest.approx(np.cos(0.3), rel=1e-8)
        assert system.C[1, 2] * units.length / units.time == pytest.approx(1e-3 * 3 * 0.2**2, rel=1e-8)
        scale = units.time**2 / units.length
        np.testing.assert_allclose(system.C[2], system.C[3] * scale, rtol=1e-8, atol=1e-9 * np.abs(system.C[3]).max() * scale)
        assert system.D[2, 0] == pytest.approx(system.D[3, 0] * scale, rel=1e-8)

    def test_only_what_is_no_equilibrium_gives_a_warning(self, units: Units) -> None:
        """Balanced to rounding, and a thousandth of the efforts away from it."""
        m = pendulum_on_a_slider(units)
        q = m.configuration({"hinge": 0.4})
        tau = m.inverse_dynamics(q, np.zeros(2), np.zeros(2))
        for factor, sound in ((1.0, True), (1.001, False)):
            points = [tt.OperatingPoint(m, q, tau=factor * tau) for _ in range(2)]
            for use in (
                lambda: tt.linearize(m, points[0]),  # noqa: B023
                lambda: tt.lpv(m, {"hinge.q": [0.4, 0.4]}, points=points, grid=False),  # noqa: B023
            ):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    use()
                assert ["no-equilibrium" in str(each.message) for each in caught] == ([] if sound else [True])


@pytest.mark.parametrize("units", [SI, *UNITS], ids=str)
def test_held_coordinates_of_a_body_that_spins_slowly(units: Units) -> None:
    """As a satellite turns once an orbit, 1e-3 rad/s: what turns with it cannot be held alone, what does not can."""
    s = tt.System("satellite", gravity=[0, 0, 0])
    s.connect("world", bar("body", 1.0, units), tt.Free("free"))
    m = s.resolve()
    point = tt.OperatingPoint(m, m.neutral(), m.velocity({"free.rx": 1e-3 / units.time}))
    assert len(tt.linearize(m, point, hold=["free.x"]).state_labels) == 10
    with refusal("held-moves", "free.y turns with a body that spins"):
        tt.linearize(m, point, hold=["free.y"])


class TestFunctionsThatAskTheModel:
    def test_of_a_body_that_turns_freely(self) -> None:
        """Its momentum: quaternions are stepped along, not off, the unit sphere."""
        s = tt.System("satellite", gravity=[0, 0, 0])
        s.connect("world", tt.RigidBody("hub", 10.0, inertia=[1, 2, 2.5]), tt.Free("base"))
        m = s.resolve()
        at = tt.OperatingPoint(m, m.neutral(), m.velocity({"base": [0, 0, 0, 0.1, 0.2, 2.0]}))
        with pytest.warns(tt.ModelWarning):
            system = tt.linearize(m, at, inputs=["base"], outputs=[("p", lambda q, v, a, u: m.momentum(q, v))])
        w, J = np.array([0.1, 0.2, 2.0]), np.diag([1, 2, 2.5])
        turned = np.cross(np.eye(3), J @ w)  # by a turn e_j: e_j x (J w)
        np.testing.assert_allclose(system.C[3:, 3:6], turned.T, atol=1e-8)
        np.testing.assert_allclose(system.C[3:, 9:], J, atol=1e-8)
        np.testing.assert_allclose(system.C[:3, 6:9], 10 * np.eye(3), atol=1e-8)

    @pytest.mark.parametrize("error", [0.0, 1e-25])
    def test_of_a_beam_that_is_nearly_at_rest(self, error: float) -> None:
        """Accelerations, and coordinates that nothing bends, are rounding: they tell no step. Positions have Jacobians."""
        s = tt.System("boom", gravity=[0, 0, -9.81])
        hub = tt.RigidBody("hub", 20.0, inertia=2.0, ports={"r": [0.2, 0, 0]})
        boom = tt.Beam("boom", length=2.0, density=2700.0, area=3e-4, young=70e9, iy=2e-8, iz=2e-8, modes=2)
        s.connect("world", hub, joint=tt.Revolute("az", axis=[0, 1, 0], stiffness=300.0))
        s.connect(hub.port("r"), boom, joint=tt.Weld("w"))
        m = s.resolve()
        q = tt.trim(m).q
        q[q == 0.0] = error
        system = tt.linearize(m, tt.OperatingPoint(m, q), ["az"], [("tip", lambda q, v, a, u: m.pose("boom.C", q)[1])])
        expected = m.pose("boom.C", q)[0] @ m.jacobian("boom.C", q)[:3]
        np.testing.assert_allclose(system.C[:, : m.nv], expected, atol=1e-10)  # differences of sixth order

    def test_of_a_mechanism_that_has_settled(self) -> None:
        """Rates of 1e-20 rad/s are none: springs at rest give no warning, and positions have Jacobians."""
        s, q = tt.System("arms", gravity=[0, 0, 0]), np.array([0.5, 0.7])
        before: tt.PortRef | str = "world"
        for name, rest in zip(("shoulder", "elbow"), q, strict=True):
            arm = tt.RigidBody(f"{name}_arm", 1.0, [0.3, 0, 0], [0.01, 0.05, 0.05], {"end": [0.6, 0, 0]})
            s.connect(before, arm, tt.Revolute(name, axis=[0, 1, 0], stiffness=30.0, rest=rest))
            before = arm.port("end")
        m = s.resolve()
        outputs = [("end", lambda q, v, a, u: m.pose("elbow_arm.end", q)[1])]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            system = tt.linearize(m, (q, [1e-20, 0]), ["shoulder"], outputs)
        expected = m.pose("elbow_arm.end", q)[0] @ m.jacobian("elbow_arm.end", q)[:3]
        np.testing.assert_allclose(system.C[:, :2], expected, atol=1e-10)  # differences of sixth order

    @pytest.mark.parametrize("rate", [0.0, 1e-17])
    def test_of_a_lift_that_a_motor_holds(self, rate: float) -> None:
        """Nothing pulls it where it hangs, and what its acceleration and rate are is rounding: force and power of the rope."""
        mass, door, damping, g = 703.0, 0.1, 55.0, 9.81
        s, cabin = tt.System("lift", gravity=[0, 0, -g]), tt.RigidBody("cabin", mass)
        s.connect("world", cabin, tt.Prismatic("rail", axis=[0, 0, 1], damping=damping))
        s.connect(cabin, tt.RigidBody("door", door, inertia=0.01), tt.Revolute("hinge", axis=[0, 1, 0], damping=0.2))
        s.add_actuator(tt.Motor("winch", "rail"))
        m = s.resolve()
        held = tt.trim(m, ["winch"])
        at = dataclasses.replace(held, v=np.array([rate, 0.0]))

        def rope(q: Array, v: Array, a: Array, u: Array) -> list[float]:
            force = mass * (g + float(a[0]))
            return [force, force * float(v[0])]

        system = tt.linearize(m, at, ["winch"], [("rope", rope)])
        braked = [0.0, 0.0, -mass * damping / (mass + door), 0.0]
        np.testing.assert_allclose(system.C, [braked, [0.0, 0.0, mass * g, 0.0]], rtol=1e-8, atol=1e-8)  # rounding of 7 kN
        assert system.D[0, 0] == pytest.approx(mass / (mass + door), rel=1e-8)

    def test_of_an_arm_that_motors_hold(self) -> None:
        """Stretched out level: its sensor along the arm and across it, as their own derivatives are."""
        s = tt.System("arm", gravity=[0, 0, -9.81])
        before: tt.PortRef | str = "world"
        for name in ("shoulder", "elbow"):
            link = tt.RigidBody(f"{name}_link", 2.0, [0.3, 0, 0], [0.01, 0.05, 0.05], {"end": [0.6, 0, 0]})
            s.connect(before, link, tt.Revolute(name, axis=[0, 1, 0], damping=0.3))
            s.add_actuator(tt.Motor(f"{name}_motor", name))
            before = link.port("end")
        s.add_sensor(tt.Accelerometer("hand", before))
        m = s.resolve()
        motors = ["shoulder_motor", "elbow_motor"]
        at = tt.trim(m, motors, q={"shoulder": 0.0, "elbow": 0.0})
        read, exact = (
            tt.linearize(m, at, motors, outputs)
            for outputs in ([("read", lambda q, v, a, u: m.outputs(q, v, a, u=u))], ["hand"])
        )
        assert np.abs(exact.C[2, 2:]).min() > 0.1
        np.testing.assert_allclose(read.C, exact.C, atol=1e-8)
        np.testing.assert_allclose(read.D, exact.D, atol=1e-8)

    @pytest.mark.parametrize("seed", range(8))
    def test_noise_has_no_derivative(self, seed: int) -> None:
        m, rng = pendulum_on_a_slider(SI), np.random.default_rng(seed)
        with pytest.warns(tt.ModelWarning, match="no-equilibrium"), pytest.warns(tt.ModelWarning, match="'noise'.*not-smooth"):
            tt.linearize(m, m.neutral(), ["rail"], [("noise", lambda q, v, a, u: float(rng.normal()))])

    KINKS: ClassVar[dict[str, Callable[..., Any]]] = {
        "clipped": lambda q, v, a, u: max(q[0], 0.0),
        "clipped array": lambda q, v, a, u: np.maximum(q[:1], 0.0),
        "speed": lambda q, v, a, u: abs(v[0]),
        "friction beside a force": lambda q, v, a, u: [1e3 * float(q[0]), 5.0 + float(q[1]) + 0.1 * abs(float(v[1]))],
    }
    SMOOTH: ClassVar[dict[str, tuple[Callable[..., Any], float]]] = {
        "square": (lambda q, v, a, u: float(q[0]) ** 2, 0.0),
        "sixth power": (lambda q, v, a, u: float(q[0]) ** 6 + 1e3, 0.0),
        "steep bend": (lambda q, v, a, u: float(q[0]) + 5e3 * float(q[0]) ** 2, 1.0),
        "clipped elsewhere": (lambda q, v, a, u: max(float(q[0]), -0.1), 1.0),
        "steep": (lambda q, v, a, u: float(np.tanh(1e6 * float(q[0]))), 1e6),
    }

    @pytest.mark.parametrize("name", KINKS)
    def test_kinks_have_no_derivative(self, name: str) -> None:
        m = pendulum_on_a_slider(SI)
        with pytest.warns(tt.ModelWarning, match="no-equilibrium"), pytest.warns(tt.ModelWarning, match="'f'.*not-smooth"):
            tt.linearize(m, tt.OperatingPoint(m, [0.0, 0.0]), ["rail"], [("f", self.KINKS[name])])

    @pytest.mark.parametrize("name", SMOOTH)
    def test_bends_are_no_kinks(self, name: str) -> None:
        m, (function, slope) = pendulum_on_a_slider(SI), self.SMOOTH[name]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            system = tt.linearize(m, tt.OperatingPoint(m, [0.0, 0.0]), ["rail"], [("f", function)])
        assert not any("not-smooth" in str(each.message) for each in caught)
        assert system.C[0, 0] == pytest.approx(slope, rel=1e-8, abs=1e-10)  # differences of sixth order

    def test_what_rounding_leaves_of_constants_far_out_is_no_kink(self) -> None:
        """As a constant is whose rounding grows with the distance: a few of its last digits a metre."""
        m, grown = pendulum_on_a_slider(SI), 4 * np.finfo(float).eps
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            at = tt.OperatingPoint(m, [0.0, 0.0])
            system = tt.linearize(m, at, ["rail"], [("constant", lambda q, v, a, u: 2.9 + grown * abs(float(q[0])))])
        assert not any("not-smooth" in str(each.message) for each in caught)
        assert np.abs(system.C).max() < 1e-12

    def test_they_are_asked_at_the_point_alone(self) -> None:
        """A number of the loop, which the neutral configuration does not close, and one that has no value there."""
        s = tt.System("four bars", gravity=[0, -9.81, 0])
        s.world.add_port("ground", [1, 0, 0])
        before: tt.PortRef | str = "world"
        for k, length in enumerate((0.3, 0.9, 0.7)):
            bar = tt.RigidBody(f"bar{k}", 1.0, [length / 2, 0, 0], [0, length**2 / 12, length**2 / 12], {"end": [length, 0, 0]})
            s.connect(before, bar, tt.Revolute(f"joint{k}", axis=[0, 0, 1]))
            before = bar.port("end")
        s.close_loop(s.world.port("ground"), before, tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
        m = s.resolve()
        q = m.assemble([1.0, -1.0, -1.0], fixed=["joint0"])
        tau = m.inverse_dynamics(q, np.zeros(3), np.zeros(3), actuated=["joint0"])
        at = tt.OperatingPoint(m, q, tau=tau)
        outputs = [
            ("pin", lambda q, v, a, u: m.reaction("pin", q, v, a)),
            ("inverse", lambda q, v, a, u: 1 / np.linalg.norm(q)),
            ("weight", lambda q, v, a, u: m.energy(q, v).gravity),
        ]
        system = tt.linearize(m, at, inputs=["joint0"], outputs=outputs, independent=["joint0"])
        assert system.noutputs == 8
        assert system.C[7, 0] == pytest.approx(
            tau[0], rel=1e-7
        )  # what holds a mechanism is the slope of its energy; differences

    def test_other_functions_are_refused_by_name(self) -> None:
        m = pendulum_on_a_slider(SI)
        at = tt.OperatingPoint(m, m.neutral())
        with pytest.raises(tt.ModelError, match=r"outputs\['f'\].*wrong-signature"):
            tt.linearize(m, at, outputs=[("f", lambda q, v: q)])
        with pytest.raises(IndexError) as raised:
            tt.linearize(m, at, outputs=[("f", lambda q, v, a, u: q[7])])
        assert raised.value.__notes__ == ["in the function of outputs['f']"]


def test_functions_may_change_what_they_are_given() -> None:
    """The square of a coordinate, spoilt afterwards: twice its value, and the point stays where it is."""

    def spoiling(q: Array, v: Array, a: Array, u: Array) -> Array:
        square = q[:1] ** 2
        for array in (q, v, a, u):
            array += 1.0
        return square

    m = pendulum_on_a_slider(SI)
    at = tt.OperatingPoint(m, [0.3, 0.0], [0.0, 0.0])
    with pytest.warns(tt.ModelWarning, match="no-equilibrium"):
        system = tt.linearize(m, at, inputs=["rail"], outputs=[("square", spoiling)])
    assert system.C[0, 0] == pytest.approx(0.6, rel=1e-9)  # differences of sixth order
    assert at.q.tolist() == [0.3, 0.0]
    assert at.v.tolist() == [0.0, 0.0]
