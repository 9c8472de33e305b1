"""What is refused of a linear fractional model, and what is warned of.

By the velocity of its centre of mass, the kinetic energy of a rigid or flexible body is linear in each parameter alone:
definite at all corners of a box, it is so within. Of the assembled system the loop itself tells: it is singular where the mass
matrix is, somewhere between the nominal member and one that is indefinite. Rays to corners and in random directions are looked
at; what is singular only aside from all of these is not found.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.paths import entry_of, owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import LOOSE_RANK, SAME
from titop.blocks.checking.block_findings import inertia_findings
from titop.blocks.contract.block import Block
from titop.blocks.interactions.interaction import Interaction
from titop.solvers.equilibrium.linear_validity import doubts, excess, steadiness_findings
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.lft.delta_blocks import DeltaBlock
from titop.solvers.lft.fractions import Fractional, singular_at
from titop.solvers.lft.moving_equilibria import Equilibria
from titop.solvers.lft.other_values import accelerations_at
from titop.solvers.lft.system_loop import SystemLoop
from titop.solvers.lft.uncertainty import Uncertainty
from titop.solvers.linear.linearize import Ends
from titop.solvers.mechanism.system_parameters import followed
from titop.solvers.model.model import Model
from titop.solvers.signals.quantities import Kind

#: An error above this, in parts of the response, is worth a warning.
_COARSE = 5e-2
#: Random values of a block's parameters that are looked at.
_INSIDE = 8
#: Pairs of opposite corners, and of random directions, that are looked at.
_CORNERS, _RANDOM = 16, 16

#: Kinds of outputs that read coordinates.
_COORDINATE_KINDS = {Kind.POSITION, Kind.RATE, Kind.ACCELERATION, Kind.EFFORT, Kind.MOMENTUM}


# -- before -----------------------------------------------------------------------------------------------------------------


def refuse_irrational(model: Model, uncertainty: Uncertainty) -> None:
    """Refuse parameters that are known not to be rational, all at once; laws are looked at when they are read."""
    expected = "a mass, centre, inertia, stiffness, damping, frequency, position, gear, filter, force or gravity"
    advice = "directions of actuators and sensors are not rational: keep it fixed, or sample it with tt.lpv"
    if findings := [
        Finding("not-rational", "parameters", path, expected, advice)
        for path in uncertainty.paths()
        if path in uncertainty.known and not all(_may_be_rational(model, part) for part in uncertainty.of_parts([path]))
    ]:
        raise ModelError(findings)


def _may_be_rational(model: Model, path: str) -> bool:
    """Tell whether a parameter is one of a kind that may enter so, by a fit at least."""
    block = model.mechanism.assembly.blocks.get(owner_of(path))
    rational = None if block is None else block.rational_parameters
    return rational is None or entry_of(path) in rational or entry_of(path).startswith("path.")  # filters, in series


def refuse_corners(point: OperatingPoint, uncertainty: Uncertainty) -> None:
    """Refuse ranges in which a block refuses its values, or loses the definiteness of its mass: at their ends, block by block.

    Of blocks that are neither rigid nor modal bodies of titop's, random values are looked at as well.
    """
    owners: dict[str, list[str]] = {}
    for uncertain in uncertainty.all:
        for member in uncertain.members:
            if member.path in uncertainty.known or member.shares:
                for owner in dict.fromkeys(map(owner_of, uncertainty.of_parts([member.path]))):
                    owned = owners.setdefault(owner, [])
                    if uncertain.name not in owned:
                        owned.append(uncertain.name)
    for owner, names in owners.items():
        block = point.model.mechanism.assembly.blocks.get(owner)
        if block is None:
            continue
        known = len(_wrong(point, block))
        rows = [*itertools.product((-1.0, 1.0), repeat=len(names))]
        if not (block.is_rigid or block.is_modal):
            rows += np.random.default_rng(4).uniform(-1.0, 1.0, (_INSIDE, len(names))).tolist()
        for row in rows:
            changed = uncertainty.model_values(uncertainty.values_at(dict(zip(names, row, strict=True))))
            if devices := point.model.mechanism.assembly.devices:  # which refuse by themselves
                followed(devices, changed)
            paths = (path for path in uncertainty.of_parts([*changed]) if path.startswith(f"{owner}."))
            values = {path: changed[path] for path in paths if ".placement." not in path}
            wrong = _wrong(point, block.with_parameters({path.removeprefix(f"{owner}."): x for path, x in values.items()}))
            if len(wrong) > known:
                shown = ", ".join(f"{path} = {x:.6g}" for path, x in values.items())
                expected, advice = "values that the block accepts", f"narrow the range: {wrong[0]}"
                raise ModelError(Finding("bad-range", "parameters", shown, expected, advice))


def _wrong(point: OperatingPoint, block: Block) -> list[Finding]:
    q = point.q[point.model.mechanism.assembly.q_slices.get(block.name, slice(0))]
    if isinstance(block, Interaction):
        return block.check()[0]
    return block.check()[0] or [*inertia_findings(f"{block.name}.mass_matrix", block.mass_matrix(q))]


def refuse_rescaled(model: Model, uncertainty: Uncertainty, ends: Ends) -> None:
    """Refuse what drives, reads or joins coordinates whose scale is uncertain, all at once."""
    rescaled: set[int] = set()
    for name, block in model.mechanism.assembly.blocks.items():
        scaled = {k for entry, own in block.rescaled_coordinates().items() if uncertainty.at(f"{name}.{entry}") for k in own}
        rescaled |= {model.mechanism.assembly.v_slices[name].start + k for k in scaled}
    if not rescaled:
        return
    touched: dict[int, str] = {}
    driven = np.abs(ends.inputs.applied) + np.abs(ends.inputs.motions)
    driven = driven.any(axis=1) | model.mechanism.inputs.motors.any(axis=1)
    touched |= dict.fromkeys(np.flatnonzero(driven).tolist(), "an input")
    for group in ends.outputs:
        if group.of is not None and group.of.kind in _COORDINATE_KINDS:
            touched |= dict.fromkeys(group.of.entries, "an output")
    for joined in model.mechanism.interactions:
        touched |= {model.mechanism.assembly.place(name)[1]: joined.closure.name for name in joined.coordinates}
    for gear in model.mechanism.gear_constraints:
        touched |= dict.fromkeys((k for _, k in gear.places), gear.gear.name)
    expected = "coordinates whose scale is not uncertain: a mode's amplitude goes with mass and length"
    advice = "read or drive ports of the body"
    if findings := [
        Finding("rescaled-coordinate", model.coordinate_names[k], touched[k], expected, advice)
        for k in sorted(rescaled & set(touched))
    ]:
        raise ModelError(findings)


# -- the model --------------------------------------------------------------------------------------------------------------


def refuse_idle(names: Sequence[str], model: Fractional) -> None:
    """Refuse parameters on which nothing depends."""
    idle = [name for name, size in zip(names, model.sizes, strict=False) if not size]
    if idle:
        expected, advice = "a parameter on which the response depends", "leave it out, or choose other inputs and outputs"
        raise ModelError([Finding("idle-parameter", "parameters", name, expected, advice) for name in idle])


def refuse_inexact(error: float, frozen: Sequence[str]) -> None:
    """Refuse models with outputs that depend on uncertain parameters in other ways than known; these are among the `frozen`."""
    if error > 10 * SAME:
        advice = (
            "leave out those that depend on uncertain angles and positions; coordinates, twists and accelerations of ports "
            "(v, w, dv, dw), reactions of joints, and of closures none of which is redundant, are exact"
        )
        found = f"an error of {error:.2g} with {', '.join(frozen)}"
        raise ModelError(Finding("inexact-output", "outputs", found, "outputs exact in the parameters", advice))


def refuse_unbalanced(equilibria: Equilibria, system: SystemLoop) -> None:
    """Refuse points that are no equilibria where the nominal one is, or accelerate otherwise than it does."""
    for row, point in zip(equilibria.test_points, equilibria.tests, strict=True):
        a = accelerations_at(point, system.ends.inputs)
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


def refuse_ill_posed(model: Fractional, blocks: Sequence[DeltaBlock]) -> None:
    """Refuse ranges with a member in them whose loop is singular.

    Costs an eigenvalue problem of the repetitions for each of 32 directions at most.
    """
    n = sum(model.sizes[:-1])
    nearest, place = 1.0 + LOOSE_RANK, None
    for direction in _directions(len(blocks)):
        spread = np.repeat(direction, [block.repetitions for block in blocks])
        for t in singular_at(model.A[:n, :n] * spread):
            if abs(t) < nearest:
                nearest, place = abs(t), t * direction
    if place is not None:
        shown = ", ".join(f"{block.name} = {block.value(x):.6g}" for block, x in zip(blocks, place.tolist(), strict=True))
        expected, advice = "a mass matrix that is definite all over the ranges", "narrow them: there it is singular"
        raise ModelError(Finding("indefinite-mass", "parameters", shown, expected, advice))


def _directions(n: int) -> Array:
    """Return directions from the nominal member, one of each pair of opposite ones."""
    rng = np.random.default_rng(3)
    if 2 ** (n - 1) <= _CORNERS:
        corners = np.array([(1.0, *signs) for signs in itertools.product((1.0, -1.0), repeat=n - 1)])
    else:
        corners = rng.choice((1.0, -1.0), (_CORNERS, n))
    if n == 1:
        return corners
    inside = rng.uniform(-1.0, 1.0, (_RANDOM, n))
    return np.vstack([corners, inside / np.abs(inside).max(axis=1, keepdims=True)])


# -- warnings ---------------------------------------------------------------------------------------------------------------


def warn_of_motion(point: OperatingPoint, a: Array) -> None:
    """Warn of a doubtful point, of one that is no equilibrium, or of a motion along which the linear model changes."""
    findings = [*doubts([(point.model, point.q, point.v)])]
    if point.v.any() or point.a.any():
        findings += steadiness_findings(point)
    if (a - point.a).any():
        worst = int(np.abs(a - point.a).argmax())
        found = f"accelerated by {a[worst]:.3g}"
        advice = "find an equilibrium with tt.trim; members keep these accelerations, by efforts, and hold for short times only"
        where = f"point: {point.model.coordinate_names[worst]}"
        findings.append(Finding("no-equilibrium", where, found, "no acceleration", advice))
    if findings:
        warn(findings)


def warn_of_error(error: float) -> None:
    """Warn of fits that are far from some members."""
    if error > _COARSE:
        found, expected = f"errors up to {error:.2g} of the response", f"{_COARSE:g} or less"
        advice = "give smaller tolerances, leave outputs out that are functions or angles, or narrow the ranges"
        warn([Finding("coarse-fit", "lft", found, expected, advice)])
