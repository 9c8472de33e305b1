"""An upper stage whose tanks drain under thrust: slosh and attitude control over the fill.

The liquids are `tt.Slosh` devices, pendulums beside masses that move with the tanks. Under thrust the stage accelerates, more
and more as it grows lighter, and its pendulums swing faster. About these equilibria, which accelerate, a family of linear
models over the fill of the large tank tells where a controller of the engine's side force makes the liquid swing up, how
baffles mend that, and with which margins. The nonlinear stage then flies with both.

Run it: ``python examples/draining_tank.py`` draws ``draining_tank.png``.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import control
import numpy as np
from matplotlib.figure import Figure

import titop as tt
from titop.blocks.basics.spatial import Array

THRUST = 20e3  # N
FILLS = np.linspace(0.95, 0.1, 18)
#: Of the liquid's motion: that of a bare wall, about, and with baffles.
RATIOS = {"bare": 0.001, "baffles": 0.03}
#: Side force of the engine by attitude (N/rad) and its rate (N s/rad), and the time constant of the gimbal (s).
GAINS, LAG = (2500.0, 3500.0), 0.15
#: What moves in the plane of the controller: the rest is held.
OUT_OF_PLANE = ["base.x", "base.ry", "base.rz", "lox/mode1.second", "fuel/mode1.second"]


def build(damping_ratio: float) -> tt.Model:
    """Return the stage: a dry mass with engine, a sphere of fuel and a cylinder of oxygen above it."""
    s = tt.System("stage", gravity=[0, 0, 0])
    ports = {"engine": [0, 0, -1.5], "fuel": [0, 0, -0.9], "lox": [0, 0, 0.3]}
    stage = tt.RigidBody("stage", 600.0, com=[0, 0, 0.2], inertia=[800.0, 800.0, 150.0], ports=ports)
    s.connect("world", stage, tt.Free("base"))
    s.add_device(tt.Slosh.cylinder("lox", stage.port("lox"), 0.6, 2.0, 0.95, 1141.0, damping_ratio=damping_ratio))
    s.add_device(tt.Slosh.sphere("fuel", stage.port("fuel"), 0.5, 0.6, 810.0, damping_ratio=damping_ratio))
    s.add_load(tt.Load("thrust", stage.port("engine"), force=[0, 0, THRUST]))
    s.add_actuator(tt.Force("gimbal", stage.port("engine")))
    return s.resolve()


def over_the_fill(model: tt.Model) -> tt.LPVModel:
    """Return the family from the side force to attitude and rate, about equilibria that accelerate."""
    swinging = [name for name in model.coordinate_names if "/" in name]
    return tt.lpv(
        model,
        {"lox.fill": FILLS},
        unknowns=[*swinging, "base.z.a"],
        inputs=["gimbal.y"],
        outputs=["stage.theta[0]", "stage.w[0]", "base.z.a"],
        hold=OUT_OF_PLANE,
        omit=["base.y", "base.z"],
    )


def controller(force: str = "gimbal_y", turn: int = 0, sign: float = 1.0) -> control.StateSpace:
    """Return the gimbal's law in one plane: of errors of attitude and rate, with the lag of the gimbal."""
    law = control.ss(-1.0 / LAG, sign * np.array([GAINS]) / LAG, 1.0, 0.0)
    return control.ss(law, inputs=[f"stage_theta[{turn}]", f"stage_w[{turn}]"], outputs=[force])


class Closed(NamedTuple):
    """A closed loop over the fill: its poles (n, states), and phase margins (n, degrees), none where it is unstable."""

    poles: Array
    phase: Array

    @property
    def damping(self) -> Array:
        """Damping ratio (n) of what is damped least."""
        return (-self.poles.real / np.abs(self.poles)).min(axis=1)


def close(family: tt.LPVModel) -> Closed:
    """Return what the controller makes of each member."""
    K, poles, phase = controller(), [], []
    for fill in FILLS:
        plant = family.at({"lox.fill": fill})[:2, :]
        closed = np.block([[plant.A, -plant.B @ K.C], [K.B @ plant.C, K.A]])
        poles.append(np.linalg.eigvals(closed))
        stable = poles[-1].real.max() < 0.0
        phase.append(float(tt.margins(plant, "gimbal_y", controller=K, sign=-1, progress=False).phase[0]) if stable else np.nan)
    return Closed(np.array(poles), np.array(phase))


def fly(model: tt.Model, fill: float) -> tt.Trajectory:
    """Return 40 s of the nonlinear stage at a constant fill, from half a degree beside the wanted attitude."""
    member, half = model.with_parameters({"lox.fill": fill}), np.deg2rad(0.25)
    start = member.configuration({"base": [0, 0, 0, np.sin(half), 0, 0, np.cos(half)]})
    laws = [controller(), controller("gimbal_x", 1, -1.0)]  # a force along x turns the stage about -y
    return tt.simulate(member, np.linspace(0.0, 40.0, 801), start, np.zeros(member.nv), controller=laws)


def draw(family: tt.LPVModel, loops: dict[str, Closed], flights: dict[str, tt.Trajectory]) -> Figure:
    """Draw acceleration and frequencies, damping of the loops, and how the liquid swings in flight."""
    figure = Figure(figsize=(9, 6.5), layout="constrained")
    (rates, damping), (phase, angle) = figure.subplots(2, 2)
    rates.plot(FILLS, family.y[:, 2], "k", label="acceleration [m/s^2]")
    swinging = np.sort(np.abs(family.eigenvalues.imag), axis=1)[:, [-3, -1]]
    rates.plot(FILLS, swinging, label=["slosh [rad/s]", None], color="tab:blue")
    rates.set_title("equilibria under thrust")
    for name, loop in loops.items():
        damping.plot(FILLS, 100 * loop.damping, ".-", label=name)
        phase.plot(FILLS, loop.phase, ".-", label=name)
        angle.plot(flights[name].t, np.rad2deg(flights[name].coordinate("lox/mode1.first")), linewidth=0.8, label=name)
    damping.axhline(0.0, color="k", linewidth=0.8)
    damping.set(title="closed loop: least damping ratio", ylabel="%")
    phase.set(title="phase margin of the loop", ylabel="degrees")
    angle.set(title=f"nonlinear flight at a fill of {FILLS[-1]:.2g}: the liquid", ylabel="degrees", xlabel="t [s]")
    for axis in (rates, damping, phase, angle):
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
        if axis is not angle:
            axis.set(xlabel="fill of the large tank", xlim=(1.0, 0.05))
    return figure


def main(argv: list[str] | None = None) -> tuple[tt.LPVModel, dict[str, Closed], dict[str, tt.Trajectory]]:
    """Make the families, close the loops, fly, and draw."""
    parser = argparse.ArgumentParser(description="Slosh and attitude control of a stage whose tanks drain.")
    parser.add_argument("--output", default="draining_tank.png")
    arguments = parser.parse_args(argv)
    models = {name: build(ratio) for name, ratio in RATIOS.items()}
    families = {name: over_the_fill(model) for name, model in models.items()}
    loops = {name: close(family) for name, family in families.items()}
    flights = {name: fly(model, float(FILLS[-1])) for name, model in models.items()}
    family = families["bare"]
    print(f"acceleration: {family.y[0, 2]:.2f} m/s^2 at a fill of {FILLS[0]:.2f}, {family.y[-1, 2]:.2f} at {FILLS[-1]:.2f}")
    for name, loop in loops.items():
        stable = loop.damping > 0
        told = "stable at all fills" if stable.all() else f"unstable at fills of {FILLS[~stable].max():.2f} and below"
        print(f"{name}: {told}; phase margin {np.nanmin(loop.phase):.0f} degrees or more where stable")
    draw(family, loops, flights).savefig(arguments.output)
    return family, loops, flights


if __name__ == "__main__":
    main()
