"""The parts of a flexible body's law in which uncertain numbers stand as factors: its rigid body, its modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.flexible_body import FlexibleBody
from titop.blocks.bodies.rigid_body import RigidBody
from titop.blocks.contract.block import Block
from titop.solvers.lft.fractions.loops import Affine
from titop.solvers.lft.laws.laws import At, BlockLaw, ModalLaw, Mode, RigidLaw, ScaledLaw, Spring, law_matrices, rigid_law
from titop.solvers.lft.uncertainty.uncertain import Uncertainty


class ModalParts(NamedTuple):
    """What factors say of a block's law; nothing of blocks that are no flexible bodies.

    Attributes
    ----------
    rigid : RigidLaw or None
    modes : tuple of Mode
    springs : tuple of Spring
    known : set of str
        The names of parameters that enter so alone.
    scale : Affine or None
        By which all of the law is multiplied.
    """

    rigid: RigidLaw | None = None
    modes: tuple[Mode, ...] = ()
    springs: tuple[Spring, ...] = ()
    known: frozenset[str] = frozenset()
    scale: Affine | None = None

    def joined(self, rest: BlockLaw) -> BlockLaw:
        """Return the law, of which these parts leave a rest."""
        known = self.rigid is not None or bool(self.modes or self.springs)
        law = ModalLaw(self.rigid, self.modes, self.springs, rest) if known else rest
        return law if self.scale is None else ScaledLaw(law, self.scale)

    def subtract(self, block: Block, at: At, slopes: Array, efforts: Array) -> None:
        """Take what the factors say of a law out of its matrices."""
        n = block.nv
        if self.rigid is not None:
            part = _rigid_part(block, at)
            slopes[:6, :6] -= part[0][:, :6]
            slopes[:6, 6 + 3 * n : 12 + 3 * n] -= part[0][:, 6:12]
            efforts[:6] -= part[1]
        for mode in self.modes:
            k, (w, zeta) = mode.k, _mode_numbers(block, mode.k)
            slopes[6 + k, 6 + n + k] -= w * w
            slopes[6 + k, 6 + 2 * n + k] -= 2 * zeta * w
            efforts[6 + k] -= w * w * at.q[k] + 2 * zeta * w * at.v[k]
        for spring in self.springs:
            k, (w, _) = spring.k, _mode_numbers(block, spring.k)
            slopes[6 + k, 6 + n + k] -= w * w
            efforts[6 + k] -= w * w * at.q[k]


def modal_parts(block: FlexibleBody, names: list[str], at: At, uncertainty: Uncertainty, bends: bool) -> ModalParts:
    """Return the parts of a flexible body's law that are known as factors, of which `names` are the uncertain parameters.

    Where it `bends`, its own coordinates at the point are uncertain.

    Raises
    ------
    ModelError
        For deformed bodies that are scaled.
    """

    def number(entries: list[str], nominal: Array) -> Affine:
        return uncertainty.vector([f"{block.name}.{entry}" for entry in entries], nominal)

    own = {name.removeprefix(f"{block.name}.") for name in names}
    of_body = {name for name in own if name == "mass" or name.startswith(("com.", "inertia."))}
    rigid = rigid_law(number, block.mass, block.com, block.inertia) if of_body else None
    known = of_body if _is_still(block, at) and not bends else set()
    modes, springs = [], []
    if block.frequencies is not None:
        for k, values in enumerate(zip(block.frequencies, block.damping_ratios, strict=True)):
            entries = f"mode{k + 1}.frequency", f"mode{k + 1}.damping"
            if own & set(entries):
                modes.append(Mode(k, *(number([e], np.array([x])).column() for e, x in zip(entries, values, strict=True))))
                known |= set(entries)
            stiffness = f"mode{k + 1}.stiffness"
            if uncertainty.at(f"{block.name}.{stiffness}"):
                springs.append(Spring(k, number([stiffness], block.frequencies[[k]] ** 2).column()))
    found = frozenset(f"{block.name}.{name}" for name in known & own)
    return ModalParts(rigid, tuple(modes), tuple(springs), found, _scale(block, at, number, bends))


def _scale(block: FlexibleBody, at: At, number: Callable[[list[str], Array], Affine], bends: bool) -> Affine | None:
    """Return the factor of all of the law, one in the middle of its range; None where it is certain."""
    scale = number(["mass_scale"], np.ones(1))
    if not scale.slopes:
        return None
    if bends or at.q.any() or at.v.any() or at.a.any():
        expected, advice = "a body that is neither deformed nor deforming at the point", "vary mass and inertia alone"
        raise ModelError(Finding("not-rational", "parameters", f"{block.name}.mass_scale", expected, advice))
    return Affine(np.eye(1), tuple((delta, (slope / scale.value)[:, None]) for delta, slope in scale.slopes))


def _is_still(block: FlexibleBody, at: At) -> bool:
    """Tell whether a body's mass and inertia enter as those of a rigid one: undeformed, and nothing turns."""
    moving = (at.q, at.v, at.a, at.twist, at.acceleration[3:])
    return block.second_order is None and not any(part.any() for part in moving)


def _rigid_part(block: Block, at: At) -> tuple[Array, Array]:
    """Return slopes (6, 18) and efforts (6, 1) of the rigid body that a flexible one is without its modes."""
    assert isinstance(block, FlexibleBody)
    rigid = RigidBody(block.name, block.mass, block.com, block.inertia)
    nothing = np.zeros(0)
    slopes, efforts = law_matrices(rigid, at._replace(q=nothing, v=nothing, a=nothing))
    return slopes, efforts


def _mode_numbers(block: Block, k: int) -> tuple[float, float]:
    """Return frequency and damping ratio of a mode."""
    assert isinstance(block, FlexibleBody)
    assert block.frequencies is not None
    return float(block.frequencies[k]), float(block.damping_ratios[k])
