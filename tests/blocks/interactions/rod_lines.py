"""Tendons and chambers in the manipulator of key M, and what moves them."""

from __future__ import annotations

from typing import Any

import numpy as np

import titop as tt
from tests.blocks.bodies.rods.manipulator import LENGTH, TIP, manipulator
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.tendon import RodLine

TURNS = 4 * np.pi / LENGTH


def helix(rod: tt.Rod, **fields: Any) -> tt.Tendon:
    """Return the fourth tendon of key M's manipulator (Table 2)."""

    def y(X: float) -> float:
        return TIP * np.sin(TURNS * X)

    def z(X: float) -> float:
        return TIP * np.cos(TURNS * X)

    return tt.Tendon("helix", rod, y=y, z=z, **({"points": 24} | fields))


def routings(rod: tt.Rod, points: int = 24) -> list[RodLine]:
    return [
        tt.Tendon("straight", rod, y=0.01, points=points),
        tt.Tendon("oblique", rod, y=(0.02, -0.01), z=(0.0, 0.01), points=points),
        tt.Tendon("tapered", rod, y=np.sqrt(0.75), z=-0.5, relative=True, points=points),
        tt.Tendon("part", rod, y=0.01, z=0.02, start=0.05, end=0.45, points=points),
        helix(rod, points=points),
        tt.PressureChamber("chamber", rod, area=(2e-4, 1e-4), y=0.01),
    ]


def polyline(line: RodLine, q: Any, pieces: int) -> Any:
    """Return the length of a line from points on it: material points of sections whose poses the rod says."""
    (rod,) = line.rods
    X = np.linspace(line.start, line.end, pieces + 1)
    R, r = rod.section_poses(q, X)
    y, z = line._routing(1).places(rod, 0.0, X / rod.length)
    steps = np.diff(r + y[:, None] * R[:, :, 1] + z[:, None] * R[:, :, 2], axis=0)
    return np.sqrt((steps**2).sum(-1)).sum()


def bent(seed: int = 0) -> Any:
    return 0.5 * manipulator().coordinate_scales * np.random.default_rng(seed).normal(size=24)


def motion_at(q: Any, v: Any, *u: float) -> TargetMotion:
    return TargetMotion(np.zeros((0, 3, 3)), np.zeros((0, 3)), np.zeros((0, 6)), q, v, np.array(u))
