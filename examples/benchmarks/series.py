"""What time derivatives of dynamics cost by order and by number of bodies, beside CasADi's automatic differentiation.

The trees are paper L's aerial manipulator (7 bodies) and those of its benchmark (Table 4): 5 branches of up to 199 bodies.
Times are the fastest of many interleaved repeats in one process, from Python. Three questions are asked:

- what orders cost: r = 5 beside r = 0 and beside plain dynamics; how far a quadratic in r is off, up to r = 10;
- what bodies cost: how far a straight line is off;
- what CasADi takes for the same: inverse dynamics written in its `SX`, differentiated r times by `jtimes` along the motion, its
  function called through buffers; with and without elimination of common subexpressions.

CasADi's derivatives are checked against titop's. `AUTHORS` says what the C++ of the paper's authors takes, compiled on a
machine like the README's; the paper prints 2.3 to 8.2 and 4.1 to 11.1 us for r = 0 to 5.

Run it: ``python examples/benchmarks/series.py``, without CasADi (extra "test") with ``--casadi -1``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from timeit import Timer
from typing import Any

import numpy as np
from models import GRAVITY, Tree, aerial_manipulator, system

import titop as tt

#: The authors' C++ for 7 bodies (us), r = 0 to 5: inverse, forward.
AUTHORS = {"inverse": (2.6, 4.6, 7.4, 11, 17, 22), "forward": (2.7, 6.2, 9.6, 14, 20, 26)}
HIGHEST = 10
#: Time (s) given to one call before it is another's turn.
TURN = 0.002

Calls = dict[Any, Callable[[], Any]]


def trees() -> dict[int, Tree]:
    """Return the trees by number of bodies."""
    found = [aerial_manipulator(), aerial_manipulator(5, 20), aerial_manipulator(5, 199)]
    return {len(tree.bodies): tree for tree in found}


def stack(m: tt.Model, order: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a random configuration, and velocities with derivatives (order + 2, nv) of order one."""
    rng = np.random.default_rng(seed)
    return m.random_configuration(rng), rng.uniform(-1.0, 1.0, (order + 2, m.nv))


def series_calls(m: tt.Model, orders: range) -> Calls:
    """Return calls of inverse and forward dynamics by name and order; -1 stands for those without series."""
    q, motion = stack(m, orders[-1])
    v = motion[0].copy()
    efforts = m.inverse_dynamics_series(q, motion)
    calls: Calls = {
        ("inverse", -1): partial(m.inverse_dynamics, q, v, motion[1].copy()),
        ("forward", -1): partial(m.forward_dynamics, q, v, efforts[0].copy()),
    }
    for r in orders:
        rates, forces = motion[: r + 2].copy(), efforts[: r + 1].copy()
        calls["inverse", r] = partial(m.inverse_dynamics_series, q, rates)
        calls["forward", r] = partial(m.forward_dynamics_series, q, v, forces)
    return calls


def fastest(calls: Calls, repeats: int) -> dict[Any, float]:
    """Return the fastest time (us) of each call, all taking turns."""
    timers = {key: Timer(call) for key, call in calls.items()}
    for timer in timers.values():
        timer.timeit(1)  # compiles, where need be
    numbers = {key: max(1, int(TURN / max(timer.timeit(2) / 2, 1e-7))) for key, timer in timers.items()}
    best = dict.fromkeys(timers, float("inf"))
    for _ in range(repeats):
        for key, timer in timers.items():
            best[key] = min(best[key], 1e6 * timer.timeit(numbers[key]) / numbers[key])
    return best


def misfit(x: np.ndarray, y: np.ndarray, degree: int) -> float:
    """Return the largest relative error of the polynomial of a degree that fits best, in relative errors."""
    powers = np.vander(x, degree + 1) / y[:, None]
    fitted = powers @ np.linalg.lstsq(powers, np.ones(len(x)), rcond=None)[0]
    return float(np.abs(fitted - 1).max())


def print_orders(repeats: int) -> dict[int, dict[Any, float]]:
    """Print what orders cost, and return the times (us) by number of bodies."""
    results = {}
    for bodies, tree in trees().items():
        times = results[bodies] = fastest(series_calls(system(tree).resolve(), range(HIGHEST + 1)), repeats)
        heads = ["without series", *(f"r = {r}" for r in range(HIGHEST + 1)), "r = 5 by r = 0", "off a quadratic"]
        print("", f"| {bodies} bodies (us) | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|", sep="\n")
        for name in ("inverse", "forward"):
            row = np.array([times[name, r] for r in range(-1, HIGHEST + 1)])
            ratio, off = row[6] / row[1], misfit(np.arange(HIGHEST + 1.0), row[1:], 2)
            print(f"| {name} | " + " | ".join(f"{x:,.3g}" for x in row) + f" | {ratio:.2f} | {100 * off:.1f} % |")
            if bodies == 7:
                print(f"| {name}, the authors' C++ |  | " + " | ".join(map(str, AUTHORS[name])) + " |" * 8)
    return results


def print_bodies(repeats: int) -> None:
    """Print what bodies cost at r = 0 and 5."""
    calls: Calls = {}
    sizes = [1 + 5 * links for links in (1, 5, 20, 60, 120, 199)]
    for bodies in sizes:
        found = series_calls(system(aerial_manipulator(5, bodies // 5)).resolve(), range(6))
        calls |= {(*key, bodies): call for key, call in found.items() if key[1] in (0, 5)}
    times = fastest(calls, repeats)
    print("", f"| us | {' | '.join(f'N = {n}' for n in sizes)} | off a line |", "|---" * (len(sizes) + 2) + "|", sep="\n")
    for name in ("inverse", "forward"):
        for r in (0, 5):
            row = np.array([times[name, r, n] for n in sizes])
            off = misfit(np.array(sizes, float), row, 1)
            print(f"| {name}, r = {r} | " + " | ".join(f"{x:,.3g}" for x in row) + f" | {100 * off:.1f} % |")


# -- CasADi ----------------------------------------------------------------------------------------------------------------


def casadi_rotation(quaternion: Any) -> Any:
    """Return the rotation matrix of a unit quaternion (x, y, z, w) as CasADi's expressions."""
    import casadi as ca

    x, y, z, w = ca.vertsplit(quaternion)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return ca.vertcat(*(ca.horzcat(*row) for row in rows))


def casadi_efforts(tree: Tree, q: Any, v: Any, a: Any) -> Any:
    """Return the efforts as CasADi's expressions, by the recursive Newton-Euler algorithm in body frames."""
    import casadi as ca

    R = casadi_rotation(q[3:7])
    motions = [(v[:3], v[3:6], a[:3] - R.T @ ca.DM(GRAVITY), a[3:6])]
    rotations, forces, moments = [R], [], []
    for k, body in enumerate(tree.bodies):
        if k:
            linear, angular, rising, turning = motions[body.parent]
            axis, offset = ca.DM(body.axis), ca.DM(body.offset)
            s, c = ca.sin(q[6 + k]), ca.cos(q[6 + k])
            E = c * ca.DM.eye(3) + s * ca.skew(axis) + (1 - c) * (axis @ axis.T)
            own = E.T @ angular + axis * v[5 + k]
            velocity = E.T @ (linear + ca.cross(angular, offset))
            acceleration = E.T @ (rising + ca.cross(turning, offset)) + ca.cross(velocity, axis) * v[5 + k]
            motions.append((velocity, own, acceleration, E.T @ turning + axis * a[5 + k] + ca.cross(own, axis) * v[5 + k]))
            rotations.append(E)
        linear, angular, rising, turning = motions[k]
        com, moment_of_inertia = ca.DM(body.com), ca.diag(ca.DM(body.moments))
        velocity, acceleration = linear + ca.cross(angular, com), rising + ca.cross(turning, com)
        force = body.mass * (acceleration + ca.cross(angular, velocity))
        spin = moment_of_inertia @ turning + ca.cross(angular, moment_of_inertia @ angular)
        forces.append(force)
        moments.append(spin + ca.cross(com, force))
    efforts = []
    for k in range(len(tree.bodies) - 1, 0, -1):
        body = tree.bodies[k]
        efforts.append(ca.DM(body.axis).T @ moments[k])
        force = rotations[k] @ forces[k]
        forces[body.parent] += force
        moments[body.parent] += rotations[k] @ moments[k] + ca.cross(ca.DM(body.offset), force)
    return ca.vertcat(forces[0], moments[0], *efforts[::-1])


def casadi_towers(tree: Tree, highest: int) -> tuple[Any, list[Any], list[Any]]:
    """Return expressions of q and the velocities' derivatives, and the efforts with their derivatives by `jtimes`."""
    import casadi as ca

    nv = 5 + len(tree.bodies)
    q, rates = ca.SX.sym("q", nv + 1), [ca.SX.sym(f"v{k}", nv) for k in range(highest + 2)]
    angular, quaternion = rates[0][3:6], q[3:7]
    spin = ca.vertcat(quaternion[3] * angular + ca.cross(quaternion[:3], angular), -ca.dot(quaternion[:3], angular))
    moving = casadi_rotation(quaternion) @ rates[0][:3]
    q_rate = ca.vertcat(moving, spin / 2, rates[0][6:])
    found = [casadi_efforts(tree, q, *rates[:2])]
    for r in range(highest):
        state, change = ca.vertcat(q, *rates[: r + 2]), ca.vertcat(q_rate, *rates[1 : r + 3])
        found.append(ca.jtimes(found[-1], state, change))
    return q, rates, found


def buffered(function: Any, arguments: list[np.ndarray], result: np.ndarray) -> Callable[[], Any]:
    """Return a call of CasADi's function through buffers, which its own wrapper of arrays takes far longer than."""
    buffer, call = function.buffer()
    for k, argument in enumerate(arguments):
        buffer.set_arg(k, memoryview(argument))
    buffer.set_res(0, memoryview(result))
    call.keep = buffer, arguments, result
    return call


def print_casadi(highest: int, repeats: int, seconds: float) -> None:
    """Print what CasADi takes for inverse dynamics of 7 and 101 bodies, as far as its graphs are built within a time (s)."""
    for bodies, tree in list(trees().items())[:2]:
        m = system(tree).resolve()
        q, motion = stack(m, highest)
        expected, ours = m.inverse_dynamics_series(q, motion), fastest(series_calls(m, range(highest + 1)), repeats)
        heads = ["r", "titop", "CasADi", "ratio", "nodes", "to build (s)", "with `cse`", "ratio", "to build (s)"]
        print("", f"{bodies} bodies (us)", "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", sep="\n")
        for r in range(highest + 1):
            functions, took = zip(*(built(tree, r, cse) for cse in (False, True)), strict=True)
            calls: Calls = {}
            for k, function in enumerate(functions):
                result = np.zeros(m.nv)
                calls[k] = buffered(function, [q, motion[: r + 2].ravel()], result)
                calls[k]()
                error = np.abs(result - expected[r]).max() / np.abs(expected[r]).max()
                if not error < 1e-8:
                    raise RuntimeError(f"CasADi disagrees with titop at r = {r} by {error:.1e}")
            (plain, shared), mine = fastest(calls, repeats).values(), ours["inverse", r]
            row = [f"{r}", f"{mine:,.3g}", f"{plain:,.4g}", f"{plain / mine:,.0f}", f"{functions[0].n_instructions():,}"]
            row += [f"{took[0]:.1f}", f"{shared:,.4g}", f"{shared / mine:,.0f}", f"{took[1]:.1f}"]
            print(f"| {' | '.join(row)} |", flush=True)
            if sum(took) > seconds:
                print(f"building took longer than {seconds:g} s: no higher orders")
                break


def built(tree: Tree, order: int, cse: bool) -> tuple[Any, float]:
    """Return CasADi's function of the derivative of an order, and the time (s) that building it took."""
    import casadi as ca

    start = time.perf_counter()
    q, rates, towers = casadi_towers(tree, order)
    function = ca.Function("f", [q, ca.vertcat(*rates[: order + 2])], [towers[order]], {"cse": cse})
    return function, time.perf_counter() - start


def main() -> None:
    """Time all and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10, help="turns of every call, of which the fastest counts")
    parser.add_argument("--casadi", type=int, default=5, help="highest order for CasADi; -1 for none")
    parser.add_argument("--seconds", type=float, default=300.0, help="CasADi's next order is left out after so long a build")
    arguments = parser.parse_args()
    print_orders(arguments.repeats)
    print_bodies(arguments.repeats)
    if arguments.casadi >= 0:
        print_casadi(arguments.casadi, arguments.repeats, arguments.seconds)


if __name__ == "__main__":
    main()
