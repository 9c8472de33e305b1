"""Numbers that can be used, but are most likely in another unit than the rest of the system."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.pose import pose_suspicions
from titop.blocks.bodies.flexible_body import FlexibleBody
from titop.blocks.bodies.rigid_body import PortedBlock, RigidBody
from titop.blocks.contract.block import Block
from titop.graph.network.network import Network

#: Masses further apart leave no digit of the smaller one in their sum.
_FAR = 1e12
#: Radii of gyration beyond this many times the largest distance in a system are those of kg mm^2 beside kg.
_GYRATION = 100.0


def doubtful_units(system: Network) -> Iterator[Finding]:
    """Yield rotations in degrees, masses that are far apart, inertias that are too large for the system's lengths."""
    for connection in system.connections:
        yield from pose_suspicions(f"{connection.joint.name}.placement", connection.placement)
    blocks: list[Block] = [block for _, block in system.graph.nodes(data="block")]
    bodies = [block for block in blocks if isinstance(block, RigidBody | FlexibleBody) and block.mass > 0]
    yield from _far_masses({body.name: body.mass for body in bodies})
    places = [connection.placement.position for connection in system.connections]
    places += [pose.position for block in blocks if isinstance(block, PortedBlock) for pose in block.port_poses.values()]
    places += [body.com for body in bodies]
    with np.errstate(over="ignore"):
        reach = float(np.linalg.norm(np.reshape(places, (-1, 3)), axis=1).max(initial=0.0))
    yield from _large_inertias(bodies, reach)


def _far_masses(masses: dict[str, float]) -> Iterator[Finding]:
    if masses:
        least, most = min(masses, key=masses.__getitem__), max(masses, key=masses.__getitem__)
        if masses[most] > _FAR * masses[least]:
            value = f"{masses[least]:.3g} kg, beside {masses[most]:.3g} kg of {most}"
            expected, advice = f"masses within a factor of {_FAR:g}", "check the units of both"
            yield Finding("far-masses", f"{least}.mass", value, expected, advice)


def _large_inertias(bodies: list[RigidBody | FlexibleBody], reach: float) -> Iterator[Finding]:
    """Compare radii of gyration with the largest distance in the system: a wheel's own ports tell nothing of its size."""
    largest = [max(map(abs, body.inertia.ravel().tolist())) for body in bodies]
    with np.errstate(all="ignore"):  # infinite for numbers out of range
        radii = np.sqrt(np.array(largest) / np.array([body.mass for body in bodies]))
    for body, radius in zip(bodies, radii.tolist(), strict=True):
        if reach > 0 and radius > _GYRATION * reach:
            value = f"a radius of gyration of {radius:.3g} m, where everything is within {reach:.3g} m"
            advice = "divide by 1e6 if these are kg mm^2 (g mm^2: by 1e9)"
            yield Finding("large-inertia", f"{body.name}.inertia", value, "an inertia in kg m^2", advice)
