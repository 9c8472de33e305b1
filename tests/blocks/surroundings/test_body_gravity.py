"""What a field of gravity does to bodies of every kind, in every function of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import titop as tt
from tests.own_kinds import Slide
from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.basics.spatial import skew
from titop.blocks.surroundings.body_gravity import BodyGravity

#: A planet so small that bodies are no points beside it, and that energies keep their digits.
PLANET = tt.CentralGravity(400.0, 5.0, j2=0.1, axis=[0.2, -0.3, 1.0])
AWAY = [6.0, 5.0, -4.0]


class Bead(tt.Block):
    """A bead of a mass along a wire through a plate, written by a user: its functions alone say what it is."""

    coordinates = ("along",)

    def mass_matrix(self, q: Any) -> Any:
        at, n = np.array([0.3, 0.1, 0.0]) + q[0] * np.array([0.0, 0.6, 0.8]), np.array([[0.0], [0.6], [0.8]])
        moving = np.hstack([np.eye(3), -skew(at), n])
        M = 2.0 * moving.T @ moving
        M[:3, :3] += 3.0 * np.eye(3)
        M[3:6, 3:6] += np.diag([0.2, 0.3, 0.4])
        return M


def panel(name: str, second_order: bool = False) -> tt.FlexibleBody:
    """Return a rigid plate with a point of 2 kg on springs along two lines: modes of a metre, so that it moves as they say."""
    plate, at, lines = 3.0, np.array([1.0, 0.2, 0.1]), np.array([[0.6, 0.0, 0.8], [0.0, 1.0, 0.0]])
    total, com = plate + 2.0, 2.0 * at / (plate + 2.0)
    about = np.diag([0.2, 0.3, 0.4]) + 2.0 * (at @ at * np.eye(3) - np.outer(at, at))
    inertia = about - total * (com @ com * np.eye(3) - np.outer(com, com))
    participation = 2.0 * np.hstack([lines, np.cross(at, lines)])
    modes: dict[str, Any] = {"modal_mass": 2.0 * lines @ lines.T, "modal_stiffness": np.diag([5.0, 7.0])}
    if second_order:
        modes["geometric_stiffness"] = {name: np.zeros((k, 2, 2)) for name, k in (("acceleration", 3), ("spin", 6), ("C", 6))}
        modes["position_moments"] = 2.0 * np.einsum("k,jl->klj", at, lines)
        modes["displacement_moments"] = 2.0 * np.einsum("ik,jl->klij", lines, lines)
    return tt.FlexibleBody(
        name, total, com, inertia, participation=participation, ports={"C": [1, 0, 0]}, shapes={"C": np.zeros((6, 2))}, **modes
    )


def craft(gravity: Any = PLANET, engine: str = "reference") -> tt.Model:
    """Return a craft of rigid, flexible and users' bodies."""
    s = tt.System("craft", gravity=gravity)
    hub = tt.RigidBody("hub", 5.0, [0.1, 0.0, 0.2], [0.5, 0.7, 0.6], ports={"A": [0.4, 0, 0], "B": [0, -0.3, 0]})
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("A"), panel("panel"), tt.Revolute("drive", axis=[0, 1, 0]))
    s.connect(hub.port("B"), panel("sail", second_order=True), tt.Revolute("boom", axis=[0, 0, 1]))
    s.connect(hub, Bead("bead"), tt.Weld("mount"))
    s.connect(hub, tt.RigidBody("dish", 1.0, [0, 0.5, 0], 0.1), tt.Universal("gimbal"))
    return s.resolve(engine=engine)


@pytest.fixture(scope="module")
def both() -> tuple[tt.Model, tt.Model]:
    return craft(), craft(engine="compiled")


def state(m: tt.Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    q, v, a = m.random_configuration(rng), *rng.normal(size=(2, m.nv))
    q[:3] = AWAY
    return q, v, a


def apart(one: Any, other: Any) -> float:
    one, other = np.asarray(one, float), np.asarray(other, float)
    return float(np.abs(one - other).max() / np.abs(one).max())


class TestEngines:
    def test_they_agree(self, both: tuple[tt.Model, tt.Model]) -> None:
        one, two = both
        q, v, a = state(one)
        for name, arguments in (
            ("gravity_effects", (q,)),
            ("nonlinear_effects", (q, v)),
            ("passive_efforts", (q, v)),
            ("forward_dynamics", (q, v)),
            ("coriolis_matrix", (q, v)),
            ("inverse_dynamics", (q, v, a)),
            ("inertial_inverse_dynamics", (q, v, a)),
            ("energy", (q, v)),
        ):
            assert apart(getattr(one, name)(*arguments), getattr(two, name)(*arguments)) < 1e-13, name  # some 100 roundings
        for name, size in (("inverse_dynamics_derivatives", (q, v, a)), ("forward_dynamics_derivatives", (q, v))):
            for of_one, of_two in zip(getattr(one, name)(*size), getattr(two, name)(*size), strict=True):
                assert apart(of_one, of_two) < 1e-11, name  # as everywhere
        assert apart(one.accelerometer("dish", q, v, a), two.accelerometer("dish", q, v, a)) < 1e-13
        assert apart(one.reaction("drive", q, v, a), two.reaction("drive", q, v, a)) < 1e-12

    def test_parts_make_the_whole(self, both: tuple[tt.Model, tt.Model]) -> None:
        for m in both:
            q, v, a = state(m)
            rest = 0.0 * v
            whole = m.inertial_inverse_dynamics(q, v, a) + m.gravity_effects(q) - m.passive_efforts(q, v)
            assert apart(m.inverse_dynamics(q, v, a), whole) < 1e-13
            assert apart(m.nonlinear_effects(q, v), m.inertial_inverse_dynamics(q, v, rest) + m.gravity_effects(q)) < 1e-13

    def test_gravity_is_conservative(self, both: tuple[tt.Model, tt.Model]) -> None:
        m, _ = both
        q, v, _ = state(m)
        slope = complex_step(lambda dq: np.array([m.energy(m.integrate(q, dq), 0 * dq).gravity]), np.zeros(m.nv))[0]
        assert m.gravity_effects(q) == pytest.approx(slope, rel=1e-11, abs=1e-11 * np.abs(slope).max())
        assert m.energy(q, 0 * v).gravity < 0 < m.energy(q, 0 * v).elastic

    def test_derivatives_are_complex_steps(self, both: tuple[tt.Model, tt.Model]) -> None:
        reference, m = both
        q, v, a = state(m)
        by_q = complex_step(
            lambda dq: reference.mechanism.engine.dynamics.tree_inverse(reference.integrate(q, dq), v, a, []), 0 * v
        )
        assert apart(m.inverse_dynamics_derivatives(q, v, a)[0], by_q) < 1e-11

    def test_energy_stays_in_flight(self) -> None:
        m = craft(engine="compiled")
        q, v, _ = state(m)
        q[7:], v = 0.0, 0.3 * v
        run = tt.simulate(m, [0.0, 1.0], q, v, rtol=1e-10, atol=1e-12, progress=False)
        before, after = (m.energy(run.q[k], run.v[k]).total for k in (0, -1))
        assert after == pytest.approx(before, rel=1e-8)  # some hundred steps of 1e-10

    def test_time_series(self, both: tuple[tt.Model, tt.Model]) -> None:
        m, _ = both
        q, v, a = state(m)
        series = m.inverse_dynamics_series(q, np.array([v, a, 0 * a]))

        def later(t: np.ndarray) -> np.ndarray:
            moved, on = m.integrate(q, t * v + 0.5 * t * t * a), v + t * a
            efforts: np.ndarray = m.mechanism.engine.dynamics.tree_inverse(moved, on, a, [])
            return efforts

        assert apart(complex_step(later, np.zeros(1))[:, 0], series[1]) < 1e-10
        parts = m.equation_series(q, np.array([v, a]))
        assert apart(parts.gravity[0], m.gravity_effects(q)) < 1e-13


class TestKinds:
    def test_a_users_body_has_the_pull_of_its_masses(self) -> None:
        """Of a plate and a point, both of which are there as rigid bodies."""
        s = tt.System("beads", gravity=PLANET)
        plate = tt.RigidBody("plate", 3.0, inertia=[0.2, 0.3, 0.4], ports={"wire": [0.3, 0.1, 0.0]})
        s.connect("world", plate, tt.Free("base"))
        s.connect(plate.port("wire"), tt.RigidBody("bead", 2.0), tt.Prismatic("along", axis=[0.0, 0.6, 0.8]))
        parts = s.resolve(engine="reference")
        s = tt.System("bead", gravity=PLANET)
        s.connect("world", Bead("bead"), tt.Free("base"))
        whole = s.resolve(engine="reference")
        q, _, _ = state(parts)

        def error(away: float) -> float:
            at = np.array([*(away * q[:3]), *q[3:-1], 0.3])
            return apart(parts.gravity_effects(at), whole.gravity_effects(at))

        assert error(1e3) / error(2e3) == pytest.approx(
            4.0, rel=0.1
        )  # what follows in the potential is of third order in the size
        assert error(1e3) < 1e-7

    def test_modes_feel_what_points_on_springs_feel(self) -> None:
        """With moments of position and displacement also the gradient; without, gravity at the mass centre."""
        for second_order, order in ((True, 2), (False, 1)):
            errors = []
            for away in (1e3, 2e3):
                s = tt.System("lumped", gravity=PLANET)
                plate = tt.RigidBody("plate", 3.0, inertia=[0.2, 0.3, 0.4], ports={"at": [1.0, 0.2, 0.1]})
                s.connect("world", plate, tt.Free("base"))
                carriage = tt.RigidBody("carriage", 0.0)
                s.connect(plate.port("at"), carriage, tt.Prismatic("first", axis=[0.6, 0.0, 0.8], stiffness=5.0))
                s.connect(carriage, tt.RigidBody("point", 2.0), tt.Prismatic("second", axis=[0, 1, 0], stiffness=7.0))
                lumped = s.resolve(engine="reference")
                s = tt.System("modal", gravity=PLANET)
                s.connect("world", panel("panel", second_order), tt.Free("base"))
                modal = s.resolve(engine="reference")
                q = modal.random_configuration(np.random.default_rng(5))
                q[:3], q[7:] = away * np.array(AWAY), [0.2, -0.1]
                errors.append(apart(lumped.gravity_effects(q), modal.gravity_effects(q)))
            assert errors[0] / errors[1] == pytest.approx(2.0**order, rel=0.1)

    @pytest.mark.parametrize("name", ["rod", "beam", "soft"])
    def test_deforming_bodies_have_a_potential(self, name: str) -> None:
        def bend(x: Any, q: Any) -> Any:
            angle = q[0] * x[2]
            return [x[2] * tt.Kinematics.cosc(angle) + x[0], x[1], x[2] * tt.Kinematics.sinc(angle)]

        make = {
            "rod": lambda: tt.Rod("rod", length=1.0, section=tt.Section.circle(0.05), young=1e5, density=100.0, basis=1),
            "beam": lambda: tt.Beam("beam", 1.0, 100.0, 1e-2, 1e5, 1e-4, 2e-4, 3e-4, shear_modulus=1e5, modes=1),
            "soft": lambda: tt.SoftBody(
                "soft", bend, tt.Domain.cylinder(radius=0.1, length=1.0), 100.0, tt.Material.neo_hookean(1e5, 0.4), ("bending",)
            ),
        }
        s = tt.System(name, gravity=PLANET)
        s.connect("world", make[name](), tt.Free("base"))
        m = s.resolve(engine="reference")
        q = m.random_configuration(np.random.default_rng(2))
        q[:3] = AWAY
        effects, rest, step = m.gravity_effects(q), np.zeros(m.nv), 1e-5
        slope = [
            (m.energy(m.integrate(q, step * e), rest).gravity - m.energy(m.integrate(q, -step * e), rest).gravity) / 2 / step
            for e in np.eye(m.nv)
        ]
        assert apart(effects, slope) < 1e-7  # second-order differences

    def test_a_users_compiled_body(self) -> None:
        s = tt.System("slide", gravity=PLANET)
        hub = tt.RigidBody("hub", 1.0, inertia=0.5)
        s.connect("world", hub, tt.Free("base"))
        s.connect(hub, Slide("slide"), tt.Weld("mount"))
        q, v, _ = state(one := s.resolve(engine="reference"))
        assert apart(one.forward_dynamics(q, v), s.resolve().forward_dynamics(q, v)) < 1e-12


class TestParameters:
    CHANGED: ClassVar = {
        "gravity.mu": 410.0,
        "gravity.j2": 0.12,
        "gravity.axis.x": 0.1,
        "hub.mass": 5.5,
        "dish.com.y": 0.4,
        "bead.x": 1.0,
    }

    def test_they_take_effect_in_both_engines(self, both: tuple[tt.Model, tt.Model]) -> None:
        changes = {name: value for name, value in self.CHANGED.items() if name in both[0].parameters()}
        assert len(changes) == 5
        q, v, _ = state(both[0])
        one, two = (m.with_parameters(changes).forward_dynamics(q, v) for m in both)
        assert apart(one, two) < 1e-13
        step = both[1].with_parameters({"hub.mass": 5.5}).with_parameters({**changes}).forward_dynamics(q, v)
        assert apart(one, step) < 1e-13
        field = tt.CentralGravity(410.0, 5.0, j2=0.12, axis=[0.1, -0.3, 1.0])
        again = craft(field).with_parameters({"hub.mass": 5.5, "dish.com.y": 0.4})
        assert apart(one, again.forward_dynamics(q, v)) < 1e-13

    def test_sensitivities(self, both: tuple[tt.Model, tt.Model]) -> None:
        names = ["gravity.mu", "gravity.radius", "gravity.j2", "gravity.axis.z", "hub.mass", "dish.com.y", "sail.mass"]
        q, v, _ = state(both[0])
        for m in both:
            found = m.forward_dynamics_sensitivities(q, v, 0 * v, names)
            for name in names:
                value = m.parameters()[name][0]
                ahead, back = (both[0].with_parameters({name: value * (1 + s)}).forward_dynamics(q, v) for s in (1e-5, -1e-5))
                assert apart(found[name], (ahead - back) / (2e-5 * value)) < 1e-6  # second-order differences

    def test_names_units_and_what_is_not_linear(self, both: tuple[tt.Model, tt.Model]) -> None:
        _, m = both
        assert m.parameters()["gravity.mu"] == (400.0, "m^3/s^2")
        assert "gravity.x" not in m.parameters()
        assert (m.gravity == 0).all()
        assert not [name for name in m.parameters() if "/gravity" in name]
        with pytest.raises(tt.ModelError, match="not linear"):
            m.regressor(*state(m))


class TestSystems:
    def test_files_and_texts(self, tmp_path: Path) -> None:
        s = tt.System("hub", gravity=PLANET)
        s.connect("world", tt.RigidBody("hub", 1.0, inertia=1.0), tt.Free("base"))
        s.save(tmp_path / "hub.toml")
        again = tt.load(tmp_path / "hub.toml").gravity
        assert again.parameters() == PLANET.parameters()
        assert "gravity of a central body" in str(s)
        assert "gravity" not in [block.name for block in s.blocks]
        (tmp_path / "odd.toml").write_text((tmp_path / "hub.toml").read_text().replace('"central"', '"flat"'))
        with pytest.raises(tt.ModelError, match="unknown-kind"):
            tt.load(tmp_path / "odd.toml")

    def test_bodies_in_a_fluid_are_refused(self) -> None:
        s = tt.System("wet", gravity=PLANET)
        s.connect("world", tt.RigidBody("hub", 1.0, inertia=1.0, fluid=tt.Fluid(1.2), volume=0.1), tt.Free("base"))
        with pytest.raises(tt.ModelError, match=r"hub: .*fluid-in-field"):
            s.resolve()

    def test_what_falls_feels_nothing(self) -> None:
        s = tt.System("hub", gravity=PLANET)
        s.connect("world", tt.RigidBody("hub", 1.0, inertia=1.0, ports={"C": [0, 0, 0.1]}), tt.Free("base"))
        s.add_sensor(tt.Accelerometer("felt", s.connections[0].child.block.port("C"), path=tt.SignalPath.lag(0.5)))
        for engine in ("reference", "compiled"):
            m = s.resolve(engine=engine)
            q, v = m.configuration({"base": [*AWAY, 0, 0, 0, 1]}), np.zeros(6)
            felt = m.accelerometer("hub.C", q, v, m.forward_dynamics(q, v))
            expected = PLANET.acceleration(np.array(AWAY)) - PLANET.acceleration(np.array([*AWAY[:2], AWAY[2] + 0.1]))
            turning = np.cross(m.forward_dynamics(q, v)[3:], [0, 0, 0.1])
            assert felt == pytest.approx(
                expected + turning, rel=1e-5, abs=1e-5
            )  # the body's size, and what it adds to the pull
            hung = m.accelerometer("hub.C", q, v, 0 * v)
            assert hung == pytest.approx(-PLANET.acceleration(m.pose("hub.C", q)[1]), rel=1e-13)
            moved = tt.linearize(m, (q, v), outputs=["felt"])
            assert moved.nstates == 15

    def test_a_start_inside_the_planet_is_refused(self) -> None:
        s = tt.System("hub", gravity=PLANET)
        s.connect("world", tt.RigidBody("hub", 1.0, inertia=1.0), tt.Free("base"))
        m = s.resolve(engine="reference")
        with pytest.raises(tt.ModelError, match=r"hub: got -0.005 km over the ground"):
            tt.simulate(m, [0.0, 1.0], m.neutral(), np.zeros(6), progress=False)
        high = m.configuration({"base": [5.1, 0, 0, 0, 0, 0, 1]})
        with pytest.warns(tt.ModelWarning, match="over the ground at t = 0.2 s"):
            tt.simulate(m, [0.0, 0.1, 0.2], high, np.zeros(6), progress=False)
        for doubtful in (tt.trim, lambda m: tt.linearize(m, (m.neutral(), np.zeros(6)))):
            with pytest.warns(tt.ModelWarning, match=r"-0.005 km over the ground; expected"):
                doubtful(m)

    def test_only_gravity_is_attached(self, both: tuple[tt.Model, tt.Model]) -> None:
        kinds = [isinstance(loop.closure, BodyGravity) for loop in both[0].mechanism.assembly.loops]
        assert kinds == [True] * 5
        assert not craft(gravity=[0, 0, -1.0]).mechanism.assembly.loops
