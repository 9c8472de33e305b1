"""What switches by position is not stepped over: contacts, stops, cables, users' interactions, kinks of samples."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline, PchipInterpolator

import titop as tt
from tests.solvers.simulation.switching_systems import GRAVITY, Switching, Teeth, landing, push, scuffing, stopped, tethered
from titop.blocks.basics.spatial import Array
from titop.solvers.simulation.switching import Switching as SwitchedGaps
from titop.solvers.simulation.switching import _Curve

METHODS = ["DOP853", "RK45", "RK23", "LSODA", "BDF", "Radau", "exponential"]
SYSTEMS = [scuffing, stopped, tethered]


@cache
def reference(make: Callable[[], Switching], end: float) -> Array:
    return make().reference(end)


def error(make: Callable[[], Switching], end: float, **how: Any) -> float:
    """Return the largest error of a simulation at its end."""
    case = make()
    run = tt.simulate(case.system.resolve(), np.linspace(0, end, 11), [case.q0], [case.v0], progress=False, **how)
    return float(np.abs(np.concatenate([run.q[-1], run.v[-1]]) - reference(make, end)).max())


@pytest.mark.parametrize("make", SYSTEMS)
@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_stepped_over_at_default_tolerances(make: Callable[[], Switching], method: str) -> None:
    # tolerances of 1e-8 over some hundred steps, which BDF makes 6e-6 of; a contact that is missed is worth 0.01 to 0.3
    assert error(make, 2.0, method=method) < 6e-5


@pytest.mark.parametrize("method", ["DOP853", "RK45", "LSODA", "BDF", "Radau"])
def test_nothing_is_stepped_over_at_loose_tolerances(method: str) -> None:
    """Errors follow tolerances, instead of jumping by 0.1 where a contact is missed."""
    errors = [error(scuffing, 2.0, method=method, rtol=rtol, atol=0.01 * rtol) for rtol in (1e-4, 1e-6, 1e-8)]
    assert errors[0] < 1e-2  # ten times what is found
    assert errors[1] < 5e-4
    assert errors[2] < 1e-5


@pytest.mark.parametrize("kind", [Teeth, type("Spoken", (Teeth,), {"gaps": lambda self, m: Teeth.gaps(self, m)})])
@pytest.mark.parametrize("method", METHODS)
def test_none_of_several_gaps_is_stepped_over(method: str, kind: type[Teeth]) -> None:
    """A plank falls on four teeth, of which each takes its turns; also where a user says these gaps in Python."""
    system, rate = landing(kind)
    start, end = np.array([0.3, 0.2, 0.0, 0.0]), 1.2
    y = solve_ivp(rate, (0, end), start, method="DOP853", rtol=1e-10, atol=1e-12, max_step=1e-4).y[:, -1]
    run = tt.simulate(system.resolve(), [0, end], start[:2], start[2:], method=method, progress=False)
    allowed = 1e-4 if method in ("LSODA", "BDF", "RK23") else 5e-6  # tolerances of 1e-8 at some ten impacts
    assert np.concatenate([run.q[-1], run.v[-1]]) == pytest.approx(y, abs=allowed)


@pytest.mark.parametrize("make", SYSTEMS)
def test_nothing_is_stepped_over_by_the_generalised_alpha_scheme(make: Callable[[], Switching]) -> None:
    assert error(make, 2.0, method="generalized-alpha", rtol=1e-5, atol=1e-7) < 2e-2  # of second order


@pytest.mark.parametrize("speed", [1.7, 2.0, 2.3, 3.0])
@pytest.mark.parametrize(
    ("how", "allowed"),
    [
        ({"method": tt.GeneralizedAlpha(spectral_radius=0.8, step=1e-3)}, 0.05),
        ({"method": tt.GeneralizedAlpha(spectral_radius=0.8, step=3e-4)}, 0.005),
        ({"method": "generalized-alpha", "rtol": 1e-3, "atol": 1e-5}, 0.03),
    ],
)
def test_the_generalised_alpha_scheme_goes_on_from_steps_cut_short(how: dict[str, Any], allowed: float, speed: float) -> None:
    """A mass between two stops, on five ways to and fro, some of whose steps are cut to nanoseconds at the stops.

    It is back with its speed: each stop keeps it for 2.94 times depth over speed (see `test_a_ball_bounces_where_it_should`).
    """
    stops = tt.Limits(-0.1, 0.1, stiffness=1e6)
    s = tt.System("between", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", 1.0), tt.Prismatic("x", axis=[1, 0, 0], limits=stops))
    period = 0.4 / speed + 2 * 2.9432 * (1.25 * speed**2 / 1e6) ** 0.4 / speed
    run = tt.simulate(s.resolve(), [0, 5 * period], [0.0], [speed], progress=False, **how)
    # of second order: twice what is found
    assert run.q[-1, 0] == pytest.approx(0, abs=allowed)
    assert run.v[-1, 0] == pytest.approx(speed, abs=2 * allowed)
    assert run.statistics["steps"] < (1.1 * 5 * period / 1e-3 if allowed == 0.05 else 6000)


def silent() -> Switching:
    """Return the scuffing pendulum with a contact that does the same and says nothing of gaps."""
    return scuffing(type("SilentContact", (tt.Contact,), {"gaps": lambda self, motion: np.zeros(0)}))


@pytest.mark.parametrize("method", ["RK45", "LSODA"])
def test_hidden_gaps_are_stepped_over(method: str) -> None:
    """Negative control: what the same contact does unwatched."""
    assert error(silent, 2.0, method=method) > 0.05


class Bumper(tt.Interaction):
    """A user's stop between two ports along x, whose push jumps from zero."""

    parameter_units: ClassVar = {"force": "N"}

    def __init__(self, name: str, at: float, force: float) -> None:
        super().__init__(name)
        self.at, self.force = at, self.reader.scalar("force", force)

    def wrenches(self, R: Array, r: Array, V1: Array, V2: Array) -> tuple[Array, Array]:
        push = np.array([-self.force, 0, 0]) if np.real(r[0]) > self.at else 0.0 * r
        return np.concatenate([-push, np.zeros(3)]), np.concatenate([R.T @ push, np.zeros(3)])

    def energy(self, R: Array, r: Array) -> Any:
        return self.force * (r[0] - self.at) if np.real(r[0]) > self.at else 0.0 * r[0]

    def gaps(self, motion: tt.TargetMotion) -> Array:
        return np.array([self.at - motion.r[1][0]])


def bumped(kind: type[Bumper] = Bumper) -> Switching:
    spring, force, at = 4.0, 50.0, 0.999
    s = tt.System("bumped", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", 1.0), tt.Prismatic("x", axis=[1, 0, 0], stiffness=spring))
    s.close_loop("world", s["mass"], kind("bumper", at, force))
    return Switching(s, -1.0, 0.0, lambda t, y: [y[1], -spring * y[0] - (force if y[0] > at else 0.0)])


def bumped_exactly(end: float, spring: float = 4.0, force: float = 50.0, at: float = 0.999) -> Array:
    """Return the state of `bumped` from arcs: free swings, and swings about where the force holds the spring."""
    w, t, q, v = np.sqrt(spring), 0.0, -1.0, 0.0
    while True:
        beyond = q > at or (q == at and v > 0)
        middle = -force / spring if beyond else 0.0
        far, phase = np.hypot(q - middle, v / w), np.arctan2(v / w, q - middle)
        # q = middle + far cos(w s - phase); next time at the bound, going the other way
        turn = np.arccos((at - middle) / far)
        s = ((phase + turn if beyond else phase - turn) % (2 * np.pi)) / w
        s = s if s > 1e-9 else s + 2 * np.pi / w
        if t + s > end:
            s = end - t
            return np.array([middle + far * np.cos(w * s - phase), -far * w * np.sin(w * s - phase)])
        q, v, t = at, -far * w * np.sin(w * s - phase), t + s


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_a_users_gap_is_watched(method: str, engine: str) -> None:
    if engine == "reference" and method not in ("DOP853", "BDF"):
        pytest.skip("one of each kind is enough for the slow engine")
    case = bumped()
    run = tt.simulate(case.system.resolve(engine=engine), [0, 4.0], [-1.0], [0.0], method=method, progress=False)
    # tolerances of 1e-8 at each of four jumps; methods of several steps and low order lose more
    allowed = 1e-4 if method in ("LSODA", "BDF", "RK23") else 1e-6
    assert np.concatenate([run.q[-1], run.v[-1]]) == pytest.approx(bumped_exactly(4.0), abs=allowed)


def test_a_ball_bounces_where_it_should() -> None:
    """Ten bounces on a hard floor: between them parabolas, whose height is kept; each contact lasts as Hertz says."""
    s = tt.System("ball", gravity=[0, 0, -GRAVITY])
    s.connect("world", tt.RigidBody("ball", 1.0), tt.Prismatic("z"))
    s.close_loop("world", s["ball"], tt.Contact("floor", 0.0, 1e9))
    model, height = s.resolve(), 0.5
    flight, speed = 2 * np.sqrt(2 * height / GRAVITY), np.sqrt(2 * GRAVITY * height)
    # the time of contact, without the weight: 2.94 times depth over speed (K. L. Johnson, Contact Mechanics, 11.1)
    contact = 2.9432 * (1.25 * speed**2 / 1e9) ** 0.4 / speed
    end = 10 * (flight + contact)
    for method in ("DOP853", "RK45", "LSODA", "Radau"):
        run = tt.simulate(model, [0, end], [height], [0.0], method=method, progress=False)
        assert run.q[-1, 0] == pytest.approx(height, abs=1e-4)  # the weight in contact: 1e-5 of the push


def _swinging_mass(spring: float) -> tt.System:
    s = tt.System("swing", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", 1.0), tt.Prismatic("x", axis=[1, 0, 0], stiffness=spring))
    return s


@pytest.mark.parametrize("method", ["DOP853", "RK45", "LSODA", "Radau", "generalized-alpha"])
@pytest.mark.parametrize("gap", [0.0, 2e-17, -2e-17, 1e-16, 1e-14])
def test_what_touches_at_the_start_as_far_as_rounding_shows_falls(method: str, gap: float) -> None:
    """A weight let go on a floor, 0.32 m above the origin: short steps would leave it where it is, for want of digits."""
    s = tt.System("table", gravity=[0, 0, -GRAVITY])
    legs = {f"leg{k}": [0.3 * x, 0.2 * y, -0.3] for k, (x, y) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)])}
    table = tt.RigidBody("table", 10.0, inertia=[0.2, 0.4, 0.5], ports=legs)
    s.connect("world", table, tt.Prismatic("z", axis=[0, 0, 1]))
    for leg in legs:
        s.close_loop("world", table.port(leg), tt.Contact(f"foot_{leg}", 0.02 - gap, 1e6, dissipation=0.5, friction=0.6))
    run = tt.simulate(s.resolve(), [0, 0.05], [0.32], [0.0], method=method, rtol=1e-7, atol=1e-9, progress=False)

    def rate(t: float, y: Array) -> list[float]:
        return [y[1], -GRAVITY + 0.4 * push(0.32 - y[0], -y[1], 1e6, 0.5)]

    y = solve_ivp(rate, (0, 0.05), [0.32, 0.0], method="DOP853", rtol=1e-11, atol=1e-13, max_step=1e-4).y[:, -1]
    assert np.array([run.q[-1, 0], run.v[-1, 0]]) == pytest.approx(y, abs=1e-4)  # generalised-alpha: of second order
    assert run.statistics["steps"] < 1000


@pytest.mark.parametrize("method", METHODS)
def test_kinks_of_samples_end_steps(method: str) -> None:
    """Random efforts on cart and pole, linear between 31 times, against the equations written down, piece by piece."""
    s = tt.System("cart and pole", gravity=[0, 0, -GRAVITY])
    cart, pole = tt.RigidBody("cart", 2.0), tt.RigidBody("pole", 0.5, com=[0, 0, -0.4], inertia=[0.02, 0.02, 0.0])
    s.connect("world", cart, tt.Prismatic("rail", axis=[1, 0, 0], damping=0.1))
    s.connect(cart, pole, tt.Revolute("hinge", axis=[0, 1, 0], damping=0.05))
    t, tau = np.linspace(0, 3, 31), np.random.default_rng(0).normal(size=(31, 2))

    def rate(x: float, y: Array) -> list[float]:
        c, n, w = np.cos(y[1]), np.sin(y[1]), y[3]
        force, torque = np.interp(x, t, tau[:, 0]), np.interp(x, t, tau[:, 1])
        right = [force - 0.1 * y[2] - 0.2 * n * w * w, torque - 0.05 * w - 0.2 * GRAVITY * n]
        return [*y[2:], *np.linalg.solve([[2.5, -0.2 * c], [-0.2 * c, 0.1]], right)]

    y = np.array([0.1, 0.7, 0.2, -1.0])
    for piece in pairwise(t):
        y = solve_ivp(rate, piece, y, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    run = tt.simulate(s.resolve(), t, [0.1, 0.7], [0.2, -1.0], tau=tau, method=method, progress=False)
    # methods of one step keep to their tolerance, those of several begin anew with low orders
    allowed = 1e-6 if method in ("LSODA", "BDF", "RK23") else 5e-8
    assert np.abs(np.concatenate([run.q[-1], run.v[-1]]) - y).max() < allowed


def test_kinks_of_dense_samples_end_no_steps_but_corners_do() -> None:
    """A mass on a spring, pushed by ``sin t`` of 100,000 samples up to 6 s, then held by what it is there."""
    spring, corner, t = 4.0, 6.0, np.linspace(0, 10, 100001)
    s = _swinging_mass(spring)
    tau = np.sin(np.minimum(t, corner))
    run = tt.simulate(s.resolve(), t, [0.0], [0.0], tau=tau[:, None], progress=False)
    # from the rest x = (sin t)/3 - (sin 2t)/6; from then on about that of the constant push
    q, v, w, passed = np.sin(6) / 3 - np.sin(12) / 6, np.cos(6) / 3 - np.cos(12) / 3, 2.0, 4.0
    middle = np.sin(6) / spring
    far = middle + (q - middle) * np.cos(w * passed) + v / w * np.sin(w * passed)
    assert run.q[-1, 0] == pytest.approx(far, abs=5e-8)  # tolerances of 1e-8
    assert run.statistics["steps"] < 100


@pytest.mark.parametrize("kind", [CubicSpline, PchipInterpolator])
def test_knots_of_prescribed_splines_end_steps(kind: Any) -> None:
    """A mass on a spring, carried by a slide that moves as a spline says: its acceleration is that of the spline, in pieces."""
    s = tt.System("carried", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("slide", 1.0), tt.Prismatic("moved", axis=[1, 0, 0]))
    s.connect(s["slide"], tt.RigidBody("mass", 1.0), tt.Prismatic("x", axis=[1, 0, 0], stiffness=9.0))
    knots = np.linspace(0, 4, 17)
    spline = kind(knots, np.random.default_rng(1).normal(size=17))
    y = np.zeros(2)
    for piece in pairwise(knots):
        middle = 0.5 * (piece[0] + piece[1])
        at, slope = spline(middle, 2), spline(middle, 3)

        def rate(t: float, y: Array, at: float = at, slope: float = slope, middle: float = middle) -> list[float]:
            return [y[1], -9.0 * y[0] - at - slope * (t - middle)]

        y = solve_ivp(rate, piece, y, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    run = tt.simulate(s.resolve(), [0, 4.0], [0.0, 0.0], [0.0, 0.0], prescribed={"moved": spline}, progress=False)
    assert np.array([run.q[-1, 1], run.v[-1, 1]]) == pytest.approx(y, abs=1e-7)  # tolerance, of numbers up to 50


def test_contacts_are_met_in_sampled_and_continuous_control_loops() -> None:
    """An idle controller changes nothing: commands of zero, sampled or integrated along."""
    import control

    idle = control.ss([[-1.0]], [[1.0]], [[0.0]], [[0.0]], inputs=["h_q"], outputs=["h"])
    for sample_time in (None, 0.3):
        assert error(scuffing, 2.0, method="RK45", controller=idle, sample_time=sample_time) < 1e-5


def test_contacts_are_met_in_closed_loops() -> None:
    """The same pendulum, with a second one that a gear turns along: twice the gravity, twice the inertia, one floor."""
    case = scuffing()
    s = case.system
    s.connect("world", tt.RigidBody("other", 1.0, com=[0, 0, -1], inertia=1e-3), tt.Revolute("k", axis=[0, 1, 0]))
    s.add_gear(tt.Gear("belt", "k", "h", 1.0))

    def rate(t: float, y: Array) -> list[float]:
        alone = -GRAVITY * np.sin(y[0]) / 1.001
        return [y[1], alone + 0.5 * (case.rate(t, y)[1] - alone)]

    expected = case._replace(rate=rate).reference(2.0)
    for method in ("DOP853", "RK45", "Radau"):
        run = tt.simulate(s.resolve(), [0, 2.0], [1.2, 1.2], [0.0, 0.0], method=method, progress=False)
        assert np.array([run.q[-1, 0], run.v[-1, 0]]) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("method", ["DOP853", "RK45", "RK23"])
@pytest.mark.parametrize("make", [*SYSTEMS, landing])
def test_compiled_code_ends_steps_where_python_does(make: Any, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An idle function, which is asked stage by stage, leaves it to Python: as many switches but for one, and the same motion.

    Python looks too where a gap comes and goes within one long step.
    """
    made = make()
    system, start = (made[0], ([0.3, 0.2], [0.0, 0.0])) if make is landing else (made.system, ([made.q0], [made.v0]))
    looks, followed, closely, begin = [0, 0], list[SwitchedGaps](), SwitchedGaps.first, SwitchedGaps.__init__

    def look(self: SwitchedGaps, *given: Any) -> tuple[float, Array]:
        looks[len(followed) - 1] += 1
        return closely(self, *given)

    def follow(self: SwitchedGaps, *given: Any) -> None:
        begin(self, *given)
        followed.append(self)

    monkeypatch.setattr(SwitchedGaps, "first", look)
    monkeypatch.setattr(SwitchedGaps, "__init__", follow)
    model, ends = system.resolve(), []
    end = 1.0 if make is landing else 2.0  # each impact of a tooth multiplies what was off before
    for tau in (None, lambda t, q, v: 0 * v):
        run = tt.simulate(model, [0, end], *start, tau=tau, method=method, rtol=1e-8, atol=1e-10, progress=False)
        ends.append(np.concatenate([run.q[-1], run.v[-1]]))
    switches = [int(gaps.counts.sum()) for gaps in followed]
    assert ends[0] == pytest.approx(ends[1], abs=1e-5)  # tolerances of 1e-8, at some ten impacts
    # a gap of zero at a step's end, but for rounding, counts there or in the next step: at half of all ends there is one more
    assert abs(switches[0] - switches[1]) <= 1 < min(switches)
    assert looks[0] <= 0.2 * looks[1]
    assert looks[1] >= switches[1]


def test_contacts_far_away_cost_no_evaluations() -> None:
    """A floor that nothing comes near: as many steps as without one."""
    steps = []
    for height in (None, -3.0):
        s = tt.System("pendulum", gravity=[0, 0, -GRAVITY])
        bob = tt.RigidBody("bob", 1.0, com=[0, 0, -1], inertia=1e-3, ports={"tip": [0, 0, -1]})
        s.connect("world", bob, tt.Revolute("h", axis=[0, 1, 0]))
        if height is not None:
            s.world.add_port("floor", [0, 0, height])
            s.close_loop(s.world.port("floor"), bob.port("tip"), tt.Contact("c", 0.0, 1e8))
        steps.append(tt.simulate(s.resolve(), [0, 10], [1.2], [0.0], progress=False).statistics["steps"])
    assert steps[0] == steps[1]


@pytest.mark.parametrize(
    "kind", [tt.Tendon, type("OwnTendon", (tt.Tendon,), {"gaps": lambda self, m: tt.Tendon.gaps(self, m)})]
)
@pytest.mark.parametrize(("displacement", "moves"), [(0.0, False), (0.01, True), (0.0, True)], ids=["rest", "taut", "falls"])
def test_what_elastic_tendons_cost(kind: Any, displacement: float, moves: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gap that is zero and stays so, and one that stays away, is looked at where steps end, by compiled code if it can."""
    asked, looked, own = [0], [0], tt.Tendon.gaps

    def gaps(self: tt.Tendon, motion: tt.TargetMotion) -> Array:
        asked[0] += 1
        return own(self, motion)

    def look(self: SwitchedGaps, *given: Any) -> tuple[float, Array]:
        looked[0] += 1
        return closely(self, *given)

    closely = SwitchedGaps.first
    monkeypatch.setattr(tt.Tendon, "gaps", gaps)
    monkeypatch.setattr(SwitchedGaps, "first", look)
    s = tt.System("arm", gravity=[0, 0, -GRAVITY if moves else 0.0])
    rod = tt.Rod("rod", 0.3, tt.Section.circle(0.005), young=1e6, density=1000.0)
    s.connect("world", rod, tt.Weld("clamp"))
    for name, angle in (("a", 0.0), ("b", 2.1), ("c", -2.1)):
        y, z = 0.004 * np.cos(angle), 0.004 * np.sin(angle)
        s.add_interaction(kind(name, rod, y=y, z=z, stiffness=100.0, displacement=displacement))
    m = s.resolve()
    statistics = tt.simulate(m, [0, 0.05], m.neutral(), np.zeros(m.nv), progress=False).statistics
    if displacement or not moves:
        assert looked[0] == 0
    else:  # the control: they go taut and slack
        assert 0 < looked[0] < 0.5 * statistics["steps"]
    if kind is tt.Tendon:
        assert asked[0] <= 24  # of three tendons, to tell which have gaps, how many, and whether these follow rates
    else:  # the control: Python is asked at the ends of all steps
        assert asked[0] > 3 * statistics["steps"]


def test_gaps_that_are_no_numbers_are_refused() -> None:
    wrong = type("Wrong", (Bumper,), {"gaps": lambda self, motion: np.array([np.nan])})
    with pytest.raises(tt.ModelError, match=r"bumper\.gaps: .*a vector of finite numbers"):
        tt.simulate(bumped(wrong).system.resolve(), [0, 1], [-1.0], [0.0])


def test_gaps_that_change_in_number_are_refused() -> None:
    wrong = type("Wrong", (Bumper,), {"gaps": lambda self, motion: np.ones(1 if motion.r[1][0] > -0.5 else 2)})
    with pytest.raises(tt.ModelError, match=r"bumper\.gaps: .*expected 1 numbers, as in the neutral configuration"):
        tt.simulate(bumped(wrong).system.resolve(), [0, 1], [-1.0], [0.0])


class _Line:
    """A step whose one gap is ``middle - t``."""

    exact = 1e-9

    def __init__(self, middle: float) -> None:
        self.middle = middle

    def gaps(self, times: list[float]) -> tuple[Array, Array]:
        return np.array([[self.middle - t] for t in times]), np.full((len(times), 1), -1.0)


@pytest.mark.parametrize(("middle", "expected"), [(0.5, 0.5), (-1e-12, 0.0)])
def test_what_is_known_at_the_ends_is_taken(middle: float, expected: float) -> None:
    """Also where the curve within begins on the other side, by less than the tolerances: as those of LSODA and BDF may."""
    curve = _Curve(_Line(middle), 0, [0.0, 1.0], [max(middle, 1e-12), middle - 1], [-1.0, -1.0])  # type: ignore[arg-type]
    assert curve.leaves(1.0) == pytest.approx(expected, abs=1e-9)
