"""How long the bodies of a system are: the length that counts as one where lengths are compared with angles.

What stands still does not count where bodies tell a length, nor do ports that nothing joins: a frame on the far side of the
earth, or a target a thousand kilometres away, makes no mechanism larger.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block
from titop.blocks.contract.description import MassProperties
from titop.blocks.devices.actuators import PortActuator
from titop.graph.network.assembly import Assembly

#: Distances that are no lengths of a body, in parts of its radius of gyration: what trimming masses leaves, and rounding.
_SMALL = 0.1


def extent_of(assembly: Assembly) -> float:
    """Return the largest distance (m) of a joint, a closure or a centre of mass from the frame of its body.

    Ports that loads and actuators act on count as joined, of bodies that deform every port, where it is without deformation.
    Where there is none, or rounding alone as beside the bodies' radius of gyration, it is that of any port, or else of the
    surfaces of spheres in contacts, or else of the joints and closures on the world from each other; zero if these are in one
    place as well.
    """
    joined = list(_joined_places(assembly))
    bodies = [connection.child.block for connection in assembly.connections]
    rigid = [body.mass_properties() for body in bodies if not body.nv]
    own = [place for block, place in joined if block is not assembly.world]
    own += [place for body in bodies if body.nv for place in _port_places(body)]
    own += [each.com for each in rigid]
    unused = [place for body in bodies for place in _port_places(body)]
    fixed = [place for block, place in joined if block is assembly.world]
    least = _SMALL * _largest_gyration(rigid)
    touching = (getattr(loop.closure, "touching", None) for loop in assembly.loops)
    surfaces = [np.array([length, 0.0, 0.0]) for each in touching if each is not None for length in each.extents]
    for places in (own, unused, surfaces, [place - fixed[0] for place in fixed]):
        if places and (longest := float(np.linalg.norm(np.array(places), axis=1).max())) > least:
            return longest
    return 0.0


def _joined_places(assembly: Assembly) -> Iterator[tuple[Block, Array]]:
    """Yield the places on blocks (3, in their frames) of joints, closures, interactions, loads and actuators."""
    here = np.zeros(3)
    places = [(each.parent, each.placement.position) for each in assembly.connections]
    places += [(each.child, here) for each in assembly.connections]
    places += [(ref, here) for loop in assembly.loops for ref in loop.ports]
    places += [(load.target, here) for load in assembly.loads]
    places += [(actuator.target, here) for actuator in assembly.actuators if isinstance(actuator, PortActuator)]
    for ref, placement in places:
        rotation, position = ref.block.neutral_pose(ref.name)
        yield ref.block, position + rotation @ placement


def _largest_gyration(bodies: list[MassProperties]) -> float:
    """Return the largest radius of gyration (m) of bodies about their centres of mass, from the sum of their moments.

    Numbers may be complex. Moments may be slightly negative by rounding, as for point masses read from a file.
    """
    if not bodies:
        return 0.0
    masses = np.real([body.mass for body in bodies])
    moments = np.real([body.inertia for body in bodies]).trace(axis1=1, axis2=2)
    usable = (masses > 0) & (moments > 0)
    return float((np.sqrt(moments[usable] / 2) / np.sqrt(masses[usable])).max(initial=0.0))


def _port_places(block: Block) -> Iterator[Array]:
    return (block.neutral_pose(port)[1] for port in block.ports)
