"""A quarter of a car on a road that moves, and its response in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

import titop as tt

#: Masses (kg) of body and wheel, stiffness (N/m) and damping (N s/m) of suspension and tyre.
CAR = {"body": 300.0, "wheel": 40.0, "stiffness": 2e4, "damping": 1200.0, "tyre": 1.8e5, "tyre_damping": 0.0}


def quarter_car(engine: str = "compiled", **changes: float) -> tt.Model:
    """Return wheel and body on springs above a road whose height is a coordinate."""
    car = CAR | changes
    s = tt.System("quarter car", gravity=[0, 0, 0])
    masses = {"ground": 1.0, "wheel": car["wheel"], "body": car["body"]}
    ground, wheel, body = (tt.RigidBody(name, mass) for name, mass in masses.items())
    s.connect("world", ground, tt.Prismatic("road", axis=[0, 0, 1]))
    tyre = {"stiffness": car["tyre"], "damping": car["tyre_damping"]}
    s.connect(ground, wheel, tt.Prismatic("tyre", axis=[0, 0, 1], **tyre))
    s.connect(wheel, body, tt.Prismatic("strut", axis=[0, 0, 1], stiffness=car["stiffness"], damping=car["damping"]))
    return s.resolve(engine)


def response(s: complex, **changes: float) -> Any:
    """Return the body's acceleration (1/s^2), and the strokes of tyre and suspension, over the height of the road."""
    car = CAR | changes
    suspension, tyre = car["stiffness"] + car["damping"] * s, car["tyre"] + car["tyre_damping"] * s
    dynamic = [[car["body"] * s**2 + suspension, -suspension], [-suspension, car["wheel"] * s**2 + suspension + tyre]]
    body, wheel = np.linalg.solve(np.array(dynamic), np.array([0.0, tyre]))
    return np.array([s**2 * body, wheel - 1.0, body - wheel])
