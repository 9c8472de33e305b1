"""What is simulated by Basilisk, and by titop: a free body with two unbalanced wheels, or two control moment gyros."""

from __future__ import annotations

from typing import Any

HUB: dict[str, Any] = {
    "mass": 75.0,
    "com": [-0.02, 0.01, 0.1],
    "inertia": [[9.0, 0.1, 0.2], [0.1, 8.0, -0.1], [0.2, -0.1, 6.0]],
}
#: Of all: position (m) and velocity (m/s) of the mass centre; angular velocity (rad/s), in axes that start as the inertial.
START = {"position": [0.1, -0.2, 0.3], "velocity": [-0.4, 0.5, -0.8], "spin": [0.08, 0.01, -0.03]}
#: Masses (kg), inertias (kg m^2), places (m); speeds (rad/s), torques (N m). The second axis is that of the mass centre.
WHEELS: list[dict[str, Any]] = [
    {"axis": [0.0, 0.0, 1.0], "second": [1.0, 0.0, 0.0], "place": [0.1, 0.02, -0.2], "speed": 60.0, "torque": 0.05},
    {"axis": [0.0, 0.6, 0.8], "second": [1.0, 0.0, 0.0], "place": [-0.2, 0.3, 0.1], "speed": -35.0, "torque": -0.02},
]
WHEEL = {"mass": 6.0, "along": 0.16, "across": 0.09, "static": 4.8e-3, "dynamic": 1.5e-3}
GYROS: list[dict[str, Any]] = [
    {"gimbal": [0.0, 0.0, 1.0], "axis": [1.0, 0.0, 0.0], "place": [0.1, 0.02, -0.02], "speed": 200.0, "torque": 0.03},
    {"gimbal": [0.6, 0.0, 0.8], "axis": [0.0, -1.0, 0.0], "place": [-0.1, 0.05, 0.05], "speed": -90.0, "torque": -0.05},
]
GIMBAL_RATES, GIMBAL_TORQUES = [0.06, -0.3], [0.2, -0.1]
#: Along the spin axis, gimbal x spin, and the gimbal axis: the mass centre of the gimbal, and its moments of inertia.
GIMBAL: dict[str, Any] = {"com": [1e-3, -0.02, 0.1], "mass": 4.0, "inertia": [0.1, 0.2, 0.3]}
#: Of the wheel's centre, along the spin axis and the gimbal axis.
OFFSET = {"spin": 0.01, "gimbal": 0.1}
DURATION, SAMPLES = 2.0, 21
