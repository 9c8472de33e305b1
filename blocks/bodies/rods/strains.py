"""The free components of a rod's strain, and their bases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_functions import check_function, sampled
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.rods.strain_basis import StrainBasis

#: The components of a strain ``xi = [k; s]``: twist and curvatures (rad/m), then stretch and shears (no unit).
COMPONENTS = ("torsion", "bending_y", "bending_z", "elongation", "shear_y", "shear_z")

#: The theories by name, with their free components.
THEORIES: dict[str, tuple[str, ...]] = {
    "kirchhoff": COMPONENTS[:3],
    "extensible": COMPONENTS[:4],
    "timoshenko": COMPONENTS,
}

#: The strain of a straight rod.
STRAIGHT = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)

#: Permutation between strain components and the order of twists, linear first; it is its own inverse.
LINEAR_FIRST = np.array([3, 4, 5, 0, 1, 2])


def read_strains(reader: FieldReader, strains: Any, basis: Any) -> dict[str, StrainBasis]:
    """Read the free components of a strain by name, in their order.

    Parameters
    ----------
    reader : FieldReader
    strains : str or mapping
        A theory, with the same `basis` for all components, or a basis for each component.
    basis : int or StrainBasis
        An order means Legendre polynomials.
    """
    if isinstance(strains, str):
        if strains not in THEORIES:
            expected, advice = "a theory, or a mapping of components to orders", did_you_mean(strains, THEORIES)
            reader.report("unknown-theory", "strains", strains, expected, advice)
            return {}
        strains = dict.fromkeys(THEORIES[strains], basis)
    if not isinstance(strains, Mapping):
        advice = 'write "kirchhoff", or {"bending_y": 3, "torsion": 0}'
        reader.report("wrong-type", "strains", strains, "a theory, or a mapping of components to orders", advice)
        return {}
    for name in strains:
        if name not in COMPONENTS:
            expected, advice = "a component of the strain", did_you_mean(name, COMPONENTS)
            reader.report("unknown-strain", f"strains.{name}", name, expected, advice)
    if not strains:
        reader.report("no-strains", "strains", strains, "one component or more", "use a tt.RigidBody for what does not deform")
    bases = {name: _read_basis(reader, name, strains[name]) for name in COMPONENTS if name in strains}
    return {name: basis for name, basis in bases.items() if basis is not None}


def _read_basis(reader: FieldReader, name: str, value: Any) -> StrainBasis | None:
    if isinstance(value, StrainBasis):
        return value
    try:
        return StrainBasis.legendre(value)
    except ModelError:
        advice = "0 stands for a constant, 1 for a linear function, and so on; or give a tt.StrainBasis"
        reader.report("bad-order", f"strains.{name}", value, "an order from 0 to 99", advice)
        return None


def read_reference(reader: FieldReader, value: Any) -> Any:
    """Read the reference strain: six numbers ``[k; s]``, or a function of X (m) that returns them."""
    if callable(value):
        check_function(f"{reader.owner}.reference_strain", value, "X")
        return value
    advice = "give [torsion, bending y, bending z (rad/m), elongation, shear y, shear z]; straight is [0, 0, 0, 1, 0, 0]"
    return reader.array("reference_strain", value, (6,), advice)


def reference_along(reference: Any, fractions: Array, length: float) -> Array:
    """Return the reference strain (k, 6; rad/m and no unit), ``[k; s]``, at places along a rod, in parts of its length.

    Raises
    ------
    ModelError
        If it is a function, and fails.
    """
    if callable(reference):
        return sampled("reference_strain", reference, fractions, length, (6,))
    return np.broadcast_to(reference, (len(fractions), 6))
