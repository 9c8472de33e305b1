"""Deformable bodies that bend in a plane, on a hinge."""

from __future__ import annotations

import titop as tt

L, RADIUS = 0.3, 0.02
ROUND = tt.Domain.cylinder(RADIUS, L)
BEND = tt.Kinematics.constant_curvature(L)


def arm(domain: tt.Domain = ROUND) -> tt.Model:
    """Return a body that bends in a plane, on a hinge."""
    return hinged(domain).resolve("reference")


def hinged(domain: tt.Domain = ROUND) -> tt.System:
    s = tt.System("arm")
    body = tt.SoftBody("body", BEND, domain, 1000.0, tt.Material.linear(1e5, 0.3))
    s.connect("world", body, tt.Revolute("hinge", axis=[0, 1, 0]))
    return s
