"""How far masses and inertias may change without elimination losing more than before by much.

Where every mass and inertia tensor is between a k-th of what it was and k times that (for tensors: the differences have no
negative principal value), so is the inertia of every subtree, with its joints free or held. A pivot is then at least a k-th of
what it was, and what its coordinate carries is at most k times that.
"""

from __future__ import annotations

from collections.abc import Iterable

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.rigid_body import INERTIA_ENTRIES, RigidBody, is_plainly_sound, is_positive
from titop.graph.network.assembly import Assembly

#: The factor k.
NEAR = 10.0
#: Mass, centre of mass and inertia, as they follow each other among the parameters.
_ENTRIES = 10


def inertial_parameters(assembly: Assembly, positions: dict[str, int]) -> dict[str, int]:
    """Return, for every mass and entry of an inertia that bodies look at as `RigidBody` does, where the body's numbers start.

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
        for entry in ("mass", *(f"inertia.{each}" for each in INERTIA_ENTRIES)):
            result[f"{body.name}.{entry}"] = positions[f"{body.name}.mass"]
    return result


def are_near(reference: Array, params: Array, starts: Iterable[int]) -> bool:
    """Tell whether bodies whose numbers start there have masses and inertias near the reference's, and nothing suspicious."""
    for start in starts:
        known, _, _, _, *known_inertia = reference[start : start + _ENTRIES].tolist()
        mass, _, _, _, *inertia = params[start : start + _ENTRIES].tolist()
        if not (0.0 < known <= NEAR * mass and mass <= NEAR * known):
            return False
        if inertia == known_inertia:
            continue
        pairs = list(zip(inertia, known_inertia, strict=True))
        if not (
            is_plainly_sound(*inertia)
            and is_positive(*(NEAR * new - old for new, old in pairs))
            and is_positive(*(NEAR * old - new for new, old in pairs))
        ):
            return False
    return True
