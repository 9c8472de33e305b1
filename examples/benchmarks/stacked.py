"""What a state costs in a stack of them: every stacked function of a model, and dynamics of many kinds of systems.

Nanoseconds of processor time a state on one core, rows of NumPy in and out included; the least of many interleaved repeats in
one process. Beside titop run, where they are installed and after the results were compared: Pinocchio, by its C++ loops
(`rneaInParallel`, `abaInParallel` with one thread) for inverse and forward dynamics, by a loop in Python for the others, for
which its Python package has no other; CasADi's generated C, mapped over the states and compiled by gcc for this processor; and
MuJoCo's `rollout` of one step a state, which is forward dynamics and the step of the integrator.

Functions that the arm has no use for are asked of other systems: sections of a rod, efforts of gears, contacts.

Run it: ``OPENBLAS_NUM_THREADS=1 python examples/benchmarks/stacked.py``; ``--json FILE`` keeps the figures, and
``--before FILE`` prints those of another run beside them. With ``--threads 4`` titop splits the stacks, and wall time counts.
"""

from __future__ import annotations

import argparse
import ctypes
import inspect
import json
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from closed_loops import chain as bars
from closed_loops import linkage
from models import Body, Tree, fixed_arm, system
from peers import MuJoCo, Pinocchio
from rods import rod
from series import casadi_efforts

import titop as tt

#: States of a stack, and of one whose functions are slow.
ROWS, FEW = 1024, 16
#: Time (s) given to one call before it is another's turn.
TURN = 0.01
#: How far a peer's dynamics may be from titop's, relative to the largest entry.
ALIKE = 1e-9

Array = np.ndarray
#: Calls by label, kind and engine, each with the number of its states.
Calls = dict[Any, tuple[Callable[[], Any], int]]
#: A peer's calls by kind, and functions of their results in titop's conventions, if these are compared.
Peer = dict[str, tuple[Callable[[], Any], Callable[[], Array] | None]]

#: Functions of one state only.
OF_ONE_STATE = {"assemble", "assemble_velocity", "assemble_acceleration", "independent_coordinates", "impact"} | {
    f"closure_{what}" for what in ("error", "jacobian", "bias", "rank")
}
#: What has the functions' figures in the first table.
FIRST = {
    "inverse_dynamics": "ID",
    "forward_dynamics": "FD",
    "mass_matrix": "M",
    "inverse_dynamics_derivatives": "dID",
    "forward_dynamics_derivatives": "dFD",
    "linear_matrices": "A, B",
}


def humanoid() -> Tree:
    """Return a free base with a waist of three joints, two arms of seven and two legs of six: 29 joints."""
    axes = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    bodies = [Body("pelvis", -1, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 8.0, (0.0, 0.0, 0.05), (0.08, 0.07, 0.06))]

    def limb(name: str, links: int, parent: int, offset: tuple[float, float, float], reach: float) -> int:
        for k in range(links):
            at = offset if k == 0 else (0.01, 0.0, reach)
            inertial = (2.0 - 0.2 * k, (0.01, 0.005, 0.5 * reach), (0.01, 0.01, 0.004))
            bodies.append(Body(f"{name}{k}", parent, at, axes[k % 3], *inertial))
            parent = len(bodies) - 1
        return parent

    chest = limb("waist", 3, 0, (0.0, 0.0, 0.1), 0.1)
    for side, way in (("left", 1.0), ("right", -1.0)):
        limb(f"{side}_leg", 6, 0, (0.0, 0.1 * way, -0.1), -0.15)
        limb(f"{side}_arm", 7, chest, (0.0, 0.2 * way, 0.3), -0.12)
    return Tree("humanoid", tuple(bodies), floating=True)


def hinged(count: int, **joint: Any) -> tt.System:
    """Return an arm of links."""
    s, at = tt.System("arm", gravity=[0, 0, -9.81]), "world"
    for k in range(count):
        link = tt.RigidBody(f"link{k}", 3.0 - 0.3 * k, [0.15, 0.01, 0], [0.01, 0.03, 0.03], ports={"tip": [0.3, 0, 0]})
        s.connect(at, link, tt.Revolute(f"hinge{k}", axis=np.eye(3)[(2, 1)[k % 2]], **joint))
        at = link.port("tip")
    return s


def flexible() -> tt.System:
    """Return three hinges and two flexible bodies of four modes each."""
    s, rng = hinged(1), np.random.default_rng(0)
    at = s["link0"].port("tip")
    for k in range(2):
        shapes = {"C": 0.1 * rng.normal(size=(6, 4))}
        fields: dict[str, Any] = {"frequencies": [10.0, 25.0, 40.0, 70.0], "participation": 0.1 * rng.normal(size=(4, 6))}
        fields["recovery"] = {"root": rng.normal(size=(6, 4))}
        panel = tt.FlexibleBody(f"panel{k}", 3.0, [0.5, 0, 0], [0.2, 0.5, 0.6], ports={"C": [1, 0, 0]}, shapes=shapes, **fields)
        s.connect(at, panel, tt.Revolute(f"root{k}", axis=[0, 1, 0]))
        at = panel.port("C")
    return s


def one_rod() -> tt.System:
    """Return the rod of `rods.py`, 24 coordinates, clamped."""
    s = tt.System("rod", gravity=[0, 0, -9.81])
    s.connect("world", rod("rod"), tt.Weld("clamp"))
    return s


def finger_on_beam() -> tt.System:
    """Return a clamped beam, which stiffens under load, with a finger of three hinges at its end."""
    s = tt.System("beam", gravity=[0, 0, -9.81])
    beam = tt.Beam("beam", length=1.0, density=2700.0, area=1e-3, young=7e10, iy=1e-8, iz=2e-8)
    s.connect("world", beam, tt.Weld("clamp"))
    at = beam.port("C")
    for k in range(3):
        link = tt.RigidBody(f"link{k}", 0.2, [0.05, 0, 0], [1e-4, 2e-4, 2e-4], ports={"tip": [0.1, 0, 0]})
        s.connect(at, link, tt.Revolute(f"hinge{k}", axis=[0, 1, 0]))
        at = link.port("tip")
    return s


def soft_body() -> tt.System:
    """Return a soft body of eight coordinates and 72 points, clamped."""
    kinematics, along = tt.Kinematics, [lambda z: 1.0, lambda z: z / 0.3]
    bending = [kinematics.planar_bending(along, axis) for axis in "xy"]
    twist = kinematics.twist([along[1], lambda z: (z / 0.3) ** 2])
    domain, material = tt.Domain.cylinder(0.03, 0.3, along=6, around=6, outwards=2), tt.Material.neo_hookean(1e6, 0.3, 100.0)
    s = tt.System("soft", gravity=[0, 0, -9.81])
    body = tt.SoftBody("body", kinematics.elongation(along).then(*bending, twist), domain, 1000.0, material)
    s.connect("world", body, tt.Weld("clamp"))
    return s


def rubbing() -> tt.System:
    """Return six hinges with springs, dampers, Stribeck friction and stops."""
    friction, stops = tt.Friction(0.3, 0.4, 0.1), tt.Limits(-0.2, 0.2, stiffness=50.0, dissipation=0.5)
    return hinged(6, stiffness=2.0, damping=0.1, friction=friction, limits=stops)


def touching() -> tt.System:
    """Return a ball over a plane."""
    s = tt.System("ball", gravity=[0, 0, -9.81])
    ball = tt.RigidBody("ball", 1.0, inertia=0.01)
    s.connect("world", ball, tt.Free("flight"))
    s.close_loop("world", ball, tt.Contact("ground", radius=0.1, stiffness=1e5, friction=0.5, slip_velocity=0.01))
    return s


#: What is resolved, by what it is.
SYSTEMS: dict[str, Callable[[], tt.Model]] = {
    "four-bar linkage": lambda: linkage().resolve(),
    "ten bars": lambda: bars("open"),
    "ten bars, geared": lambda: bars("gear"),
    "ten bars in a loop": lambda: bars("loop"),
    "3 hinges, 2 flexible bodies of 4 modes": lambda: flexible().resolve(),
    "rod of 24 coordinates": lambda: one_rod().resolve(),
    "beam that stiffens, finger of 3 hinges": lambda: finger_on_beam().resolve(),
    "soft body, 8 coordinates, 72 points": lambda: soft_body().resolve(),
    "6 hinges": lambda: hinged(6).resolve(),
    "6 hinges with springs, dampers, friction, stops": lambda: rubbing().resolve(),
    "ball on a plane": lambda: touching().resolve(),
}


def stacks(m: tt.Model, rows: int = ROWS) -> dict[str, Any]:
    """Return stacked arguments by name, loops closed."""
    rng, n = np.random.default_rng(0), m.nv
    start = np.tile(m.mechanism.regular_configuration if m.is_constrained else m.neutral(), (rows, 1))
    own = [name in m.mechanism.own_coordinates for name in m.coordinate_names]
    q = m.integrate(start, np.where(own, 0.02, 0.1 if m.is_constrained else 0.5) * rng.normal(size=(rows, n)))
    v, a, tau, dq, dv, dtau, weights = rng.normal(size=(7, rows, n))
    if m.is_constrained:
        q = np.array([m.assemble(each) for each in q])
        v = np.array([m.assemble_velocity(*each) for each in zip(q, v, strict=True)])
        a = m.forward_dynamics(q, v, tau)
    given = {
        "q": q,
        "v": v,
        "a": a,
        "tau": tau,
        "dq": dq,
        "dv": dv,
        "da": dtau,
        "dtau": dtau,
        "weights": weights,
        "q0": q,
        "q1": q[::-1].copy(),
    }
    series = rng.normal(size=(3, rows, 3, n))
    return given | dict(zip(("v_series", "tau_series", "a_series"), series, strict=True))


def call(m: tt.Model, name: str, given: dict[str, Any]) -> Callable[[], Any] | None:
    """Return the call of a function at stacked states; None if the model lacks what it asks for."""
    if name == "linear_matrices":
        return partial(tt.linear_matrices, m, (given["q"], given["v"], given["tau"]))
    blocks = m.mechanism.assembly.blocks.values()
    masses = [each for each in m.parameters() if each.endswith(".mass")]
    more: dict[str, Any] = {"port": m.port_names[-1], "joint": m.joint_names[-1], "prescribed": [m.coordinate_names[0]]}
    rods = [block for block in blocks if isinstance(block, tt.Rod)]
    gears = [constraint.gear.name for constraint in m.mechanism.gear_constraints]
    more |= {"rod": rods[0].name, "abscissas": [0.1, 0.3]} if rods else {}
    more |= {"gear": gears[0]} if gears else {}
    recovered = [block for block in blocks if getattr(block, "recovery", None)]
    more |= {"body": recovered[0].name, "name": "root"} if recovered else {}
    more |= {"names": masses}
    function = getattr(m, name)
    needed = [each.name for each in inspect.signature(function).parameters.values() if each.default is each.empty]
    if name == "forward_dynamics":
        needed.append("tau")
    known = given | more
    if not known.keys() >= set(needed) or (name == "contacts" and not m.mechanism.interactions):
        return None
    return partial(function, **{each: known[each] for each in needed})


def stacked_names() -> list[str]:
    """Return the names of a model's functions that take stacked states, the first table's first."""
    names = [name for name in dir(tt.Model) if not name.startswith("_") and callable(getattr(tt.Model, name))]
    taking = [name for name in names if {"q", "q0", "q_guess"} & inspect.signature(getattr(tt.Model, name)).parameters.keys()]
    return [*FIRST, *(name for name in taking if name not in FIRST and name not in OF_ONE_STATE)]


# -- peers ---------------------------------------------------------------------------------------------------------------


def pinocchio_calls(tree: Tree, given: dict[str, Any]) -> Peer:
    """Return Pinocchio's calls; none where it is not installed."""
    try:
        import pinocchio as pin
    except ImportError:
        return {}
    model = Pinocchio(tree).model
    data, pool = model.createData(), pin.ModelPool(model, 1)
    q, v, a, tau = (given[name] for name in ("q", "v", "a", "tau"))
    out = np.empty((model.nv, len(q)), order="F")

    def loop(function: Callable[..., Any], *parts: Array) -> None:
        for row in zip(*parts, strict=True):
            function(model, data, *row)

    return {
        "ID": (lambda: pin.rneaInParallel(1, pool, q.T, v.T, a.T, out), lambda: out.T),
        "FD": (lambda: pin.abaInParallel(1, pool, q.T, v.T, tau.T, out), lambda: out.T),
        "M": (partial(loop, pin.crba, q), None),
        "dID": (partial(loop, pin.computeRNEADerivatives, q, v, a), None),
        "dFD": (partial(loop, pin.computeABADerivatives, q, v, tau), None),
    }


def casadi_calls(tree: Tree, given: dict[str, Any]) -> Peer:
    """Return CasADi's generated C, compiled, mapped over the states; none where it or gcc is not installed."""
    try:
        import casadi as ca
    except ImportError:
        return {}
    n, rows, held = len(tree.bodies), len(given["q"]), ca.DM([0, 0, 0, 0, 0, 0, 1])
    base = Body("base", -1, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    moved = Tree("arm", (base, *(body._replace(parent=body.parent + 1) for body in tree.bodies)), floating=True)
    q, v, x = (ca.SX.sym(name, n) for name in "qvx")

    def efforts(a: Any) -> Any:
        return casadi_efforts(moved, ca.vertcat(held, q), ca.vertcat(np.zeros(6), v), ca.vertcat(np.zeros(6), a))[6:]

    inverse = efforts(x)
    mass = ca.jacobian(inverse, x)
    results = {"ID": inverse, "FD": ca.ldl_solve(x - efforts(ca.SX.zeros(n)), *ca.ldl(mass)), "M": mass}
    results["dID"] = ca.jacobian(inverse, ca.vertcat(q, v, x))
    found: Peer = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, result in results.items():
            function = ca.Function(kind, [q, v, x], [ca.densify(ca.cse(result))])
            source, library = function.generate(f"{kind}.c"), f"{folder}/{kind}.so"
            work = {"iw": max(1, function.sz_iw()), "w": max(1, function.sz_w())}
            loop = _LOOP.format(kind=kind, size=function.numel_out(0), n=n, **work)
            code, _ = Path(source).read_text("utf-8"), Path(source).unlink()
            Path(f"{folder}/{kind}.c").write_text(code + loop, "utf-8")
            try:
                subprocess.run(
                    ["gcc", "-O2", "-march=native", "-shared", "-fPIC", f"{folder}/{kind}.c", "-o", library], check=True
                )
            except FileNotFoundError:
                return {}
            states, out = ctypes.CDLL(library).states, np.empty((rows, function.numel_out(0)))
            states.argtypes = [ctypes.c_longlong, *[ctypes.c_void_p] * 4]
            arrays = *(given[name] for name in ("q", "v", "tau" if kind.endswith("FD") else "a")), out
            found[kind] = (
                _with(partial(states, rows, *(array.ctypes.data for array in arrays)), arrays),
                (lambda out=out: out) if kind in ("ID", "FD") else None,
            )
    return found


def _with(evaluate: Callable[[], Any], kept: Any) -> Callable[[], Any]:
    """Return a call that keeps the arrays that it reads and writes."""
    return lambda: (evaluate(), kept)[0]


#: How generated C is mapped over states.
_LOOP = """
int states(casadi_int count, const double *q, const double *v, const double *x, double *out) {{
  casadi_int iw[{iw}];
  double w[{w}];
  for (casadi_int k = 0; k < count; k++) {{
    const double *arg[3] = {{q + {n} * k, v + {n} * k, x + {n} * k}};
    double *res[1] = {{out + {size} * k}};
    if ({kind}(arg, res, iw, w, 0)) return 1;
  }}
  return 0;
}}
"""


def mujoco_calls(tree: Tree, given: dict[str, Any]) -> Peer:
    """Return MuJoCo's rollout of one step a state; none where it is not installed."""
    try:
        import mujoco
        from mujoco import rollout
    except ImportError:
        return {}
    engine = MuJoCo(tree)
    model, data = engine.model, engine.data
    spec = mujoco.mjtState.mjSTATE_FULLPHYSICS
    start = np.zeros((len(given["q"]), mujoco.mj_stateSize(model, spec)))
    start[:, 1 : 1 + model.nq], start[:, 1 + model.nq : 1 + model.nq + model.nv] = given["q"], given["v"]
    if tree.floating:
        start[:, 4:8] = given["q"][:, [6, 3, 4, 5]]
    applied, control = given["tau"][:, None, :], mujoco.mjtState.mjSTATE_QFRC_APPLIED
    run = partial(rollout.rollout, model, [data], start, applied, control_spec=control)
    v, step = slice(1 + model.nq, 1 + model.nq + model.nv), model.opt.timestep
    read = None if tree.floating else lambda: (run()[0][:, 0, v] - given["v"]) / step
    return {"FD": (run, read)}


# -- timing --------------------------------------------------------------------------------------------------------------


def least(calls: Calls, repeats: int, clock: Callable[[], float]) -> dict[Any, float]:
    """Return the least time (ns) a state of every call, all taking turns."""
    numbers, best = {}, dict.fromkeys(calls, float("inf"))
    for key, (run, _) in calls.items():
        run()  # compiles, where need be
        begin = clock()
        run()
        numbers[key] = max(1, int(TURN / max(clock() - begin, 1e-6)))
    for _ in range(repeats):
        for key, (run, rows) in calls.items():
            begin = clock()
            for _ in range(numbers[key]):
                run()
            best[key] = min(best[key], 1e9 * (clock() - begin) / numbers[key] / rows)
    return best


def check(kind: str, peer: str, read: Callable[[], Any] | None, expected: Array, tolerance: float = ALIKE) -> None:
    """Refuse a peer whose results are others."""
    if read is not None and not (error := np.abs(read() - expected).max() / np.abs(expected).max()) < tolerance:
        raise RuntimeError(f"{peer} disagrees with titop: {kind} by {error:.1e}")


def beside_peers(label: str, m: tt.Model, tree: Tree, with_casadi: bool) -> Calls:
    """Return titop's and the peers' calls of dynamics, by label, kind and engine."""
    given = stacks(m)
    expected = {
        "ID": m.inverse_dynamics(*(given[x] for x in "qva")),
        "FD": m.forward_dynamics(given["q"], given["v"], given["tau"]),
    }
    calls: Calls = {}
    for name, kind in FIRST.items():
        calls[label, kind, "titop"] = call(m, name, given), ROWS
    peers = {"Pinocchio": pinocchio_calls(tree, given), "CasADi": casadi_calls(tree, given) if with_casadi else {}}
    peers["MuJoCo"] = mujoco_calls(tree, given)
    for peer, found in peers.items():
        for kind, (run, read) in found.items():
            run()
            # MuJoCo takes differences of velocities over a step
            check(kind, peer, read, expected.get(kind), 1e-6 if peer == "MuJoCo" else ALIKE)
            calls[label, kind, peer] = run, ROWS
    return calls


def kinds_of_systems() -> Calls:
    """Return dynamics of all kinds of systems; those of closed ones at closed states."""
    calls: Calls = {}
    for label, make in SYSTEMS.items():
        m = make()
        given = stacks(m)
        for name, kind in FIRST.items():
            if kind != "M" or not m.is_constrained:
                few = kind in ("dID", "dFD", "A, B") and m.nv > 20
                part = {each: value[:FEW] for each, value in given.items()} if few else given
                calls[label, kind, "titop"] = call(m, name, part), FEW if few else ROWS
        part = {each: value[:FEW] for each, value in given.items()}
        for name in ("inverse_dynamics_series", "forward_dynamics_series", "equation_series"):
            is_slow = "soft" in label or (name == "inverse_dynamics_series" and m.is_constrained)  # random motions open loops
            if not is_slow:
                calls[label, name, "titop"] = call(m, name, part), FEW
    return calls


def every_function(m: tt.Model) -> Calls:
    """Return all other stacked functions of the arm; those that it has no use for, of the rod, the gears or the ball."""
    calls: Calls = {}
    others = [one_rod().resolve(), bars("gear"), touching().resolve(), flexible().resolve()]
    for name in stacked_names():
        for model in (m, *others):
            run = call(model, name, stacks(model))
            if run is not None:
                calls["every function", name, "titop"] = run, ROWS
                break
    given, wrenches = stacks(m), {m.port_names[-1]: np.random.default_rng(1).normal(size=(ROWS, 6))}
    for name in FIRST:
        run = call(m, name, given)
        if run is not None and name != "mass_matrix":
            calls["wrenches of each state", name, "titop"] = partial(run, wrenches=wrenches), ROWS
    return calls


def sensitivities() -> Calls:
    """Return sensitivities to parameters of several kinds: of hinges with springs, and of closed loops and gears."""
    calls: Calls = {}
    for label, entries in (
        ("6 hinges with springs, dampers, friction, stops", ("stiffness", "friction.coulomb", "tip.position.x", "axis.x")),
        ("four-bar linkage", ("mass", "damping")),
        ("ten bars, geared", ("mass", "damping")),
    ):
        m = SYSTEMS[label]()
        given = stacks(m)
        for entry in entries:
            names = [each for each in m.parameters() if each.endswith(f".{entry}")]
            for kind, last in (("inverse", "a"), ("forward", "tau")):
                function = getattr(m, f"{kind}_dynamics_sensitivities")
                run = partial(function, given["q"], given["v"], given[last], names)
                calls["sensitivities", f"{label}: {len(names)} {entry}, {kind}", "titop"] = run, ROWS
    return calls


def show(times: dict[Any, float], before: dict[str, float]) -> None:
    """Print one table for each label: what titop takes, the peers, and their ratio to titop's."""
    labels = list(dict.fromkeys(label for label, *_ in times))
    for label in labels:
        peers = list(dict.fromkeys(engine for other, _, engine in times if other == label))
        kinds = list(dict.fromkeys(kind for other, kind, _ in times if other == label))
        was = ["before"] if before else []
        print(
            "",
            f"| {label}, ns a state | " + " | ".join([*peers, *was]) + " |",
            "|---" * (len(peers) + len(was) + 1) + "|",
            sep="\n",
        )
        for kind in kinds:
            ours = times[label, kind, "titop"]
            cells = [f"{ours:,.0f}"]
            for peer in peers[1:]:
                theirs = times.get((label, kind, peer))
                cells.append("-" if theirs is None else f"{theirs:,.0f} ({theirs / ours:.2f})")
            if before:
                then = before.get(f"{label}, {kind}, titop")
                cells.append("-" if then is None else f"{then:,.0f} ({then / ours:.2f})")
            print(f"| {kind} | " + " | ".join(cells) + " |")


def main() -> None:
    """Time all calls and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15, help="turns of every call, of which the fastest counts")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--before", type=Path, help="file with the figures of another run")
    parser.add_argument("--part", choices=["arm", "humanoid", "systems", "functions", "sensitivities"], help="one part alone")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", tt.ModelWarning)
    options = {} if arguments.threads == 1 else {"threads": arguments.threads}
    clock = time.process_time if arguments.threads == 1 else time.perf_counter
    s = system(fixed_arm())
    for sensor in (
        tt.Gyro("gyro", s["link7"]),
        tt.Accelerometer("accelerometer", s["link7"]),
        tt.PoseSensor("pose", s["link7"]),
    ):
        s.add_sensor(sensor)
    arm = s.resolve(**options)
    parts: dict[str, Callable[[], Calls]] = {
        "arm": lambda: beside_peers("7 hinges", arm, fixed_arm(), True),
        "humanoid": lambda: beside_peers("free base and 29 joints", system(humanoid()).resolve(**options), humanoid(), False),
        "systems": kinds_of_systems,
        "functions": lambda: every_function(arm),
        "sensitivities": sensitivities,
    }
    times: dict[Any, float] = {}
    for part, make in parts.items():
        if arguments.part in (None, part):
            times |= least(make(), arguments.repeats, clock)
    before = json.loads(arguments.before.read_text()) if arguments.before else {}
    show(times, before)
    if arguments.json:
        arguments.json.write_text(json.dumps({", ".join(key): value for key, value in times.items()}, indent=1), "utf-8")


if __name__ == "__main__":
    main()
