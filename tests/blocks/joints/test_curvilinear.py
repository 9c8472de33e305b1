"""Joints along curves, against closed forms: helix, parabola, cycloid, loop, cam; and both engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from titop.blocks.contract.block_law import BlockLaw
from titop.blocks.joints.joint import CHILD_PORT

Array = NDArray[Any]

G = 9.81


def along(t: Array, x: Any, y: Any, z: Any) -> Array:
    """Return the points of a curve whose coordinates are functions of t, or numbers."""
    return np.column_stack([np.broadcast_to(part, t.shape) for part in (x, y, z)])


def bead(wire: tt.Joint, **body: Any) -> tt.System:
    s = tt.System("wire", gravity=[0, 0, -G])
    s.connect("world", tt.RigidBody("bead", **({"mass": 1.3} | body)), wire)
    return s


def turns(count: int) -> Array:
    return np.arange(count) * 2 * np.pi / count


def loop(**fields: Any) -> tt.Curvilinear:
    """Return a joint on a closed curve in space, with a bank, a spring, a damper, friction and stops."""
    t = turns(24)
    points = along(t, np.cos(t) * (1 + 0.2 * np.cos(2 * t)), np.sin(t), 0.3 * np.sin(2 * t))
    passive = {"stiffness": 3.0, "rest": 0.2, "damping": 0.4, "armature": 0.1, "friction": tt.Friction(0.2, 0.3)}
    stops = tt.Limits(0.1, 0.6, stiffness=100.0, dissipation=0.3)
    return tt.Curvilinear("wire", points, closed=True, limits=stops, **passive, **fields)


BANK = along(turns(24), 0.2 * np.cos(turns(24)), 0.0, 1 + 0.1 * np.sin(turns(24)))


class TestClosedForms:
    def test_a_straight_line_is_a_prismatic_joint(self) -> None:
        joint = tt.Curvilinear("rail", [[0, 0, 0], [1, 2, 2]], damping=0.1)
        line, prismatic = (bead(each).resolve() for each in (joint, tt.Prismatic("rail", axis=[1, 2, 2], damping=0.1)))
        state = [[0.7], [0.3], [2.0]]
        # rounding of two ways to one number
        np.testing.assert_allclose(line.forward_dynamics(*state), prismatic.forward_dynamics(*state), rtol=1e-13)
        assert joint.length == pytest.approx(3.0, rel=1e-14)
        assert joint.stations == pytest.approx([0.0, 3.0], rel=1e-14)

    def test_a_bead_on_a_helix_accelerates_evenly(self) -> None:
        t = np.linspace(0, 4 * np.pi, 161)
        wire = tt.Curvilinear("wire", along(t, 0.5 * np.cos(t), 0.5 * np.sin(t), -0.1 * t))
        length = np.hypot(0.5, 0.1)  # of a radian
        # the spline's error: (a step of 0.08 rad)^6, over some hundred
        assert wire.length == pytest.approx(4 * np.pi * length, rel=1e-8)
        places = np.linspace(0.05, 0.95, 7)[:, None] * wire.length
        a = bead(wire).resolve().forward_dynamics(places, 0 * places + 3.0)
        np.testing.assert_allclose(a, G * 0.1 / length, rtol=1e-6)

    def test_frequency_at_the_bottom_of_a_parabola(self) -> None:
        x = np.linspace(-1, 1, 81)
        wire = tt.Curvilinear("wire", along(x, x, 0.0, 0.8 * x**2))
        m = bead(wire).resolve()
        A = tt.linearize(m, m.configuration({"wire": wire.length / 2})).A
        # z'' = 1.6 there; curvatures of splines of degree 5 have errors of (a step of 0.025)^4
        assert A[1, 0] == pytest.approx(-1.6 * G, rel=1e-6)

    @pytest.mark.parametrize("amplitude", [0.1, 1.0, 2.5])
    def test_the_period_on_a_cycloid_is_the_same_for_all_amplitudes(self, amplitude: float) -> None:
        t = np.linspace(0.6, 2 * np.pi - 0.6, 240)
        wire = tt.Curvilinear("wire", along(t, 0.7 * (t - np.sin(t)), 0.0, 0.7 * (1 + np.cos(t))))
        m, start = bead(wire).resolve(), wire.length / 2 - amplitude
        run = tt.simulate(m, [0, 4 * np.pi * np.sqrt(0.7 / G)], [start], [0.0], rtol=1e-10, atol=1e-11)
        # the integrator's tolerance over some fifty steps; the spline's error at its ends, (0.02 rad)^6, is as small
        np.testing.assert_allclose([run.q[-1, 0], run.v[-1, 0]], [start, 0.0], atol=3e-8)
        assert np.ptp(run.energy().sum(axis=1)) < 1e-7 * 1.3 * G

    def test_what_presses_on_a_cart_in_a_loop(self) -> None:
        t = turns(60)
        rail = tt.Curvilinear("rail", along(t, 2 * np.sin(t), 0.0, -2 * np.cos(t)), True, up=along(t, -np.sin(t), 0, np.cos(t)))
        m, v = bead(rail, inertia=[0.1, 0.2, 0.3]).resolve(), np.array([7.0])
        for angle in (0.0, 0.9, np.pi):
            q = np.array([2 * angle])
            a = m.forward_dynamics(q, v)
            force, torque = np.split(m.reaction("rail", q, v, a), 2)
            # twice the spline's error of curvatures: (a step of 0.1 rad)^4 over some hundred
            np.testing.assert_allclose(a, -1.3 * G * np.sin(angle) / (1.3 + 0.2 / 4), atol=1e-5)
            turning = 0.2 * -a[0] / 2
            np.testing.assert_allclose(force, [turning / 2, 0, 1.3 * (49 / 2 + G * np.cos(angle))], atol=1e-4)
            np.testing.assert_allclose(torque, [0, turning, 0], atol=1e-4)

    @pytest.mark.parametrize("mass", [0.1, 0.0])
    def test_a_cam_moves_its_follower(self, mass: float) -> None:
        """A pin in an eccentric round groove: one coordinate, whose equation of motion is written by hand."""
        e, r, t = 0.12, 0.5, turns(80)
        s = tt.System("cam", gravity=[0, -G, 0])
        cam, pin = tt.RigidBody("cam", 2.0, inertia=0.2), tt.RigidBody("pin", mass, inertia=mass / 100)
        s.connect("world", cam, tt.Revolute("shaft"))
        s.connect("world", follower := tt.RigidBody("follower", 1.5), tt.Prismatic("slide", [0, 1, 0], stiffness=30.0))
        s.connect(cam, pin, tt.Curvilinear("groove", along(t, e + r * np.cos(t), r * np.sin(t), 0.0), closed=True))
        s.close_loop(follower, pin, tt.RigidClosure("touch", kind="planar_revolute"))
        angle, speed, torque = 0.3, 2.0, 0.5
        # y(angle), and two derivatives
        root = np.sqrt(r**2 - (e * np.cos(angle)) ** 2)
        y, y1 = e * np.sin(angle) + root, e * np.cos(angle) + e**2 * np.cos(angle) * np.sin(angle) / root
        half = e**2 * np.cos(angle) * np.sin(angle)
        y2 = -e * np.sin(angle) + e**2 * np.cos(2 * angle) / root - half**2 / root**3
        pull = torque - ((1.5 + mass) * (y2 * speed**2 + G) + 30.0 * y) * y1
        for engine in ("reference", "compiled"):
            m = s.resolve(engine=engine)
            guess = m.configuration({"shaft": angle, "slide": y, "groove": r * (np.pi / 2 - angle)})
            q = m.assemble(guess, fixed=["shaft"])
            v = m.assemble_velocity(q, m.velocity({"shaft": speed}), fixed=["shaft"])
            a = m.forward_dynamics(q, v, [torque, 0, 0])
            # the spline's error of curvatures, (a step of 0.08 rad)^4 over some hundred
            assert [q[1], v[1]] == pytest.approx([y, y1 * speed], rel=1e-7)
            assert a[0] == pytest.approx(pull / (0.2 + mass / 100 + (1.5 + mass) * y1**2), rel=1e-5)


class TestLaw:
    @pytest.mark.parametrize("up", [None, [0.1, 0.2, 1.0], BANK])
    @pytest.mark.parametrize("place", [0.7, -1.3, 40.0])
    def test_it_follows_from_the_pose(self, up: Any, place: float, rng: np.random.Generator) -> None:
        joint, q, v, twist = loop(up=up), np.array([place]), rng.normal(size=1), rng.normal(size=6)
        law, derived = joint.compiled_law.terms(joint, q, v, twist), joint.law(q, v, twist)
        for name in law._fields:
            np.testing.assert_allclose(getattr(law, name), getattr(derived, name), atol=1e-12, err_msg=name)  # rounding
        # complex steps of the pose, and second ones, of 1e-5 with errors of their square
        np.testing.assert_allclose(law.subspace[0], BlockLaw.motion_subspace(joint, CHILD_PORT, q), atol=1e-12)
        rate = (joint.motion_subspace(CHILD_PORT, q + 1e-30j * v) @ v).imag / 1e-30
        np.testing.assert_allclose(joint.subspace_rate(CHILD_PORT, q, v), rate, atol=1e-11)

    @pytest.mark.parametrize("up", [None, BANK])
    def test_the_engines_agree(self, up: Any, rng: np.random.Generator) -> None:
        s = tt.System("train", gravity=[0, 0.3, -G])
        base = tt.RigidBody("base", 2.0, inertia=[1, 2, 2.5], ports={"E": [0.1, 0.2, 0.3]})
        cart = tt.RigidBody("cart", 1.3, com=[0.1, 0.2, 0.3], inertia=[0.3, 0.4, 0.5], ports={"T": [0.1, 0, 0.2]})
        s.connect("world", base, tt.Free("free"))
        s.connect(base.port("E"), cart, loop(up=up), placement=tt.Pose([0.1, 0.2, 0.3], np.eye(3)[[1, 2, 0]]))
        s.connect(cart.port("T"), tt.RigidBody("arm", 0.5, com=[0.2, 0, 0], inertia=0.1), tt.Revolute("hinge", [0, 1, 1]))
        compiled, reference = s.resolve(), s.resolve(engine="reference")
        q = compiled.random_configuration(rng)
        v, tau = rng.normal(size=(2, compiled.nv))
        names = ["wire.stiffness", "wire.friction.coulomb", "wire.limits.upper", "wire.armature", "cart.com.x"]
        for place in (0.05, 0.3, 0.9):
            q[compiled.mechanism.assembly.q_slices["wire"]] = place
            assert compiled.energy(q, v) == pytest.approx(reference.energy(q, v), rel=1e-12)
            for function in ("forward_dynamics", "forward_dynamics_derivatives", "inverse_dynamics_derivatives"):
                one, two = (np.vstack(getattr(m, function)(q, v, tau)) for m in (compiled, reference))
                np.testing.assert_allclose(one, two, rtol=1e-11, atol=1e-11 * np.abs(two).max())
            one, two = (m.forward_dynamics_sensitivities(q, v, tau, names) for m in (compiled, reference))
            for name in names:
                np.testing.assert_allclose(one[name], two[name], rtol=1e-10, atol=1e-10, err_msg=name)

    def test_a_closed_curve_is_followed_again_and_again(self) -> None:
        joint = loop(up=BANK)
        for place in (0.3, -0.4):
            once, later = (joint.pose(CHILD_PORT, np.array([place + k * joint.length])) for k in (0, 3))
            np.testing.assert_allclose(np.vstack(once), np.vstack(later), atol=1e-12)  # rounding

    @pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
    def test_units_change_nothing(self, size: float) -> None:
        t = np.linspace(0, 3, 20)
        one, other = (tt.Curvilinear("wire", k * along(t, t, np.sin(t), 0.2 * t**2), up=[0, 0, 1]) for k in (1.0, size))
        assert other.length == pytest.approx(size * one.length, rel=1e-12)
        q = np.array([0.7])
        for k, (small, large) in enumerate(zip(one.pose("C", q), other.pose("C", size * q), strict=True)):
            np.testing.assert_allclose(large, small * size**k, atol=1e-11 * size**k)

    def test_the_rate_is_the_speed(self, rng: np.random.Generator) -> None:
        joint = loop()
        speeds = [np.linalg.norm(joint.motion_subspace("C", np.array([x]))[:3]) for x in np.linspace(0, joint.length, 999)]
        np.testing.assert_allclose(speeds, 1.0, atol=3e-6)  # as is promised at the nodes of each piece
        assert np.ptp(speeds) > 1e-12
        # as points that coincide with the curve's stations
        for station, point in zip(joint.stations, joint.points, strict=True):
            np.testing.assert_allclose(joint.pose("C", np.array([station]))[1], point, atol=1e-7)


class TestEnds:
    def test_beyond_its_ends_it_goes_on_straight(self) -> None:
        x = np.linspace(-1, 1, 41)
        joint = tt.Curvilinear("wire", along(x, x, 0.0, x**2), up=[0, 0, 1])
        for end, way in ((0.0, -0.5), (joint.length, 0.7)):
            (R0, p0), (R1, p1) = (joint.pose("C", np.array([place])) for place in (end, end + way))
            np.testing.assert_allclose(R0, R1, atol=1e-12)  # rounding
            np.testing.assert_allclose(p1 - p0, way * R0[:, 0], atol=1e-6)  # the speed's error
            assert not np.any(joint.subspace_rate("C", np.array([end + way]), np.ones(1)))

    def test_trajectories_tell_that_they_leave_it(self) -> None:
        wire = tt.Curvilinear("wire", [[0, 0, 0], [1, 0, -0.5], [2, 0, -0.5]])
        m = bead(wire).resolve()
        run = tt.simulate(m, np.linspace(0, 2, 21), m.neutral(), m.velocity({"wire": 1.0}))
        (found,) = run.violations()
        assert found.where.startswith("wire")
        assert wire.limits[0] == tt.Limits(0.0, wire.length)

    def test_a_stiffness_makes_stops_of_them(self) -> None:
        x = np.linspace(-1, 1, 41)
        wire = tt.Curvilinear("wire", along(x, x, 0.0, 0.1 * x**2), limits=tt.Limits(lower=0.1, stiffness=1e5))
        assert wire.limits[0] == tt.Limits(0.1, wire.length, stiffness=1e5)
        m = bead(wire).resolve()
        run = tt.simulate(m, np.linspace(0, 3, 301), [1.0], [2.0], rtol=1e-8, atol=1e-9)
        depth = (2.5 * run.energy()[0].sum() / 1e5) ** 0.4  # if all energy is in the stop
        assert wire.length + 0.5 * depth < run.q.max() < wire.length + depth
        # the integrator's tolerance, over a dozen hits
        np.testing.assert_allclose(run.energy().sum(axis=1), run.energy()[0].sum(), atol=1e-5)


class TestUse:
    def test_members_of_families_are_its_linear_models(self) -> None:
        x = np.linspace(-1, 1, 81)
        wire = tt.Curvilinear("wire", along(x, x, 0.0, 0.8 * x**2), up=[0, 0, 1], stiffness=3.0, damping=0.2)
        wire.rest = wire.length / 2
        s = bead(wire, com=[0, 0, 0.3], inertia=[0.3, 0.4, 0.5])
        m, q = s.resolve(), np.array([wire.length / 2])
        point = tt.trim(m, q=q)
        values = {"wire.stiffness": 3.2, "wire.damping": 0.19, "bead.mass": 1.4}
        ranges = {name: tt.percent(10) for name in values}
        member = tt.lft(m, point, ranges, ["wire"], ["wire.q", "bead.r[0]"]).at(values)
        expected = tt.linearize(m.with_parameters(values), point.q, ["wire"], ["wire.q", "bead.r[0]"])
        for name in "ABCD":  # rounding of some dozen products
            np.testing.assert_allclose(getattr(member, name), getattr(expected, name), atol=1e-12, err_msg=name)
        family = tt.lpv(m, {"wire.stiffness": [2.0, 4.0]}, inputs=["wire"], outputs=["wire.q"], q=q)
        stiff = tt.trim(m.with_parameters({"wire.stiffness": 4.0}), q=q)
        expected = tt.linearize(stiff.model, stiff, ["wire"], ["wire.q"])
        np.testing.assert_allclose(family.at({"wire.stiffness": 4.0}).A, expected.A, atol=1e-9)  # of the trims

    @pytest.mark.parametrize("up", [None, [0.0, 0.1, 1.0], BANK])
    def test_files_keep_it(self, tmp_path: Path, up: Any) -> None:
        s = bead(loop(up=up))
        s.save(tmp_path / "wire.toml")
        state = [[0.3], [0.2], [0.1]]
        again = tt.load(tmp_path / "wire.toml").resolve()
        np.testing.assert_array_equal(again.forward_dynamics(*state), s.resolve().forward_dynamics(*state))

    def test_pictures_show_the_curve(self) -> None:
        joint = loop()
        points = joint.picture(joint.neutral()).points
        np.testing.assert_allclose(points[0], joint.points[0], atol=1e-12)
        np.testing.assert_allclose(points[-1], points[0], atol=1e-12)
        ways = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
        assert ways == pytest.approx(joint.length, rel=1e-3)  # chords of two degrees each


@pytest.mark.parametrize(
    ("code", "points", "fields"),
    [
        ("too-few-points", [[0, 0, 0]], {}),
        ("too-few-points", [[0, 0, 0], [1, 0, 0]], {"closed": True}),
        ("coincident-points", [[0, 0, 0], [1, 0, 0], [1, 0, 0], [2, 0, 1]], {}),
        ("coincident-points", [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]], {"closed": True}),
        ("sharp-curve", [[0, 0, 0], [1, 0, 0], [0, 0, 0]], {}),
        ("sharp-curve", [[0, 0, 0], [1, 0, 0], [2, 0, 0]], {"closed": True}),
        ("wrong-shape", [[0, 0], [1, 0]], {}),
        ("wrong-type", "circle", {}),
        ("not-finite", [[0, 0, 0], [1, np.nan, 0]], {}),
        ("up-along-curve", [[0, 0, 0], [0, 0, 1]], {"up": [0, 0, 2]}),
        ("up-along-curve", along(turns(9), np.cos(turns(9)), 0, np.sin(turns(9))), {"closed": True, "up": [0, 0, 1]}),
        ("up-along-curve", [[0, 0, 0], [1, 0, 1]], {"up": [0, 0, 0]}),
        ("wrong-shape", [[0, 0, 0], [1, 0, 1]], {"up": [[0, 0, 1]]}),
    ],
)
def test_curves_that_cannot_be_followed_are_refused(code: str, points: Any, fields: dict[str, Any]) -> None:
    with pytest.raises(tt.ModelError, match=rf"wire\..*\[{code}\]"):
        bead(tt.Curvilinear("wire", points, **fields)).resolve()


def test_points_stay() -> None:
    wire = loop()
    with pytest.raises(tt.ModelError, match="cannot-change"):
        wire.points = [[0, 0, 0], [1, 0, 0]]
