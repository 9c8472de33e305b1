"""A satellite with four reaction wheels and eight thrusters turns by 120 degrees and sheds the wheels' momentum.

The wheels stand in a pyramid and turn the satellite by feedback of the quaternion error. They start with the momentum of a past
disturbance; when the turn is done they are braked, and thrusters balance the torque of braking.

Run it: ``python examples/satellite.py`` draws ``satellite.png``.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array, quaternion_conjugate, quaternion_exp, quaternion_log, quaternion_product
from titop.solvers.pictures.figures import plot_over_time

WHEEL_INERTIA = 0.02  # kg m^2
WHEEL_TORQUE = 0.2  # N m
THRUST = 1.0  # N
ARM = 0.6  # m, of the thrusters about each axis
TARGET = quaternion_exp(np.deg2rad(120) * np.array([1, 1, 1]) / np.sqrt(3))
DUMP_AFTER = 60.0  # s


def build() -> tt.System:
    """Return the satellite: hub, four wheels in a pyramid, four pairs of thrusters, a gyro and an attitude sensor."""
    hub = tt.RigidBody("hub", mass=120.0, com=[0, 0, 0], inertia=[12, 14, 10])
    s = tt.System("satellite", gravity=[0, 0, 0])
    s.connect("world", hub, joint=tt.Free("orbit"))
    for k in range(4):
        angle = np.deg2rad(45 + 90 * k)
        foot = [0.3 * np.cos(angle), 0.3 * np.sin(angle), -0.2]
        hub.add_port(f"wheel{k}", position=foot)
        axis = [np.cos(angle), np.sin(angle), np.sqrt(0.5)]
        wheel = tt.ReactionWheel(f"wheel{k}", hub.port(f"wheel{k}"), axis, WHEEL_INERTIA, mass=3.0, torque_limit=WHEEL_TORQUE)
        s.add_actuator(wheel)
    for k, (place, push) in enumerate(thruster_places()):
        hub.add_port(f"nozzle{k}", position=place)
        s.add_actuator(tt.Thruster(f"thruster{k}", hub.port(f"nozzle{k}"), direction=push, max_thrust=THRUST))
    s.add_sensor(tt.Gyro("gyro", hub))
    s.add_sensor(tt.PoseSensor("star_tracker", hub))
    return s


def thruster_places() -> list[tuple[Array, Array]]:
    """Return positions and directions of the eight thrusters: at each corner an opposed, canted pair."""
    places = []
    for angle in np.deg2rad([45, 135, 225, 315]):
        corner = ARM * np.array([np.cos(angle), np.sin(angle), 0.0])
        canted = np.array([-np.sin(angle), np.cos(angle), 1.0]) / np.sqrt(2)
        places += [(corner, canted), (corner, -canted)]
    return places


def attitude_error(q: Array, target: Array = TARGET) -> Array:
    """Return the rotation (3, rad) from the target to the attitude, in body axes."""
    return quaternion_log(quaternion_product(quaternion_conjugate(target), q[3:7]))


class Control:
    """Quaternion feedback to the wheels; after the turn, momentum dumping with the thrusters.

    Parameters
    ----------
    model : Model
        Read for the allocation of torques, once.
    """

    def __init__(self, model: tt.Model) -> None:
        torques = model.actuation_matrix(model.neutral())
        self.names = model.input_names
        self.target = TARGET
        self.wheels = [k for k, name in enumerate(self.names) if name.endswith("/motor")]
        self.thrusters = [k for k, name in enumerate(self.names) if name.startswith("thruster")]
        spins = [model.coordinate_names.index(f"wheel{k}") for k in range(4)]
        self.axes = -np.array([model.mass_matrix(model.neutral())[3:6, k] for k in spins]).T / WHEEL_INERTIA
        self.spins = spins
        self.moments = torques[3:6, self.thrusters]
        self.inverse = np.linalg.pinv(self.axes)

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Return the inputs (nu) at a state."""
        turning = self.inverse @ (-0.6 * attitude_error(q, self.target) - 5.0 * v[3:6])
        turning *= min(1.0, 0.9 * WHEEL_TORQUE / max(np.abs(turning).max(), 1e-12))  # all in proportion
        u = np.zeros(len(self.names))
        u[self.wheels] = turning
        if t > DUMP_AFTER:
            braking = -0.08 * WHEEL_INERTIA * v[self.spins]
            u[self.wheels] = np.clip(turning + braking, -WHEEL_TORQUE, WHEEL_TORQUE)
            u[self.thrusters] = self.allocate(-self.axes @ braking)
        return u

    def allocate(self, torque: Array) -> Array:
        """Return thrusts, none negative, with the wanted torque (non-negative least squares)."""
        from scipy.optimize import nnls

        return np.minimum(nnls(self.moments, torque)[0], THRUST)


def main(argv: list[str] | None = None) -> tt.Trajectory:
    """Simulate, check the limits and draw."""
    parser = argparse.ArgumentParser(description="A satellite with reaction wheels and thrusters.")
    parser.add_argument("--output", default="satellite.png")
    arguments = parser.parse_args(argv)
    system = build()
    print(system)
    model = system.resolve()
    v = model.velocity({f"wheel{k}": 60.0 for k in range(4)})
    t = np.linspace(0, 120, 481)
    trajectory = tt.simulate(model, t, model.neutral(), v, u=Control(model), rtol=1e-7, atol=1e-9)
    errors = np.rad2deg([np.linalg.norm(attitude_error(q)) for q in trajectory.q])
    speeds = trajectory.v[:, 6:10]
    inputs = {name: u for name, u in zip(model.input_names, trajectory.u.T, strict=True) if u.any()}
    torques, thrusts = ({name: inputs[name] for name in inputs if what in name} for what in ("motor", "thruster"))
    signals: dict[str, Any] = {"attitude error [deg]": errors}
    signals["speed of the wheels [rad/s]"] = {f"wheel{k}": speeds[:, k] for k in range(4)}
    signals |= {"torque of the wheels [N m]": torques, "thrust [N]": thrusts}
    plot_over_time(t, signals, columns=2).savefig(arguments.output)
    turned, ended = errors[t.searchsorted(DUMP_AFTER)], errors[-1]
    print(f"attitude error {errors[0]:.0f} deg, {turned:.1e} deg after {DUMP_AFTER:.0f} s, {ended:.1e} deg at the end")
    before, after = (np.abs(speeds[k]).max() for k in (t.searchsorted(DUMP_AFTER), -1))
    print(f"largest wheel speed {before:.1f} rad/s before and {after:.1f} rad/s after dumping")
    print("limits:", "; ".join(map(str, trajectory.violations())) or "kept")
    return trajectory


if __name__ == "__main__":
    main()
