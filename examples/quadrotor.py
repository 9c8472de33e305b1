"""A quadrotor flies with a load on a rod: LQR of the linear model, on the nonlinear one with propellers that lag.

Four propellers lift a body, from whose middle a load hangs on a rod with a universal joint. The speeds at hover follow from
`tt.trim`; the linear model has the swing of the load, and gives the gain of an LQR. On the nonlinear system, whose propellers
lag, the quadrotor flies some metres and stops: with this gain, and with that of a design that takes the load for a part of the
body, which leaves the load swinging. An LFT model proves that the first is stable for loads and thrusts a fifth
off, all at once.

Run it: ``python examples/quadrotor.py`` draws ``quadrotor.png``.
"""

from __future__ import annotations

import argparse

import numpy as np
from matplotlib.figure import Figure

import titop as tt
from titop.blocks.basics.spatial import Array
from titop.solvers.pictures.figures import fit_axes

ARM, ROD = 0.25, 1.0  # m
BODY, LOAD = 1.2, 0.4  # kg
THRUST, DRAG = 1e-5, 1.6e-7  # N and N m per (rad/s)^2
LAG = 0.05  # s, of the squares of the speeds
PLACES = {"front": [ARM, 0, 0], "left": [0, ARM, 0], "back": [-ARM, 0, 0], "right": [0, -ARM, 0]}
PROPELLERS = list(PLACES)
FLIGHT, DURATION, END = np.array([3.0, 2.0, 1.0]), 2.5, 10.0  # m, s, s
#: Deviations that count alike: places (m), angles (rad), swing (rad), rates, and inputs ((rad/s)^2).
PLACE, TURN, SWING, RATE, SPEED = 0.3, 0.3, 0.2, 1.0, 1e5
SWINGING, RIGID = "load that swings", "load as a part of the body"


def build(swings: bool = True, lag: float = LAG) -> tt.System:
    """Return the quadrotor with its load, which `swings` or is fixed to the body, and the lag of its propellers."""
    body = tt.RigidBody("body", BODY, inertia=[0.012, 0.012, 0.022], ports=PLACES)
    load = tt.RigidBody("load", LOAD, com=[0, 0, -ROD], inertia=1e-3)
    s = tt.System("quadrotor", gravity=[0, 0, -9.81])
    s.connect("world", body, tt.Free("base"))
    s.connect(body, load, tt.Universal("swing", damping=0.01) if swings else tt.Weld("swing"))
    path = tt.SignalPath.lag(lag) if lag else None
    for k, name in enumerate(PROPELLERS):
        s.add_actuator(tt.Propeller(name, body.port(name), THRUST, DRAG, turning=(-1) ** k, max_speed=900.0, path=path))
    return s


def design(swings: bool) -> Array:
    """Return the LQR gain (4, 16) by displacements and rates; that of the design without swing is zero for it."""
    import control

    model = build(swings, lag=0.0).resolve()
    hover = tt.trim(model, PROPELLERS, q=model.neutral())
    system = tt.linearize(model, hover, inputs=PROPELLERS)
    sizes = np.array([PLACE] * 3 + [TURN] * 3 + [SWING] * (model.nv - 6) + [RATE] * model.nv)
    gain, _, _ = control.lqr(system.A, system.B, np.diag(sizes**-2), np.eye(4) / SPEED**2, method="scipy")
    return np.asarray(gain) if swings else np.insert(np.asarray(gain), [6, 6, 12, 12], 0.0, axis=1)


def place(t: float) -> tuple[Array, Array]:
    """Return place (m) and velocity (m/s) of the flight: from rest to rest, with accelerations that begin and end at zero."""
    s = min(t / DURATION, 1.0)
    return FLIGHT * (10 - 15 * s + 6 * s**2) * s**3, FLIGHT * 30 * (s * (1 - s)) ** 2 / DURATION


def fly(model: tt.Model, hover: tt.OperatingPoint, gain: Array, t: Array) -> tt.Trajectory:
    """Return the flight under ``u = u0 - K deviation``, within the propellers' range."""
    lower, upper = model.mechanism.inputs.lower, model.mechanism.inputs.upper

    def feedback(time: float, q: Array, v: Array) -> Array:
        here, (there, rate) = q.copy(), place(time)
        here[:3] -= there
        deviation = hover.deviation(here, v)[: 2 * model.nv]
        deviation[model.nv : model.nv + 3] -= rate
        return np.clip(hover.u - gain @ deviation, lower, upper)

    return tt.simulate(model, t, hover.q, hover.v, x0=hover.x, u=feedback)


def prove(model: tt.Model, hover: tt.OperatingPoint, gain: Array) -> object:
    """Return whether the loop is stable for all loads and thrusts a fifth off: proved over the family of linear models."""
    import control

    thrusts = tuple(f"{name}.thrust_coefficient" for name in PROPELLERS)
    ranges = {"load.mass": tt.percent(20), thrusts: tt.percent(20)}
    family = tt.lft(model, hover, ranges, inputs=PROPELLERS, outputs=["base.q", "swing.q", "base.v", "swing.v"])
    law = control.ss([], [], [], -gain, inputs=family.nominal.output_labels, outputs=PROPELLERS)
    return tt.robust_stability(family.close(law))


def draw(runs: dict[str, tt.Trajectory]) -> Figure:
    """Return paths in space, swing and speeds over time."""
    figure = Figure(figsize=(9, 4.4), layout="constrained")
    space = figure.add_subplot(1, 2, 1, projection="3d")
    above, below = figure.add_subplot(2, 2, 2), figure.add_subplot(2, 2, 4)
    for (label, run), colour in zip(runs.items(), ("tab:blue", "tab:orange"), strict=True):
        hanging = [run.model.pose("load", q) for q in run.q]
        ends = np.array([position + rotation @ [0, 0, -ROD] for rotation, position in hanging])
        space.plot(*run.q[:, :3].T, color=colour, label=label, linewidth=1.4)
        space.plot(*ends.T, color=colour, linestyle="--", linewidth=0.9)
        for q, end in zip(run.q[::20], ends[::20], strict=True):
            space.plot(*np.transpose([q[:3], end]), color="0.6", linewidth=0.6)
        swing = run.q[:, [run.model.configuration_names.index(f"swing.{axis}") for axis in ("first", "second")]]
        above.plot(run.t, np.rad2deg(np.linalg.norm(swing, axis=1)), color=colour, linewidth=1.4)
        below.plot(run.t, np.sqrt(run.x[:, 0]), color=colour, linewidth=1.4)
    fit_axes(space)
    figure.set_constrained_layout_pads(wspace=0.1)
    space.legend(fontsize=8, loc="upper left")
    above.set_title("swing of the load to its rod [deg]", fontsize=10)
    below.set_title("front propeller [rad/s]", fontsize=10)
    below.set_xlabel("t [s]")
    for axis in (above, below):
        axis.grid(alpha=0.3)
    return figure


def main(argv: list[str] | None = None) -> dict[str, tt.Trajectory]:
    """Design, prove, fly and draw."""
    parser = argparse.ArgumentParser(description="A quadrotor with a slung load.")
    parser.add_argument("--output", default="quadrotor.png")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    hover = tt.trim(model, PROPELLERS, q=model.neutral())
    assert hover.u is not None
    print(f"hover: propellers at {np.sqrt(hover.u[0]):.0f} rad/s")
    gains = {SWINGING: design(True), RIGID: design(False)}
    print(f"loads and thrusts a fifth off: {prove(model, hover, gains[SWINGING])}")
    t = np.linspace(0, END, 201)
    runs = {label: fly(model, hover, gain, t) for label, gain in gains.items()}
    for label, run in runs.items():
        left = np.rad2deg(np.abs(run.q[t >= END - 3, 7:]).max())
        print(
            f"{label}: {np.linalg.norm(run.q[-1, :3] - FLIGHT):.4f} m off at the end, {left:.2f} deg of swing in the last 3 s"
        )
    draw(runs).savefig(arguments.output)
    print(f"figure in {arguments.output}")
    return runs


if __name__ == "__main__":
    main()
