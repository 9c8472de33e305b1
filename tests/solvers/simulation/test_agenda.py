"""What changes during simulations: docking, separation, deployment; against the welded tree, closed forms and other runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.docking_systems import ENGINES, Array, arm, carriages, docked, joined, pair, satellites

T = np.linspace(0.0, 4.0, 9)
METHODS = ("DOP853", "Radau", tt.GeneralizedAlpha(step=0.01))


def approach(seed: int, t: float) -> tuple[Array, Array]:
    """Return a state of the `pair` from which the ports meet exactly at a time (s), tumbling and turning against each other."""
    free, welded, rng = pair(), joined(), np.random.default_rng(seed)
    q, v = docked(welded, welded.random_configuration(rng)), 0.3 * rng.normal(size=12)
    end = tt.simulate(free, [0, t], q, -v, changes=tt.Release("dock", 0.0), rtol=1e-12, atol=1e-13)
    return end.q[-1], -end.v[-1]


@pytest.mark.parametrize("engine", ENGINES)
def test_docking_where_the_ports_meet(engine: str) -> None:
    """The latch closes when they meet, momentum is kept, and the motion behind is that of the welded tree."""
    (q, v), free, welded = approach(1, 1.25), pair(engine), joined(engine)
    run = tt.simulate(free, T, q, v, changes=[tt.Latch("dock", within=(1e-6, 1e-6))], rtol=1e-11, atol=1e-12)
    (change,) = run.changes
    assert (change.kind, change.name) == ("latch", "dock")
    assert change.t == pytest.approx(1.25, abs=1e-10)  # errors of the integrator there and back
    assert change.distance < 1e-9
    assert change.angle < 1e-9
    before, after = free.momentum(change.q, change.before), free.momentum(change.q, change.v)
    assert after == pytest.approx(before, abs=1e-12)  # rounding, of momenta of about ten
    alike = np.linalg.solve(welded.momentum_matrix(change.q[:7]), before)
    assert change.v[:6] == pytest.approx(alike, abs=1e-9)  # the ports are apart by errors of the integrator
    assert change.lost == pytest.approx(
        free.energy(change.q, change.before).kinetic - free.energy(change.q, change.v).kinetic, rel=1e-10
    )
    behind = tt.simulate(welded, np.r_[change.t, T[change.t < T]], change.q[:7], alike, rtol=1e-11, atol=1e-12)
    assert run.q[change.t < T, :7] == pytest.approx(behind.q[1:], abs=1e-8)
    # the closure transmits nothing before, and what the weld of the tree does after it
    force, late = run.reaction("dock"), change.t < T
    assert not force[~late].any()
    assert force[late] == pytest.approx(behind.reaction("dock")[1:], abs=1e-7)
    assert run.outputs() == pytest.approx(force, abs=1e-12)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_docking_and_separation_by_each_method(method: Any) -> None:
    """Two kicks of the same ports: momentum of both parts is kept all along, and energy but for what is lost."""
    (q, v), free = approach(2, 1.0), pair()
    changes = [tt.Latch("dock", within=(1e-3, 1e-3)), tt.Release("dock", 2.3)]
    run = tt.simulate(free, T, q, v, changes=changes, method=method)
    assert [change.kind for change in run.changes] == ["latch", "release"]
    assert run.t.tolist() == T.tolist()
    assert run.changes[1].t == 2.3
    assert run.changes[1].lost == 0
    size = 1e-4 if isinstance(method, tt.GeneralizedAlpha) else 1e-7  # second order with steps of 0.01 s; rtol of 1e-8
    momentum = np.array([free.momentum(*state) for state in zip(run.q, run.v, strict=True)])
    assert momentum == pytest.approx(np.tile(momentum[0], (len(T), 1)), abs=size)
    energy = run.energy()[:, 0] + np.where(run.t > run.changes[0].t, run.changes[0].lost, 0.0)
    assert energy == pytest.approx(np.full(len(T), energy[0]), abs=size)
    twists = [[free.twist(f"{name}.D", *state) for name in "ab"] for state in zip(run.q, run.v, strict=True)]
    apart = np.array([np.abs(one[:3] - two[:3]).max() for one, two in twists])
    closed = (run.t > run.changes[0].t) & (run.t <= 2.3)
    assert apart[closed].max() < 1e-6 < apart[~closed].min()


@pytest.mark.parametrize("engine", ENGINES)
def test_separation_of_a_held_joint(engine: str) -> None:
    """Together a rigid body, apart two free ones, pushed by a spring: momentum is kept, the spring's energy comes free."""
    s, (first, second) = tt.System("stages", gravity=[0, 0, 0]), satellites()
    s.connect("world", first, joint=tt.Free("fa"))
    s.connect(first.port("D"), second.port("D"), joint=tt.Free("clamp"))
    s.close_loop(first.port("D"), second.port("D"), tt.SpringDamper("pusher", stiffness=20.0, length=0.3))
    model, rng, t = s.resolve(engine=engine), np.random.default_rng(3), T / 4
    q, v = model.neutral(), np.r_[0.2 * rng.normal(size=6), np.zeros(6)]
    q[7] = 0.01  # along which the spring pushes
    run = tt.simulate(model, t, q, v, hold=["clamp"], changes=[tt.Release("clamp", 0.3)])
    assert not run.v[t < 0.3, 6:].any()
    assert (run.q[t < 0.3, 7:] == q[7:]).all()
    assert run.tau[t < 0.3, 6:].any()
    assert not run.tau[t > 0.3].any()
    assert np.abs(run.v[-1, 6:9]).max() > 0.1
    momentum = np.array([model.momentum(*state) for state in zip(run.q, run.v, strict=True)])
    # rtol of 1e-8 of momenta of about one, and of a joule
    assert momentum == pytest.approx(np.tile(momentum[0], (len(t), 1)), abs=1e-7)
    assert run.energy().sum(axis=1) == pytest.approx(np.full(len(t), run.energy()[0].sum()), abs=1e-7)


@pytest.mark.parametrize("method", ["DOP853", "LSODA", "BDF", "exponential", tt.GeneralizedAlpha(step=0.02)], ids=str)
def test_deployment_latches_at_an_angle(method: Any) -> None:
    """A panel on a free hub springs open: at the angle it and the hub have what their angular momentum, zero, leaves."""
    s = tt.System("satellite", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", mass=50.0, inertia=[5.0, 6.0, 7.0], ports={"side": [0.5, 0, 0]})
    panel = tt.RigidBody("panel", mass=4.0, com=[0.6, 0, 0], inertia=[0.1, 0.5, 0.5])
    s.connect("world", hub, joint=tt.Free("base"))
    hinge = tt.Revolute("hinge", stiffness=0.2, rest=2.0)
    s.connect(hub.port("side"), panel, joint=hinge)
    model = s.resolve()
    run = tt.simulate(
        model, np.linspace(0, 30, 31), model.neutral(), np.zeros(7), method=method, changes=tt.Latch("hinge", ("hinge.q", 1.5))
    )
    (change,) = run.changes
    size = {"BDF": 1e-5}.get(method, 1e-6) if isinstance(method, str) else 1e-3  # left at rtol=1e-8; by steps of 0.02 s
    assert change.v == pytest.approx(np.zeros(7), abs=size)
    assert change.v[6] == 0
    assert change.q[7] == pytest.approx(1.5, abs=1e-9)
    assert change.lost == pytest.approx(0.5 * 0.2 * (2.0**2 - 0.5**2), abs=10 * size)
    late = run.t > change.t
    assert (run.q[late, 7] == change.q[7]).all()
    assert not run.v[late, 6].any()
    # the spring pulls on: the lock takes its effort
    assert run.tau[late, 6] == pytest.approx(np.full(late.sum(), -0.2 * 0.5), abs=1e-6)


def test_locks_make_a_pendulum_of_an_arm() -> None:
    """Between lock and release the arm is a rigid pendulum: its energy is kept, and is what it was but for what is lost."""
    run = tt.simulate(arm(), T, [0, 0.3], [0, 0], changes=[tt.Lock("elbow", ("elbow.q", -0.5)), tt.Release("elbow", 2.5)])
    lock, release = run.changes
    assert lock.q[1] == pytest.approx(-0.5, abs=1e-9)
    assert release.t == 2.5
    energy = run.energy().sum(axis=1) + np.where(run.t > lock.t, lock.lost, 0.0)
    assert energy == pytest.approx(np.full(len(T), energy[0]), abs=1e-6)  # rtol of 1e-8 of 20 J
    held = (run.t > lock.t) & (run.t < 2.5)
    assert held.sum() > 2
    assert (run.q[held, 1] == lock.q[1]).all()
    assert run.v[-1, 1] != 0


def loops() -> tuple[tt.Model, list[Any], dict[str, Any]]:
    """Return two carriages, one with controllers, sampled and continuous, and noise; the other one swings by itself."""
    s = tt.System("carriages", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("one", mass=2.0), joint=tt.Prismatic("x", axis=[1, 0, 0]))
    s.connect("world", tt.RigidBody("two", mass=1.0), joint=tt.Prismatic("y", axis=[1, 0, 0], stiffness=3.0))
    s.add_actuator(tt.Motor("motor", "x", path=tt.SignalPath(filter=control.tf([1.0], [0.05, 1.0]))))
    s.add_sensor(tt.Encoder("seen", "x", path=tt.SignalPath(sample_time=0.05, noise_density=1e-3, delay=0.01)))
    sampled = control.ss([[0.9]], [[0.1]], [[-1.0]], [[-2.0]], 0.05, inputs=["seen"], outputs=["motor"])
    smooth = control.ss([[-2.0]], [[1.0]], [[-1.0]], [[-1.0]], inputs=["x_v"], outputs=["x"])
    return s.resolve(), [tt.Loop(sampled, delay=0.013, noise=1e-3), smooth], {"x": 0.4, "y": 0.2}


@pytest.mark.parametrize("at", [0.5, 0.517, ("y.q", 0.0)], ids=["sample", "between", "event"])
def test_controllers_go_on(at: Any) -> None:
    """What happens to the other carriage leaves samples, noise, states and paths of the first alone."""
    (model, controllers, start), t = loops(), np.linspace(0, 1.5, 31)
    stands = tt.Event(lambda t, q, v: v[0], "stands", terminal=False)
    given: Any = {"controller": controllers, "seed": 7, "events": stands}
    q, v = model.configuration(start), np.zeros(2)
    alone = tt.simulate(model, t, q, v, **given)
    other = tt.simulate(model, t, q, v, **given, changes=[tt.Lock("y", at), tt.Release("y", 1.2)])
    assert len(other.changes) == 2
    assert other.t.tolist() == t.tolist()
    for name in ("q", "v", "a", "tau", "u"):
        columns = slice(None) if name == "u" else slice(1)
        assert getattr(other, name)[:, columns] == pytest.approx(getattr(alone, name)[:, columns], abs=1e-7)  # rtol of 1e-8
    for mine, theirs in zip(other.controls, alone.controls, strict=True):
        assert mine.t.tolist() == theirs.t.tolist()
        for name in "yrux":
            assert getattr(mine, name) == pytest.approx(getattr(theirs, name), abs=1e-7)
    assert other.events["stands"] == pytest.approx(alone.events["stands"], abs=1e-6)
    assert other.statistics["steps"] > 0


def test_parts_are_the_whole(tmp_path: Path) -> None:
    """A run that is taken up from a file, docked or locked, goes on as such; the whole has what changed in both."""
    (q, v), free = approach(2, 1.0), pair()
    first = tt.Latch("dock", within=(1e-3, 1e-3))
    whole = tt.simulate(free, T, q, v, changes=[first, tt.Release("dock", 3.2)], method="Radau")
    part = tt.simulate(free, T[:5], q, v, changes=first, method="Radau")
    part.save(tmp_path / "part.npz")
    loaded = tt.load_trajectory(tmp_path / "part.npz", free)
    assert str(loaded.changes) == str(part.changes)
    assert (loaded.reaction("dock") == part.reaction("dock")).all()
    assert part.reaction("dock")[-1].any()
    rest = tt.simulate(free, T[4:], start=loaded, changes=tt.Release("dock", 3.2), method="Radau")
    assert rest.q[1:] == pytest.approx(whole.q[5:], abs=1e-6)  # rtol of 1e-8
    assert rest.reaction("dock") == pytest.approx(whole.reaction("dock")[4:], abs=1e-5)
    with pytest.raises(tt.ModelError, match="dock is closed or locked then"):
        tt.simulate(free, T[4:], start=loaded, changes=tt.Lock("dock", 3.0))
    # a lock goes on without hold=
    locked = tt.simulate(arm(), T[:5], [0, 0.3], [0, 0], changes=tt.Lock("elbow", 1.0))
    after = tt.simulate(arm(), T[4:], start=locked)
    assert (after.q[:, 1] == locked.q[-1, 1]).all()
    assert after.v[-1, 0] != 0


def test_a_latch_that_never_happens() -> None:
    """Ports that pass each other at a known distance: told, with it; the motion is as without."""
    free = pair(kind="spherical")
    q, v = free.neutral(), np.zeros(12)
    q[7:10], v[6] = [3.0, 0.3, 0.2], -1.0
    told = pytest.warns(tt.ModelWarning, match="Release of 'dock': got nothing by t = 4 s; expected")
    with told, pytest.warns(tt.ModelWarning, match=r"nothing by t = 4 s; the ports came as near as 0.4 m and 0 rad.*no-change"):
        run = tt.simulate(free, T, q, v, changes=[tt.Latch("dock", within=(0.1, 0.1)), tt.Release("dock", ("fa.x.q", 9.0))])
    missed, never = run.changes
    assert np.isnan(missed.t)
    assert np.isnan(never.t)
    assert never.distance == 0
    # along x they pass; the second port is 0.1 m aside in its body, the first 0.2 m above
    assert missed.distance == pytest.approx(0.3 + 0.1, abs=1e-9)
    assert run.q[-1, 7] == pytest.approx(-1.0, abs=1e-9)


def hook() -> tt.RigidClosure:
    """Return a closure along the rail: its other constraints follow from that."""
    return tt.RigidClosure("hook", redundant=True)


def test_docking_again() -> None:
    """Ports that come free meet again only after they have parted; a spring pulls them together, half a second from rest."""
    model, t = carriages(hook(), tt.SpringDamper("rope", stiffness=0.75 * np.pi**2)).resolve(), np.linspace(0, 4, 41)
    again = [tt.Latch("hook"), tt.Release("hook", 1.0), tt.Latch("hook", within=(0.01, 0.01))]
    run = tt.simulate(model, t, [0, 1.0], [0, 0], tau=lambda t: [0, 5.0 * (1.2 < t < 1.3)], changes=again, max_step=0.05)
    first, release, second = run.changes
    # the spring's period between both masses is two seconds; the momentum of both is zero
    assert first.t == pytest.approx(0.5, abs=1e-8)
    assert first.v == pytest.approx([0, 0], abs=1e-8)
    assert first.lost == pytest.approx(0.5 * 0.75 * np.pi**2)
    assert release.t == 1.0
    assert 1.3 < second.t < 2.31
    apart = np.abs(run.q[:, 1] - run.q[:, 0])
    assert apart[t > second.t].max() < 1e-6 < apart[(t > 1.3) & (t < 2.0)].max()
    # the same where another run goes on from ports that have just come free
    part = tt.simulate(model, t[:11], [0, 1.0], [0, 0], changes=again[:1])
    freed = tt.simulate(model, t[10:12], start=part, changes=tt.Release("hook", 1.0))
    with pytest.warns(tt.ModelWarning, match="no-change"):
        assert np.isnan(tt.simulate(model, t[11:14], start=freed, changes=tt.Latch("hook")).changes[0].t)


def test_caught_as_they_are() -> None:
    """Ports that pass beside each other are caught there, at the least distance; they stay so, and momentum is exact."""
    free = pair(kind="weld")
    q, v = free.neutral(), np.zeros(12)
    q[7:10], v[6] = [3.0, 0.3, 0.2], -1.0
    run = tt.simulate(free, T, q, v, changes=tt.Latch("dock", within=(0.5, 0.1)))
    (change,) = run.changes
    assert change.t == pytest.approx(1.0, abs=1e-12)
    assert change.distance == pytest.approx(0.4, abs=1e-12)
    assert free.momentum(change.q, change.v) == pytest.approx(free.momentum(q, v), abs=1e-12)  # rounding
    places = [[free.pose(f"{name}.D", at) for name in "ab"] for at in run.q[T > 1.0]]
    kept = np.array([one[0].T @ (two[1] - one[1]) for one, two in places])
    assert kept == pytest.approx(np.tile([0, 0.4, 0], (len(kept), 1)), abs=1e-10)
    assert np.array([one[0].T @ two[0] for one, two in places]) == pytest.approx(
        np.tile(np.eye(3), (len(kept), 1, 1)), abs=1e-9
    )


def test_events_and_ends_go_on() -> None:
    """Events are counted across changes, and end the simulation as ever; a change can be one of them."""
    counted = [tt.Event(lambda t, q, v: np.sin(np.pi * t), "beat", terminal=False), tt.Event(lambda t: t - 3.3, "end")]
    changes = [tt.Lock("elbow", tt.Event(lambda t: t - 1.5)), tt.Release("elbow", 2.25)]
    run = tt.simulate(arm(), T, [0, 0.3], [0, 0], changes=changes, events=counted)
    assert run.events["beat"] == pytest.approx([1.0, 2.0, 3.0], abs=1e-12)
    assert run.t[-1] == pytest.approx(3.3)
    assert [c.t for c in run.changes] == pytest.approx([1.5, 2.25])
    assert set(run.events) == {"beat", "end"}
    figure = run.plot("elbow")
    assert [line.get_xdata()[0] for line in figure.axes[0].lines[1:]] == pytest.approx([1.5, 2.25])
    with pytest.warns(tt.ModelWarning, match="no-change"):  # it ended before
        tt.simulate(arm(), T, [0, 0.3], [0, 0], changes=tt.Lock("elbow", 3.5), events=counted)


def test_a_clamp_breaks_at_a_force() -> None:
    """A closure opens where it transmits more than it can bear: a pull that grows by 2 N/s, on the second of two masses."""
    changes = [tt.Release("hook", ("hook.reaction[0]", -3.0))]
    run = tt.simulate(carriages(hook()).resolve(), T, [0, 0], [0, 0], tau=lambda t: [0, 2.0 * t], changes=changes)
    assert run.changes[0].t == pytest.approx(2.0, abs=1e-9)  # three quarters of the pull are for the first mass
    assert run.a[-1] == pytest.approx([0, 8.0], abs=1e-9)


def test_the_model_of_a_stage() -> None:
    """It is unconstrained before the latch; behind it, closed as caught, with the accelerations of the trajectory."""
    free = pair()
    q, v = free.neutral(), np.zeros(12)
    q[7:10], v[6] = [3.0, 0.3, 0.2], -1.0
    run = tt.simulate(free, T, q, v, changes=tt.Latch("dock", within=(0.5, 0.1)))
    before, behind = run.model_at(0.5), run.model_at(2.0)
    assert not before.is_constrained
    assert np.abs(behind.closure_error(run.q[-1])).max() < 1e-12
    assert behind.forward_dynamics(run.q[-1], run.v[-1], np.zeros(12)) == pytest.approx(run.a[-1], abs=1e-12)
    assert np.linalg.norm(free.closure_error(run.q[-1])[:3]) == pytest.approx(0.4)


def test_several_at_one_instant() -> None:
    """Both joints are locked at once: all kinetic energy is lost, each has its part."""
    run = tt.simulate(arm(), T, [0, 0.3], [0, 0], changes=[tt.Lock("elbow", 1.5), tt.Lock("shoulder", 1.5)])
    elbow, shoulder = run.changes
    assert elbow.lost + shoulder.lost == pytest.approx(arm().energy(elbow.q, elbow.before).kinetic, rel=1e-12)
    assert min(abs(elbow.lost), abs(shoulder.lost)) > 1e-3
    assert not run.v[T >= 1.5].any()
    assert (run.q[T >= 1.5] == elbow.q).all()


def test_a_change_at_the_start() -> None:
    """A lock at the first time acts before the first output, as `impact` does."""
    v, model = np.array([0.4, -2.0]), arm()
    run = tt.simulate(model, T, [0, 0.3], v, changes=tt.Lock("elbow", 0.0))
    assert run.v[0].tolist() == model.impact([0, 0.3], v, "elbow").v.tolist()
    assert run.changes[0].before.tolist() == v.tolist()


def test_imposed_motions_go_on() -> None:
    """A crane that moves as prescribed picks up a load: the load takes its velocity, whatever the masses."""
    model, changes = carriages(hook()).resolve(), [tt.Latch("hook", within=(1e-6, 1e-6))]
    run = tt.simulate(model, T, [-1, 0], [1, 0], prescribed={"x": lambda t: (t - 1.0, 1.0, 0.0)}, changes=changes)
    assert run.changes[0].t == pytest.approx(1.0, abs=1e-9)
    assert run.changes[0].lost == pytest.approx(0.5)
    assert run.q[-1] == pytest.approx([3.0, 3.0], abs=1e-7)
    both = {"x": lambda t: (t - 1.0, 1.0, 0.0), "y": lambda t: (0.0, 0.0, 0.0)}
    with pytest.raises(tt.ModelError, match="contradicting-impact"):
        tt.simulate(model, T, [-1, 0], [1, 0], prescribed=both, changes=changes)


def test_interrupted() -> None:
    """Ctrl-C after a change leaves the trajectory of all stages."""

    def stop(t: float) -> list[float]:
        if t > 2.2:
            raise KeyboardInterrupt
        return [0.0, 0.0]

    model, lock = arm(), tt.Lock("elbow", 1.2)
    with pytest.raises(tt.SimulationInterrupt) as stopped:
        tt.simulate(model, T, [0, 0.3], [0, 0], tau=stop, changes=lock)
    reached = stopped.value.trajectory
    assert reached.t[:4].tolist() == T[:4].tolist()
    assert reached.t[-1] >= 2.0
    assert reached.changes[0].t == 1.2
    assert (reached.q[reached.t > 1.2, 1] == reached.q[-1, 1]).all()
    assert tt.simulate(arm(), [reached.t[-1], 3.0], start=reached).q[-1, 1] == reached.q[-1, 1]


def test_refusals() -> None:
    free, at_rest = pair(), np.zeros(12)
    q = free.neutral()
    q[7] = 2.5
    cases: list[tuple[Any, str]] = [
        (tt.Lock("dock", 1.0), r"changes\[0\], Lock of 'dock' at t = 1 s: got ports 0.548 m and 0 rad apart"),
        ("dock", "changes: got dock; expected tt.Lock"),
        (tt.Lock("dok", 1.0), "unknown-coordinate"),
        (tt.Lock(["fa"], 1.0), "unknown-coordinate"),
        (tt.Release("fa", 1.0), r"fa is neither closed nor locked then; expected .* \(nothing is\)"),
        ([tt.Release("dock", 1.0), tt.Release("dock", 2.0)], "dock is neither closed nor locked then"),
        ([tt.Lock("fa", 1.0), tt.Latch("fa", 2.0)], "fa is closed or locked then.*in the order of the list"),
        ([tt.Lock("fa", 1.0), tt.Lock("fa.x", 2.0)], "fa is locked; expected coordinates that nothing else holds"),
        (tt.Lock("fa.rx", 1.0), "not-separable"),
        (tt.Lock("fa", -1.0), "0 s or later"),
        (tt.Lock("fa", "soon"), "expected a time"),
        (tt.Latch("fa"), "expected a time"),
        (tt.Lock("fa", ()), "expected a time"),  # type: ignore[arg-type]
        (tt.Lock("fa", ("fa.x", [1.0, 2.0])), "expected a time"),  # type: ignore[arg-type]
        (tt.Lock("dock", None), "expected a time"),  # type: ignore[arg-type]
        (tt.Lock("fa", ("fa.q", 1.0)), "expected one number; name one of its components, such as fa.q"),
        (tt.Latch("dock", within=(0.1,)), "a distance .* and an angle"),  # type: ignore[arg-type]
        (tt.Latch("dock", within=(0.1, 0.0)), "a distance .* and an angle"),
        (tt.Lock("fa", ("fa.u[0]", 1.0)), "unknown-output"),
        (tt.Latch("fa", 1.0, within=(0.1, 0.1)), "a distance .* and an angle"),
        ([tt.Lock("fa", 2.0), tt.Release("fa", 1.0)], r"changes\[1\].*, at: got 1.0; expected a time after .*, 2 s"),
        ([tt.Lock("fa", 2.0), tt.Release("fa", 2.0)], "bad-times"),
    ]
    for changes, message in cases:
        with pytest.raises(tt.ModelError, match=message):
            tt.simulate(free, T, q, at_rest, changes=changes)
    with pytest.raises(tt.ModelError, match="it is prescribed"):
        tt.simulate(arm(), T, [0, 0], [0, 0], prescribed={"elbow": lambda t: (0, 0, 0)}, changes=tt.Lock("elbow", 1.0))
    with pytest.raises(tt.ModelError, match="unknown-method"):  # before it docks
        tt.simulate(free, T, q, at_rest, changes=tt.Latch("dock"), method="LSODA")
