"""The cable-driven manipulator carries payloads: LQG over an LPV family, for the empty gripper and for what it carries.

Five tendons hold the tip of the soft rod beside its hanging rest, whatever is in the gripper: for each payload's mass the
tensions that do so are found, and the linear model there. From a model of the family come a sampled controller and its
estimator, of twelve states, which also estimates a force on the tip: so the tip goes where it is wanted whatever pulls at it.
Tendons do not push: commands end at no tension, and the estimator is told so. The nonlinear rod carries 150 g, a mass that
the family does not have. The controller of the empty gripper swings it up until tendons go slack; that of the family's model
at 150 g brings the tip from place to place, and back after a push. The tensions of the empty gripper alone let it sag.

Run it: ``python examples/manipulator_lpv.py`` draws ``manipulator_lpv.png``.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import control
import matplotlib.pyplot as plt
import numpy as np
from cable_driven_manipulator import PULLS, backbone
from cable_driven_manipulator import build as manipulator
from scipy.linalg import eigh, solve_discrete_lyapunov, svd

import titop as tt
from titop.blocks.basics.spatial import Array
from titop.solvers.pictures.figures import fit_axes

#: Of the gripper and what is in it (kg): the empty gripper, where the family has members, and what is carried.
EMPTY, MASSES, CARRIED = 0.02, np.linspace(0.02, 0.2, 7), 0.15
#: The tensions (N) from which those at the family's points depart as little as can be, and the largest ones.
TENSION, LARGEST = 10.0, 60.0
SAMPLE_TIME, ORDER = 0.02, 12  # s; states of the reduced models
HOME, GOAL, AT = np.array([0.1, 0.0]), np.array([0.05, 0.06]), 0.5  # m, m, s: where the tip is to be, and from when
PUSH, FROM, UNTIL = 1.0, 1.4, 1.6  # N, s, s
END = 2.5  # s
ERROR, EFFORT = 3e-3, 3.0  # m, N: what counts alike
NOISE, FORCE_DRIFT, DISTURBANCE = 3e-4, 0.06, 0.3  # m of the measured tip; N a sample, of the tip's force; N of tensions
TENDONS = [f"{name}.tension" for name in PULLS]
TIP = ["tip.x", "tip.y", "tip.z"]
ALONE, FIXED, LOOKED_UP = "tensions alone", "controller of 20 g", "controller at 150 g"


def build() -> tt.System:
    """Return the manipulator with a gripper, and a camera that sees it."""
    s = manipulator()
    gripper = tt.RigidBody("gripper", EMPTY, com=[0.02, 0, 0], inertia=1e-5, ports={"hook": [0.02, 0, 0]})
    s.connect(s["rod"].port("tip"), gripper, joint=tt.Weld("flange"))
    s.add_sensor(tt.PoseSensor("tip", gripper.port("hook"), sequence="YZX"))
    return s


def tip(model: tt.Model, q: Array) -> Array:
    """Return where the gripper is (3, m)."""
    return np.asarray(model.pose("gripper.hook", q)[1])


def held(model: tt.Model, place: Array) -> tt.OperatingPoint:
    """Return the equilibrium with the tip above a place (x and y, m): tensions by Newton's method, of least change."""
    point = tt.trim(model, u=dict.fromkeys(TENDONS, TENSION))
    while np.abs(place - tip(model, point.q)[:2]).max() > 1e-9:
        slopes = control.dcgain(tt.linearize(model, point, inputs=[*PULLS], outputs=TIP[:2]))
        tensions = point.u + np.linalg.pinv(slopes) @ (place - tip(model, point.q)[:2])
        point = tt.trim(model, q=point.q, u=tensions)
    return point


def family(model: tt.Model) -> tt.LPVModel:
    """Return the linear models over the payload's mass, from tensions and the force on the tip to where it is."""
    points = [held(model.with_parameters({"gripper.mass": mass}), HOME) for mass in MASSES]
    inputs = [*PULLS, "gripper.hook.F"]
    return tt.lpv(model, {"gripper.mass": MASSES}, points=points, inputs=inputs, outputs=TIP)


def balanced(a: Array, b: Array, c: Array, order: int) -> tuple[Array, Array, Array]:
    """Return A, B, C of the states that inputs reach and outputs see best, by balanced truncation."""

    def root(gramian: Array) -> Array:
        values, vectors = eigh(gramian)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))

    reached, seen = root(solve_discrete_lyapunov(a, b @ b.T)), root(solve_discrete_lyapunov(a.T, c.T @ c))
    left, values, right = svd(seen.T @ reached)
    into, out = (side[:, :order] / np.sqrt(values[:order]) for side in (reached @ right.T, seen @ left))
    return out.T @ a @ into, out.T @ b, c @ into


class Regulator(NamedTuple):
    """A sampled controller: its states x are estimates of a reduced model's, and of the force on the tip (N).

    A measurement y moves them by ``kalman (y - c x)``, tensions u to ``a x + b u`` at the next sample; references r are
    answered by ``u = forward r - gain (x - rest r)``.
    """

    a: Array
    b: Array
    c: Array
    kalman: Array
    gain: Array
    forward: Array
    rest: Array

    def controller(self, tensions: Array) -> tt.Controller:
        """Return it about tensions (5, N), with commands between none and the largest tension."""

        def update(t: float, x: Array, y: Array, r: Array) -> tuple[Array, Array]:
            x = x + self.kalman @ (y - self.c @ x)
            u = self.forward @ r[:2] - self.gain @ (x - self.rest @ r[:2])
            u = np.clip(u, -tensions, LARGEST - tensions)
            return self.a @ x + self.b @ u, u

        return tt.Controller(update, np.zeros(len(self.a)), TIP, TENDONS, SAMPLE_TIME)

    def growth(self, member: control.StateSpace) -> float:
        """Return the growth rate (1/s) of its closed loop with a member of the family: positive is unstable."""
        plant = control.sample_system(member, SAMPLE_TIME)
        estimate = np.hstack([self.kalman @ plant.C, np.eye(len(self.a)) - self.kalman @ self.c])
        alone = np.hstack([plant.A, np.zeros((plant.nstates, len(self.a)))])
        pulled = alone - plant.B[:, : len(TENDONS)] @ self.gain @ estimate
        closed = np.vstack([pulled, (self.a - self.b @ self.gain) @ estimate])
        return float(np.log(np.abs(np.linalg.eigvals(closed)).max()) / SAMPLE_TIME)


def design(member: control.StateSpace) -> Regulator:
    """Return the linear-quadratic regulator and the Kalman filter of a member of the family."""
    plant, m = control.sample_system(member, SAMPLE_TIME), len(TENDONS)
    a, b, c = balanced(plant.A, plant.B, plant.C, ORDER)
    pulled, pushed = b[:, :m], b[:, m:]
    wanted = c[:2]
    feedback, _, _ = control.dlqr(a, pulled, wanted.T @ wanted / ERROR**2, np.eye(m) / EFFORT**2, method="scipy")
    # where it rests, by tensions and force; tensions of least change lead to r
    rest = np.linalg.inv(np.eye(ORDER) - a)
    forward = np.linalg.pinv(wanted @ rest @ pulled)
    against = -forward @ wanted @ rest @ pushed
    resting = rest @ (pulled @ against + pushed)
    gain = np.hstack([feedback, -against - feedback @ resting])
    there = np.vstack([rest @ pulled @ forward, np.zeros((3, 2))])
    # the force is one more state, which drifts
    zero, one = np.zeros((3, m)), np.eye(3)
    a, b, c = np.block([[a, pushed], [np.zeros((3, ORDER)), one]]), np.vstack([pulled, zero]), np.hstack([c, np.zeros((3, 3))])
    drift = np.hstack([b, np.vstack([np.zeros((ORDER, 3)), one])])
    deviations = np.diag([DISTURBANCE**2] * m + [FORCE_DRIFT**2] * 3)
    predictor, _, _ = control.dlqe(a, drift, c, deviations, NOISE**2 * one, method="scipy")
    return Regulator(a, b, c, np.linalg.solve(a, predictor), gain, forward, there)


def carry(model: tt.Model, trim: dict[str, Array], start: tt.OperatingPoint, controller: tt.Controller) -> tt.Trajectory:
    """Return the motion of a model from a start, by a controller about a trim."""
    return tt.simulate(
        model,
        np.linspace(0, END, round(END / SAMPLE_TIME) + 1),
        start.q,
        start.v,
        controller=controller,
        operating_point=trim,
        reference={name: lambda t, k=k: (GOAL if t >= AT else HOME)[k] for k, name in enumerate(TIP[:2])},
        noise=dict.fromkeys(TIP, NOISE),
        wrenches={"gripper.hook": lambda t, q, v: np.array([0, 0, PUSH * (FROM <= t < UNTIL), 0, 0, 0])},
        method="Radau",
        rtol=1e-2,
        atol=1e-3,
    )


def errors(run: tt.Trajectory) -> Array:
    """Return how far the tip is from where it is to be (n, 2; mm)."""
    wanted = np.where(run.t[:, None] >= AT, GOAL, HOME)
    return 1e3 * (np.array([tip(run.model, q)[:2] for q in run.q]) - wanted)


def draw(members: tt.LPVModel, rates: dict[str, list[float]], runs: dict[str, tt.Trajectory], output: str) -> None:
    """Draw the modes, what linear models say of the closed loops, the shapes, the tip's errors and the tensions."""
    figure = plt.figure(figsize=(8.4, 9), layout="constrained")
    grid = figure.add_gridspec(3, 2, height_ratios=[1.5, 1, 1])
    shapes = figure.add_subplot(grid[0, 0], projection="3d")
    frozen, *across, fixed, good = (figure.add_subplot(grid[place]) for place in ((0, 1), (1, 0), (1, 1), (2, 0), (2, 1)))
    colours = dict(zip(runs, ("tab:blue", "tab:red", "black"), strict=True))
    for label, run in runs.items():
        shapes.plot(*np.array([tip(run.model, q) for q in run.q]).T, color=colours[label], linewidth=0.7)
    for k, colour in zip((0, round(AT / SAMPLE_TIME), -1), ("tab:orange", "tab:purple", "tab:green"), strict=True):
        run = runs[LOOKED_UP]
        shapes.plot(*backbone(run.model, run.q[k]).T, color=colour, linewidth=4, label=f"at {run.t[k]:.1f} s")
    shapes.set_title("the rod, and the ways of its tip")
    fit_axes(shapes)
    for label, rate in rates.items():
        frozen.plot(1e3 * MASSES, rate, marker=".", color=colours[label], label=label)
    frozen.axhline(0.0, color="grey", linewidth=0.8)
    frozen.axvline(1e3 * CARRIED, color="grey", linewidth=0.8, linestyle=":")
    frozen.set(title="closed loops, linear", xlabel="payload [g]", ylabel="fastest growth [1/s]")
    for k, axes in enumerate(across):
        for label, motion in runs.items():
            axes.plot(motion.t, errors(motion)[:, k], color=colours[label], linewidth=1, label=label)
        axes.set(title=f"error of {'xy'[k]}", xlabel="t [s]", ylabel="mm", ylim=(-90, 130))
    for axes, label in ((fixed, FIXED), (good, LOOKED_UP)):
        for k, name in enumerate(PULLS):
            axes.step(runs[label].t, runs[label].u[:, k], where="post", linewidth=1, label=name)
        axes.set(title=label, xlabel="t [s]", ylabel="tension [N]", ylim=(-2, 1.1 * LARGEST))
    shapes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(-0.1, 1.0))
    for axes in (frozen, across[1], good):
        axes.legend(fontsize="small", **({"loc": "upper right"} if axes is not frozen else {}))
    for axes in (frozen, *across, fixed, good):
        axes.grid(alpha=0.3)
    figure.savefig(output)
    plt.close(figure)


def main(argv: list[str] | None = None) -> tuple[tt.LPVModel, dict[str, list[float]], dict[str, tt.Trajectory]]:
    """Make the family, design on it, try the controllers on the nonlinear rod, and draw."""
    parser = argparse.ArgumentParser(description="A soft manipulator that carries payloads, and its linear models.")
    parser.add_argument("--output", default="manipulator_lpv.png")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    members = family(model)
    print(members)
    trims = {mass: members.trim_at(gripper_mass=mass) for mass in (EMPTY, CARRIED)}
    fixed, looked_up = (design(members.at(gripper_mass=mass)) for mass in trims)
    systems = [members.at(gripper_mass=mass) for mass in MASSES]
    rates = {FIXED: [fixed.growth(s) for s in systems], LOOKED_UP: [looked_up.growth(s) for s in systems]}
    loaded, empty = model.with_parameters({"gripper.mass": CARRIED}), trims[EMPTY]
    start = tt.trim(loaded, q=empty["q"], u=empty["u"])
    alone = fixed._replace(gain=0 * fixed.gain)
    runs = {
        ALONE: carry(loaded, empty, start, alone.controller(empty["u"])),
        FIXED: carry(loaded, empty, start, fixed.controller(empty["u"])),
        LOOKED_UP: carry(loaded, trims[CARRIED], start, looked_up.controller(trims[CARRIED]["u"])),
    }
    for label, run in runs.items():
        error = np.linalg.norm(errors(run), axis=1)
        print(f"{label}: {error[0]:.1f} mm at first, {error[-25:].max():.1f} mm in the end; ", end="")
        print(f"tensions {run.u.min():.1f} to {run.u.max():.1f} N, {run.statistics['seconds']:.1f} s")
    draw(members, rates, runs, arguments.output)
    return members, rates, runs


if __name__ == "__main__":
    main()
