"""Equilibria past limit points: a truss and an arch that snap through, a column that buckles, a follower that flutters."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.blocks.bodies.rods.rod_systems import SECTION, YOUNG, clamped
from tests.refusals import refusal
from tests.solvers.equilibrium.spinners import GRAVITY, HANGING, swing, whirl
from tests.solvers.equilibrium.test_load_steps import BUCKLING, LARGEST, LENGTH, RISE, buckled, push_of, truss
from titop.solvers.equilibrium.equations import stands

#: The height (m) of the truss at which it can bear no more, and what forces are measured by (N).
TURN, STIFF = np.sqrt(LENGTH ** (2 / 3) - 1.0), 1000.0

#: Half the opening angle of an arch of DaDeppo and Schmidt.
HALF = np.deg2rad(215.0 / 2)


@pytest.fixture(scope="module")
def path() -> tt.EquilibriumPath:
    """Return the path of a truss through both of its limits."""
    return tt.equilibrium_path(truss(0.0), {"push.force.z": (0.0, -2.0 * LARGEST)})


class TestTruss:
    """In closed form: the push over the apex's height."""

    def test_every_point_is_on_the_curve(self, path: tt.EquilibriumPath) -> None:
        pushes, heights = -path.values("push.force.z"), RISE - path.values("drop")
        np.testing.assert_allclose(pushes, push_of(heights), atol=1e-9 * STIFF)  # trim's tolerance
        np.testing.assert_allclose(pushes, 2.0 * LARGEST * path.factors, atol=1e-12)
        assert (path.factors[0], path.factors[-1], path.complete) == (0.0, 1.0, True)
        assert heights[-1] < -RISE  # through both limits

    def test_limits(self, path: tt.EquilibriumPath) -> None:
        """The load is known better than its place, at which it is flat."""
        assert [kind for kind in path.kinds if kind] == ["limit", "limit"]
        limits = [-point.parameters["push.force.z"] for point in path.at("limit")]
        np.testing.assert_allclose(limits, [LARGEST, -LARGEST], rtol=1e-9)
        np.testing.assert_allclose([RISE - p.q[0] for p in path.at("limit")], [TURN, -TURN], rtol=1e-6)

    def test_stability(self, path: tt.EquilibriumPath) -> None:
        """Between the limits the stiffness is negative; at them the eigenvalue is rounding."""
        between = np.abs(RISE - path.values("drop")) < TURN
        ordinary = np.array([not kind for kind in path.kinds])
        np.testing.assert_array_equal(path.unstable[ordinary], between[ordinary])

    def test_a_description(self, path: tt.EquilibriumPath) -> None:
        assert "limit at 0.5, limit at -0.5" in str(path)

    def test_a_range(self) -> None:
        """Down to no load on the way back, at which the truss is flat."""
        path = tt.equilibrium_path(truss(0.0), {"push.force.z": (0.0, -10.0)}, within=(0.0, 1.0))
        assert path.factors[-1] == 0.0
        assert path.q[-1, 0] == pytest.approx(RISE, abs=1e-9)

    def test_too_few_steps_are_told(self) -> None:
        with pytest.warns(tt.ModelWarning, match="after 3 steps.*path-goes-on"):
            path = tt.equilibrium_path(truss(0.0), {"push.force.z": (0.0, -10.0)}, steps=3)
        assert not path.complete
        assert len(path.points) == 4


def arch(order: int) -> tt.Model:
    """Return an arch of radius, E I = 1, clamped at its left foot and hinged at its right one, a closure, pushed at the top."""
    section, pieces = tt.Section.rectangle(0.01, 0.01), []
    for name in ("left", "right"):
        material = {"young": 12.0 / 0.01**4, "density": 1.0, "poisson": 0.0}
        shape = {"strains": {"bending_z": order}, "points": order + 4, "reference_strain": [0, 0, -1.0, 1, 0, 0]}
        pieces.append(tt.Rod(name, HALF, section, **material, **shape))
    s, (sine, cosine) = tt.System("arch", gravity=[0, 0, 0]), (np.sin(HALF), np.cos(HALF))
    foot = tt.Pose([-sine, cosine, 0], np.array([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]]))
    s.connect("world", pieces[0], tt.Weld("clamp"), foot)
    s.connect(pieces[0].port("tip"), pieces[1], tt.Weld("top"))
    s.world.add_port("hinge", [sine, cosine, 0])
    s.close_loop(s.world.port("hinge"), pieces[1].port("tip"), tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    s.add_load(tt.Load("push", pieces[0].port("tip"), force=[0, 0, 0], frame="world"))
    return s.resolve()


def test_an_arch_in_a_closed_loop_snaps_through() -> None:
    """At 8.97 E I/R^2: DaDeppo and Schmidt, Instability of clamped-hinged circular arches subjected to a point load, 1975.

    Theirs has three digits; order 12 has 8.974.
    """
    path = tt.equilibrium_path(arch(8), {"push.force.y": (0.0, -9.5)}, longest=1.0)
    limit = path.at("limit")[0]
    assert -limit.parameters["push.force.y"] == pytest.approx(8.97, rel=1.5e-3)
    model = path.points[0].model
    assert max(np.abs(model.closure_error(q)).max() for q in path.q) < 1e-9
    assert path.unstable[path.kinds.index("limit") + 1] == 1
    assert path.points[0].stability == "neutral"  # undamped


def test_a_straight_column_stands_until_it_buckles() -> None:
    """Its path goes on straight, with one more unstable mode from Euler's load on, and a second from nine times that on."""
    rod = tt.Rod("column", 1.0, SECTION, YOUNG, 1000.0, strains={"bending_z": 6}, points=12)
    model = clamped(rod, force=[0.0, 0.0, 0.0], frame="world", engine="compiled")
    path = tt.equilibrium_path(model, {"load.force.x": (0.0, -10.0 * BUCKLING)})
    np.testing.assert_allclose(path.q, 0.0, atol=1e-9)
    found = [-point.parameters["load.force.x"] / BUCKLING for point in path.at("bifurcation")]
    np.testing.assert_allclose(found, [1.0, 9.0], rtol=1e-3)  # order 6, 12 points
    assert path.unstable[-1] == 2


#: Of a hinge under a post (N m/rad); also what buckles a post of 1 m (N).
SPRING = 10.0


def posts(lean: float, *springs: float) -> tt.Model:
    """Return posts of 1 m on sprung hinges, pushed at their tops; at rest their springs lean by an angle (rad)."""
    s, up = tt.System("posts", gravity=[0, 0, 0]), [-np.sin(lean), 0, np.cos(lean)]
    for k, spring in enumerate(springs):
        post = tt.RigidBody(f"post{k}", 1.0, com=up, inertia=0.1, ports={"top": up})
        s.connect("world", post, tt.Revolute(f"hinge{k}", axis=[0, 1, 0], stiffness=spring, rest=lean))
        s.add_load(tt.Load(f"push{k}", post.port("top"), force=[0, 0, 0], frame="world"))
    return s.resolve()


class TestPosts:
    """Upright at angles that are not zero, or pushed aside a little: both branches are next to each other where they buckle."""

    @pytest.mark.parametrize("lean", [0.0, 1e-3, 0.3, 1.0])
    def test_where_coordinates_begin_does_not_matter(self, lean: float) -> None:
        """Turned zeros leave a post upright; sines of angles leave rounding that is no load aside."""
        path = tt.equilibrium_path(posts(lean, SPRING), {"push0.force.z": (0.0, -30.0)}, within=(0, 1), q={"hinge0": lean})
        (push,) = [-point.parameters["push0.force.z"] for point in path.at("bifurcation")]
        assert push == pytest.approx(SPRING, rel=1e-6)
        np.testing.assert_allclose(path.q, lean, atol=1e-5)  # where nothing holds a post it is known least
        assert path.factors[-1] == 1.0

    @pytest.mark.parametrize("side", [1e-6, 1e-3, 0.1])
    def test_a_small_push_aside_bends_the_path(self, side: float) -> None:
        """``P sin q + F cos q = k q`` and stable up to the end, where it leans to one side by far."""
        loads = {"push0.force.z": (0.0, -30.0), "push0.force.x": (0.0, side)}
        path = tt.equilibrium_path(posts(0.0, SPRING), loads, within=(0, 1))
        assert not any(path.kinds)
        assert not path.unstable.any()
        angles, pushes, sides = path.values("hinge0"), -path.values("push0.force.z"), path.values("push0.force.x")
        left = pushes * np.sin(angles) + sides * np.cos(angles) - SPRING * angles
        np.testing.assert_allclose(left, 0.0, atol=1e-8)  # trim's tolerance of a push of 30
        assert angles[-1] > 2.0

    def test_unloading_a_buckled_post(self) -> None:
        """``P = k q / sin q`` falls to k where the post is upright, and rises again beyond."""
        path = tt.equilibrium_path(posts(0.0, SPRING), {"push0.force.z": (-20.0, -5.0)}, q={"hinge0": 1.8}, within=(0, 1))
        assert [kind for kind in path.kinds if kind] == ["limit"]
        (limit,) = path.at("limit")
        assert -limit.parameters["push0.force.z"] == pytest.approx(SPRING, rel=1e-9)
        angles = path.values("hinge0")
        np.testing.assert_allclose(-path.values("push0.force.z"), SPRING / np.sinc(angles / np.pi), rtol=1e-8)
        assert angles[-1] == pytest.approx(-angles[0])

    @pytest.mark.parametrize("longest", [0.2, 1.0])
    def test_several_buckle_in_one_step(self, longest: float) -> None:
        """At 10/40, 11/40 and 30/40 of the load."""
        loads = {f"push{k}.force.z": (0.0, -40.0) for k in range(3)}
        path = tt.equilibrium_path(posts(0.0, SPRING, 11.0, 30.0), loads, within=(0, 1), longest=longest)
        assert [kind for kind in path.kinds if kind] == ["bifurcation"] * 3
        found = [factor for factor, kind in zip(path.factors, path.kinds, strict=True) if kind]
        np.testing.assert_allclose(found, [0.25, 0.275, 0.75], rtol=1e-6)
        np.testing.assert_array_equal(np.diff(path.factors) > 0, True)


def test_a_post_buckles_next_to_a_limit() -> None:
    """A post that buckles at 0.999 of what a truss can bear: before the limit, after it, and, turned round, once more."""
    s = tt.System("both", gravity=[0, 0, 0])
    apex, foot = tt.RigidBody("apex", 1.0), tt.RigidBody("foot", 1.0)
    s.connect("world", apex, tt.Prismatic("drop", axis=[0, 0, -1]), tt.Pose([0, 0, RISE]))
    s.connect("world", foot, tt.Weld("ground"), tt.Pose([1, 0, 0]))
    s.close_loop(apex, foot, tt.SpringDamper("bar", stiffness=STIFF, length=LENGTH))
    post = tt.RigidBody("post", 1.0, com=[0, 0, 1], inertia=0.1, ports={"top": [0, 0, 1]})
    s.connect("world", post, tt.Revolute("hinge", axis=[0, 1, 0], stiffness=0.999 * LARGEST))
    for name, port in (("push", apex), ("weight", post.port("top"))):
        s.add_load(tt.Load(name, port, force=[0, 0, 0], frame="world"))
    loads = {f"{name}.force.z": (0.0, -LARGEST / 0.9) for name in ("push", "weight")}
    path = tt.equilibrium_path(s.resolve(), loads, within=(0.0, 1.0), longest=1.0)
    happened = [(kind, factor / 0.9) for kind, factor in zip(path.kinds, path.factors, strict=True) if kind]
    assert [kind for kind, _ in happened] == ["bifurcation", "limit", "bifurcation"]
    np.testing.assert_allclose([factor for _, factor in happened], [0.999, 1.0, 0.999], rtol=1e-8)


@pytest.mark.parametrize("offset", [1e-6, 1e-2])
def test_a_pendulum_swings_out_on_a_shaft(offset: float) -> None:
    """Hung beside the axis: ``w^2 (e + sin q) cos q = g sin q``, stable up to any speed; without an offset ``w^2 = g``."""

    def path(offset: float) -> tt.EquilibriumPath:
        start = {"q": {"hinge": HANGING}, "v": {"shaft": 1.0}}
        return tt.equilibrium_path(whirl(offset), {"shaft.v": (1.0, 6.0)}, ["hinge"], within=(0, 1), **start)

    (turn,) = path(0.0).at("bifurcation")
    assert turn.v[0] == pytest.approx(np.sqrt(GRAVITY), rel=1e-6)
    aside = path(offset)
    angles, speeds = aside.values("hinge") - HANGING, aside.values("shaft.v")
    left = speeds**2 * (offset + np.sin(angles)) * np.cos(angles) - GRAVITY * np.sin(angles)
    np.testing.assert_allclose(left, 0.0, atol=1e-8)
    assert not any(aside.kinds)
    assert angles[-1] > 1.2


@pytest.mark.parametrize("force", [1.5, 3.0, 10.5])
def test_a_column_pushed_aside_a_little_buckles(force: float) -> None:
    """To the elastica, not straight on: the push aside, 1e-6 of the load, is not felt there; order 6 is 3e-5 off."""
    rod = tt.Rod("column", 1.0, SECTION, YOUNG, 1000.0, strains={"bending_z": 6}, points=12)
    model = clamped(rod, force=[0.0, 0.0, 0.0], frame="world", engine="compiled")
    loads = {"load.force.x": (0.0, -force * BUCKLING), "load.force.y": (0.0, 1e-6 * BUCKLING)}
    path = tt.equilibrium_path(model, loads, within=(0, 1))
    np.testing.assert_allclose(rod.pose("tip", path.q[-1])[1][:2], buckled(force), atol=1e-4)
    assert not path.unstable.any()


def test_a_follower_makes_ziegler_s_column_flutter() -> None:
    """Ziegler 1952: two links of length and stiffness one, masses 2 and 1, flutter above ``7/2 - sqrt(2)`` undamped."""
    s, previous = tt.System("Ziegler", gravity=[0, 0, 0]), "world"
    for k, mass in enumerate((2.0, 1.0)):
        link = tt.RigidBody(f"link{k}", mass, com=[1, 0, 0], inertia=[0, 0, 0], ports={"end": [1, 0, 0]})
        s.connect(previous, link, tt.Revolute(f"hinge{k}", axis=[0, 0, 1], stiffness=1.0))
        previous = link.port("end")
    s.add_load(tt.Load("push", link.port("end"), force=[0, 0, 0]))
    path = tt.equilibrium_path(s.resolve(), {"push.force.x": (0.0, -3.0)})
    assert [kind for kind in path.kinds if kind] == ["flutter"]
    # the pair leaves the axis as the root of the load beyond: rounding of the eigenvalues, 1e-8, may hide 1e-5 of it
    assert -path.at("flutter")[0].parameters["push.force.x"] == pytest.approx(3.5 - np.sqrt(2.0), rel=1e-5)


def test_a_tendon_ends_a_path_where_it_would_push() -> None:
    """On the way down, and where it is given such tensions, that is refused."""
    rod = tt.Rod("finger", 1.0, SECTION, YOUNG, 1000.0, strains={"bending_z": 2})
    s = tt.System("finger", gravity=[0, 0, 0])
    s.connect("world", rod, tt.Weld("clamp"))
    s.add_interaction(tt.Tendon("flexor", rod, y=0.005))
    path = tt.equilibrium_path(s.resolve(), {"flexor.tension": (5.0, 0.5)}, within=(-1.0, 1.0))
    assert path.values("flexor.tension")[-1] == 0.5
    with refusal("one-sided", "flexor.tension"):
        tt.equilibrium_path(s.resolve(), {"flexor.tension": (0.0, -1.0)})


def test_where_a_path_ends_is_told() -> None:
    """A weight on a cable, lifted until that is slack, at half of the load."""
    s, weight = tt.System("crane", gravity=[0, 0, -10.0]), tt.RigidBody("weight", 1.0)
    s.connect("world", weight, tt.Prismatic("rail", axis=[0, 0, 1]), tt.Pose([0, 0, -1]))
    s.close_loop("world", weight, tt.Cable("rope", stiffness=1e3, length=1.0))
    with pytest.raises(tt.ConvergenceError, match=r"path ends near a load factor of 0\.5: .*a cable may let go") as caught:
        tt.equilibrium_path(s.resolve(), {"rail.tau": (0.0, 20.0)}, q=[-0.01])
    assert isinstance(caught.value.found, tt.EquilibriumPath)  # what was followed is not lost
    assert not caught.value.found.complete
    assert caught.value.found.factors[-1] == pytest.approx(0.5, abs=1e-6)


class TestPendulum:
    """What turns one of 2 kg and 1 m."""

    def test_past_the_largest_torque(self) -> None:
        """Beyond 2 kg * 9.81 m/s^2 * 1 m less holds it, and none where it stands on its head."""
        path = tt.equilibrium_path(swing(), {"hinge.tau": (0.0, 25.0)}, within=(0.0, 1.0))
        assert path.values("hinge.tau").max() == pytest.approx(19.62, rel=1e-9)
        assert path.values("hinge")[-1] == pytest.approx(np.pi)
        assert (path.complete, path.closed) == (True, False)

    @pytest.mark.parametrize(("angle", "longest"), [(0.0, 0.2), (0.3, 0.2), (-1.0, 1.0)])
    def test_a_whole_turn_closes_the_path(self, angle: float, longest: float) -> None:
        """From any angle, the load growing, through both limits."""
        start = {"q": {"hinge": angle}, "unknowns": ["hinge"], "longest": longest}
        torque = 2.0 * GRAVITY * np.sin(angle)
        path = tt.equilibrium_path(swing(), {"hinge.tau": (torque, torque + 10.0)}, within=(-5.0, 5.0), **start)
        assert (path.complete, path.closed) == (True, True)
        assert path.factors[-1] == pytest.approx(0.0, abs=1e-9)
        assert path.q[-1, 0] == pytest.approx(angle + 2 * np.pi, rel=1e-9)
        assert [kind for kind in path.kinds if kind] == ["limit", "limit"]
        assert str(path).endswith("back at the start")

    def test_a_spring_is_no_more_the_same_after_a_turn(self) -> None:
        """``T = m g sin q + k q`` rises by ``2 pi k`` a turn, until it leaves its range in the third."""
        spring, reach = 1.5, 2.0 * GRAVITY + 1.5 * 14.0
        path = tt.equilibrium_path(swing(stiffness=spring), {"hinge.tau": (0.0, reach)}, within=(-1.0, 1.0), longest=0.5)
        angles = path.values("hinge")
        np.testing.assert_allclose(path.values("hinge.tau"), 2.0 * GRAVITY * np.sin(angles) + spring * angles, atol=1e-7)
        assert angles[-1] > 4 * np.pi
        assert (path.complete, path.closed) == (True, False)


def test_bad_paths_are_refused() -> None:
    model = truss(0.0)
    for loads, code, text in (
        ({"push.forc.z": (0, 1)}, "unknown-unknown", "push.force.z"),
        ({}, "wrong-type", "push.force.z"),
        ({"push.force.z": (0, 0)}, "bad-load", "different"),
        ({"push.force.z": 3.0}, "bad-load", "two"),
    ):
        with refusal(code, text):
            tt.equilibrium_path(model, loads)
    good = {"push.force.z": (0.0, -1.0)}
    for argument, value, code in (("within", (1, 2), "bad-bounds"), ("longest", 0.0, "bad-step"), ("steps", 0, "wrong-type")):
        with refusal(code, argument):
            tt.equilibrium_path(model, good, **{argument: value})
    with refusal("unknown-kind", "limit"):
        tt.equilibrium_path(model, good).at("limits")


class TestLoadStepsOfLoops:
    """Of `trim`, on the arch: where no equilibrium is near the one at rest they raise the load."""

    def test_up_to_the_limit(self) -> None:
        model, push = arch(8), {"push.force.y": (0.0, -8.9)}
        raised = tt.trim(model, parameters={"push.force.y": -8.9})
        followed = tt.equilibrium_path(model, push, longest=1.0).points[-1]
        assert stands(raised)
        np.testing.assert_allclose(raised.q, followed.q, atol=1e-6)  # trim's tolerance, next to a limit a hundred times softer

    def test_beyond_it_the_part_that_is_reached_is_told(self) -> None:
        limit = 8.978 / 9.5  # order 8, as followed above
        with pytest.raises(tt.ConvergenceError, match=f"end near {limit:.3f}"):
            tt.trim(arch(8), parameters={"push.force.y": -9.5})
