"""A satellite that points to a star sheds the momentum of its wheels by magnetorquers, over one orbit.

Three wheels hold the attitude against gravity's gradient, air on an offset panel, and sunlight. Three magnetorquers turn the
satellite against the wheels' momentum h by the cross-product law ``m = k h x B / B^2``: they never act along the field B, but
the field turns along the orbit (Wertz, Spacecraft Attitude Determination and Control, section 18.5).

Run it: ``python examples/momentum_unloading.py`` draws ``momentum_unloading.png``.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array, quaternion_log, quaternion_matrix
from titop.solvers.pictures.figures import plot_over_time

EARTH = tt.CentralGravity(3.986004418e14, 6.3781363e6, j2=1.0826e-3)
ORBIT = tt.Orbit(EARTH, altitude=500e3, inclination=np.deg2rad(97.4))
FIELD = tt.MagneticField.dipole(2.98e-5, radius=6.3712e6, axis=[0.17, 0.0, -1.0])
SUN = [0.3, -0.9, 0.3]
WHEELS = "xyz"
WHEEL_INERTIA = 0.01  # kg m^2
STORED = np.array([0.5, -0.4, 0.6])  # N m s, in the wheels at the start
MAX_DIPOLE = 15.0  # A m^2
UNLOADING = 1e-3  # 1/s, of the part of the momentum across the field
STIFFNESS, DAMPING = 0.2, 2.2  # N m/rad and N m s/rad, of the attitude


def build() -> tt.System:
    """Return the satellite in its orbit: hub, panel, three wheels, magnetorquers, and what surrounds them."""
    s = tt.System("satellite", gravity=EARTH)
    hub = tt.RigidBody("hub", mass=90.0, inertia=[9, 11, 8], ports={"panel": [0, 0.5, 0]})
    panel = tt.RigidBody("panel", mass=6.0, com=[0, 0.8, 0], inertia=[1.3, 0.2, 1.5])
    s.connect("world", hub, tt.Free("orbit"))
    s.connect(hub.port("panel"), panel, tt.Weld("root"))
    for k, name in enumerate(WHEELS):
        s.add_device(tt.ReactionWheel(name, hub, np.eye(3)[k], WHEEL_INERTIA, mass=2.0, torque_limit=0.05))
    s.add_actuator(tt.Magnetorquer("torquer", hub, FIELD, max_dipole=MAX_DIPOLE))
    s.add_interaction(tt.ResidualDipole("residual", [0.1, 0.2, -0.1], FIELD), hub)
    facets = tt.Facet.box(hub, [0.8, 1.0, 1.0], specular=0.3, diffuse=0.3)
    facets += [tt.Facet(panel, 1.6, [0, 0, side], [0, 0.8, 0], specular=0.1) for side in (1, -1)]
    air = {"density": 5e-13, "scale_height": 65e3, "altitude": 500e3, "radius": EARTH.radius, "drag_coefficient": 2.2}
    s.add_interaction(tt.AerodynamicDrag("drag", facets, rotation=[0, 0, 7.292e-5], **air))
    s.add_interaction(tt.SolarPressure("sunlight", facets, SUN, radius=EARTH.radius))
    return s


class Control:
    """Feedback of the attitude to the wheels, and of their momentum to the magnetorquers.

    Parameters
    ----------
    model : Model
    """

    def __init__(self, model: tt.Model) -> None:
        self.spins = [model.coordinate_names.index(name) for name in WHEELS]
        inputs = [f"{name}/motor" for name in WHEELS], [f"torquer.{name}" for name in WHEELS]
        self.motors, self.torquers = ([model.input_names.index(name) for name in names] for names in inputs)

    def momentum(self, v: Array) -> Array:
        """Return the momentum (..., 3; N m s) in the wheels, in the hub's axes."""
        return np.asarray(WHEEL_INERTIA * v[..., self.spins])

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Return the inputs (nu): the wheels' torques (N m), the dipoles (A m^2)."""
        u = np.zeros(len(self.motors) + len(self.torquers))
        u[self.motors] = STIFFNESS * quaternion_log(q[3:7]) + DAMPING * v[3:6]
        B = quaternion_matrix(q[3:7]).T @ FIELD.at(q[:3])
        dipole = UNLOADING * np.cross(self.momentum(v), B) / (B @ B)
        dipole *= min(1.0, MAX_DIPOLE / max(np.abs(dipole).max(), 1e-12))  # all in proportion, so that it is across the field
        u[self.torquers] = np.clip(dipole, -MAX_DIPOLE, MAX_DIPOLE)
        return u


def main(argv: list[str] | None = None) -> tuple[tt.Trajectory, Array]:
    """Simulate one orbit and draw; return the trajectory and the wheels' momentum (n, 3; N m s)."""
    parser = argparse.ArgumentParser(description="Wheels unloaded by magnetorquers over one orbit.")
    parser.add_argument("--output", default="momentum_unloading.png")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    control = Control(model)
    there, moving = ORBIT.state()
    q = model.configuration({"orbit": [*there[:3], 0.0, 0.0, 0.0, 1.0]})  # the hub along the inertial axes
    moving = np.concatenate([quaternion_matrix(there[3:]) @ moving[:3], np.zeros(3)])
    v = model.velocity({"orbit": moving} | dict(zip(WHEELS, STORED / WHEEL_INERTIA, strict=True)))
    t = np.linspace(0.0, float(ORBIT.period), 401)
    trajectory = tt.simulate(model, t, q, v, u=control, rtol=1e-8, atol=1e-8)
    momentum = control.momentum(trajectory.v)
    errors = np.array([np.linalg.norm(quaternion_log(each[3:7])) for each in trajectory.q])
    heights = np.linalg.norm(trajectory.q[:, :3], axis=1) - EARTH.radius
    signals: dict[str, Any] = {
        "momentum of the wheels [N m s]": dict(zip(WHEELS, momentum.T, strict=True)),
        "dipole of the torquers [A m^2]": {name: trajectory.u[:, k] for name, k in zip(WHEELS, control.torquers, strict=True)},
    }
    signals |= {"attitude error [mrad]": 1e3 * errors, "altitude [km]": heights / 1e3}
    plot_over_time(t, signals, columns=2).savefig(arguments.output)
    before, after = (np.linalg.norm(momentum[k]) for k in (0, -1))
    print(f"momentum in the wheels: {before:.3f} N m s before and {after:.3f} N m s after an orbit of {t[-1] / 60:.1f} min")
    print(f"attitude error: at most {1e3 * errors.max():.2f} mrad")
    print("limits:", "; ".join(map(str, trajectory.violations())) or "kept")
    return trajectory, momentum


if __name__ == "__main__":
    main()
