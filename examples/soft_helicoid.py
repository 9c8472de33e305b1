"""Nine tendons lead the tips of three trimmed helicoids along circles: simulation 1 of key P.

Each body elongates, twists and bends in two planes by primitives that keep the volume everywhere (LVP); three tendons end at
its tip. Statics say how short the tendons are where the tips are in place, and partial feedback linearisation lets them follow.
With s what they are shorter by, ``ds/dt = A^T v``, and a_0 what the arm does by itself, the tensions u are such that

    A^T M^-1 A u + A^T a_0 + d(A^T)/dt v = s_d'' + K_D (s_d' - s') + K_P (s_d - s)

while the arm twists as it likes. Tendons cannot push: the tensions are the non-negative ones that come closest, exact where all
tendons pull.

Sizes, material and the time for a round are the paper's. It gives no geometry; ours are three ribbons a body, wound once around
the axis and trimmed inside. Of its eight coordinates a body we take four. Circles and gains are our own, too: with its circles
tendons of this arm would have to push, with its gains 8 % of the errors would be left after a round.

Run it: ``python examples/soft_helicoid.py`` draws ``soft_helicoid.png``.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import nnls, root

import titop as tt
from titop.blocks.basics.spatial import Array
from titop.solvers.pictures.figures import fit_axes

#: Of the bodies: length and radius (m), density (kg/m^3), C (Pa), eta (s).
LENGTH, RADIUS, DENSITY, STIFFNESS, TIME = 0.1, 0.02, 960.0, 0.178e6, 0.05
#: Of the ribbons: how many, the radius inside which they are trimmed and their thickness (m).
RIBBONS, TRIMMED, THICKNESS = 3, 0.008, 0.003
BODIES = ("upper", "middle", "lower")
#: Of the circles: radii and depths below the base (m), the time for a round (s), and for how many places statics are solved.
CIRCLES, DEPTHS, PERIOD, PLACES = (0.012, 0.045, 0.09), (0.08, 0.16, 0.24), 5.0, 12
#: Of the error's equation (1/s^2, 1/s).
PROPORTIONAL, DAMPING = 100.0, 20.0
#: How much faster than the coordinates' rates they are moved for differences (s).
STEP = 1e-6
#: Of the integrator, an implicit one: material damps elongation and twist so much that they are stiff.
TOLERANCE = 1e-4


def kinematics() -> tt.Kinematics:
    """Return the primitives, one after the other."""
    bend = [lambda z: 1.0 / LENGTH]
    return tt.Kinematics.elongation([lambda z: z / LENGTH * (1.0 - z / LENGTH)]).then(
        tt.Kinematics.twist([lambda z: z / LENGTH]),
        tt.Kinematics.planar_bending(bend, about="y"),
        tt.Kinematics.planar_bending(bend, about="x"),
    )


def gauss(count: int, start: float, end: float) -> tuple[Array, Array]:
    """Return points and weights between two numbers."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return start + (end - start) * (nodes + 1.0) / 2.0, (end - start) * weights / 2.0


def ribbon(number: int, z: Array, r: Array) -> Array:
    """Return points (k, m, 3; m) of a ribbon at rest, at heights (k) and distances from the axis (m)."""
    angle = 2.0 * np.pi * (z / LENGTH + number / RIBBONS)[:, None]
    return np.stack([r * np.cos(angle), r * np.sin(angle), np.broadcast_to(z[:, None], (len(z), len(r)))], axis=-1)


def helicoid() -> tt.Domain:
    """Return the ribbons of a body."""
    (z, dz), (r, dr) = gauss(8, 0.0, LENGTH), gauss(2, TRIMMED, RADIUS)
    points = np.concatenate([ribbon(k, z, r).reshape(-1, 3) for k in range(RIBBONS)])
    return tt.Domain(points, np.tile(THICKNESS * np.outer(dz, dr).ravel(), RIBBONS))


def build() -> tt.System:
    """Return the arm, which hangs from the world, and its tendons: they start at its base, three end at each tip."""
    s = tt.System("helicoid arm", gravity=[0, 0, -9.81])
    material = tt.Material.incompressible_neo_hookean(STIFFNESS, viscosity=TIME * STIFFNESS)
    moved, domain, tip = kinematics(), helicoid(), [[0, 0, LENGTH], [RADIUS, 0, LENGTH], [0, RADIUS, LENGTH]]
    bodies: list[tt.SoftBody] = []
    end: tt.PortRef | str = "world"
    placement: tt.Pose | None = tt.Pose(rotation=np.diag([1.0, -1.0, -1.0]))
    for row, name in enumerate(BODIES):
        bodies.append(tt.SoftBody(name, moved, domain, DENSITY, material, ports={"tip": tip}))
        s.connect(end, bodies[-1], tt.Weld(f"{name}_clamp"), placement=placement)
        end, placement = bodies[-1].port("tip"), None
        for k in range(3):
            angle = 2.0 * np.pi * (k / 3 + row / 9)
            x, y = RADIUS * np.cos(angle), RADIUS * np.sin(angle)
            s.add_interaction(tt.SoftTendon(f"{name}{k + 1}", bodies.copy(), [[x, y, 0], [x, y, LENGTH]], points=3))
    return s


def tips(model: tt.Model, q: Array) -> Array:
    """Return where the tips are (9, m)."""
    return np.concatenate([model.pose(f"{name}.tip", q)[1] for name in BODIES])


def circles(t: float) -> Array:
    """Return where the tips shall be (9, m)."""
    angle = 2.0 * np.pi * t / PERIOD
    return np.concatenate([[r * np.cos(angle), r * np.sin(angle), -depth] for r, depth in zip(CIRCLES, DEPTHS, strict=True)])


def equilibrium(model: tt.Model, goal: Array, guess: Array) -> Array:
    """Return coordinates and tensions (12 + 9), near a guess, with which the tips rest where they shall be."""
    still = np.zeros(model.nv)

    def missed(x: Array) -> Array:
        q, u = np.split(x, [model.nv])
        return np.concatenate([model.inverse_dynamics(q, still, still, u=u), tips(model, q) - goal])

    def slopes(x: Array) -> Array:
        q, u = np.split(x, [model.nv])
        by_q = model.inverse_dynamics_derivatives(q, still, still, u=u)[0]
        moved = np.concatenate([model.jacobian(f"{name}.tip", q, frame="world")[:3] for name in BODIES])
        return np.block([[by_q, -model.actuation_matrix(q)], [moved, np.zeros((9, model.nu))]])

    found = root(missed, guess, jac=slopes, tol=1e-12)
    if np.abs(found.fun).max() > 1e-9:
        raise RuntimeError(f"no equilibrium: {found.message}")
    return np.asarray(found.x)


def statics(model: tt.Model) -> Array:
    """Return the equilibria (13, 12 + 9) along a round, the last one like the first."""
    x = np.zeros(model.nv + model.nu)
    start = tips(model, x[: model.nv])
    for part in np.linspace(0.0, 1.0, 9)[1:]:
        x = equilibrium(model, start + part * (circles(0.0) - start), x)
    found = [x]
    for t in np.linspace(0.0, PERIOD, PLACES + 1)[1:-1]:
        found.append(equilibrium(model, circles(t), found[-1]))
    return np.array([*found, x])


def shortening(model: tt.Model, q: Array) -> Array:
    """Return how much shorter than at rest the tendons are (9, m): the integral of ``A^T dq`` from there."""
    parts, weights = gauss(3, 0.0, 1.0)
    return weights @ (model.actuation_rows(parts[:, None] * q) @ q)


class Tracking:
    """Partial feedback linearisation of the tendons' lengths.

    Parameters
    ----------
    model : Model
    reference : callable
        ``reference(t, order)``: what tendons shall be shorter by (9, m), and its derivatives.
    """

    def __init__(self, model: tt.Model, reference: CubicSpline) -> None:
        self.model, self.reference = model, reference

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Return the tensions (9, N)."""
        model, wanted = self.model, self.reference
        rows, later = model.actuation_rows(np.array([q, q + STEP * v]))
        alone = rows @ model.forward_dynamics(q, v, np.zeros(model.nv)) + (later - rows) @ v / STEP
        law = wanted(t, 2) + DAMPING * (wanted(t, 1) - rows @ v) + PROPORTIONAL * (wanted(t) - shortening(model, q))
        return nnls(rows @ np.linalg.solve(model.mass_matrix(q), rows.T), law - alone)[0]


class Run(NamedTuple):
    """What was found: equilibria along the round, the law, the motion, and the weights of an integral over its times."""

    equilibria: Array
    law: Tracking
    motion: tt.Trajectory
    weights: Array


def simulate(duration: float) -> Run:
    """Let the arm hang, then go to the circles and along them."""
    model = build().resolve()
    found = statics(model)
    shorter = [shortening(model, x[: model.nv]) for x in found[:-1]]
    law = Tracking(model, CubicSpline(np.linspace(0.0, PERIOD, PLACES + 1), [*shorter, shorter[0]], bc_type="periodic"))
    edges = np.concatenate([[0.0], np.geomspace(1e-4, 0.1, 10), np.arange(0.2, duration + 0.05, 0.1)])
    panels = [gauss(4, *ends) for ends in pairwise(edges)]
    t, weights = (np.concatenate([part[k] for part in panels]) for k in range(2))
    t, weights = np.concatenate([[0.0], t, edges[-1:]]), np.concatenate([[0.0], weights, [0.0]])
    hanging = tt.trim(model)
    motion = tt.simulate(model, t, hanging.q, hanging.v, u=law, method="BDF", rtol=TOLERANCE, atol=1e-2 * TOLERANCE)
    return Run(found, law, motion, weights)


def errors(run: Run) -> Array:
    """Return what the tendons are too long by (n, 9; m)."""
    motion = run.motion
    return np.array([run.law.reference(t) - shortening(motion.model, q) for t, q in zip(motion.t, motion.q, strict=True)])


def balance(run: Run) -> tuple[float, float]:
    """Return the work of the tendons, and how much more of it there is than dissipated and stored energy (J)."""
    model, q, v = run.motion.model, run.motion.q, run.motion.v
    power = np.einsum("kij,kj,ki->k", model.actuation_rows(q), v, run.motion.u)
    energy, lost = run.motion.energy().sum(axis=1), run.weights @ model.dissipated_power(q, v)
    work = float(run.weights @ power)
    return work, float(work - lost - energy[-1] + energy[0])


def volume_change(motion: tt.Trajectory) -> float:
    """Return how far the volume at any point is from that at rest, at most."""
    bodies = [motion.model.mechanism.assembly.blocks[name] for name in BODIES]
    parts = np.split(motion.q[:: len(motion.t) // 40], len(BODIES), axis=1)
    return max(float(np.abs(body.volume_ratios(own) - 1.0).max()) for body, own in zip(bodies, parts, strict=True))


def draw_arm(axes: Any, model: tt.Model, q: Array, colours: tuple[str, ...]) -> None:
    """Draw the ribbons, each body in its colour."""
    z, r = np.linspace(0.0, LENGTH, 41), np.linspace(TRIMMED, RADIUS, 4)
    for name, own, colour in zip(BODIES, np.split(q, len(BODIES)), colours, strict=True):
        body, (rotation, position) = model.mechanism.assembly.blocks[name], model.pose(name, q)
        resting = np.concatenate([ribbon(k, z, r).reshape(-1, 3) for k in range(RIBBONS)])
        points = position + body.positions(own, resting) @ rotation.T
        for surface in points.T.reshape(3, RIBBONS, len(z), len(r)).swapaxes(0, 1):
            axes.plot_surface(*surface, color=colour, linewidth=0, alpha=0.9)


def draw(run: Run, wrong: Array, output: str) -> None:
    """Draw the arm as it hangs and in the end, the tips' paths, errors of lengths (n, 9; m) and tensions."""
    motion, model = run.motion, run.motion.model
    figure = plt.figure(figsize=(9, 5), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1.1, 1.0))
    space = figure.add_subplot(grid[:, 0], projection="3d")
    draw_arm(space, model, motion.q[0], ("0.8",) * 3)
    draw_arm(space, model, motion.q[-1], ("C0", "C1", "C2"))
    for path in np.array([tips(model, q) for q in motion.q]).reshape(-1, 3, 3).swapaxes(0, 1):
        space.plot(*path.T, color="C3", linewidth=1)
    fit_axes(space, np.array([[-0.13, -0.13, -0.3], [0.13, 0.13, 0.0]]))
    space.set_title("as it hangs, in the end, and paths of the tips")
    missed, pulled = figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])
    for row, name in enumerate(BODIES):
        own = slice(3 * row, 3 * row + 3)
        missed.semilogy(motion.t, 1e3 * np.abs(wrong[:, own]).max(axis=1), color=f"C{row}", label=f"to the {name} tip")
        pulled.plot(motion.t, motion.u[:, own], color=f"C{row}", linewidth=1)
    missed.set(ylabel="error of lengths [mm]")
    missed.legend(fontsize="small")
    pulled.set(xlabel="t [s]", ylabel="tensions [N]")
    figure.savefig(output)
    plt.close(figure)


def main(argv: list[str] | None = None) -> Run:
    """Lead the arm along the circles, and draw it."""
    parser = argparse.ArgumentParser(description="A soft arm of trimmed helicoids, led by tendons.")
    parser.add_argument("--output", default="soft_helicoid.png")
    parser.add_argument("--duration", type=float, default=PERIOD, help="s")
    arguments = parser.parse_args(argv)
    run = simulate(arguments.duration)
    t, u = run.motion.t, run.motion.u
    wrong = np.abs(errors(run))
    missed = np.abs([tips(run.motion.model, q) - circles(at) for at, q in zip(t, run.motion.q, strict=True)]).max(axis=1)
    slack, (work, left) = (u < 1e-9).any(axis=1), balance(run)
    print(f"tendons: {1e3 * wrong[0].max():.1f} mm too long at first, {1e3 * wrong[-1].max():.1e} mm "
          f"in the end; tips {1e3 * missed[-1]:.2f} mm from their circles")  # fmt: skip
    print(f"tensions from {u.min():.2f} to {u.max():.2f} N; none is slack after {1e3 * t[slack].max(initial=0.0):.0f} ms")
    print(f"volumes kept within {volume_change(run.motion):.0e}; work of {work:.3f} J balanced within {abs(left):.1e} J")
    draw(run, wrong, arguments.output)
    return run


if __name__ == "__main__":
    main()
