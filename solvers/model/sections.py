"""Cross sections of rods and beams: their poses, strains, stresses and transmitted wrenches, and where rods overlap.

Stresses and other results that flexible bodies recover from their modes.

Arguments: `rod` a rod's name; `abscissas` (k, m) along the rod at rest, from its base; the others as those of `reaction`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean, numbers_text
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import axes_of
from titop.solvers.arguments.rowwise import read_stack, read_states
from titop.solvers.constraints import closed_dynamics
from titop.solvers.mechanism.kernel_calls import DONE
from titop.solvers.model.kinematics import pose
from titop.solvers.model.mechanism import Mechanism, Resolved
from titop.solvers.signals.lines_and_sections import is_rod

if TYPE_CHECKING:
    from titop.blocks.bodies.rods.rod import Rod

#: Number of configurations whose volumes are computed together.
_TOGETHER = 64


def section_poses(model: Resolved, rod: str, abscissas: Any, q: Any) -> tuple[Array, Array]:
    """Return rotations (k, 3, 3; section to inertial) and positions (k, 3; m) of sections in the inertial frame.

    `rod` is the rod's name; `abscissas` (k, m) are measured along the rod at rest, from its base.
    """
    section, (base, origin) = _rod(model, rod), pose(model, rod, q)
    rotations, positions = section.section_poses(_coordinates(model, rod, q), abscissas)
    return base[..., None, :, :] @ rotations, origin[..., None, :] + positions @ np.swapaxes(base, -1, -2)


def section_strains(model: Resolved, rod: str, abscissas: Any, q: Any) -> Array:
    """Return the strains (k, 6; rad/m and no unit) of sections minus the reference strain: zero where there is no stress.

    Torsion and the two bendings, then elongation and the two shears, as in `Rod.strain`; `rod` and `abscissas` as in
    `section_poses`. It may be a beam too, see `Beam.stressing_strain`.
    """
    return _block(model, rod, "stressing_strain", "a rod or beam").stressing_strain(_coordinates(model, rod, q), abscissas)


def recover(model: Resolved, body: str, name: str, q: Any) -> Array:
    """Return what a recovery matrix of a flexible body gives (k; own units): see `FlexibleBody.recover`.

    Parameters
    ----------
    body : str
        Name of the flexible body.
    name : str
        Of the recovery matrix.
    q : array_like (nq,) or (n, nq)

    Raises
    ------
    ModelError
        If there is no such body or matrix.
    """
    recovered: Array = _block(model, body, "recover", "a flexible body").recover(name, _coordinates(model, body, q))
    return recovered


def section_stresses(model: Resolved, rod: str, abscissas: Any, q: Any) -> Array:
    """Return the largest axial and shear stresses (k, 2; N/m^2) on the outlines of sections: see `Rod.stress`.

    `rod` and `abscissas` are those of `section_poses`.
    """
    return _rod(model, rod).stress(_coordinates(model, rod, q), abscissas)


def section_wrenches(
    model: Resolved,
    rod: str,
    abscissas: Any,
    q: Any,
    v: Any,
    a: Any,
    wrenches: Mapping[str, Any] | None = None,
    u: Any = None,
    tau: Any = None,
    x: Any = None,
) -> Array:
    """Return the wrenches (k, 6; N, N m) that sections transmit towards the tip, at their centres, in their frames.

    Each is the balance of everything at or beyond the section: inertia, weight, loads and attached bodies. It therefore
    includes forces in directions in which the rod is rigid, such as the axial force in an inextensible rod. At the base it is
    the wrench of the joint there, minus the loads on the base itself. The section, tendons and chambers are not separated: the
    wrench is the sum of what they transmit. Without tendons and chambers, `Rod.elastic_wrench`, computed from the strain,
    converges to it as the orders of the bases increase.

    Parameters
    ----------
    rod : str
    abscissas : array_like (k,), m
    q, v, a : array_like (nq,), (nv,), (nv,)
    wrenches, u, tau, x
        As in `reaction`.

    Raises
    ------
    ModelError
        If there is no such rod, or abscissas are not on it.
    """
    mechanism = model.mechanism
    if x is not None:
        u = mechanism.inputs.whole(u, x)
    fractions = _rod(model, rod).fractions(abscissas)
    states = {"q": q, "v": v, "a": a} | ({} if tau is None else {"tau": tau})
    is_stacked, opened = axes_of(q) == 2, [mechanism.cut_at(rod, fraction) for fraction in fractions.tolist()]
    if is_stacked and wrenches is None and u is None and not mechanism.is_constrained:
        at_once = _wrenches_at(model, opened, rod, read_states(mechanism, states, stacked=True)[:3])
        if at_once is not None:
            return at_once
    rows = read_stack(mechanism, states, wrenches, u).rows() if is_stacked else [((*states.values(),), wrenches, u)]
    rows = [((*read_states(mechanism, dict(zip(states, state, strict=True))),), *loads) for state, *loads in rows]
    closing = [_closing_pushes(model, *row) for row in rows]
    transmitted = [
        [_wrench_at(model, each, rod, *row, pushes) for row, pushes in zip(rows, closing, strict=True)] for each in opened
    ]
    stacked: Array = np.array(transmitted).reshape(len(fractions), len(rows), 6).swapaxes(0, 1)
    return stacked if is_stacked else stacked[0]


def _closing_pushes(model: Resolved, state: tuple[Array, ...], wrenches: Any, u: Any) -> list[Any]:
    """Return the constraint forces of closures, as pushes on ports, at a state (q, v, a) or (q, v, a, tau)."""
    mechanism = model.mechanism
    if not mechanism.is_constrained:
        return []
    q, v, a, *tau = state
    carried = mechanism.multipliers(q, v, a, mechanism.external_pushes(wrenches, u), u, tau[0] if tau else None)
    return closed_dynamics.closure_pushes(mechanism, q, carried)


def _wrenches_at(model: Resolved, opened: Sequence[Mechanism], rod: str, state: Sequence[Array]) -> Array | None:
    """Return the wrenches (n, k, 6) of the sections at which mechanisms are cut, at stacked states of a tree without loads.

    None where each state has to be asked for.
    """
    found, first = np.empty((len(state[0]), len(opened), 6)), model.mechanism.assembly.v_slices[rod].stop
    for k, each in enumerate(opened):
        efforts, calls = np.empty((len(found), each.nv)), each.engine.calls.stacked
        if calls is None or calls["inverse"](*_held_at(model, each, rod, state), efforts) != DONE:
            return None
        found[:, k] = efforts[:, first : first + 6]
    return found


def _held_at(model: Resolved, opened: Mechanism, rod: str, state: Sequence[Array]) -> list[Array]:
    """Return a state, or stacked ones, with the section held at which the mechanism `opened` is cut."""
    at_v = model.mechanism.assembly.v_slices[rod].stop
    stops, held = (model.mechanism.assembly.q_slices[rod].stop, at_v, at_v), opened.nv - model.nv
    pairs = zip(state[:3], stops, strict=True)
    return [np.concatenate([x[..., :k], np.zeros((*x.shape[:-1], held)), x[..., k:]], axis=-1) for x, k in pairs]


def _wrench_at(
    model: Resolved, opened: Mechanism, rod: str, state: tuple[Array, ...], wrenches: Any, u: Any, pushes: Sequence[Any]
) -> Array:
    """Return the wrench (6) of the section at which the mechanism `opened` is cut."""
    first, outer = model.mechanism.assembly.v_slices[rod].stop, opened.external_pushes(wrenches, u)
    q, v, a = _held_at(model, opened, rod, state)
    result: Array = opened.engine.dynamics.tree_inverse(q, v, a, [*outer, *pushes])[first : first + 6]
    return result


def _coordinates(model: Resolved, rod: str, q: Any) -> Array:
    """Return the coordinates (n) of a rod, or stacked ones."""
    mechanism = model.mechanism
    return mechanism._read_q(q, stacked=True)[..., mechanism.assembly.q_slices[rod]]


def _rod(model: Resolved, name: str) -> Rod:
    blocks = model.mechanism.assembly.blocks
    rod = blocks.get(name) if isinstance(name, str) else None
    if not is_rod(rod):
        known = [block.name for block in blocks.values() if is_rod(block)]
        raise ModelError(Finding("unknown-rod", "rod", name, "a rod of the model", did_you_mean(str(name), known)))
    return rod


def _block(model: Resolved, name: str, member: str, what: str) -> Any:
    """Return the block of a name, which has the method `member`."""
    blocks = model.mechanism.assembly.blocks
    block = blocks.get(name) if isinstance(name, str) else None
    if not hasattr(block, member):
        known = [each.name for each in blocks.values() if hasattr(each, member)]
        kind = "rod" if member == "stressing_strain" else "body"
        raise ModelError(Finding(f"unknown-{kind}", kind, name, f"{what} of the model", did_you_mean(str(name), known)))
    return block


def overlaps(model: Resolved, q: Array, t: Array | None = None) -> Iterator[Finding]:
    """Yield a finding for each rod whose neighbouring sections overlap, and each folded body: at the worst place and state.

    `q` (n, nq). `t` (n, s): times of the configurations, for the messages.
    """
    if len(q) and model.mechanism.can_overlap:
        yield from _overlapping_rods(model, q, t)
        yield from _folded_bodies(model, q, t)


def _overlapping_rods(model: Resolved, q: Array, t: Array | None) -> Iterator[Finding]:
    mechanism = model.mechanism
    for rod, (abscissas, fibres) in mechanism.fibres.items():
        stretch = fibres.stretch(q[:, mechanism.assembly.q_slices[rod]])
        row, place = np.unravel_index(stretch.argmin(), stretch.shape)
        if stretch[row, place] < 0:
            value = f"a stretch of {stretch[row, place]:.3g} on its inner side, at X = {abscissas[place]:.4g} m{_when(t, row)}"
            advice = "the rod is bent more sharply than its thickness allows: load it less, or make it thinner or stiffer"
            yield Finding("overlapping-sections", rod, value, "sections that do not run through each other", advice)


def _folded_bodies(model: Resolved, q: Array, t: Array | None) -> Iterator[Finding]:
    mechanism = model.mechanism
    blocks: dict[str, Any] = mechanism.assembly.blocks
    for name, block in blocks.items():
        if not block.can_fold:
            continue
        parts = np.array_split(q[:, mechanism.assembly.q_slices[name]], -(-len(q) // _TOGETHER))
        with np.errstate(invalid="ignore"):
            ratios = np.concatenate([block.volume_ratios(part) for part in parts])
        row, place = np.unravel_index(ratios.argmin(), ratios.shape)
        if not ratios[row, place] > 0:
            x = numbers_text(block.domain.points[place])
            value = f"det F = {ratios[row, place]:.3g} at x = {x} m{_when(t, row)}"
            advice = "it is deformed further than its kinematics can describe: load it less, or make it thinner or stiffer"
            yield Finding("folded", name, value, "det F > 0: no part turned inside out", advice)


def _when(t: Array | None, row: Any) -> str:
    return "" if t is None else f" and t = {t[row]:.6g} s"
