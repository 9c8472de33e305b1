"""What is refused of a linear fractional model, and what is warned of, once its parameters are read."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.flexible_body import FlexibleBody
from titop.blocks.bodies.rigid_body import RigidBody
from titop.blocks.contract.block import Block
from titop.solvers.equilibrium.linear_validity import excess, steadiness_findings
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.lft.fractions.structured_reduction import Fractional
from titop.solvers.lft.system.system_loop import SystemLoop
from titop.solvers.lft.uncertainty.definiteness import mass_findings
from titop.solvers.lft.uncertainty.equilibria import Equilibria
from titop.solvers.lft.uncertainty.point_values import accelerations_at
from titop.solvers.lft.uncertainty.uncertain import Uncertainty

#: An error above this, in parts of the response, is worth a warning.
_COARSE = 5e-2
#: Random values of a block's parameters that are looked at.
_INSIDE = 8


class Checked(Protocol):
    """A linear fractional model that can be compared with `linearize`."""

    def check(self, n: int = ..., corners: bool = ...) -> float: ...


def warn_of_motion(point: OperatingPoint, a: Array) -> None:
    """Warn of a point that is no equilibrium, or of a motion along which the linear model changes."""
    warn(steadiness_findings(point), stacklevel=4)
    if a.any():
        worst = int(np.abs(a).argmax())
        found = f"accelerated by {a[worst]:.3g}"
        advice = "find an equilibrium with tt.trim; members keep these accelerations, by efforts, and hold for short times only"
        where = f"point: {point.model.coordinate_names[worst]}"
        warn([Finding("no-equilibrium", where, found, "no acceleration", advice)], stacklevel=4)


def warn_of_error(error: float) -> None:
    """Warn of fits that are far from some members."""
    if error > _COARSE:
        found, expected = f"errors up to {error:.2g} of the response", f"{_COARSE:g} or less"
        advice = "give smaller tolerances, leave outputs out that are functions or angles, or narrow the ranges"
        warn([Finding("coarse-fit", "lft", found, expected, advice)], stacklevel=4)


def refuse_idle(names: Sequence[str], model: Fractional) -> None:
    """Refuse parameters on which nothing depends."""
    idle = [name for name, size in zip(names, model.sizes, strict=False) if not size]
    if idle:
        expected, advice = "a parameter on which the response depends", "leave it out, or choose other inputs and outputs"
        raise ModelError([Finding("idle-parameter", "parameters", name, expected, advice) for name in idle])


def refuse_corners(point: OperatingPoint, uncertainty: Uncertainty) -> None:
    """Refuse ranges in which a block refuses its values, or loses the definiteness of its mass: at their ends, block by block.

    Of blocks that are neither rigid nor flexible bodies, random values are looked at as well.
    """
    owners: dict[str, list[str]] = {}
    for uncertain in uncertainty.all:
        for member in uncertain.members:
            if member.path in uncertainty.known or member.shares:
                owned = owners.setdefault(owner_of(member.path), [])
                if uncertain.name not in owned:
                    owned.append(uncertain.name)
    for owner, names in owners.items():
        block = point.model.assembly.blocks.get(owner)
        if block is None:
            continue
        known = len(_wrong(point, block))
        rows = [*itertools.product((-1.0, 1.0), repeat=len(names))]
        if not isinstance(block, RigidBody | FlexibleBody):
            rows += np.random.default_rng(4).uniform(-1.0, 1.0, (_INSIDE, len(names))).tolist()
        for row in rows:
            changed = uncertainty.of_model(uncertainty.changed(dict(zip(names, row, strict=True))))
            own = {path: value for path, value in changed.items() if path.startswith(f"{owner}.") and ".placement." not in path}
            wrong = _wrong(point, block.with_parameters({path.removeprefix(f"{owner}."): value for path, value in own.items()}))
            if len(wrong) > known:
                shown = ", ".join(f"{path} = {value:.6g}" for path, value in own.items())
                expected, advice = "values that the block accepts", f"narrow the range: {wrong[0]}"
                raise ModelError(Finding("bad-range", "parameters", shown, expected, advice))


def _wrong(point: OperatingPoint, block: Block) -> list[Finding]:
    """Return what is wrong with a block."""
    return block.check()[0] or mass_findings(block, point.q[point.model.assembly.q_slices.get(block.name, slice(0))])


def refuse_inexact(model: Checked, frozen: Sequence[str]) -> None:
    """Refuse models with outputs that depend on uncertain parameters in other ways than known; these are among the `frozen`."""
    error = model.check(2, corners=False)
    if error > 1e-8:
        advice = (
            "leave out those that depend on uncertain angles and positions; coordinates, twists and accelerations of ports "
            "(v, w, dv, dw), reactions of joints, and of closures none of which is redundant, are exact"
        )
        found = f"an error of {error:.2g} with {', '.join(frozen)}"
        raise ModelError(Finding("inexact-output", "outputs", found, "outputs exact in the parameters", advice))


def refuse_unbalanced(equilibria: Equilibria, system: SystemLoop) -> None:
    """Refuse points that are no equilibria where the nominal one is, or accelerate otherwise than it does."""
    for row, point in zip(equilibria.test_points, equilibria.tests, strict=True):
        a = accelerations_at(point, system.system_inputs)
        beyond = a - system.a
        if excess(point, beyond, np.zeros_like(a)).max(initial=0.0) <= 1.0:
            continue
        worst = int(np.abs(beyond).argmax())
        values = ", ".join(f"{path} = {value:.6g}" for path, value in equilibria.values(row).items())
        expected, advice = "no acceleration", "return what tt.trim finds"
        if system.a.any():
            expected = f"{system.a[worst]:.3g} as at nominal values"
            advice = "members keep the point's accelerations: fix the parameter, or sample the family with tt.lpv"
        found = f"{point.model.coordinate_names[worst]} accelerated by {a[worst]:.3g}"
        raise ModelError(Finding("no-equilibrium", f"equilibrium at {values}", found, expected, advice))
