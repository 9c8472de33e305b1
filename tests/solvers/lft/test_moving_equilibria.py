"""Equilibria that move with the parameters: fitted or independent, beside closed forms and beside `linearize` there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import titop as tt
from tests.solvers.lft.satellites import panel

#: Beside the response's norm: see `test_lft`. What stays independent is exact.
EXACT = 1e-9

#: A sprung arm under gravity: its mass and centre (kg, m), length (m), inertia about the hinge (kg m^2), g (m/s^2).
MASS, CENTRE, LENGTH, INERTIA, G = 1.0, 0.5, 1.0, 0.1 + 1.0 * 0.5**2, 9.81


def sprung() -> tt.Model:
    """Return an arm on a spring with a mass at its tip."""
    s = tt.System("arm", gravity=[0, 0, -G])
    arm = tt.RigidBody("arm", MASS, com=[CENTRE, 0, 0], inertia=[0.01, 0.1, 0.1], ports={"tip": [LENGTH, 0, 0]})
    s.connect("world", arm, joint=tt.Revolute("hinge", axis=[0, 1, 0], stiffness=40.0, damping=0.3))
    s.connect(arm.port("tip"), tt.RigidBody("tip", 2.0), joint=tt.Weld("weld"))
    return s.resolve()


def sag(tip: float, stiffness: float) -> float:
    """Return the angle (rad) at which the spring carries the arm."""
    moment = G * (MASS * CENTRE + tip * LENGTH)
    return float(brentq(lambda angle: stiffness * angle - moment * np.cos(angle), 0.0, 1.5, xtol=1e-14))


def sprung_stiffness(tip: float, stiffness: float) -> float:
    """Return the stiffness (1/s^2) of small motions about it, over the inertia."""
    moment = G * (MASS * CENTRE + tip * LENGTH)
    return (stiffness + moment * np.sin(sag(tip, stiffness))) / (INERTIA + tip * LENGTH**2)


PARAMETERS: Mapping[Any, Any] = {"tip.mass": (1.5, 2.8), "hinge.stiffness": tt.percent(20)}
SPRUNG: dict[str, Any] = {"inputs": ["hinge"], "outputs": ["hinge.q"], "equilibrium": tt.trim}


@pytest.fixture(scope="module")
def fitted() -> tt.LFTModel:
    m = sprung()
    return tt.lft(m, tt.trim(m), PARAMETERS, **SPRUNG, tolerance=1e-6)


@pytest.fixture(scope="module")
def independent() -> tt.LFTModel:
    m = sprung()
    return tt.lft(m, tt.trim(m), PARAMETERS, **SPRUNG, moving="independent")


def values(model: tt.LFTModel) -> list[tuple[float, float]]:
    return [(row["tip.mass"], row["hinge.stiffness"]) for row in (*model.samples(8), *model.corners())]


def test_a_sprung_arm(fitted: tt.LFTModel) -> None:
    """The stiffness of each member is that about the angle found by scalar root finding."""
    (moved,) = fitted.moving
    assert (moved.name, moved.unit) == ("hinge.q", "rad")
    assert moved.nominal == pytest.approx(sag(2.0, 40.0), abs=1e-9)
    for tip, stiffness in values(fitted):
        right = sprung_stiffness(tip, stiffness)
        A = fitted.at(tip_mass=tip, hinge_stiffness=stiffness).A
        assert -A[1, 0] == pytest.approx(right, rel=2e-6)  # an error of 3e-7 rad in an angle whose sine is half of it
        assert fitted.check(1, corners=False) < 1e-5


def test_what_stays_is_not_what_moves(fitted: tt.LFTModel) -> None:
    """The property finds a model about a configuration that does not follow: wrong by a percent or more."""
    m = sprung()
    still = tt.lft(m, tt.trim(m), PARAMETERS, ["hinge"], ["hinge.q"])
    found = still.at(tip_mass=2.8, hinge_stiffness=32.0).A
    assert abs(-found[1, 0] / sprung_stiffness(2.8, 32.0) - 1) > 1e-2


def test_the_nominal_member_is_exact() -> None:
    """However rough the fit."""
    m = sprung()
    rough = tt.lft(m, tt.trim(m), PARAMETERS, **SPRUNG, tolerance=0.3)
    right = tt.linearize(m, tt.trim(m), ["hinge"], ["hinge.q"])
    assert rough.nominal(0.7j) == pytest.approx(right(0.7j), rel=1e-10)
    assert rough.at(tip_mass=2.8)(0.7j) != pytest.approx(right(0.7j), rel=1e-2)


def test_the_stated_error(fitted: tt.LFTModel) -> None:
    """Of angles at points that neither the fit nor its tests knew, and as low as asked for; fewer terms are less exact."""
    m = sprung()
    rough = tt.lft(m, tt.trim(m), PARAMETERS, **SPRUNG, tolerance=1e-2)
    for model, tolerance in ((fitted, 1e-6), (rough, 1e-2)):
        (moved,) = model.moving
        assert moved.error is not None
        assert moved.error <= tolerance * (moved.upper - moved.lower)
        assert moved.lower <= sag(1.6, 47.0) < sag(2.7, 33.0) <= moved.upper
    assert rough.moving[0].degree < fitted.moving[0].degree
    assert 0 < fitted.error < 1e-5 < rough.error < 2e-2
    assert rough.blocks[0].repetitions < fitted.blocks[0].repetitions
    # by the errors of the angle, whose derivative the stiffness moment cos / inertia is
    errors = [abs(-rough.at(tip_mass=t, hinge_stiffness=k).A[1, 0] - sprung_stiffness(t, k)) for t, k in values(rough)[:8]]
    slope = G * (MASS * CENTRE + 2.8) / (INERTIA + 2.8)
    assert max(errors) < 2 * slope * rough.moving[0].error


def test_independent_coordinates(independent: tt.LFTModel) -> None:
    """Exact at any angle of their range, held there; with the angle that belongs to the parameters, that of the equilibrium."""
    assert [block.name for block in independent.blocks] == ["tip.mass", "hinge.stiffness", "hinge.q"]
    assert [block.repetitions for block in independent.blocks] == [1, 1, 2]
    assert independent.check(10) < EXACT
    for tip, stiffness in values(independent):
        angle = sag(tip, stiffness)
        assert independent.moving[0].lower < angle < independent.moving[0].upper
        found = independent.at({"tip.mass": tip, "hinge.stiffness": stiffness, "hinge.q": angle})
        assert -found.A[1, 0] == pytest.approx(sprung_stiffness(tip, stiffness), rel=EXACT)


def test_independent_coordinates_hold_more() -> None:
    """The worst gain of the wider family is no smaller: here by a twentieth."""
    m = sprung()
    follows, wider = (
        tt.worst_case_gain(
            tt.lft(m, tt.trim(m), {"tip.mass": (1.5, 2.8)}, **SPRUNG, moving=moving, tolerance=0.1),
            "hinge", "hinge_q", tolerance=0.1, progress=False,
        )
        for moving in ("fitted", "independent")
    )  # fmt: skip
    assert wider.upper >= follows.lower
    assert wider.lower >= 1.03 * follows.lower


def two_links() -> tt.Model:
    """Return two sprung links with a thruster at their end."""
    s = tt.System("two", gravity=[0, 0, -G])
    first = tt.RigidBody("a", 1.2, com=[0.4, 0, 0.02], inertia=[0.01, 0.05, 0.05], ports={"t": [0.8, 0, 0]})
    second = tt.RigidBody("b", 0.8, com=[0.3, 0.0, 0.01], inertia=[0.01, 0.05, 0.05], ports={"t": [0.6, 0, 0]})
    s.connect("world", first, joint=tt.Revolute("j1", axis=[0, 1, 0], stiffness=60.0, damping=0.5))
    s.connect(first.port("t"), second, joint=tt.Revolute("j2", axis=[0, 1, 0.1], stiffness=20.0, damping=0.2))
    s.add_actuator(tt.Force("jet", second.port("t"), direction=[0, 0, 1]))
    return s.resolve()


def slide() -> tt.Model:
    """Return a mass that hangs on a spring from a link that turns."""
    s = tt.System("slide", gravity=[0, 0, -G])
    link = tt.RigidBody("link", 1.0, inertia=[0.1, 0.1, 0.1])
    s.connect("world", link, joint=tt.Revolute("turn", axis=[0, 1, 0], stiffness=50.0, damping=0.5))
    s.connect(link, tt.RigidBody("mass", 2.0), joint=tt.Prismatic("z", axis=[0, 0, -1], stiffness=100.0, damping=1.0))
    return s.resolve()


def governor() -> tt.Model:
    """Return a ball on an arm on a shaft that spins."""
    s = tt.System("governor", gravity=[0, 0, -G])
    shaft = tt.RigidBody("shaft", 1.0, inertia=[0.1, 0.1, 0.1], ports={"edge": [0.1, 0, 0]})
    ball = tt.RigidBody("ball", 2.0, com=[0.05, 0, -0.5], inertia=[0.02, 0.02, 0.02])
    s.connect("world", shaft, joint=tt.Revolute("spin", axis=[0, 0, 1]))
    s.connect(shaft.port("edge"), ball, joint=tt.Revolute("arm", axis=[0, -1, 0], stiffness=1.0, damping=0.2))
    return s.resolve()


def sagging_panel() -> tt.Model:
    """Return a hub with a panel that gravity bends."""
    s = tt.System("panel", gravity=[0, 0, -G])
    hub = tt.RigidBody("hub", 20.0, inertia=[3.0, 3.0, 3.0])
    s.connect("world", hub, joint=tt.Revolute("hinge", axis=[0, 1, 0], stiffness=5000.0, damping=20.0))
    s.connect(hub, panel("panel", 2), joint=tt.Revolute("drive", axis=[1, 0, 0], stiffness=400.0, damping=2.0))
    return s.resolve()


def spun(m: tt.Model) -> tt.OperatingPoint:
    return tt.trim(m, ["spin.v"], q={"arm": 0.6}, v={"spin": 5.0})


CASES: list[tuple[Callable[[], tt.Model], Callable[..., tt.OperatingPoint], dict[str, Any], str, list[str], list[str]]] = [
    (two_links, tt.trim, {"b.mass": tt.percent(20)}, "jet", ["j1.q", "b.t.dv"], ["j1.q", "j2.q"]),
    (
        two_links,
        lambda m: tt.trim(m, ["jet", "j2"], q={"j1": 0.3}),
        {"b.mass": tt.percent(20)},
        "jet",
        ["j1.q", "b.t.dv"],
        ["j2.q", "jet.u"],
    ),
    (slide, tt.trim, {"mass.mass": tt.percent(20), "z.stiffness": tt.percent(10)}, "turn", ["turn.q"], ["z.q"]),
    (governor, spun, {"ball.com.z": (-0.6, -0.4)}, "arm", ["arm.q", "spin.v"], ["spin.v"]),
    (
        sagging_panel,
        tt.trim,
        {"panel.mode1.frequency": tt.percent(10)},
        "hinge",
        ["hinge.q", "drive.q"],
        ["hinge.q", "panel.mode1.q"],
    ),
]


@pytest.mark.parametrize(
    ("system", "trimmed", "parameters", "driven", "outputs", "moves"),
    CASES,
    ids=["angles", "a thrust", "a slide", "a rate", "modes"],
)
def test_what_moves(
    system: Callable[[], tt.Model],
    trimmed: Callable[..., tt.OperatingPoint],
    parameters: dict[str, Any],
    driven: str,
    outputs: list[str],
    moves: list[str],
) -> None:
    """Each kind: exact while independent, and as near to `linearize` at the moved equilibrium as the fit is."""
    m = system()
    point = trimmed(m)
    wide = tt.lft(m, point, parameters, [driven], outputs, equilibrium=trimmed, moving="independent")
    assert [own.name for own in wide.moving] == moves
    assert wide.check(5) < EXACT
    rough, near = (
        tt.lft(m, point, parameters, [driven], outputs, equilibrium=trimmed, tolerance=tolerance).check(5)
        for tolerance in (0.1, 1e-5)
    )
    assert near < min(3e-4, 0.1 * rough)  # the response is up to some ten times as sensitive as its resonances are sharp


def test_repetitions_stay_near_the_degree() -> None:
    """Of two angles that follow two parameters, where polynomials of each took 51 repetitions for this tolerance, 99 for 1e-4.

    Fractions of one copy a parameter: what is left above the degrees is that numbers which do not commute are told apart.
    """
    m = two_links()
    parameters = {"b.mass": tt.percent(20), "j1.stiffness": tt.percent(20)}
    model = tt.lft(m, tt.trim(m), parameters, ["jet"], ["j1.q"], equilibrium=tt.trim, progress=False)
    assert [own.degree for own in model.moving] == [1, 1]
    assert all(block.repetitions <= 1.7 * block.degree for block in model.blocks if block.degree)
    assert sum(block.repetitions for block in model.blocks) <= 30
    assert model.check(5) < 1e-3


def test_an_angle_of_the_point_among_the_parameters() -> None:
    """The function gets its values, and the rest follows."""
    m = governor()

    def trimmed(m: tt.Model, values: Mapping[str, float]) -> tt.OperatingPoint:
        return tt.trim(m, ["arm"], q={"arm": 0.7}, v={"spin": values["spin.v"]})

    model = tt.lft(
        m, trimmed(m, {"spin.v": 5.0}), {"spin.v": (4.8, 5.3)}, ["arm"], ["arm.q"], equilibrium=trimmed, tolerance=1e-5
    )
    assert [own.name for own in model.moving] == ["arm.q"]
    assert model.check(5) < 1e-3


def test_efforts_alone_move_nothing() -> None:
    """Where only efforts hold the point, the model is the one without a function."""
    m = sprung()
    point = tt.trim(m, ["hinge.tau"], q={"hinge": 0.4})
    model = tt.lft(
        m, point, PARAMETERS, ["hinge"], ["hinge.q"], equilibrium=lambda m: tt.trim(m, ["hinge.tau"], q={"hinge": 0.4})
    )
    assert model.moving == ()
    assert [block.repetitions for block in model.blocks] == [1, 1]
    assert model.check(5) < EXACT


def test_a_parameter_that_acts_through_the_equilibrium() -> None:
    """Of a motor's constant load, through the angle alone: fitted it has repetitions, independent it has no block."""
    s = tt.System("pushed", gravity=[0, 0, 0])
    arm = tt.RigidBody("arm", 1.0, com=[0.5, 0, 0], inertia=[0.1, 0.1, 0.1], ports={"tip": [1.0, 0, 0]})
    s.connect("world", arm, joint=tt.Revolute("first", axis=[0, 1, 0], stiffness=30.0, damping=0.5))
    end = tt.RigidBody("end", 1.0, com=[0.5, 0, 0], inertia=[0.1, 0.1, 0.1])
    s.connect(arm.port("tip"), end, joint=tt.Revolute("second", axis=[0, 1, 0], stiffness=30.0, damping=0.5))
    s.add_load(tt.Load("twist", end, torque=[0, 10.0, 0], frame="port"))
    m = s.resolve()
    given: dict[str, Any] = {"inputs": ["first"], "outputs": ["first.q"], "equilibrium": tt.trim}
    follows = tt.lft(m, tt.trim(m), {"twist.torque.y": (8.0, 13.0)}, **given, tolerance=1e-6)
    assert follows.blocks[0].repetitions > 0
    assert follows.check(5) < 1e-5
    wide = tt.lft(m, tt.trim(m), {"twist.torque.y": (8.0, 13.0)}, **given, moving="independent")
    assert [block.name for block in wide.blocks] == ["second.q"]
    with pytest.raises(tt.ModelError, match="idle-parameter"):
        tt.lft(m, tt.trim(m), {"twist.torque.y": (8.0, 13.0)}, ["first"], ["first.q"])


def _other_mass(m: tt.Model) -> tt.OperatingPoint:
    return tt.trim(m.with_parameters({"arm.mass": 1.1}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"equilibrium": 3.0}, "a function of a model.*wrong-type"),
        ({"equilibrium": lambda m: m.neutral()}, "tt.OperatingPoint.*wrong-type"),
        ({"equilibrium": lambda m: tt.trim(m, ["hinge.tau"])}, r"hinge\.q differs by .*other-equilibrium"),
        ({"equilibrium": _other_mass}, r"another arm\.mass.*other-equilibrium"),
        ({"moving": "free"}, "unknown-choice"),
        ({"tolerance": 1e-15}, r"hinge\.q.*rad.*no-fit"),
    ],
)
def test_refused(changes: dict[str, Any], message: str) -> None:
    m = sprung()
    with pytest.raises(tt.ModelError, match=message):
        tt.lft(m, tt.trim(m), PARAMETERS, **{**SPRUNG, **changes})


def test_points_that_are_no_equilibria_are_refused() -> None:
    m = sprung()
    point = tt.trim(m)
    with pytest.raises(tt.ModelError, match=r"tip\.mass = .*accelerated by.*no-equilibrium"):
        tt.lft(m, point, {"tip.mass": (1.5, 2.8)}, **{**SPRUNG, "equilibrium": lambda m: tt.OperatingPoint(m, point.q)})


def test_where_there_is_no_equilibrium() -> None:
    """A torque on a pendulum that is too large for it."""
    s = tt.System("held", gravity=[0, 0, -G])
    s.connect("world", tt.RigidBody("bob", 2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    m = s.resolve()

    def trimmed(m: tt.Model) -> tt.OperatingPoint:
        return tt.trim(m, tau={"hinge": 15.0})

    with pytest.raises(tt.ConvergenceError, match=r"no equilibrium at bob\.mass = 1\b"):
        tt.lft(m, trimmed(m), {"bob.mass": (1.0, 3.0)}, ["hinge"], ["hinge.q"], equilibrium=trimmed)


def test_attitudes_that_move_are_refused() -> None:
    s = tt.System("ball", gravity=[0, 0, -G])
    s.connect("world", tt.RigidBody("bob", 2.0, com=[0.1, 0, -1], inertia=[0.1, 0.1, 0.1]), joint=tt.Spherical("ball"))
    m = s.resolve()
    with pytest.raises(tt.ModelError, match=r"ball\.ry\.q.*tt\.lpv.*moving-attitude"):
        tt.lft(m, tt.trim(m), {"bob.com.x": (0.05, 0.2)}, ["ball.wy"], ["bob.w"], equilibrium=tt.trim)


def _joined(closure: tt.Block) -> tt.Model:
    """Return two sprung arms side by side, joined at their ends."""
    s = tt.System("joined", gravity=[0, 0, -G])
    ends = []
    for name, y in (("a", 0.0), ("b", 0.2)):
        arm = tt.RigidBody(name, 1.0, com=[0.5, 0, 0], inertia=[0.1, 0.1, 0.1], ports={"tip": [1.0, 0, 0]})
        hinge = tt.Revolute(f"hinge_{name}", axis=[0, 1, 0], stiffness=40.0)
        s.connect("world", arm, joint=hinge, placement=tt.Pose([0, y, 0]))
        ends.append(arm.port("tip"))
    s.close_loop(*ends, closure)
    return s.resolve()


@pytest.mark.parametrize(
    ("closure", "message"),
    [
        (tt.RigidClosure("bar", directions=np.eye(6)[:, [2]]), r"closures or gears.*tt\.lpv.*moving-closure"),
        (tt.SpringDamper("bar", stiffness=30.0, length=0.1), r"hinge_a\.q.*bar.*tt\.lpv.*moved-closure"),
    ],
)
def test_closures_that_move_are_refused(closure: tt.Block, message: str) -> None:
    m = _joined(closure)
    with pytest.raises(tt.ModelError, match=message):
        tt.lft(m, tt.trim(m), {"a.mass": (0.8, 1.5)}, ["hinge_a"], ["hinge_a.q"], equilibrium=tt.trim)


@pytest.mark.parametrize("frame", ["port", "world"])
def test_a_thrust_at_the_point(frame: Any) -> None:
    """A range of an input: efforts hold the point against it, its wrench turns as the port does."""
    s = tt.System("pushed", gravity=[0, 0, -G])
    arm = tt.RigidBody("arm", 1.0, com=[0.5, 0, 0], inertia=[0.1, 0.1, 0.1], ports={"tip": [1.0, 0, 0]})
    s.connect("world", arm, joint=tt.Revolute("first", axis=[0, 1, 0], stiffness=30.0, damping=0.5))
    end = tt.RigidBody("end", 1.0, com=[0.5, 0, 0], inertia=[0.1, 0.1, 0.1], ports={"tip": [1.0, 0, 0]})
    s.connect(arm.port("tip"), end, joint=tt.Revolute("second", axis=[0, 1, 0], stiffness=30.0, damping=0.5))
    s.add_actuator(tt.Force("jet", end.port("tip"), direction=[0, 0, 1], frame=frame))
    s.add_actuator(tt.Motor("motor", "first"))
    m = s.resolve()
    point = tt.trim(m, ["first.tau", "second.tau"], q=[0.2, 0.3], u={"jet": 4.0})
    model = tt.lft(m, point, {"jet.u": (-5.0, 20.0), "second.q": (0.0, 0.5)}, ["first"], ["first.q", "end.tip.dv"])
    assert model.check(5) < EXACT
    s = 0.5j
    assert model.at(jet_u=15.0)(s) != pytest.approx(model.nominal(s), rel=1e-3)
    with pytest.raises(tt.ModelError, match=r"motor\.u.*not-rational"):
        tt.lft(m, point, {"motor.u": (-1.0, 1.0)}, ["first"], ["first.q"])


def test_ports_of_bent_bodies_are_refused() -> None:
    m = sagging_panel()
    with pytest.raises(tt.ModelError, match=r"panel\.mode1\.q.*does not move panel\.tip.*tt\.lpv"):
        tt.lft(m, tt.trim(m), {"panel.mode1.frequency": tt.percent(10)}, ["hinge"], ["panel.tip.dv"], equilibrium=tt.trim)


@pytest.mark.filterwarnings("ignore:.*accelerated by.*no-equilibrium")
def test_points_that_accelerate() -> None:
    """A pendulum of sloshing fuel in a rocket: ``sqrt(thrust / (M l))`` rad/s, M the mass of the rest.

    Thrusts that follow the mass keep the acceleration, and members are right; others change it, and are refused.
    """
    s, (rest, fuel, length, acceleration) = tt.System("rocket", gravity=[0, 0, 0]), (1000.0, 200.0, 1.5, 12.5)
    hub = tt.RigidBody("hub", rest, inertia=[100.0, 5000.0, 5000.0])
    s.connect("world", hub, joint=tt.Planar("base"))
    s.connect(hub, tt.RigidBody("slosh", fuel, com=[-length, 0, 0]), joint=tt.Revolute("phi", axis=[0, 0, 1]))
    s.add_actuator(tt.Thruster("jet", hub, direction=[1, 0, 0], max_thrust=2e4))
    m = s.resolve()

    def thrust(mass: float) -> float:
        return acceleration * (rest + mass)

    def following(model: tt.Model, extra: float = 0.0) -> tt.OperatingPoint:
        mass = model.parameters()["slosh.mass"][0]
        return tt.OperatingPoint(model, model.neutral(), u={"jet": thrust(mass) + extra * (mass - fuel)})

    given: tuple[Any, ...] = (m, following(m), {"slosh.mass": (150.0, 260.0)}, ["phi"], ["phi.q"])
    model = tt.lft(*given, equilibrium=following, progress=False)
    assert [own.name for own in model.moving] == ["jet.u"]
    for mass in (150.0, 180.0, 260.0):
        fastest = np.abs(model.at(slosh_mass=mass).poles()).max()
        assert fastest == pytest.approx(np.sqrt(thrust(mass) / (rest * length)), rel=1e-9)
    with pytest.raises(tt.ModelError, match=r"base\.x accelerated by .*expected 12\.5 as at nominal values.*no-equilibrium"):
        tt.lft(*given, equilibrium=lambda model: following(model, extra=-12.5), progress=False)
