"""Closed systems, one call from Python: a four-bar linkage beside Pinocchio, and what gears and loops cost beside open trees.

The linkage's forward dynamics stand beside Pinocchio's ``constraintDynamics``. Its loop is closed by a hinge in space in titop
(five constraints, two of them independent) and by a point in Pinocchio (``CONTACT_3D``), which cannot take redundant ones
without regularising them. Both must find the same accelerations.

Solo12, a quadruped from URDF, stands on four feet: derivatives of its forward dynamics stand beside Pinocchio's
``computeConstraintDynamicsDerivatives``, four points (``CONTACT_3D``) held, the dynamics themselves included on both sides.

Chains of ten bars, with a gear between the first two hinges or closed to a loop, stand beside the open chain in dynamics, their
derivatives and the reaction of a hinge. A platform on six legs shows what a controller asks in a step: velocities and
accelerations that keep the loops closed, and the legs' forces. The fin-ray finger of the examples (74 coordinates of 17 rods,
13 of 31 constraints independent) stands beside its goals.

Needs Pinocchio and the robots of example-robot-data (extra "test"), unless ``--ours`` leaves these out. Run it:
``python examples/benchmarks/closed_loops.py``
"""

from __future__ import annotations

import argparse
import runpy
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from timeit import Timer
from typing import Any

import numpy as np

import titop as tt

#: Lengths (m) of crank, coupler and rocker, and of the ground between the fixed hinges.
CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.9, 0.7, 1.0
GOAL = 2.0
#: The goal for Solo12's derivatives, in times of Pinocchio's; angles (rad) of a leg's joints, and its feet.
STANDING_GOAL, LEG = 3.0, (0.1, 0.8, -1.6)
FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
#: Bars of a chain, and the goals for its dynamics, their derivatives and a reaction, in times of the open one.
BARS = 10
GOALS = {
    "gear": {"FD": 3.0, "ID": 3.0, "dFD": 5.0, "reaction": 3.0},
    "loop": {"FD": 4.0, "ID": 6.0, "dFD": 10.0, "reaction": 3.0},
}
#: Time (s) that a controller's step may take.
STEP_GOAL = 100e-6
#: Times (s) of the finger's forward dynamics, their derivatives, and ten seconds of motion and of a grasp.
FINGER_GOALS = {"FD": 0.2e-3, "dFD": 0.6e-3, "10 s": 1.5, "10 s of a grasp": 1.5}
#: Time (s) given to one engine before it is the other's turn.
TURN = 0.01


def bar(name: str, length: float, mass: float) -> tt.RigidBody:
    """Return a slender bar along x with a port at its end."""
    about = mass * length**2 / 12
    return tt.RigidBody(name, mass, com=[length / 2, 0, 0], inertia=[1e-2 * about, about, about], ports={"end": [length, 0, 0]})


def linkage() -> tt.System:
    """Return the linkage as a chain of three bars whose end is held at the ground."""
    crank, coupler, rocker = bar("crank", CRANK, 1.0), bar("coupler", COUPLER, 2.0), bar("rocker", ROCKER, 1.5)
    s = tt.System("four-bar", gravity=[0, -9.81, 0])
    s.world.add_port("ground", [GROUND, 0, 0])
    s.connect("world", crank, tt.Revolute("crank_hinge"))
    s.connect(crank.port("end"), coupler, tt.Revolute("coupler_hinge"))
    s.connect(coupler.port("end"), rocker, tt.Revolute("rocker_hinge"))
    s.close_loop(s.world.port("ground"), rocker.port("end"), tt.RigidClosure("pin", "revolute", axis=[0, 0, 1]))
    return s


def pinocchio_call(system: tt.System, q: np.ndarray, v: np.ndarray, tau: np.ndarray):
    """Return a function without arguments that calls ``constraintDynamics`` for the linkage in a state."""
    import pinocchio as pin

    peer = pin.Model()
    peer.gravity.linear = system.gravity
    joint = 0
    for name, before in (("crank", 0.0), ("coupler", CRANK), ("rocker", COUPLER)):
        body = system[name]
        joint = peer.addJoint(joint, pin.JointModelRZ(), pin.SE3(np.eye(3), np.array([before, 0, 0])), name)
        peer.appendBodyToJoint(joint, pin.Inertia(body.mass, body.com, body.inertia), pin.SE3.Identity())
    at_ground, at_rocker = (pin.SE3(np.eye(3), np.array([x, 0, 0])) for x in (GROUND, ROCKER))
    closure = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, peer, 0, at_ground, joint, at_rocker, pin.ReferenceFrame.LOCAL
    )
    closures, states = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    closures.append(closure)
    states.append(closure.createData())
    data, settings = peer.createData(), pin.ProximalSettings(1e-12, 1e-10, 10)
    pin.initConstraintDynamics(peer, data, closures, states)
    return lambda: pin.constraintDynamics(peer, data, q, v, tau, closures, states, settings)


def interleaved(calls: dict[str, Callable[[], Any]], repeats: int) -> tuple[float, ...]:
    """Return the times (s) of one call of each, minima of repeats that take turns."""
    timers = {name: Timer(call) for name, call in calls.items()}
    numbers = {name: max(1, round(TURN / min(timer.repeat(3, 100)) * 100)) for name, timer in timers.items()}
    best = dict.fromkeys(timers, float("inf"))
    for _ in range(repeats):
        for name, timer in timers.items():
            best[name] = min(best[name], timer.timeit(numbers[name]) / numbers[name])
    return tuple(best.values())


def times(repeats: int = 60) -> tuple[float, ...]:
    """Return the times (s) of one call of titop and Pinocchio, minima of interleaved repeats."""
    system = linkage()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # of redundant constraints
        model = system.resolve()
    q = model.assemble([np.pi / 2, -1.2, -1.2], fixed=["crank_hinge"])
    v = model.assemble_velocity(q, [1.0, 0.0, 0.0], fixed=["crank_hinge"])
    tau, out = np.array([0.5, 0.0, 0.0]), np.empty(3)
    calls = {"titop": lambda: model.forward_dynamics(q, v, tau, out=out), "Pinocchio": pinocchio_call(system, q, v, tau)}
    _refuse_difference("the linkage", *(call().copy() for call in calls.values()))
    return interleaved(calls, repeats)


def standing_calls() -> dict[str, Callable[[], Any]]:
    """Return the calls for accelerations and their derivatives of Solo12 on its feet, of titop and of Pinocchio."""
    import pinocchio as pin
    from functions import robot_file

    path = robot_file("solo12.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # of what the file says of no use
        system = tt.from_urdf(path, base="free", repair=True)
        tree = system.resolve()
    q, rng = tree.neutral(), np.random.default_rng(0)
    q[7:] = LEG * 4
    for foot in FEET:
        system.world.add_port(foot, *reversed(tree.pose(foot, q)))
        system.close_loop(system.world.port(foot), system[foot], tt.RigidClosure(f"on_{foot}", "spherical"))
    model = system.resolve()
    v, tau = model.assemble_velocity(q, rng.normal(size=model.nv)), rng.normal(size=model.nv)
    peer = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    contacts, states = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for foot in FEET:
        frame = peer.frames[peer.getFrameId(foot)]
        ground = pin.SE3(np.eye(3), tree.pose(foot, q)[1])
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        contacts.append(
            pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, peer, frame.parentJoint, frame.placement, 0, ground, axes)
        )
        states.append(contacts[-1].createData())
    data, settings = peer.createData(), pin.ProximalSettings(1e-12, 1e-12, 10)
    pin.initConstraintDynamics(peer, data, contacts, states)

    def theirs() -> Any:
        pin.constraintDynamics(peer, data, q, v, tau, contacts, states, settings)
        pin.computeConstraintDynamicsDerivatives(peer, data, contacts, states, settings)
        return data.ddq_dq, data.ddq_dv, data.ddq_dtau

    a = pin.constraintDynamics(peer, data, q, v, tau, contacts, states, settings)
    _refuse_difference("accelerations", model.forward_dynamics(q, v, tau), a)
    slopes = np.empty((3, model.nv, model.nv))
    return {"titop": lambda: model.forward_dynamics_derivatives(q, v, tau, out=slopes), "Pinocchio": theirs}


def standing_times(repeats: int = 30) -> tuple[float, ...]:
    """Return the times (s) of accelerations' derivatives of Solo12 on its feet, of titop and of Pinocchio."""
    calls = standing_calls()
    for name, found, expected in zip(("dq", "dv", "dtau"), calls["titop"](), calls["Pinocchio"](), strict=True):
        _refuse_difference(f"derivatives by {name[1:]}", found, expected)
    return interleaved(calls, repeats)


def _refuse_difference(what: str, found: np.ndarray, expected: np.ndarray) -> None:
    if np.abs(found - expected).max() > 1e-8 * np.abs(expected).max():
        raise SystemExit(f"the engines disagree about {what}: {np.abs(found - expected).max():.3g}")


def chain(kind: str) -> tt.Model:
    """Return a chain of bars: open, with a ``gear`` between its first hinges, or closed to a ``loop``."""
    s, before = tt.System(kind, gravity=[0, -9.81, 0]), "world"
    s.world.add_port("ground", [0.2 * BARS, 0, 0])
    for k in range(BARS):
        link = bar(f"bar{k}", 0.3, 1.0)
        s.connect(before, link, tt.Revolute(f"hinge{k}"))
        before = link.port("end")
    if kind == "gear":
        s.add_gear(tt.Gear("mesh", driver="hinge0", driven="hinge1", ratio=2.0))
    if kind == "loop":
        s.close_loop(s.world.port("ground"), before, tt.RigidClosure("pin", "revolute", axis=[0, 0, 1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # of redundant constraints
        return s.resolve()


def platform() -> tt.Model:
    """Return a platform on six legs, each a universal joint, a slide and a ball."""
    s = tt.System("platform")
    feet, balls = np.deg2rad([10, 110, 130, 230, 250, 350]), np.deg2rad([50, 70, 170, 190, 290, 310])
    ports = {f"ball{k}": [0.3 * np.cos(angle), 0.3 * np.sin(angle), 0.0] for k, angle in enumerate(balls)}
    top = tt.RigidBody("top", mass=5.0, inertia=[0.3, 0.3, 0.5], ports=ports)
    s.connect("world", top, tt.Free("pose"))
    for k, angle in enumerate(feet):
        s.world.add_port(f"foot{k}", [0.6 * np.cos(angle), 0.6 * np.sin(angle), 0.0])
        yoke = tt.RigidBody(f"yoke{k}", mass=0.1, inertia=[1e-3] * 3)
        cylinder = tt.RigidBody(f"cylinder{k}", 1.0, [0, 0, 0.2], [0.02, 0.02, 0.002], ports={"end": [0, 0, 0.3]})
        rod = tt.RigidBody(f"rod{k}", 0.5, [0, 0, 0.1], [0.01, 0.01, 0.001], ports={"tip": [0, 0, 0.2]})
        s.connect(s.world.port(f"foot{k}"), yoke, tt.Revolute(f"roll{k}", axis=[1, 0, 0]))
        s.connect(yoke, cylinder, tt.Revolute(f"tilt{k}", axis=[0, 1, 0]))
        s.connect(cylinder.port("end"), rod, tt.Prismatic(f"leg{k}", axis=[0, 0, 1]))
        s.close_loop(top.port(f"ball{k}"), rod.port("tip"), tt.RigidClosure(f"joint{k}", "spherical"))
    return s.resolve()


def best_time(call: Callable[[], object]) -> float:
    """Return the CPU time (s) of a call, the best of some turns."""
    timer = Timer(call, timer=time.process_time)
    call()
    number = max(1, round(TURN / max(timer.timeit(1), 1e-6)))
    return min(timer.repeat(20, number)) / number


def chain_times() -> dict[str, dict[str, float]]:
    """Return the times (s) of dynamics and derivatives of the chains, by kind and function."""
    found: dict[str, dict[str, float]] = {}
    for kind in ("open", *GOALS):
        model, rng = chain(kind), np.random.default_rng(0)
        q, v, tau = 0.3 * rng.normal(size=BARS), rng.normal(size=BARS), rng.normal(size=BARS)
        if kind != "open":
            q = model.assemble(q)
            v = model.assemble_velocity(q, v)
        a = model.forward_dynamics(q, v, tau)
        found[kind] = {
            "FD": best_time(lambda m=model, x=(q, v, tau): m.forward_dynamics(*x)),
            "ID": best_time(lambda m=model, x=(q, v, a): m.inverse_dynamics(*x)),
            "dFD": best_time(lambda m=model, x=(q, v, tau): m.forward_dynamics_derivatives(*x)),
            "dID": best_time(lambda m=model, x=(q, v, a): m.inverse_dynamics_derivatives(*x)),
            "reaction": best_time(lambda m=model, x=(q, v, a): m.reaction("hinge3", *x)),
        }
    return found


def step_times() -> dict[str, float]:
    """Return the times (s) of what a controller of the platform asks in a step."""
    model, rng = platform(), np.random.default_rng(0)
    guess = model.neutral()
    guess[2] = 0.7
    q, wanted = model.assemble(guess), rng.normal(size=(2, model.nv))
    legs = [f"leg{k}" for k in range(6)]
    v = model.assemble_velocity(q, wanted[0], fixed=legs)
    a = model.assemble_acceleration(q, v, wanted[1], fixed=legs)
    return {
        "assemble_velocity": best_time(lambda: model.assemble_velocity(q, wanted[0], fixed=legs)),
        "assemble_acceleration": best_time(lambda: model.assemble_acceleration(q, v, wanted[1], fixed=legs)),
        "inverse_dynamics of the legs": best_time(lambda: model.inverse_dynamics(q, v, a, actuated=legs)),
    }


def finger_times() -> dict[str, float]:
    """Return the CPU times (s) of the finger, moving and grasping."""
    example = runpy.run_path(str(Path(__file__).parents[1] / "fin_ray_finger.py"))
    model = example["build"]().resolve()
    run = example["simulate"](model, 0.5)
    state = run.q[20], run.v[20], run.tau[20]
    started = time.process_time()
    example["simulate"](model, 10.0)
    simulated = time.process_time() - started
    touching, times = example["build_grasp"]().resolve(), np.linspace(0.0, 10.0, 101)
    example["grasp"](touching, times[:11])
    started = time.process_time()
    example["grasp"](touching, times)
    grasped = time.process_time() - started
    return {
        "FD": best_time(lambda: model.forward_dynamics(*state)),
        "dFD": best_time(lambda: model.forward_dynamics_derivatives(*state)),
        "10 s": simulated,
        "10 s of a grasp": grasped,
    }


def print_ours() -> None:
    """Print what gears and loops cost beside an open chain, a controller's step, and the finger."""
    for name, taken in finger_times().items():
        missed = "" if taken <= FINGER_GOALS[name] else ", missed"
        print(f"finger, {name}: {1e3 * taken:.3g} ms (goal {1e3 * FINGER_GOALS[name]:g}{missed})")
    found = chain_times()
    print(f"{'us a call':10}" + "".join(f"{name:>9}" for name in found["open"]))
    for kind, times_of in found.items():
        print(f"{kind:10}" + "".join(f"{1e6 * taken:9.1f}" for taken in times_of.values()))
    for kind, goals in GOALS.items():
        for name, goal in goals.items():
            ratio = found[kind][name] / found["open"][name]
            print(f"{kind} {name}: {ratio:.1f} x the open chain (goal {goal:g}{'' if ratio <= goal else ', missed'})")
    steps = step_times()
    for name, taken in steps.items():
        print(f"platform, {name}: {1e6 * taken:.1f} us")
    whole = sum(steps.values())
    missed = "" if whole <= STEP_GOAL else ", missed"
    print(f"platform, a controller's step: {1e6 * whole:.0f} us (goal {1e6 * STEP_GOAL:.0f}{missed})")


def main() -> None:
    """Print our own times, then the median ratio to Pinocchio's over fresh processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--ours", action="store_true", help="leave Pinocchio out")
    arguments = parser.parse_args()
    if arguments.child:
        print(*times())
        return
    print_ours()
    if arguments.ours:
        return
    ours, theirs = standing_times()
    ratio, missed = ours / theirs, "" if ours <= STANDING_GOAL * theirs else ", missed"
    print(f"Solo12 on its feet, dFD: titop {1e6 * ours:.0f} us, Pinocchio {1e6 * theirs:.0f} us a call")
    print(f"ratio {ratio:.2f} (goal at most {STANDING_GOAL}{missed})")
    rows = []
    for _ in range(arguments.processes):
        done = subprocess.run([sys.executable, __file__, "--child"], stdout=subprocess.PIPE, text=True, check=True)
        rows.append([float(x) for x in done.stdout.split()])
    ours, theirs = (statistics.median(column) for column in zip(*rows, strict=True))
    median = statistics.median(row[0] / row[1] for row in rows)
    print(f"titop {1e6 * ours:.2f} us, Pinocchio {1e6 * theirs:.2f} us a call")
    print(f"ratio {median:.2f} (median of {len(rows)} processes; goal at most {GOAL})")


if __name__ == "__main__":
    main()
