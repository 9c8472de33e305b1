"""Systems in other units of length, mass and time: what is found agrees to rounding after it is scaled back."""

from __future__ import annotations

import functools
import itertools
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

import titop as tt
from tests.refusals import ENGINES, refusal
from tests.systems import Array
from titop.solvers.constraints import consistency
from titop.solvers.equilibrium import unknowns as trim_unknowns
from titop.solvers.equilibrium.sizes import Sizes
from titop.solvers.linear.linear_equations import Points, nearby
from titop.solvers.simulation import feedback_slopes as feedback
from titop.solvers.simulation.feedback_slopes import feedback_slopes


class Units(NamedTuple):
    """How many of the new units are a metre, a kilogram and a second."""

    length: float
    mass: float
    time: float

    @property
    def effort(self) -> float:
        return self.mass * self.length**2 / self.time**2


SI = Units(1.0, 1.0, 1.0)
UNITS = [Units(*each) for each in itertools.product([1e-6, 1e6], repeat=3)]


def bar(name: str, length: float, units: Units) -> tt.RigidBody:
    mass = 2.0 * length * units.mass
    about = mass * (length * units.length) ** 2 / 12
    ports = {"end": [length * units.length, 0, 0]}
    return tt.RigidBody(name, mass, [length / 2 * units.length, 0, 0], [0.01 * about, about, about], ports)


def linkage(units: Units, geared: bool = False) -> tt.System:
    """Return a four-bar with redundant constraints, springs and dampers; if geared, the crank drives a wheel too."""
    effort, damper = units.effort, {"damping": 0.1 * units.effort * units.time}
    s = tt.System("linkage", gravity=[0, -9.81 * units.length / units.time**2, 0])
    crank, coupler, rocker = (bar(name, length, units) for name, length in (("crank", 0.4), ("coupler", 1.1), ("rocker", 0.9)))
    s.connect("world", crank, tt.Revolute("A", **damper))
    s.connect(crank.port("end"), coupler, tt.Revolute("B", stiffness=0.3 * effort))
    s.connect("world", rocker, tt.Revolute("D"), placement=[1.2 * units.length, 0, 0])
    s.close_loop(coupler.port("end"), rocker.port("end"), tt.RigidClosure("C", "revolute"))
    if geared:
        wheel = tt.RigidBody("wheel", units.mass, inertia=0.2 * units.mass * units.length**2)
        s.connect("world", wheel, tt.Revolute("E", **damper))
        s.add_gear(tt.Gear("mesh", driver="A", driven="E", ratio=-2.0, offset=0.1))
    return s


def closed(m: tt.Model, units: Units) -> tuple[Array, Array]:
    """Return a closed state with the crank at 1 rad, turning at 2 rad/s."""
    q = m.assemble(m.configuration({"A": 1.0, "B": -0.6, "D": 1.2}), fixed=["A"])
    return q, m.assemble_velocity(q, m.velocity({"A": 2.0 / units.time}), fixed=["A"])


@pytest.mark.parametrize("geared", [False, True], ids=["closures", "gears"])
@pytest.mark.parametrize("units", UNITS, ids=str)
@pytest.mark.parametrize("engine", ENGINES)
class TestClosedMechanisms:
    def test_states_ranks_and_accelerations(self, engine: str, units: Units, geared: bool) -> None:
        plain, scaled = (linkage(each, geared).resolve(engine) for each in (SI, units))
        (q, v), (q_scaled, v_scaled) = closed(plain, SI), closed(scaled, units)
        # loops are closed to 1e-13 of the mechanism's size; velocities and accelerations lose two digits to the loop's geometry
        np.testing.assert_allclose(q_scaled, q, rtol=0, atol=1e-12)
        np.testing.assert_allclose(v_scaled * units.time, v, rtol=0, atol=1e-11)
        assert scaled.closure_rank(q_scaled) == plain.closure_rank(q)
        tau = np.linspace(1.0, -1.0, plain.nv)
        a, a_scaled = plain.forward_dynamics(q, v, tau), scaled.forward_dynamics(q, v / units.time, tau * units.effort)
        np.testing.assert_allclose(a_scaled * units.time**2, a, rtol=0, atol=1e-10 * np.abs(a).max())


def slider_crank(units: Units) -> tt.System:
    """Return a crank that moves a piston: lengths and angles in one loop."""
    s = tt.System("slider", gravity=[0, -9.81 * units.length / units.time**2, 0])
    crank, rod, piston = bar("crank", 0.4, units), bar("rod", 1.1, units), tt.RigidBody("piston", units.mass)
    s.connect("world", crank, tt.Revolute("A"))
    s.connect(crank.port("end"), rod, tt.Revolute("B"))
    s.connect("world", piston, tt.Prismatic("P", axis=[1, 0, 0]))
    s.close_loop(rod.port("end"), piston, tt.RigidClosure("C", "revolute"))
    return s


@pytest.mark.parametrize("units", UNITS, ids=str)
@pytest.mark.parametrize("engine", ENGINES)
def test_loops_with_lengths_and_angles(engine: str, units: Units) -> None:
    """States next to a guess, all coordinates free to move, and the efforts of one motor."""
    found = []
    for each in (SI, units):
        m, lengths = slider_crank(each).resolve(engine), np.array([1.0, 1.0, each.length])
        q = m.assemble(m.configuration({"A": 1.0, "B": -1.3, "P": 1.2 * each.length}))
        v = m.assemble_velocity(q, m.velocity({"A": 2.0 / each.time}))
        a = m.forward_dynamics(q, v, np.array([0.0, 0.0, 1.0]) * each.effort / lengths)
        tau = m.inverse_dynamics(q, v, a, actuated=["A"])
        found.append([q / lengths, v / lengths * each.time, a / lengths * each.time**2, tau * lengths / each.effort])
        assert (m.closure_rank(q), m.independent_coordinates(q)) == (2, ("B",))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-10, atol=1e-11)


#: A closed configuration of the table, and how its coordinates move with the cranks.
TABLE_AT = {"A0": 1.0, "A1": 1.0, "A2": 1.0, "B": -1.0}
TABLE_MOVES = {"A0": 1.0, "A1": 1.0, "A2": 1.0, "B": -1.0}


def table(units: Units) -> tt.System:
    """Return a bar on three parallel cranks, one more than it needs."""
    s = tt.System("table", gravity=[0, -9.81 * units.length / units.time**2, 0])
    top = bar("top", 2.0, units)
    top.add_port("middle", [units.length, 0, 0])
    cranks = [bar(f"crank{k}", 0.5, units) for k in range(3)]
    for k, crank in enumerate(cranks):
        s.connect("world", crank, tt.Revolute(f"A{k}"), placement=[k * units.length, 0, 0])
    s.connect(cranks[0].port("end"), top, tt.Revolute("B"))
    s.close_loop(cranks[1].port("end"), top.port("middle"), tt.RigidClosure("C1", "revolute"))
    s.close_loop(cranks[2].port("end"), top.port("end"), tt.RigidClosure("C2", "revolute"))
    return s


@pytest.mark.parametrize("units", UNITS, ids=str)
@pytest.mark.parametrize("engine", ENGINES)
class TestRedundantConstraints:
    def test_only_what_opens_loops_is_refused(self, engine: str, units: Units) -> None:
        m = table(units).resolve(engine)
        q, v = m.configuration(TABLE_AT), m.velocity({name: x * 2.0 / units.time for name, x in TABLE_MOVES.items()})
        tau = np.linspace(1.0, -1.0, m.nv) * units.effort
        a = m.forward_dynamics(q, v, tau)
        tau = m.inverse_dynamics(q, v, a, actuated=["A0"])
        off = m.velocity({**dict.fromkeys(TABLE_AT, 1.0), "A1": 1.05})
        with refusal("inconsistent-velocity", "C"):
            m.forward_dynamics(q, off * v, tau)
        with refusal("inconsistent-acceleration", "C"):
            m.inverse_dynamics(q, v, off * a, actuated=["A0"])

    def test_what_rounding_leaves_at_an_equilibrium_is_accepted(
        self, engine: str, units: Units, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Forward dynamics there, and back, of accelerations that are nothing but rounding."""
        m = table(units).resolve(engine)
        q, nothing = m.configuration(TABLE_AT), np.zeros(m.nv)
        tau = m.inverse_dynamics(q, nothing, nothing, actuated=["A0"])
        a = m.forward_dynamics(q, nothing, tau)
        assert 0 < np.abs(a).max() * units.time**2 < 1e-12
        opening = np.abs(a).max() * np.linspace(1.0, -1.0, m.nv)  # as large, and not along what the constraints leave
        for rounding in (a, opening):
            np.testing.assert_allclose(m.inverse_dynamics(q, nothing, rounding, actuated=["A0"]), tau, rtol=1e-10)
        monkeypatch.setattr(consistency, "_ROUNDING", 0.0)
        with refusal("inconsistent-acceleration", "C"):
            m.inverse_dynamics(q, nothing, opening, actuated=["A0"])


@pytest.mark.parametrize("engine", ENGINES)
def test_gravity_is_no_part_of_mass_matrices_and_responses(engine: str) -> None:
    """To the last bit, also where it is large beside a unit of acceleration."""
    systems = linkage(SI), linkage(SI)
    systems[1].gravity = np.array([0.0, 1e20, 0.0])
    light, heavy = (system.resolve(engine) for system in systems)
    q, efforts = closed(light, SI)[0], np.eye(3)
    assert (light.mass_matrix(q) == heavy.mass_matrix(q)).all()
    free = np.zeros(3, dtype=bool)
    assert (light.tree_response(q, efforts, free) == heavy.tree_response(q, efforts, free)).all()


@functools.cache
def equilibria(units: Units) -> list[tt.OperatingPoint]:
    """Return those of the geared linkage: the crank held by a motor, and hanging."""
    m = linkage(units, geared=True).resolve()
    q = closed(m, units)[0]
    return [tt.trim(m, ["A.tau"], q=q), tt.trim(m, q=q)]


def governor(units: Units) -> tt.Model:
    """Return a spinning shaft with an arm on a spring, and a weightless slider along the arm."""
    s = tt.System("governor", gravity=[0, -9.81 * units.length / units.time**2, 0])
    hub, arm = bar("hub", 0.1, units), bar("arm", 0.5, units)
    s.connect("world", hub, tt.Revolute("shaft", axis=[0, 1, 0]))
    s.connect(hub, arm, tt.Revolute("hinge", stiffness=2.0 * units.effort))
    slider = tt.Prismatic("slide", axis=[1, 0, 0], stiffness=300.0 * units.mass / units.time**2)
    s.connect(arm.port("end"), tt.RigidBody("weight", 0.2 * units.mass), slider)
    s.add_actuator(tt.Motor("motor", "hinge", effort_limit=20.0 * units.effort))
    return s.resolve()


def found_of(point: tt.OperatingPoint, units: Units) -> Array:
    """Return the governor's coordinates, rates, efforts and input in SI units."""
    lengths = np.array([1.0, 1.0, units.length])
    u = np.zeros(1) if point.u is None else point.u
    efforts = point.tau * lengths
    return np.concatenate([point.q / lengths, point.v * units.time / lengths, efforts / units.effort, u / units.effort])


def trimmed(units: Units, case: str) -> tt.OperatingPoint:
    """Return an equilibrium of the governor; each has other unknowns."""
    m, time, at = governor(units), units.time, {"slide": 0.02 * units.length}
    cases: dict[str, dict[str, Any]] = {
        "arm": {"unknowns": ["hinge", "slide"], "v": {"shaft": 7.0 / time}},
        "rate": {"unknowns": ["shaft.v", "slide"], "q": {"hinge": -0.3}, "v": {"shaft": 3.0 / time}},
        "motor": {"unknowns": ["motor", "slide"], "q": {"hinge": 0.2}, "v": {"shaft": 3.0 / time}},
        "parameter": {"unknowns": ["hinge.rest", "slide.rest"], "q": at, "v": {"shaft": 3.0 / time}},
        "effort": {"unknowns": ["hinge.tau", "slide.tau"], "q": {"hinge": 0.5, **at}, "v": {"shaft": 3.0 / time}},
    }
    return tt.trim(m, **cases[case])


@pytest.mark.parametrize("units", UNITS, ids=str)
class TestEquilibria:
    def test_of_closed_mechanisms(self, units: Units) -> None:
        (holding, hanging), (held, hung) = equilibria(SI), equilibria(units)
        np.testing.assert_allclose(held.tau / units.effort, holding.tau, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(hung.q, hanging.q, rtol=0, atol=1e-8)  # as trim's tolerance lets it
        assert (hung.rank, hung.free, hung.overdetermined) == (hanging.rank, hanging.free, hanging.overdetermined)
        with pytest.raises(tt.ConvergenceError, match="no equilibrium"):
            tt.trim(held.model, [], q=held.q)

    @pytest.mark.parametrize("case", ["arm", "rate", "motor", "parameter", "effort"])
    def test_in_motion(self, case: str, units: Units) -> None:
        plain, scaled = trimmed(SI, case), trimmed(units, case)
        np.testing.assert_allclose(found_of(scaled, units), found_of(plain, SI), rtol=1e-9, atol=1e-9)
        assert (scaled.rank, scaled.free, scaled.overdetermined) == (plain.rank, plain.free, plain.overdetermined)

    def test_of_systems_without_length(self, units: Units) -> None:
        """A point mass on a spring falls to where it is held: 2 kg * 9.81 m/s^2 / (3 N/m)."""
        s = tt.System("mass", gravity=[-9.81 * units.length / units.time**2, 0, 0])
        spring = tt.Prismatic("spring", axis=[1, 0, 0], stiffness=3.0 * units.mass / units.time**2)
        s.connect("world", tt.RigidBody("point", 2.0 * units.mass), spring)
        assert tt.trim(s.resolve()).q[0] / units.length == pytest.approx(-2 * 9.81 / 3.0, rel=1e-12)

    def test_where_an_input_is_at_its_bound(self, units: Units) -> None:
        m = governor(units)
        with pytest.raises(tt.ConvergenceError, match=r"motor at a bound"):
            tt.trim(m, ["motor", "slide"], q={"hinge": 0.2}, bounds={"motor": (0.0, 0.1 * units.effort)})

    def test_states_in_passing_are_none(self, units: Units) -> None:
        s = tt.System("passing", gravity=[0, -9.81 * units.length / units.time**2, 0])
        s.connect("world", bar("rod", 0.5, units), tt.Revolute("hinge"))
        s.connect("world", tt.RigidBody("wheel", units.mass, inertia=0.1 * units.mass * units.length**2), tt.Revolute("axle"))
        s.add_gear(tt.Gear("mesh", driver="hinge", driven="axle"))
        m = s.resolve()
        weight = m.gravity_effects(np.zeros(2))
        with pytest.raises(tt.ConvergenceError, match="no equilibrium"):
            tt.trim(m, [], v=np.full(2, 1.0 / units.time), tau=weight)
        assert tt.trim(m, [], tau=weight).unknowns == ()


def test_without_the_systems_sizes_some_units_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    def absolute(point: tt.OperatingPoint) -> Sizes:
        ones = np.ones(point.model.nv)
        return Sizes(ones, 1.0, 1.0, ones, 1.0)

    right = found_of(trimmed(SI, "arm"), SI)
    monkeypatch.setattr(trim_unknowns, "sizes_of", absolute)
    wrong = 0
    for units in UNITS[2:5]:
        try:
            found = found_of(trimmed(units, "arm"), units)
            wrong += not np.allclose(found, right, rtol=1e-9, atol=1e-9)
        except tt.ConvergenceError:
            wrong += 1
    assert wrong


def pendulum_on_a_slider(units: Units) -> tt.Model:
    """Return a cart on a spring with a pendulum whose motor holds it up."""
    s = tt.System("cart", gravity=[0, -9.81 * units.length / units.time**2, 0])
    cart = tt.RigidBody("cart", units.mass)
    s.connect("world", cart, tt.Prismatic("rail", axis=[1, 0, 0], stiffness=3.0 * units.mass / units.time**2))
    s.connect(cart, bar("rod", 0.5, units), tt.Revolute("hinge"))
    return s.resolve()


@pytest.mark.parametrize("units", [SI, *UNITS], ids=str)
class TestLinearModels:
    def test_of_functions_that_take_no_complex_numbers(self, units: Units) -> None:
        """A function that bends within the unit of length: its slopes by position and rate, and by an input."""
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
                lambda: tt.linear_matrices(m, points[0]),  # noqa: B023
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


def cantilever(units: Units) -> tt.Model:
    """Return a soft beam with a tip mass, which sags by about a tenth of its length."""
    area, second = 1e-3 * units.length**2, 1e-7 * units.length**4
    density, young = 1e3 * units.mass / units.length**3, 3e8 * units.mass / (units.length * units.time**2)
    s = tt.System("cantilever", gravity=[0, 0, -9.81 * units.length / units.time**2])
    beam = tt.Beam("beam", 1.0 * units.length, density, area, young, second, second)
    s.connect("world", beam, tt.Revolute("root", axis=[0, 1, 0], stiffness=200.0 * units.effort))
    s.connect(beam.port("C"), bar("tip", 0.3, units), tt.Revolute("end", axis=[0, 1, 0], stiffness=20.0 * units.effort))
    return s.resolve()


def sizes_in(units: Units, m: tt.Model) -> Array:
    """Return what a metre, a radian, or a metre of a kilogram's root, is of each coordinate in these units."""
    of = {"m": units.length, "rad": 1.0, "m sqrt(kg)": units.length * np.sqrt(units.mass)}
    return np.array([of[unit] for unit in m.assembly.coordinate_units])


@pytest.mark.parametrize("units", UNITS, ids=str)
class TestFlexibleSystems:
    def test_sag(self, units: Units) -> None:
        (plain, scaled), ones = (tt.trim(cantilever(each)) for each in (SI, units)), sizes_in(units, cantilever(units))
        np.testing.assert_allclose(scaled.q / ones, plain.q, rtol=1e-9, atol=1e-12)

    def test_points_nearby(self, units: Units) -> None:
        moved = []
        for each in (SI, units):
            m = cantilever(each)
            assert "m sqrt(kg)" in m.assembly.coordinate_units
            points = Points([m], np.zeros((1, m.nq)), np.zeros((1, m.nv)), np.zeros((1, m.nv)))
            moved.append(nearby(points, np.random.default_rng(0)).q[0] / sizes_in(each, m))
        np.testing.assert_allclose(moved[1], moved[0], rtol=1e-9)

    def test_coriolis_matrices(self, units: Units) -> None:
        """Of a pendulum on a cart in slow motion beside its weight: ``-m l cos(q) q'`` in the cart's row."""
        m, rate = pendulum_on_a_slider(units), 1e-6 / units.time
        q, v = m.configuration({"hinge": 0.4}), m.velocity({"hinge": rate})
        found = m.coriolis_matrix(q, v)[0, 1] / (units.mass * units.length / units.time)
        assert found == pytest.approx(-1.0 * 0.25 * np.cos(0.4) * 1e-6, rel=1e-12)


class Servo:
    """What `feedback_slopes` asks of a plant: a cart with a pendulum, held by a servo that hardens within its own length."""

    def __init__(self, units: Units) -> None:
        self.model, self.units = pendulum_on_a_slider(units), units

    def loads(self, t: float, q: Array, v: Array) -> tuple[Array, list[Any]]:
        x, rate = q[0] / self.units.length, v[0] * self.units.time / self.units.length
        force = self.units.effort / self.units.length
        return np.array([-force * (5.0 * np.sinh(x) + 0.3 * np.tanh(rate)), 0.0]), []


def feedback_is_right(units: Units) -> bool:
    """Return whether the servo's slopes are, at three states."""
    right, stiffness = True, units.mass / units.time**2
    for x, rate in ((0.3, 0.2), (0.3, 0.0), (0.0, 0.0)):
        state = np.array([x * units.length, 0.1]), np.array([rate * units.length / units.time, 0.0])
        by_q, by_v = (each[0, 0] / stiffness for each in feedback_slopes(Servo(units), 0.0, *state))
        # one-sided differences with steps of 1e-7, and rounding of the weight beside them
        right &= by_q == pytest.approx(-5.0 * np.cosh(x), rel=1e-6)
        right &= by_v / units.time == pytest.approx(-0.3 / np.cosh(rate) ** 2, rel=1e-5)
    return right


def test_slopes_of_feedback(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(feedback_is_right(units) for units in [SI, *UNITS])
    monkeypatch.setattr(feedback, "coordinate_sizes", lambda _, inertia, __: np.ones(len(inertia)))
    monkeypatch.setattr(feedback, "_rate", lambda *_: 1.0)
    assert [units for units in [SI, *UNITS] if feedback_is_right(units)] != [SI, *UNITS]
