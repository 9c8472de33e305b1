"""A satellite with two panels, in air, sunlight and a magnetic field."""

from __future__ import annotations

from typing import Any

import numpy as np

import titop as tt

EARTH = 6.378e6
FIELD = tt.MagneticField.dipole(2.98e-5, radius=6.3712e6, axis=[0.17, 0.05, -1.0])
AIR = {"density": 2.8e-12, "scale_height": 60e3, "altitude": 400e3, "radius": EARTH, "drag_coefficient": 2.2}
SUN = [1.0, 0.2, 0.1]


def plate(*facets: tt.Facet, hub: tt.RigidBody | None = None) -> tuple[tt.System, tt.RigidBody]:
    """Return a system of one free body of 1 kg, without gravity."""
    s = tt.System("plate", gravity=[0, 0, 0])
    body = tt.RigidBody("hub", mass=1.0, inertia=1.0)
    s.connect("world", body, tt.Free("base"))
    return s, body


def satellite(surrounded: bool = True, gravity: Any = (0, 0, 0)) -> tt.System:
    """Return a hub with two panels: 20 facets on three bodies, a residual dipole and three magnetorquers."""
    s = tt.System("satellite", gravity=gravity)
    hub = tt.RigidBody("hub", mass=100.0, com=[0.01, 0, 0], inertia=[10, 12, 14], ports={"L": [0, -1, 0], "R": [0, 1, 0]})
    s.connect("world", hub, tt.Free("base"))
    facets = tt.Facet.box(hub, [1, 1, 2], [0.05, 0.1, 0.0], specular=0.2, diffuse=0.3)
    for side, way in (("L", -1.0), ("R", 1.0)):
        panel = tt.RigidBody(f"panel{side}", mass=8.0, com=[0, way, 0], inertia=[3, 0.3, 3])
        s.connect(hub.port(side), panel, tt.Revolute(f"hinge{side}", axis=[0, 1, 0], stiffness=10.0, damping=0.1))
        facets += [tt.Facet(panel, 0.8, [0, 0, z], [0, way * y, 0], 0.1, 0.1) for z in (1, -1) for y in (0.5, 1.5)]
    facets += [tt.Facet(hub, 0.1, [1, 1, z], [0.2, 0.1, 0.1], 0.5, 0.2) for z in range(-3, 3)]
    if surrounded:
        s.add_interaction(tt.AerodynamicDrag("drag", facets, **AIR, accommodation=0.9, rotation=[0, 0, 7.292e-5]))
        s.add_interaction(tt.SolarPressure("light", facets, SUN, radius=EARTH))
        s.add_interaction(tt.ResidualDipole("residual", [0.1, 0.2, 0.05], FIELD), hub)
        s.add_actuator(tt.Magnetorquer("torquer", hub, FIELD, max_dipole=10.0))
    return s


def in_orbit(m: tt.Model, seed: int = 0) -> tuple[Any, Any]:
    """Return a random state at an altitude of 400 km, in sunlight, at some orbital speed."""
    rng = np.random.default_rng(seed)
    q, v = m.random_configuration(rng), 0.01 * rng.normal(size=m.nv)
    q[:3], v[:3] = 6.778e6 * np.array([0.6, 0.64, 0.48]), [1000.0, 7000.0, -2500.0]
    return q, v
