"""Systems in contact, which several files of tests share."""

from __future__ import annotations

from typing import Any

import numpy as np

import titop as tt

#: Of dissipation and friction of all kinds.
LOSSES: dict[str, Any] = {"dissipation": 0.3, "friction": 0.4, "slip_velocity": 0.2}


def two_bodies(contact: tt.Contact) -> tt.System:
    """Return a free body with an arm; the tip of the arm touches what is fixed in the body."""
    s = tt.System("two", gravity=[0, 0, -9.81])
    body = tt.RigidBody("body", mass=1.0, com=[0.1, 0, 0.2], inertia=[0.1, 0.2, 0.3], ports={"E": [0.3, 0.1, 0.5]})
    arm = tt.RigidBody("arm", mass=2.0, com=[0, 0.1, 0.2], inertia=[0.1, 0.2, 0.3], ports={"E": [0.3, 0, 0.5]})
    s.connect("world", body, tt.Free("float"))
    s.connect(body.port("E"), arm, tt.Revolute("elbow", axis=[0, 1, 0]))
    s.close_loop(body, arm.port("E"), contact)
    return s


def free_wall(s: tt.System) -> Any:
    """Add a free body that is touched; return the port with the shape."""
    wall = tt.RigidBody("wall", mass=2.0, inertia=[0.1, 0.2, 0.3], ports={"C": [0.1, -0.2, 0.3]})
    s.connect("world", wall, tt.Free("drift"))
    return wall.port("C")


def rod_and_wall(shape: tt.Shape, points: Any = 5, **given: Any) -> tt.System:
    """Return a rod on a hinge of a free body, and a free body that it touches along its length."""
    s = tt.System("rod", gravity=[0, 0, -9.81])
    section = tt.Section.circle(0.05)
    rod = tt.Rod("rod", 0.5, section, young=1e5, density=1000.0, damping=1e3, strains="timoshenko", basis=1)
    hub = tt.RigidBody("hub", mass=1.0, inertia=[0.1, 0.2, 0.3], ports={"C": [0.1, 0.2, 0.0]})
    s.connect("world", hub, tt.Free("float"))
    s.connect(hub.port("C"), rod, tt.Revolute("hinge", axis=[0, 0, 1]))
    given = {"rolling": 0.02, **LOSSES, **given}
    s.add_interaction(tt.Contact("touch", 0.4, 1e3, shape=shape, on=rod, points=points, **given), free_wall(s))
    return s


def bend(x: Any, q: Any) -> Any:
    """Return where points of an arm of constant curvature stand that also swells."""
    angle = q[0] * x[2] / 0.2
    sinc, cosc = tt.Kinematics.sinc(angle), tt.Kinematics.cosc(angle)
    along, beside = x[2] * angle * cosc + x[0] * np.cos(angle), x[2] * sinc - x[0] * np.sin(angle)
    return [along + q[1] * x[0], x[1] * (1.0 + q[1]), beside + q[1] * x[2]]


def soft_and_wall(shape: tt.Shape, **given: Any) -> tt.System:
    """Return a free deformable body, and a free body that it touches."""
    domain = tt.Domain.cylinder(radius=0.01, length=0.2)
    material = tt.Material.neo_hookean(1e5, 0.4)
    body = tt.SoftBody("arm", bend, domain, 1000.0, material, coordinates=("bending", "swelling"))
    s = tt.System("soft", gravity=[0, 0, -9.81])
    s.connect("world", body, tt.Free("float"))
    s.add_interaction(tt.Contact("touch", 0.4, 1e3, shape=shape, on=body, exponent=1.3, **LOSSES, **given), free_wall(s))
    return s


def state(m: tt.Model, seed: int = 2) -> tuple[Any, Any, Any]:
    """Return a configuration near the neutral one, where all of these touch, rates, and efforts or accelerations."""
    rng = np.random.default_rng(seed)
    return m.integrate(m.neutral(), 0.2 * rng.normal(size=m.nv)), rng.normal(size=m.nv), rng.normal(size=m.nv)
