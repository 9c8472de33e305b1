"""A satellite with two flexible solar panels turns by 60 degrees while the panels follow the Sun.

The panels are beams on hinges along their length. A torque on the hub turns it about an axis across them: once as hard as it
can, first forwards, then backwards; once by a smooth profile of the same angle and duration. What remains is vibration.

Run it: ``python examples/flexible_satellite.py`` draws ``flexible_satellite.png``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from scipy.spatial.transform import Rotation

import titop as tt
from titop.blocks.basics.spatial import Array, quaternion_log
from titop.solvers.pictures.figures import plot_over_time

ANGLE = np.deg2rad(60)  # of the slew, about the hub's x axis
DURATION = 30.0  # s, of the slew
END = 45.0  # s
PANEL_TURN = np.deg2rad(-60)  # of the panels about their length, during the slew
#: A panel of 18 kg, 6 m long: clamped, it bends at 0.2 Hz out of its plane and, with its yoke, at 1 Hz in it.
PANEL = {"length": 6.0, "density": 100.0, "area": 0.03, "young": 7e6, "iy": 7.1e-5, "iz": 1.8e-3, "torsion_constant": 1e-4}


def build() -> tt.System:
    """Return the satellite: a hub that carries a panel on either side, along y and minus y."""
    hub = tt.RigidBody("hub", mass=200.0, inertia=[60, 40, 50], ports={"left": [0, 0.75, 0], "right": [0, -0.75, 0]})
    s = tt.System("flexible satellite", gravity=[0, 0, 0])
    s.connect("world", hub, joint=tt.Free("orbit"))
    for side, sign in (("left", 1), ("right", -1)):
        panel = tt.Beam(f"{side}_panel", **PANEL, modes=1, torsion_modes=0, damping_ratio=0.005)
        outwards = tt.Pose(rotation=Rotation.from_euler("z", 90 * sign, degrees=True))  # the panel's x is the hub's sign y
        s.connect(hub.port(side), panel, joint=tt.Revolute(f"{side}_drive", axis=[sign, 0, 0]), placement=outwards)
    return s


def hardest(t: float) -> float:
    """Return the torque of a slew at full torque, in units of what turns by 1 rad in 1 s a unit of inertia."""
    return 0.0 if t >= DURATION else 4.0 if t < DURATION / 2 else -4.0


def smoothest(t: float) -> float:
    """Return the torque of a slew that starts and ends smoothly: torque and its slope vanish there."""
    p = min(max(t / DURATION, 0.0), 1.0)
    return 420 * p**2 * (1 - p) ** 2 * (1 - 2 * p)


def sun_tracking(t: float) -> tuple[float, float, float]:
    """Return angle, rate and acceleration of the panels' drives."""
    phase, rate = min(max(t / DURATION, 0.0), 1.0), 2 * np.pi / DURATION
    moving = 0.0 < t < DURATION
    return (
        PANEL_TURN * (phase - np.sin(2 * np.pi * phase) / (2 * np.pi)),
        PANEL_TURN * (1 - np.cos(2 * np.pi * phase)) / DURATION * moving,
        PANEL_TURN * rate * np.sin(2 * np.pi * phase) / DURATION * moving,
    )


def slew(model: tt.Model, profile: Callable[[float], float], t: Array) -> tt.Trajectory:
    """Return the slew by a torque profile; the panels follow the Sun."""
    inertia = model.mass_matrix(model.neutral())[3, 3]  # of the undeformed satellite about x
    torque = inertia * ANGLE / DURATION**2

    def efforts(t: float, q: Array, v: Array) -> Array:
        tau = np.zeros(model.nv)
        tau[3] = torque * profile(t)
        return tau

    drives = {"left_drive": sun_tracking, "right_drive": sun_tracking}
    q, v = model.neutral(), np.zeros(model.nv)
    return tt.simulate(model, t, q, v, tau=efforts, prescribed=drives, method="DOP853", rtol=1e-6, atol=1e-9)


def hub_angle(trajectory: tt.Trajectory) -> Array:
    """Return the hub's rotation about x (deg) over time."""
    return np.rad2deg([quaternion_log(q[3:7])[0] for q in trajectory.q])


def coordinate(trajectory: tt.Trajectory, name: str) -> Array:
    """Return a coordinate over time by its name."""
    return trajectory.q[:, trajectory.model.configuration_names.index(name)]


def residual(trajectory: tt.Trajectory) -> float:
    """Return the amplitude (m) of the left panel's tip after the slew."""
    tip = coordinate(trajectory, "left_panel.C_z")[trajectory.t > DURATION]
    return float(np.ptp(tip) / 2)


def shown(run: tt.Trajectory) -> dict[str, Array]:
    """Return what is drawn of a run."""
    return {
        "hub angle [deg]": hub_angle(run),
        "left tip across the panel [mm]": 1e3 * coordinate(run, "left_panel.C_z"),
        "left tip in its plane [mm]": 1e3 * coordinate(run, "left_panel.C_y"),
        "second mode across [m sqrt(kg)]": coordinate(run, "left_panel.mode_z1"),
        "panels [deg]": np.rad2deg(coordinate(run, "left_drive")),
        "drive torque [N m]": run.tau[:, run.model.coordinate_names.index("left_drive")],
    }


def main(argv: list[str] | None = None) -> tuple[tt.Trajectory, tt.Trajectory]:
    """Simulate both slews, draw and compare them."""
    parser = argparse.ArgumentParser(description="A satellite with flexible panels turns.")
    parser.add_argument("--output", default="flexible_satellite.png")
    arguments = parser.parse_args(argv)
    system = build()
    print(system)
    model = system.resolve()
    panel = model.mechanism.assembly.blocks["left_panel"]
    print("a panel's frequencies, clamped [Hz]:", np.round(panel.natural_frequencies[:4] / (2 * np.pi), 3))
    print("its effective mass across it:", np.round(panel.effective_mass.fraction[:4, 2], 3))
    t = np.linspace(0, END, 451)
    hard, smooth = (slew(model, profile, t) for profile in (hardest, smoothest))
    full, soft = shown(hard), shown(smooth)
    signals = {label: {"full torque": full[label], "smooth torque": soft[label]} for label in full}
    plot_over_time(t, signals, columns=2).savefig(arguments.output)
    for name, run in (("full", hard), ("smooth", smooth)):
        print(f"{name} torque: {hub_angle(run)[-1]:.2f} deg, the tips still swing by {1e3 * residual(run):.2f} mm")
    return hard, smooth


if __name__ == "__main__":
    main()
