"""Members in one compiled call: the bits of simulations of their own, in every respect; what is left to these."""

from __future__ import annotations

import pickle
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
import titop.solvers.simulation.explicit_steps as whole_simulations
import titop.solvers.simulation.simulate as single_simulations
import titop.solvers.support.threads as splitting
from tests.every_kind import SYSTEMS, states
from titop.solvers.control.sampled_loop import SampledController
from titop.solvers.engines.compiled.prepared_kernels import CompiledPreparedDynamics
from titop.solvers.simulation.simulate import simulate_many

T = np.linspace(0, 1, 9)


def craft() -> tt.Model:
    """Return a free body with a wheel, a thruster, a gyro and an encoder."""
    s, hub = tt.System("craft", gravity=[0, 0, -1]), tt.RigidBody("hub", mass=5.0, inertia=np.diag([1.0, 2.0, 3.0]))
    s.connect("world", hub, tt.Free("free"))
    wheel = tt.RigidBody("wheel", mass=0.5, com=[0.1, 0, 0], inertia=0.1)
    s.connect(hub, wheel, tt.Revolute("axle", axis=[0, 1, 0], damping=0.1, stiffness=0.2))
    s.add_actuator(tt.Motor("motor", "axle", effort_limit=0.3))
    hub.add_port("nozzle", position=[0, 0.5, 0])
    s.add_actuator(tt.Thruster("thruster", hub.port("nozzle"), direction=[1, 0, 0], max_thrust=2.0))
    s.add_sensor(tt.Gyro("gyro", hub))
    return s.resolve()


MODEL = craft()
RNG = np.random.default_rng(0)
V0 = RNG.normal(size=(6, MODEL.nv))


def loop(rate: float = 0.1, **more: Any) -> tt.Loop:
    """Return a controller with a state that reads gyro and wheel, and moves wheel and nozzle."""
    K = control.ss([[0.5]], [[0.1, 0.2]], [[1.0], [3.0]], [[2.0, 0.0], [0.0, 5.0]], rate,
                   inputs=["gyro_y", "axle_v"], outputs=["motor", "thruster"])  # fmt: skip
    return tt.Loop(K, **more)


def bang(t: float, x: Any, y: Any, r: Any) -> tuple[Any, Any]:
    """Push against the motion, by a fixed effort."""
    return x + y, -0.2 * np.sign(y)


KINDS: dict[str, dict[str, Any]] = {
    "alone": {},
    "RK45": {"method": "RK45"},
    "loads": {"tau": 0.1 * np.ones(MODEL.nv), "u": {"motor": 0.1, "thruster": 0.5}, "wrenches": {"hub": [0, 1, 0, 0, 0, 0.1]}},
    "loop": {"controller": loop(), "u": {"motor": 0.05}},
    "late and noisy": {"controller": loop(delay=0.135, noise=0.01, reference={"axle.v": np.linspace(0, 1, len(T))})},
    "at a point": {"controller": loop(operating_point={"axle.v": 0.2, "motor": 0.05})},
    "two rates": {"controller": [loop(), loop(0.0625, noise=0.1)]},
    "Python": {"controller": tt.Controller(bang, [0.0], ["axle.v"], ["motor"], 0.1)},
    "fixed ends": {"method": "RK23", "rtol": 1e-4, "max_step": 0.03},
}


def rail(**options: Any) -> tt.Model:
    """Return a cart on a rail."""
    s, cart = tt.System("rail", gravity=[0, 0, 0]), tt.RigidBody("cart", mass=1.0)
    s.connect("world", cart, tt.Prismatic("slide", damping=0.1))
    s.add_actuator(tt.Motor("motor", "slide", effort_limit=0.3, gear=2.0))
    return s.resolve(**options)


def follow(rate: float, **more: Any) -> tt.Loop:
    """Return a controller with two states that reads the cart, and moves it by its motor and by an effort besides."""
    K = control.ss([[0.5, 0.1], [0.0, 0.2]], [[0.1, 0.2], [0.3, 0.0]], [[1.0, 0.0], [3.0, 1.0]], [[2.0, 0.3], [0.4, 5.0]], rate,
                   inputs=["slide_q", "slide_v"], outputs=["motor", "slide"])  # fmt: skip
    return tt.Loop(K, **more)


def turning() -> tt.Model:
    """Return a ball joint that carries a wheel."""
    s, hub = tt.System("turning", gravity=[0, 0, -1]), tt.RigidBody("hub", 5.0, [0.1, 0, 0], [1.0, 2.0, 3.0])
    s.connect("world", hub, tt.Spherical("ball"))
    s.connect(hub, tt.RigidBody("wheel", 0.5, [0.1, 0, 0], 0.1), tt.Revolute("axle", axis=[0, 1, 0], stiffness=0.2))
    return s.resolve()


TURNING = turning()
_K = control.ss([[0.5]], [[0.1, 0.2]], [[1.0]], [[2.0, 0.3]], 0.1, inputs=["axle_q", "ball_ry_v"], outputs=["axle"])
SAMPLED_IN_KERNELS: dict[str, dict[str, Any]] = {
    "on a ball joint": {
        "controller": tt.Loop(_K, noise=0.1),
        "model": TURNING,
        "q0": TURNING.neutral(),
        "v0": [0.3, 0.5, -0.4, 1.0],
    },
    "followed": {"controller": follow(0.1), "u": {"motor": 0.05}, "tau": [0.1]},
    "followed late": {"controller": follow(0.1, delay=0.235, noise=0.01, reference={"slide.v": np.linspace(0, 1, len(T))})},
    "followed a whole sample late": {"controller": follow(0.0625, delay=0.125, operating_point={"slide.v": 1, "motor": 0.1})},
    "followed at other times": {"controller": follow(0.3, noise=[0.0, 0.1]), "method": "RK45"},
}
RAIL = rail()


def arguments(kind: str, k: int, model: tt.Model = MODEL) -> dict[str, Any]:
    if kind in SAMPLED_IN_KERNELS:
        state = {"model": RAIL, "q0": V0[k, :1], "v0": V0[k, 1:2]}
        return {"t": T, "seed": 7 + k, "progress": False} | state | SAMPLED_IN_KERNELS[kind]
    return {"model": model, "t": T, "q0": MODEL.neutral(), "v0": V0[k], "seed": 7 + k, "progress": False} | KINDS[kind]


def step_by_step(monkeypatch: pytest.MonkeyPatch, **given: Any) -> tt.Trajectory:
    """Simulate with samples in Python."""
    with monkeypatch.context() as in_python:
        in_python.setattr(single_simulations, "let_kernels_sample", lambda *_: None)
        return tt.simulate(**given)  # type: ignore[no-any-return]


def assert_same(one: tt.Trajectory, other: tt.Trajectory) -> None:
    for name in ("t", "q", "v", "a", "tau", "u", "x"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    for here, there in zip(one.controls, other.controls, strict=True):
        assert all(np.array_equal(getattr(here, name), getattr(there, name)) for name in "tyrux")
    assert {**one.statistics, "seconds": 0.0} == {**other.statistics, "seconds": 0.0}
    assert one.memory.keys() == other.memory.keys()
    assert all(np.array_equal(one.memory[name], other.memory[name]) for name in other.memory)


def together(given: list[dict[str, Any]]) -> list[tt.Trajectory | None]:
    return [None if one is None else one() for one in simulate_many({}, given)]


def test_signals_of_a_member_go_to_other_processes() -> None:
    member = together([arguments("two rates", k) for k in range(2)])[1]
    assert member is not None
    sent = pickle.loads(pickle.dumps(member.controls))
    assert len(sent) == len(member.controls) == 2
    for one, other in zip(sent, member.controls, strict=True):
        assert one.names == other.names
        np.testing.assert_array_equal(np.hstack([one.y, one.r, one.u]), np.hstack([other.y, other.r, other.u]))  # as sent


@pytest.mark.parametrize("kind", [*KINDS, *SAMPLED_IN_KERNELS])
def test_members_together_have_the_bits_of_their_own_simulations(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of linear controllers of plain coordinates go from sample to sample in compiled code, however many at a time."""
    monkeypatch.setattr(whole_simulations, "_LEGS", (1, 3))
    with monkeypatch.context() as without:
        if kind in SAMPLED_IN_KERNELS:
            without.setattr(SampledController, "_sample", None)
        found = together([arguments(kind, k) for k in range(6)])
    turned = together([arguments(kind, k) for k in (4, 1, 3)])
    for k in range(6):
        member = found[k]
        assert member is not None
        assert_same(member, step_by_step(monkeypatch, **arguments(kind, k)))
    for k, member in zip((4, 1, 3), turned, strict=True):
        assert member is not None
        assert np.array_equal(member.v, found[k].v)  # type: ignore[union-attr]
    assert not np.array_equal(found[0].v, found[1].v)  # type: ignore[union-attr]  # negative control: members differ


@pytest.mark.parametrize("kind", SAMPLED_IN_KERNELS)
def test_a_single_simulation_has_the_bits_of_steps_in_python(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And goes on as these do, also from a time between two samples."""
    monkeypatch.setattr(whole_simulations, "_LEGS", (1, 3))
    given = arguments(kind, 0)
    if kind == "followed late":  # references at the output times of both parts
        given["controller"] = follow(0.1, delay=0.235, noise=0.01, reference={"slide.v": 0.5})
    beginning, rest = given | {"t": T[:4]}, {"t": T[3:], "model": given["model"], "controller": given["controller"]}
    rest |= {name: given[name] for name in ("u", "tau", "method") if name in given}
    halves = [step_by_step(monkeypatch, **beginning)]
    halves.append(step_by_step(monkeypatch, **rest, start=halves[0]))
    monkeypatch.setattr(SampledController, "_sample", None)
    assert_same(tt.simulate(**beginning), halves[0])
    assert_same(tt.simulate(**rest, start=tt.simulate(**beginning)), halves[1])
    assert len(halves[1].controls[0].t) > 1


def test_steps_that_become_too_short_are_refused_as_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command whose squared errors overflow: the time and the end of the piece are told alike."""
    K = control.ss([], [], [], [[1e160, 0.0]], 0.1, inputs=["slide_q", "slide_v"], outputs=["slide"])
    given = {"model": RAIL, "t": [0.0, 0.05], "q0": [9.0], "v0": [9.0], "controller": K, "progress": False}
    with pytest.raises(tt.ConvergenceError, match=r"after t = 0 s of 0\.05 s") as in_python:
        step_by_step(monkeypatch, **given)
    with pytest.raises(tt.ConvergenceError) as compiled:
        tt.simulate(**given)
    assert str(compiled.value) == str(in_python.value)


def test_members_in_lanes_do_not_see_their_neighbours() -> None:
    """Without inputs on ports all share one table: one that cannot go on leaves the bits of others as they are."""
    s = tt.System("plain", gravity=[0, 0, -1])
    hub, wheel = tt.RigidBody("hub", mass=5.0, inertia=[1, 2, 3]), tt.RigidBody("wheel", mass=0.5, com=[0.1, 0, 0], inertia=0.1)
    s.connect("world", hub, tt.Free("free"))
    s.connect(hub, wheel, tt.Revolute("axle", axis=[0, 1, 0], damping=0.1, stiffness=0.2))
    plain = s.resolve()
    given = [arguments("alone", k, plain) for k in range(6)]
    whole = together(given)
    given[2] = given[2] | {"v0": np.full(plain.nv, 1e200)}  # its rates overflow
    broken = together(given)
    assert broken[2] is None
    for k in (0, 1, 3, 4, 5):
        alone = tt.simulate(**given[k])
        for found in (whole[k], broken[k]):
            assert found is not None
            assert np.array_equal(found.q, alone.q)
            assert {**found.statistics, "seconds": 0.0} == {**alone.statistics, "seconds": 0.0}


def test_members_differ_in_parameters_and_loads() -> None:
    models = [MODEL.with_parameters({"hub.mass": 4.0 + k, "axle.damping": 0.1 * k}) for k in range(3)]
    own = [{"u": [0.1 * k, 0.2 * k], "tau": k * np.ones(MODEL.nv)} for k in range(3)]
    found = together([arguments("alone", k, models[k]) | own[k] for k in range(3)])
    for k in range(3):
        assert found[k] is not None
        alone = tt.simulate(**(arguments("alone", k, models[k]) | own[k]))
        assert np.array_equal(found[k].q, alone.q)  # type: ignore[union-attr]
        assert np.array_equal(found[k].energy(), alone.energy())  # type: ignore[union-attr]
    swapped = tt.simulate(**(arguments("alone", 0, models[1]) | own[0]))
    assert not np.array_equal(swapped.q, found[0].q)  # type: ignore[union-attr]  # negative control: parameters count


def rubbing() -> tt.System:
    """Return hinges with springs, friction, dampers and rotors, a ball joint and struts: some members have no friction."""
    s, at = tt.System("rubbing", gravity=[0, 0, -9.81]), "world"
    for k in range(3):
        link = tt.RigidBody(f"link{k}", 1.0, [0.2, 0, 0], [0.1, 0.2, 0.2], ports={"tip": [0.4, 0, 0]})
        friction = tt.Friction(0.3, 0.4, 0.1) if k else tt.Friction()
        given: dict[str, Any] = {"stiffness": 2.0, "damping": 0.1, "armature": 0.05, "friction": friction}
        s.connect(at, link, tt.Screw(f"hinge{k}", axis=[0, 1, k], pitch=0.1, **given))
        at = link.port("tip")
    s.connect(at, tt.RigidBody("ball", 0.5, [0, 0, 0.1], 0.01), tt.Spherical("socket", damping=0.1, armature=0.1))
    s.add_interaction(tt.SpringDamper("strut", stiffness=20.0, damping=0.5, length=0.2), "world", at)
    s.add_load(tt.Load("push", at, force=[1, 2, 3], frame="world"))
    return s


OF_OWN_PARAMETERS: dict[str, Any] = {"rubbing": rubbing} | {
    name: SYSTEMS[name]
    for name in ("a free base", "modal bodies and beams", "stiffening", "beams in water", "users' compiled laws")
}


def members_of(name: str) -> list[dict[str, Any]]:
    """Return the arguments of eleven members of which each has most parameters of its own."""
    model, rng, instants = OF_OWN_PARAMETERS[name]().resolve(), np.random.default_rng(1), np.array([0.0, 1e-3, 2e-3])
    start, members = states(model, 11), []
    known = {each: value for each, (value, _) in model.parameters().items() if ".rest" not in each}
    for k in range(11):
        values = {each: value * rng.uniform(0.97, 1.03) for each, value in known.items() if rng.random() < 0.7}
        if name == "rubbing":
            none = {f"hinge{j}.friction.{part}": 0.0 for j in (1, 2) for part in ("coulomb", "breakaway")}
            values |= none if k % 3 == 0 else {}
        own = {"model": model.with_parameters(values), "q0": start["q"][k], "v0": 0.1 * start["v"][k]}
        members.append({"t": instants, "progress": False, **own})
    return members


@pytest.mark.parametrize("name", OF_OWN_PARAMETERS)
@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_members_with_parameters_of_their_own_step_in_lanes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any order and grouping, also beside one that comes to grief."""
    given, taken, lane_steps = members_of(name), list[int](), CompiledPreparedDynamics.lane_steps

    def counted(self: Any, *arguments: Any) -> int:
        taken.append(lane_steps(self, *arguments))
        return taken[-1]

    monkeypatch.setattr(CompiledPreparedDynamics, "lane_steps", counted)
    whole, order = together(given), [4, 10, 2, 7, 0, 9]
    assert taken
    assert not any(taken)
    turned = together([given[k] for k in order])
    given[2] = given[2] | {"v0": np.full(given[2]["model"].nv, 1e200)}  # its rates overflow
    broken = together([given[k] for k in order])
    assert broken[2] is None
    for place, k in enumerate(order):
        alone = tt.simulate(**given[k]) if k != 2 else whole[2]
        for found in (whole[k], turned[place], broken[place] or whole[2]):
            for part in ("q", "v", "a"):
                assert np.array_equal(getattr(found, part), getattr(alone, part)), (k, part)
    swapped = tt.simulate(**given[0] | {"model": given[1]["model"]})
    assert not np.array_equal(swapped.a, whole[0].a)  # type: ignore[union-attr]  # negative control: parameters count


def test_members_of_laws_in_python_that_differ_are_simulated_alone() -> None:
    """Python's laws have parameters of their own, which tables do not tell."""
    model = SYSTEMS["surrounded, in Python"]().resolve()
    start = {"t": T[:2], "q0": model.neutral(), "v0": np.zeros(model.nv)}
    name = "hub.mass"
    values = model.parameters()[name][0] * np.array([0.9, 1.1])
    ensemble = tt.simulate(model, **start, parameters={name: values})
    for k in range(2):
        assert np.array_equal(ensemble[k].q, tt.simulate(model.with_parameters({name: values[k]}), **start).q)


def test_members_have_actuators_of_their_own() -> None:
    """Gears, directions of thrust and ranges differ."""
    s = tt.System("craft", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", mass=5.0, inertia=[1, 2, 3], ports={"side": [0.5, 0, 0]})
    s.connect("world", hub, tt.Free("free"))
    s.connect(hub, tt.RigidBody("wheel", mass=0.5, inertia=0.1), tt.Revolute("axle", axis=[0, 1, 0]))
    s.add_actuator(tt.Motor("motor", "axle", effort_limit=1.0))
    s.add_actuator(tt.Thruster("jet", hub.port("side"), [0, 1, 0]))
    model = s.resolve()
    pd = tt.Controller(lambda t, x, y, r: (x, 3.0 - y), [], ["axle.q"], ["motor"], 0.1)
    own = [name for name in model.parameters() if name.startswith(("motor.", "jet."))]
    assert "motor.gear" in own
    for loop in (None, pd):
        given = {"q0": model.neutral(), "v0": np.zeros(model.nv), "u": [0.2, 0.3], "controller": loop}
        for name in own:
            values = np.array([0.9, 1.2]) + model.parameters()[name][0]
            ensemble = tt.simulate(model, T, **given, parameters={name: values})
            for k in set(range(2)) - set(ensemble.failures):
                alone = tt.simulate(model.with_parameters({name: values[k]}), T, **given)
                assert np.array_equal(ensemble[k].v, alone.v), name


def test_attitudes_are_measured_as_alone_from_the_start() -> None:
    """Scaling a quaternion to unit length twice may change a bit."""
    s, axes = tt.System("ball", gravity=[0, 0, 0]), ("at.rx", "at.ry", "at.rz")
    s.connect("world", tt.RigidBody("ball", mass=1.0, inertia=[1, 2, 3]), tt.Spherical("at"))
    model, rng = s.resolve(), np.random.default_rng(0)
    q = np.array([model.integrate(model.neutral(), turn) for turn in rng.normal(size=(40, 3))])
    held = tt.Controller(lambda t, x, y, r: (x, -y), [], [f"{a}.q" for a in axes], [f"{a}.tau" for a in axes], 0.05)
    ensemble = tt.simulate(model, [0.0, 0.1], q, np.ones(3), controller=held)
    for k in range(40):
        alone = tt.simulate(model, [0.0, 0.1], q[k], np.ones(3), controller=held)
        assert np.array_equal(ensemble[k].controls[0].y, alone.controls[0].y)
        assert np.array_equal(ensemble[k].q, alone.q)


def test_some_members_have_inputs() -> None:
    given = {"t": T, "q0": MODEL.neutral(), "v0": V0[0]}
    for loads in ([None, [0.1, 0.2], {}], [[0.1, 0.2], None, None]):
        ensemble = tt.simulate(MODEL, **given, u=tt.each(loads))
        for k, u in enumerate(loads):
            assert np.array_equal(ensemble[k].v, tt.simulate(MODEL, **given, u=u).v)


def test_a_member_goes_on_where_it_has_ended() -> None:
    """Two parts have the bits of the whole, as they meet at a sample."""
    first = tt.simulate(MODEL, [0.0, 0.25, 0.5], MODEL.neutral(), V0[:2], controller=loop(), progress=False)
    second = tt.simulate(MODEL, [0.5, 1.0], start=first, controller=loop(), progress=False)
    whole = tt.simulate(MODEL, [0.0, 0.25, 0.5, 1.0], MODEL.neutral(), V0[:2], controller=loop(), progress=False)
    assert np.array_equal(second.q[:, -1], whole.q[:, -1])


def test_a_member_that_comes_to_grief_is_left_to_itself() -> None:
    given = [arguments("loop", k) for k in range(3)]
    given[1]["v0"] = np.full(MODEL.nv, np.nan)
    found = together(given)
    assert found[1] is None
    for k in (0, 2):
        assert np.array_equal(found[k].q, tt.simulate(**given[k]).q)  # type: ignore[union-attr]
    rail = tt.System("rail", gravity=[0, 0, 0])
    rail.connect("world", tt.RigidBody("cart", mass=1.0), tt.Prismatic("slide"))
    model, times = rail.resolve(), np.array([0.0, 60.0])
    unstable = control.ss([], [], [], [[-500.0]], 0.1, inputs=["slide_q"], outputs=["slide"])  # e = -y: it pushes away
    starts = ([1.0], [0.0], [2.0])  # the one at rest stays there
    given = [{"model": model, "t": times, "q0": q, "v0": [0.0], "controller": unstable} for q in starts]
    found = together(given)
    assert [member is None for member in found] == [True, False, True]
    ensemble = tt.simulate(model, times, [[1.0], [0.0]], [0.0], controller=unstable, progress=False)
    assert list(ensemble.failures) == [0]
    assert "the loop is unstable" in ensemble.failures[0]


@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:.*overflow encountered")
@pytest.mark.parametrize(
    ("controller", "delay"),
    [
        (control.ss([[1e80]], [[1.0]], [[0.0]], [[1.0]], 0.25), 0.0),  # its state overflows at the last sample
        (control.ss([[1e200]], [[1.0]], [[1.0]], [[0.0]], 0.1), 0.9),  # overflows before its commands act
        (control.ss([], [], [], [[1e308]], 0.25), 0.0),  # the motor's range hides it
    ],
)
def test_a_controller_that_overflows_is_told_of_though_its_member_moves_on(controller: Any, delay: float) -> None:
    controller.input_labels, controller.output_labels = ["slide_v"], ["motor"]
    given = {"model": RAIL, "t": T, "q0": [0.0], "controller": controller, "delay": delay, "progress": False}
    members = [given | {"v0": [v]} for v in (0.0, 20.0, 30.0)]
    found = together(members)
    assert [member is None for member in found] == [False, True, True]
    for member in members[1:]:
        with pytest.raises(tt.ModelError, match="not-finite"):
            tt.simulate(**member)
    ensemble = tt.simulate(**{**given, "v0": [[0.0], [20.0], [30.0]]})
    assert list(ensemble.failures) == [1, 2]


def test_members_go_on_in_lanes_where_one_has_come_to_grief(monkeypatch: pytest.MonkeyPatch) -> None:
    statuses, lane_steps = list[int](), CompiledPreparedDynamics.lane_steps

    def counted(self: Any, *arguments: Any) -> int:
        statuses.append(lane_steps(self, *arguments))
        return statuses[-1]

    monkeypatch.setattr(CompiledPreparedDynamics, "lane_steps", counted)
    away = control.ss([], [], [], [[-500.0]], 0.1, inputs=["slide_q"], outputs=["slide"])  # the light one goes too far
    given = {"t": np.array([0.0, 30.0, 60.0]), "q0": [1.0], "v0": [0.0], "controller": away, "progress": False}
    members = [given | {"model": rail().with_parameters({"cart.mass": mass})} for mass in (1e6, 1.0, 2e6)]
    found = together(members)
    assert [member is None for member in found] == [False, True, False]
    assert 0 < np.count_nonzero(statuses) < 4
    assert statuses[-1] == 0
    for k in (0, 2):
        assert np.array_equal(found[k].q, tt.simulate(**members[k]).q)  # type: ignore[union-attr]


def test_threads_share_members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splitting, "_WORTH", 1e-12)  # however short
    masses, q = np.linspace(1.0, 2.0, 45), np.linspace(-1.0, 1.0, 45)[:, None]
    given = {"t": T, "q0": q, "v0": [1.0]}
    for parameters in ({"cart.mass": masses}, None):
        one, many = (tt.simulate(rail(threads=n), **given, parameters=parameters) for n in (1, 3))
        assert np.array_equal(one.q, many.q)


@pytest.mark.parametrize(
    "other",
    [
        {"events": tt.Event(lambda t, q, v: q[0])},
        {"tau": lambda t, q, v: np.zeros(MODEL.nv)},
        {"method": "Radau"},
        {"hold": ["axle"]},
        {"tau": np.zeros((len(T), MODEL.nv))},
        {"wrenches": {"hub": lambda t: np.zeros(6)}},
    ],
    ids=["events", "functions", "implicit", "held", "samples", "wrenches"],
)
def test_what_else_may_happen_is_left_to_single_simulations(other: dict[str, Any]) -> None:
    assert together([arguments("alone", k) | other for k in range(2)]) == [None, None]
