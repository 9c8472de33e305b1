"""Systems with interactions: springs between ports, contact, laws of users' own, in both engines."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import titop as tt
from tests.flexible import unit_beam
from tests.refusals import ENGINES
from titop.blocks.basics.spatial import Array
from titop.blocks.interactions.interaction import Interaction

STEP = 1e-6


class Magnet(Interaction):
    """Pulls by the square of the distance."""

    parameter_units: ClassVar = {"strength": "N m^2"}

    def __init__(self, name: str, strength: float) -> None:
        super().__init__(name)
        self.strength = self.reader.scalar("strength", strength)

    def distance(self, r: Any) -> Any:
        return np.sqrt(r @ r)

    def wrenches(self, R: Any, r: Any, V1: Any, V2: Any) -> tuple[Any, Any]:
        pull = self.strength * r / self.distance(r) ** 3
        return np.concatenate([pull, np.zeros(3)]), np.concatenate([-R.T @ pull, np.zeros(3)])

    def energy(self, R: Any, r: Any) -> Any:
        return -self.strength / self.distance(r)


class RealMagnet(Magnet):
    """The same, of functions that lose imaginary parts."""

    def distance(self, r: Any) -> Any:
        return np.linalg.norm(r)


class Stronger(tt.SpringDamper):
    """A spring that is stiffer than its class says."""

    def wrenches(self, R: Any, r: Any, V1: Any, V2: Any) -> tuple[Any, Any]:
        one, two = super().wrenches(R, r, V1, V2)
        return 3 * one, 3 * two


def joined(*interactions: Interaction, flexible: bool = False) -> tt.System:
    """Return a free body with an arm and the interactions, one after the other, between arm, body and world."""
    s = tt.System("joined", gravity=[0, 0, -9.81])
    body = tt.RigidBody("body", mass=1.0, com=[0.1, 0, 0.2], inertia=[0.1, 0.2, 0.3], ports={"E": [0.3, 0.1, 0.5]})
    arm = tt.RigidBody("arm", mass=2.0, com=[0, 0.1, 0.2], inertia=[0.1, 0.2, 0.3], ports={"E": [0.3, 0, 0.5]})
    s.connect("world", body, tt.Free("float"))
    s.connect(body.port("E"), arm, tt.Revolute("elbow", axis=[0, 1, 0]))
    tip = arm.port("E")
    if flexible:
        beam = unit_beam("beam")
        s.connect(arm.port("E"), beam, tt.Weld("clamp"))
        tip = beam.port(beam.ports[0])
    pairs = [("world", tip), (body, tip), ("world", body)]
    for k, interaction in enumerate(interactions):
        s.close_loop(*pairs[k % 3], interaction)
    return s


def all_kinds() -> list[Interaction]:
    return [
        tt.SpringDamper("spring", stiffness=50.0, damping=2.0, length=0.3),
        tt.CompliantClosure("rubber", stiffness=[5, 4, 3, 0.5, 0.4, 0.3], damping=0.2),
        tt.Contact(
            "ground", radius=5.0, stiffness=30.0, normal=[0.1, 0.2, 1], dissipation=0.2, friction=0.5, slip_velocity=0.3
        ),
        Magnet("magnet", 3.0),
        Stronger("stronger", stiffness=10.0, damping=1.0, length=0.1),
    ]


def state(m: tt.Model, seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    return m.random_configuration(rng), rng.normal(size=m.nv), rng.normal(size=m.nv)


@pytest.mark.parametrize("flexible", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_engines_agree(flexible: bool, seed: int) -> None:
    s = joined(*all_kinds(), flexible=flexible)
    m, reference = s.resolve(), s.resolve(engine="reference")
    q, v, x = state(m, seed)
    for name in ("forward_dynamics", "inverse_dynamics", "inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
        one, two = (np.asarray(getattr(model, name)(q, v, x)) for model in (m, reference))
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-10 * (np.abs(two).max() + 1))  # two orders of summation
    for one, two in zip(
        m.hybrid_dynamics(q, v, x, x, ["elbow"]), reference.hybrid_dynamics(q, v, x, x, ["elbow"]), strict=True
    ):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-10 * (np.abs(two).max() + 1))
    np.testing.assert_allclose(m.energy(q, v), reference.energy(q, v), rtol=1e-12)


@pytest.mark.parametrize("interaction", [*all_kinds(), RealMagnet("real", 3.0)], ids=lambda x: x.name)
def test_derivatives_are_those_of_differences(interaction: Interaction) -> None:
    m = joined(interaction).resolve()
    q, v, tau = state(m, 3)
    by_q, by_v, _ = m.forward_dynamics_derivatives(q, v, tau)

    def differences(at: Any) -> Any:
        return np.stack([(at(STEP * e) - at(-STEP * e)) / (2 * STEP) for e in np.eye(m.nv)], axis=-1)

    by_configuration = differences(lambda e: m.forward_dynamics(m.integrate(q, e), v, tau))
    scale = np.abs(by_configuration).max()
    # central differences of 1e-6: 1e-9 of the largest entry from rounding, times a conditioning of tens
    np.testing.assert_allclose(by_q, by_configuration, rtol=0, atol=1e-7 * scale)
    np.testing.assert_allclose(by_v, differences(lambda e: m.forward_dynamics(q, v + e, tau)), rtol=0, atol=1e-7 * scale)


def test_imaginary_parts_that_get_lost_are_noticed() -> None:
    """The control of the test above: complex steps alone are wrong for such a function."""
    from titop.blocks.basics.complex_steps import complex_step, trusted_step

    real, x = RealMagnet("real", 3.0), np.array([0.3, 0.2, 0.4])
    right = complex_step(lambda r: Magnet("magnet", 3.0).wrenches(np.eye(3), r, x, x)[0], x)
    wrong, found = (step(lambda r: real.wrenches(np.eye(3), r, x, x)[0], x) for step in (complex_step, trusted_step))
    assert np.abs(wrong - right).max() > 1.0
    np.testing.assert_allclose(found, right, rtol=0, atol=1e-8 * np.abs(right).max())  # differences of two orders


@pytest.mark.parametrize("name", ["spring.stiffness", "spring.length", "ground.radius", "ground.friction", "magnet.strength"])
def test_parameters_act(name: str) -> None:
    m = joined(*all_kinds()).resolve()
    q, v, tau = state(m, 4)
    value = m.parameters()[name][0]
    (slope,) = m.forward_dynamics_sensitivities(q, v, tau, [name]).values()
    ahead, behind = (m.with_parameters({name: value + h}).forward_dynamics(q, v, tau) for h in (STEP, -STEP))
    assert np.abs(slope).max() > 1e-3
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * STEP), rtol=0, atol=1e-6 * np.abs(slope).max())


def test_files_keep_them(tmp_path: Any) -> None:
    s = joined(*all_kinds()[:3])
    s.save(tmp_path / "joined.toml")
    m, again = s.resolve(), tt.load(tmp_path / "joined.toml").resolve()
    q, v, tau = state(m, 5)
    assert np.array_equal(m.forward_dynamics(q, v, tau), again.forward_dynamics(q, v, tau))


def test_an_error_of_a_users_law_arrives() -> None:
    class Broken(Magnet):
        def wrenches(self, R: Any, r: Any, V1: Any, V2: Any) -> Any:
            raise ZeroDivisionError("no field here")

    s = joined(Broken("broken", 1.0))
    with pytest.raises(ZeroDivisionError, match="no field here"):
        s.resolve()


def ball(contact: tt.Contact, mass: float = 0.5, gravity: float = 0.0) -> tt.Model:
    s = tt.System("ball", gravity=[0, 0, -gravity])
    sphere = tt.RigidBody("ball", mass=mass)
    s.connect("world", sphere, tt.Prismatic("up", axis=[0, 0, 1]))
    s.close_loop("world", sphere, contact)
    return s.resolve()


def test_a_bounce_is_hertz_s() -> None:
    """Depth ``(5 m v^2 / 4 k)^(2/5)`` and duration 2.9432 depth / v (K. L. Johnson, Contact Mechanics, 1985, eq. 11.23-24)."""
    mass, k, v, radius = 0.5, 1e6, 2.0, 0.1
    depth = (5 * mass * v**2 / (4 * k)) ** 0.4
    duration = 2 * 1.47163 * depth / v  # int_0^1 dx / sqrt(1 - x^(5/2)) = 1.47164
    m = ball(tt.Contact("ground", radius=radius, stiffness=k), mass)
    times = np.linspace(0, 1.5 * duration, 3001)
    trajectory = tt.simulate(m, times, [radius], [-v], rtol=1e-10, atol=1e-12)
    heights, rates = trajectory.q[:, 0], trajectory.v[:, 0]
    assert radius - heights.min() == pytest.approx(depth, rel=1e-6)  # between samples of 5e-4 of the duration
    left = times[np.argmax((heights >= radius) & (times > 0))]
    assert left == pytest.approx(duration, rel=1e-3)  # the samples' distance
    assert rates[-1] == pytest.approx(v, rel=1e-7)  # what the integrator loses of the energy


def test_restitution_falls_with_dissipation() -> None:
    """``e = 1 - 2/3 dissipation v`` for small dissipation (Hunt and Crossley, 1975)."""
    v, radius = 0.5, 0.1
    for dissipation in (0.02, 0.04):
        m = ball(tt.Contact("ground", radius=radius, stiffness=1e6, dissipation=dissipation))
        end = tt.simulate(m, [0, 0.05], [radius], [-v], rtol=1e-10, atol=1e-12).v[-1, 0]
        assert 1 - end / v == pytest.approx(2 / 3 * dissipation * v, rel=0.03)  # the next order: 2/3 (dissipation v)^2


def test_energy_balance_of_a_ball_that_bounces_and_slides() -> None:
    s = tt.System("ball", gravity=[0, 0, -9.81])
    sphere = tt.RigidBody("ball", mass=0.5, inertia=0.002)
    s.connect("world", sphere, tt.Free("float"))
    contact = tt.Contact("ground", radius=0.1, stiffness=1e5, dissipation=0.3, friction=0.3, slip_velocity=1e-2)
    s.close_loop("world", sphere, contact)
    m = s.resolve()
    q = m.configuration({"float": [0, 0, 0.15, 0, 0, 0, 1]})
    v = m.velocity({"float": [1.0, 0, 0, 0, 2.0, 3.0]})
    times = np.linspace(0, 0.2, 5001)
    trajectory = tt.simulate(m, times, q, v, rtol=1e-10, atol=1e-12)
    energy = [sum(m.energy(trajectory.q[k], trajectory.v[k])) for k in (0, -1)]

    def power(at: Any, rate: Any) -> float:
        motion = m.mechanism.engine.observations.port_motion("ball", at, rate, np.zeros(6))
        wrenches = [
            contact.wrenches(motion.rotation, motion.position, np.zeros(6), twist)[1] for twist in (motion.twist, np.zeros(6))
        ]
        return float((wrenches[0] - wrenches[1]) @ motion.twist)

    powers = np.array([power(*at) for at in zip(trajectory.q, trajectory.v, strict=True)])
    lost = np.trapezoid(powers, times)
    assert lost < -0.1
    assert energy[-1] - energy[0] == pytest.approx(lost, rel=1e-4)  # the trapezoidal rule's 40 us against a bounce of 8 ms


def test_a_spring_between_two_pendulums_beats() -> None:
    """Two equal pendulums and a spring: the second mode's square is ``g/l + 2 k a^2 / (m l^2)``."""
    g, length, k, at, mass = 9.81, 0.8, 3.0, 0.3, 1.5
    s = tt.System("beats", gravity=[0, 0, -g])
    bobs = [tt.RigidBody(name, mass=mass, com=[0, 0, -length], ports={"A": [0, 0, -at]}) for name in ("left", "right")]
    for bob, x in zip(bobs, (0.0, 0.5), strict=True):
        s.connect("world", bob, tt.Revolute(f"{bob.name}_hinge", axis=[0, 1, 0]), placement=tt.Pose([x, 0, 0]))
    s.close_loop(bobs[0].port("A"), bobs[1].port("A"), tt.SpringDamper("spring", stiffness=k, length=0.5))
    model = tt.linearize(s.resolve(), [0, 0])
    found = np.sort(np.unique(np.abs(np.linalg.eigvals(model.A).imag).round(9)))
    expected = np.sqrt([g / length, g / length + 2 * k * at**2 / (mass * length**2)])
    np.testing.assert_allclose(found, expected, rtol=1e-8)  # rounded to nine digits above


def test_trim_finds_where_a_ball_rests() -> None:
    m = ball(tt.Contact("ground", radius=0.1, stiffness=1e5, dissipation=0.1), mass=0.5, gravity=9.81)
    point = tt.trim(m, q=[0.09], unknowns=["up"])
    assert 0.1 - point.q[0] == pytest.approx((0.5 * 9.81 / 1e5) ** (2 / 3), rel=1e-8)


@pytest.mark.parametrize("method", ["Radau", "generalized-alpha"])
def test_implicit_integrators_follow_them(method: str) -> None:
    s = tt.System("tied", gravity=[0, 0, -9.81])
    bar = tt.RigidBody("bar", mass=1.0, com=[0, 0, -0.5], inertia=0.05, ports={"E": [0, 0, -1.0]})
    s.connect("world", bar, tt.Revolute("hinge", axis=[0, 1, 0]))
    s.world.add_port("A", [1.0, 0, -1.0])
    s.close_loop(s.world.port("A"), bar.port("E"), tt.SpringDamper("spring", stiffness=200.0, damping=1.0, length=0.5))
    s.close_loop(s.world.port("A"), bar.port("E"), tt.CompliantClosure("rubber", stiffness=[20, 20, 20, 0, 0, 0], damping=0.1))
    m, times = s.resolve(), np.linspace(0, 1, 11)
    expected, found = (tt.simulate(m, times, [0.3], [0.0], method=name, rtol=1e-6, atol=1e-8).q for name in ("DOP853", method))
    # amplitudes of 0.3; methods of third and second order gather some hundred times their tolerance
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3)


def difference_law(numbers: Any, motion: Any, loads: Any) -> None:
    """Push the coordinate by what the third port's place differs from the second's."""
    for k in range(3):
        loads.efforts[0] += numbers[0] * (motion.r[2, k] - motion.r[1, k])


class Difference(Interaction):
    """Tells by an effort whether two places are one, to the last bit."""

    port_counts, coordinate_counts, compiled_law = (3, 3), (1, 1), tt.Law(difference_law)

    def law_numbers(self) -> Array:
        return np.array([1e20])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("apart", [4e-16, 1e-12], ids=["rounding", "control"])
def test_places_that_differ_by_rounding_alone_are_one(engine: str, apart: float) -> None:
    """Whatever the state before was: what stands in memory does not matter. Negative control: places a picometre apart."""
    s = tt.System("s", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("cart", 1.0), tt.Prismatic("rail", axis=[1, 0, 0]))
    s.world.add_port("here", [0.7, 0.2, -0.3])
    s.world.add_port("there", [0.7 + apart, 0.2, -0.3])
    s.add_interaction(Difference("difference"), s["cart"], s.world.port("here"), s.world.port("there"), "rail")
    model = s.resolve(engine)
    efforts = [abs(model.inverse_dynamics([x], [0.0], [0.0])[0]) for x in (0.0, 0.7, 0.7, -1.3)]
    if apart < 1e-15:
        assert not any(efforts)
    else:
        assert min(efforts) > 0.0
