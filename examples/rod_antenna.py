"""A satellite with a whip antenna, a soft rod of six metres: it spins up, and how it vibrates while it spins.

Thrusters spin up the hub within ten seconds. The antenna, glass fibre of 8 mm, lags behind: its tip goes four metres aside,
then the spin straightens it. The rod is geometrically exact: nothing but the thrusters changes momentum and energy, and
afterwards both stay what they are. A beam of the same data, which follows its deformation to second order, has the same
frequencies, about rest and about every spin; bent as far as this it is no model of the antenna any more.

Run it: ``python examples/rod_antenna.py`` draws ``rod_antenna.png``.
"""

from __future__ import annotations

import argparse

import matplotlib.pyplot as plt
import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array

#: Of the hub: mass (kg), moments of inertia (kg m^2), and where the antenna is clamped (m).
MASS, INERTIA, MOUNT = 60.0, np.array([3.0, 3.2, 4.2]), 0.3
#: Of the antenna: length (m), radius (m), Young's modulus (Pa), density (kg/m^3).
LENGTH, RADIUS, YOUNG, DENSITY = 6.0, 4e-3, 40e9, 1900.0
#: Of the thrusters: mean and duration (N m, s) of a torque without jumps.
TORQUE, DURATION = 3.0, 10.0
END = 20.0  # s
SPINS = np.linspace(0.0, 3.0, 13)  # rad/s
ROD, BEAM = "rod", "beam, second order"
#: Where the antenna ends.
TIPS = {ROD: "antenna.tip", BEAM: "antenna.C"}


def antenna(kind: str) -> tt.Block:
    """Return the antenna as a rod or as a beam; torsion and stretch, which are far faster, are left out of the rod."""
    if kind == ROD:
        bending = {"bending_y": 5, "bending_z": 5}
        return tt.Rod("antenna", LENGTH, tt.Section.circle(RADIUS), young=YOUNG, density=DENSITY, strains=bending, points=9)
    area, moment = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4
    return tt.Beam("antenna", LENGTH, DENSITY, area, YOUNG, moment, moment, modes=3)


def build(kind: str = ROD) -> tt.System:
    """Return the satellite."""
    s = tt.System("satellite with a whip antenna", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", MASS, inertia=INERTIA, ports={"mount": [MOUNT, 0, 0]})
    s.connect("world", hub, joint=tt.Free("base"))
    s.connect(hub.port("mount"), antenna(kind), joint=tt.Weld("clamp"))
    s.add_actuator(tt.Torque("thrusters", hub, [0, 0, 1]))
    return s


def torque(t: float) -> float:
    """Return the thrusters' torque (N m)."""
    return 2 * TORQUE * np.sin(np.pi * t / DURATION) ** 2 if t < DURATION else 0.0


def spin_up(model: tt.Model, t: Array) -> tt.Trajectory:
    """Return the motion from rest."""
    rest = model.neutral(), np.zeros(model.nv)
    return tt.simulate(model, t, *rest, u=lambda time, q, v: [torque(time)], method="Radau", rtol=1e-6, atol=1e-8)


def spinning(model: tt.Model) -> tt.LPVModel:
    """Return the linear models about steady spins, where the hub's centre moves around that of all mass."""
    unknowns = ["antenna", "base.x.v", "base.y.v"]
    return tt.lpv(model, {"base.rz.v": SPINS}, unknowns=unknowns, inputs=["thrusters"], outputs=["hub.w"])


def frequencies(family: tt.LPVModel, count: int = 7) -> Array:
    """Return the lowest frequencies (members, count; Hz): of nutation, zero at rest, and of the antenna.

    Of what a body at rest would do, five motions remain: what is steady outside turns once a turn, seen from the hub.
    """
    found = np.zeros((len(SPINS), len(family.states) // 2 - 5))
    for row, spin, poles in zip(found, SPINS, family.eigenvalues, strict=True):
        swinging = np.sort(poles.imag[poles.imag > 1e-3])
        apart = swinging[np.abs(swinging - spin) > 1e-5] / (2 * np.pi)
        row[-len(apart) :] = apart
    return found[:, :count]


def seen_from_hub(model: tt.Model, q: Array, port: str) -> Array:
    """Return the place of a port (3, m) in the hub's frame."""
    (rotation, position), place = model.pose("hub", q), model.pose(port, q)[1]
    return np.asarray((place - position) @ rotation)


def axis(model: tt.Model, q: Array) -> Array:
    """Return points (31, 3; m) along the rod."""
    rotation, position = model.pose("antenna", q)
    return np.asarray(
        position + model.mechanism.assembly.blocks["antenna"].section_poses(q[7:], np.linspace(0, LENGTH, 31))[1] @ rotation.T
    )


def draw(runs: dict[str, tt.Trajectory], families: dict[str, tt.LPVModel], output: str) -> None:
    """Draw the rod as it spins up, from outside and from the hub, where its tip is, and the frequencies over the spin."""
    figure, ((outside, inside), (aside, modes)) = plt.subplots(2, 2, figsize=(8.4, 8), layout="constrained")
    run = runs[ROD]
    tips = np.array([run.model.pose(TIPS[ROD], q)[1] for q in run.q])
    outside.plot(*tips.T[:2], color="black", linewidth=0.6)
    for k in range(0, np.searchsorted(run.t, DURATION), 4):
        colour, line = plt.get_cmap("viridis")(run.t[k] / DURATION), axis(run.model, run.q[k])
        rotation, position = run.model.pose("hub", run.q[k])
        outside.plot(*line.T[:2], color=colour, linewidth=1)
        inside.plot(*((line - position) @ rotation).T[:2], color=colour, linewidth=1)
    for axes, title in ((outside, "every 0.4 s, and the tip's path"), (inside, "the same, seen from the hub")):
        axes.set(title=title, xlabel="x [m]", ylabel="y [m]", aspect="equal")
    for (kind, motion), style in zip(runs.items(), ("-", "--"), strict=True):
        places = [seen_from_hub(motion.model, q, TIPS[kind])[1] for q in motion.q]
        aside.plot(motion.t, places, style, color="black", linewidth=1, label=kind)
    aside.set(title="the tip, seen from the hub", xlabel="t [s]", ylabel="y [m]", ylim=(-7, 3))
    rod, beam = (frequencies(family) for family in families.values())
    modes.plot(SPINS, rod, color="black", linewidth=1, label=[ROD, *[None] * (rod.shape[1] - 1)])
    modes.plot(SPINS, beam, "x", color="tab:red", markersize=4, label=[BEAM, *[None] * (beam.shape[1] - 1)])
    modes.plot(SPINS, SPINS / (2 * np.pi), ":", color="grey", label="spin")
    modes.set(title="frequencies", xlabel="spin [rad/s]", ylabel="Hz", ylim=(0, 4.4))
    for axes in (aside, modes):
        axes.legend(fontsize="small", loc="upper right")
    colours = plt.cm.ScalarMappable(plt.Normalize(0, DURATION), "viridis")
    figure.colorbar(colours, ax=[outside, inside], label="t [s]", aspect=30)
    for axes in figure.axes:
        axes.grid(alpha=0.3)
    figure.savefig(output)
    plt.close(figure)


def main(argv: list[str] | None = None) -> tuple[dict[str, tt.Trajectory], dict[str, tt.LPVModel]]:
    """Spin up both models, linearise them about steady spins, and draw."""
    parser = argparse.ArgumentParser(description="A satellite with a whip antenna.")
    parser.add_argument("--output", default="rod_antenna.png")
    arguments = parser.parse_args(argv)
    models = {kind: build(kind).resolve() for kind in TIPS}
    families = {kind: spinning(model) for kind, model in models.items()}
    t = np.linspace(0.0, END, 201)
    runs = {kind: spin_up(model, t) for kind, model in models.items()}
    for kind, run in runs.items():
        aside = min(seen_from_hub(run.model, q, TIPS[kind])[1] for q in run.q)
        energy = run.energy().sum(axis=1)[t >= DURATION]
        rest, fast = frequencies(families[kind])[[0, -1], 1]
        print(f"{kind}: the tip lags by {-aside:.1f} m; then energy stays within {np.ptp(energy) / energy[0]:.0e} of itself")
        print(
            f"  first frequency {rest:.3f} Hz at rest, {fast:.3f} Hz at {SPINS[-1]:.0f} rad/s; {run.statistics['steps']} steps"
        )
    draw(runs, families, arguments.output)
    return runs, families


if __name__ == "__main__":
    main()
