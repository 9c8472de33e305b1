"""What is simulated by Basilisk, and by titop: a free body with wheels, unbalanced or fed back, with gyros, or with panels."""

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
#: Two panels of a hub: the first turns about the second axis of its hinge's frame, its mass centre is on the first one, and its
#: moments of inertia (about its mass centre) are principal there. The second one is any body, about any axis of its frame.
#: Columns of frames are their axes in the hub; stiffness (N m/rad), damping (N m s/rad), angle (rad) and rate (rad/s).
PANELS: list[dict[str, Any]] = [
    {
        "place": [0.6, 0.1, 0.2],
        "frame": [[-0.8, 0.0, 0.6], [0.0, 1.0, 0.0], [-0.6, 0.0, -0.8]],
        "axis": [0.0, 1.0, 0.0],
        "mass": 9.0,
        "com": [-0.7, 0.0, 0.0],
        "inertia": [[0.9, 0.0, 0.0], [0.0, 1.6, 0.0], [0.0, 0.0, 2.4]],
        "stiffness": 14.0,
        "damping": 0.5,
        "angle": 0.3,
        "rate": -0.2,
    },
    {
        "place": [-0.5, -0.2, 0.1],
        "frame": [[0.0, -0.6, 0.8], [1.0, 0.0, 0.0], [0.0, 0.8, 0.6]],
        "axis": [0.48, 0.6, 0.64],
        "mass": 7.0,
        "com": [0.2, -0.6, 0.1],
        "inertia": [[1.1, 0.1, -0.2], [0.1, 0.8, 0.15], [-0.2, 0.15, 1.4]],
        "stiffness": 6.0,
        "damping": 0.2,
        "angle": -0.4,
        "rate": 0.1,
    },
]
#: Three balanced wheels, which a sampled feedback of attitude drives: attitude at the start (modified Rodrigues parameters),
#: gains of attitude (N m) and of rates (N m s), time from sample to sample (s).
TRIAD: list[dict[str, Any]] = [
    {"axis": [1.0, 0.0, 0.0], "second": [0.0, 1.0, 0.0], "place": [0.1, 0.02, -0.1], "speed": 30.0},
    {"axis": [0.0, 0.8, -0.6], "second": [1.0, 0.0, 0.0], "place": [-0.1, 0.1, 0.1], "speed": -45.0},
    {"axis": [0.36, 0.48, 0.8], "second": [0.8, -0.6, 0.0], "place": [0.05, -0.1, 0.1], "speed": 20.0},
]
TURNED, STIFF, DAMPED, SAMPLED = [0.3, -0.4, 0.2], 5.0, 9.0, 0.1
#: Of the simulations (s), each with so many samples.
DURATIONS = {"coupled_wheels": 2.0, "forced_wheels": 2.0, "coupled_gyros": 2.0, "panels": 10.0, "feedback": 10.0}
SAMPLES = 21
