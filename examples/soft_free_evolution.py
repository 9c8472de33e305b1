"""Two soft bodies fall under gravity, by four kinematics: simulations 5 to 8 of key P.

PGC is a tentacle that stands upright at rest, with curvature by a bell; PCC, PAC and PCS are one arm that lies horizontally at
rest, with constant and affine curvature, and constant strain. What energy they lose is what their material dissipates.

Sizes, densities and starts are the paper's; it prints C in GPa, here in MPa. Sections of these kinematics keep their shape, so
the material is one without Poisson's ratio that has an incompressible one's modulus, 6 C, along the body. Of PGC two things are
our own: the bell's width, since the paper's is as good as constant, and a start that is not stretched by half: it would whip.

Run it: ``python examples/soft_free_evolution.py`` draws ``soft_free_evolution.png``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array
from titop.solvers.pictures.figures import fit_axes


class Case(NamedTuple):
    """An arm of two bodies.

    Attributes
    ----------
    kinematics : Kinematics
        Of both bodies.
    length : float, m
    radii : (base, middle, tip), m
    stiffness, time : float
        C (Pa) and eta (s) of the material.
    start : sequence of float
    placement : (3, 3) array
        What turns z into the direction of the arm.
    """

    kinematics: tt.Kinematics
    length: float
    radii: tuple[float, float, float]
    stiffness: float
    time: float
    start: Sequence[float]
    placement: Array


#: Lengths (m) of the bodies.
LONG, SHORT = 0.3, 0.2
#: The arm's radii (m), C (Pa) and eta (s).
ARM = ((0.01, 0.01, 0.01), 0.555e6, 0.333)
UPRIGHT, HORIZONTAL = np.eye(3), np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
K = tt.Kinematics
CASES = {
    "PGC": Case(
        K.gaussian_curvature(SHORT, elongation=True, spatial=True),
        *(SHORT, (0.01, 0.005, 0.002), 0.111e6, 0.01, (0, -1, 0.3, 1, 0, -0.1, -2, -1, 0, 0), UPRIGHT),
    ),
    "PCC": Case(K.constant_curvature(LONG, elongation=True, spatial=True), *(LONG, *ARM, (1.5, 1, 0, 1, -1, 0.1), HORIZONTAL)),
    "PAC": Case(K.affine_curvature(LONG, spatial=True), *(LONG, *ARM, (1.5, 0, 1, 0, 1, 0, -1, 0), HORIZONTAL)),
    "PCS": Case(K.constant_strain(LONG), *(LONG, *ARM, (1.5, 1, 0.2, 0.02, 0, 0, 1, -1, -0.1, 0, -0.01, 0.1), HORIZONTAL)),
}
FIELDS = {"PGC": "Gaussian curvature", "PCC": "constant curvature", "PAC": "affine curvature", "PCS": "constant strain"}
DENSITY = 1070.0
#: Tolerance of the integrator, which is implicit: elongation and shear are damped so much that they are stiff. Times (s)
#: between instants at which energy is read, in the end and in the beginning.
TOLERANCE, PANEL, FIRST = 1e-8, 0.02, 1e-7
#: How many configurations are drawn, at times that become rarer.
STROBES = 15


def build(case: Case) -> tt.System:
    """Return the arm, clamped to the world."""
    s = tt.System("soft arm", gravity=[0, 0, -9.81])
    material = tt.Material.neo_hookean(6 * case.stiffness, 0.0, viscosity=case.time * case.stiffness)
    end: tt.PortRef | str = "world"
    placement: tt.Pose | None = tt.Pose(rotation=case.placement)
    for name, base, tip in zip(("lower", "upper"), case.radii, case.radii[1:], strict=False):
        domain = tt.Domain.cone(base, tip, case.length, along=5, around=4, outwards=1)
        body = tt.SoftBody(name, case.kinematics, domain, DENSITY, material)
        s.connect(end, body, tt.Weld(f"{name}_clamp"), placement=placement)
        end, placement = body.port("tip"), None
    return s


def times(duration: float) -> tuple[Array, Array]:
    """Return instants (s) and the weights of an integral over them: Gauss points between instants that begin close together.

    At the start elongation and shear are faster than anything later.
    """
    count = round(np.log(PANEL / FIRST) / np.log(1.5))
    edges = np.concatenate([[0.0], np.geomspace(FIRST, PANEL, count), np.arange(2 * PANEL, duration + PANEL / 2, PANEL)])
    points, weights = np.polynomial.legendre.leggauss(4)
    panels = np.diff(edges)[:, None]
    inner = edges[:-1, None] + panels * (points + 1) / 2
    return np.concatenate([[0.0], inner.ravel(), edges[-1:]]), np.concatenate([[0.0], (panels * weights / 2).ravel(), [0.0]])


def balance(trajectory: tt.Trajectory, weights: Array) -> tuple[float, float]:
    """Return what has been dissipated (J), and by how much more the energy has fallen."""
    energy = trajectory.energy().sum(axis=1)
    dissipated = float(weights @ trajectory.model.dissipated_power(trajectory.q, trajectory.v))
    return dissipated, float(energy[0] - energy[-1] - dissipated)


def centre_line(model: tt.Model, case: Case, q: Array) -> Array:
    """Return points (42, 3; m) along the arm."""
    parts = []
    for name, own in zip(("lower", "upper"), np.split(q, 2), strict=True):
        rotation, position = model.pose(name, q)
        line = np.array([case.kinematics(np.array([0, 0, z]), own) for z in np.linspace(0, case.length, 21)], dtype=float)
        parts.append(position + line @ rotation.T)
    return np.concatenate(parts)


def draw(trajectories: dict[str, tt.Trajectory], output: str) -> None:
    """Draw the arms at some instants, and the coordinates over time."""
    figure = plt.figure(figsize=(8.4, 10), layout="constrained")
    for row, (name, trajectory) in enumerate(trajectories.items()):
        space, beside = figure.add_subplot(4, 2, 2 * row + 1, projection="3d"), figure.add_subplot(4, 2, 2 * row + 2)
        instants = trajectory.t[-1] * np.linspace(0, 1, STROBES) ** 2
        chosen = np.searchsorted(trajectory.t, instants).clip(0, len(trajectory.t) - 1)
        for k in chosen:
            end = k in (chosen[0], chosen[-1])
            line = centre_line(trajectory.model, CASES[name], trajectory.q[k])
            space.plot(*line.T, color="C0" if end else "0.75", linewidth=2.5 if end else 1.0, zorder=3 if end else 2)
        fit_axes(space)
        space.set_title(f"{name}, {FIELDS[name]}")
        lengths = np.array(trajectory.model.mechanism.assembly.configuration_units) == "m"
        beside.plot(trajectory.t, trajectory.q[:, ~lengths], linewidth=1)
        beside.plot(trajectory.t, 10 * trajectory.q[:, lengths], "--", linewidth=1)
        beside.set(xlabel="t [s]", ylabel="strains [rad], dashed [dm]")
    figure.savefig(output)
    plt.close(figure)


def main(argv: list[str] | None = None) -> dict[str, tt.Trajectory]:
    """Let the arms fall, and draw it."""
    parser = argparse.ArgumentParser(description="Soft arms by four kinematics, in free evolution.")
    parser.add_argument("--output", default="soft_free_evolution.png")
    parser.add_argument("--duration", type=float, default=8.0, help="s")
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    arguments = parser.parse_args(argv)
    t, weights = times(arguments.duration)
    trajectories = {}
    for name in arguments.cases:
        case = CASES[name]
        model = build(case).resolve()
        start, tolerances = np.array(case.start, dtype=float), {"rtol": TOLERANCE, "atol": 1e-2 * TOLERANCE}
        run = tt.simulate(model, t, start, np.zeros(model.nv), method="Radau", **tolerances)
        (dissipated, left), trajectories[name] = balance(run, weights), run
        print(f"{name}: {run.statistics['steps']} steps, {run.statistics['seconds']:.1f} s; dissipated {dissipated:.4f} J, "
              f"balanced within {abs(left):.1e} J")  # fmt: skip
        rest = tt.trim(model, q=run.q[-1])
        here, there = (model.pose("upper.tip", q)[1] for q in (run.q[-1], rest.q))
        place = ", ".join(f"{1e3 * x:.1f}" for x in there)
        print(f"     {rest.stability} at rest with the tip at ({place}) mm; "
              f"after {t[-1]:.0f} s it is {1e3 * np.linalg.norm(here - there):.1f} mm from there")  # fmt: skip
    draw(trajectories, arguments.output)
    return trajectories


if __name__ == "__main__":
    main()
