"""How far masses and inertias may change without elimination losing more than before by much.

Where every mass and inertia tensor is between a k-th of what it was and k times that (for tensors: the differences have no
negative principal value), so is the inertia of every subtree, with its joints free or held. A pivot is then at least a k-th of
what it was, and what its coordinate carries is at most k times that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.rigid_body import INERTIA_ENTRIES, RigidBody, is_plainly_sound, is_positive
from titop.graph.network.assembly import Assembly

#: The factor k.
NEAR = 10.0
#: Mass, centre of mass and inertia follow each other among the parameters: where the inertia begins, and how many there are.
_INERTIA, _ENTRIES = 4, 10


class Place(NamedTuple):
    """A mass, or an entry of an inertia: where its body's numbers start among the parameters, and which of both it is."""

    start: int
    is_mass: bool


def inertial_parameters(assembly: Assembly, positions: dict[str, int]) -> dict[str, Place]:
    """Return the places of every mass and entry of an inertia that bodies look at as `RigidBody` does.

    Parameters
    ----------
    assembly : Assembly
    positions : mapping of parameter name to int
        Positions of the parameters that packing brings into effect.
    """
    result = {}
    for connection in assembly.connections:
        body = connection.child.block
        if type(body).check is not RigidBody.check or f"{body.name}.mass" not in positions:
            continue
        start = positions[f"{body.name}.mass"]
        result[f"{body.name}.mass"] = Place(start, is_mass=True)
        result |= {f"{body.name}.inertia.{each}": Place(start, is_mass=False) for each in INERTIA_ENTRIES}
    return result


def are_near(reference: Array, params: Array, changed: Iterable[Place | None]) -> bool:
    """Tell whether all that changed are masses and inertias near the reference's, with nothing suspicious about them.

    Parameters
    ----------
    reference : array
        Parameters that were looked at.
    params : array
        Parameters of which those that did not change are near the reference's.
    changed : iterable of Place or None
        None for what is neither mass nor inertia.
    """
    turned = set()
    for place in changed:
        if place is None:
            return False
        start, is_mass = place
        mass = params.item(start)
        if is_mass:
            known = reference.item(start)
            if not 0.0 < known <= NEAR * mass <= NEAR * NEAR * known:
                return False
        elif mass > 0.0:
            turned.add(start)
        else:
            return False
    return all(
        _is_near(reference[start + _INERTIA : start + _ENTRIES].tolist(), params[start + _INERTIA : start + _ENTRIES].tolist())
        for start in turned
    )


def _is_near(known: list[float], inertia: list[float]) -> bool:
    """Tell whether an inertia (xx, yy, zz, xy, xz, yz) is near a known one, and a body can plainly have it."""
    if inertia == known:
        return True
    pairs = list(zip(inertia, known, strict=True))
    return (
        is_plainly_sound(*inertia)
        and is_positive(*(NEAR * new - old for new, old in pairs))
        and is_positive(*(NEAR * old - new for new, old in pairs))
    )
