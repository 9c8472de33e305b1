"""The four-bar linkage about its equilibria: trim, linear model and a family of them, with a closed loop.

Hanging at rest, the linkage has one degree of freedom, followed by the crank's angle: two states. Small motions of the whole
linkage are compared with those of the linear model. A torque on the crank holds it at any other angle; over a turn of the crank
the linear models say where it would swing and where it would fall.

Run it: ``python examples/four_bar_linear.py`` draws ``four_bar_linear.png``.
"""

from __future__ import annotations

import argparse
from typing import Any

import control
import numpy as np
from four_bar import MODEL, resolve
from matplotlib.figure import Figure

import titop as tt
from titop.blocks.basics.spatial import Array

HANGING = -1.5  # rad, guess of the crank's angle
PUSHES = (0.01, 0.3, 1.0)  # rad, how far the crank is turned before it is let go


def at_crank(model: tt.Model, angle: float, near: Array | None = None) -> Array:
    """Return the closed configuration with the crank at an angle."""
    guess = model.neutral() if near is None else near.copy()
    guess[0] = angle
    return model.assemble(guess, fixed=["drive"])


def equilibrium(model: tt.Model) -> tt.OperatingPoint:
    """Return how the linkage hangs: all three angles are unknown, gravity and the closed loop determine them."""
    return tt.trim(model, q=at_crank(model, HANGING))


def linear_model(model: tt.Model, point: tt.OperatingPoint) -> control.StateSpace:
    """Return the linear model from the crank's torque to the angles of crank and rocker; the crank's motion is the state."""
    return tt.linearize(model, point, inputs=["drive"], outputs=["drive.q", "pivot.q"], independent=["drive"])


def let_go(model: tt.Model, point: tt.OperatingPoint, push: float, t: Array) -> tuple[Array, Array]:
    """Return crank and rocker (n, 2; rad from rest) after the crank is let go: simulated, and of the linear model."""
    run = tt.simulate(model, t, at_crank(model, point.q[0] + push, point.q), np.zeros(model.nv))
    simulated = np.stack([run.coordinate(name) for name in ("drive", "pivot")], axis=1) - point.q[[0, 2]]
    response = control.initial_response(linear_model(model, point), t, [push, 0.0])
    return simulated, response.outputs.T


def held_family(model: tt.Model, angles: Array) -> tt.LPVModel:
    """Return the linear models with the crank held by a torque at each angle; the other angles follow from the loop."""
    unknowns = ["drive.tau", "elbow", "pivot"]
    guess = equilibrium(model).q  # the way to assemble the linkage: it is kept from angle to angle
    for angle in np.linspace(guess[0], angles[0], 30):
        guess = at_crank(model, angle, guess)
    return tt.lpv(model, {"drive.q": angles}, unknowns=unknowns, q=guess, inputs=["drive"], independent=["drive"])


def draw(t: Array, motions: dict[float, tuple[Array, Array]], family: tt.LPVModel, rest: float) -> Figure:
    """Draw the motions in parts of the push, and the held equilibria over the crank's angle."""
    figure = Figure(figsize=(8, 6), layout="constrained")
    (crank, rocker), (torque, poles) = axes = figure.subplots(2, 2)
    for (push, (simulated, _)), colour in zip(motions.items(), ("tab:blue", "tab:orange", "tab:red"), strict=True):
        for k, axis in enumerate((crank, rocker)):
            axis.plot(t, simulated[:, k] / push, color=colour, linewidth=1.2, label=f"{push:g} rad")
    for k, (axis, name) in enumerate(((crank, "crank"), (rocker, "rocker"))):
        axis.plot(t, motions[push][1][:, k] / push, "k--", linewidth=0.9, label="linear")
        axis.set(title=f"{name} over the push", xlabel="t [s]")
    crank.set_ylim(top=1.9)
    crank.legend(fontsize=8, loc="upper center", ncols=2)
    angles = np.rad2deg(family.parameters["drive.q"])
    torque.plot(angles, family.tau[:, 0], color="black", linewidth=1)
    torque.set(title="torque that holds the crank", ylabel="N m", xlabel="crank [deg]")
    poles.plot(angles, family.eigenvalues.imag.max(axis=1), color="tab:blue", linewidth=1.2, label="frequency of swings")
    poles.plot(angles, family.eigenvalues.real.max(axis=1), color="tab:red", linewidth=1.2, label="growth rate of falls")
    poles.set(title="poles at constant torque", ylabel="rad/s", xlabel="crank [deg]")
    poles.set_ylim(top=6.2)
    poles.legend(fontsize=8, loc="upper right")
    for axis in (torque, poles):
        axis.axvline(np.rad2deg(rest), color="gray", linestyle=":", linewidth=1)
    for axis in axes.flat:
        axis.grid(alpha=0.3)
    return figure


def main(argv: list[str] | None = None) -> dict[str, Any]:
    """Trim, linearise, compare with simulations, and draw."""
    parser = argparse.ArgumentParser(description="Linear models of a four-bar linkage.")
    parser.add_argument("--output", default="four_bar_linear.png")
    output = parser.parse_args(argv).output
    model = resolve(tt.load(MODEL))
    point = equilibrium(model)
    print(point)
    system = linear_model(model, point)
    print(f"states {', '.join(system.state_labels)}; poles {np.array2string(system.poles(), precision=4)} rad/s")
    t = np.linspace(0, 6, 301)
    motions = {push: let_go(model, point, push, t) for push in PUSHES}
    for push, (simulated, linear) in motions.items():
        error = np.abs(simulated - linear).max() / push
        print(f"let go {push:4.2f} rad away: at most {100 * error:7.3f} % of that from the linear model")
    family = held_family(model, point.q[0] + np.linspace(-np.pi, np.pi, 61))
    print(family)
    draw(t, motions, family, point.q[0]).savefig(output)
    return {"model": model, "point": point, "system": system, "motions": motions, "family": family}


if __name__ == "__main__":
    main()
