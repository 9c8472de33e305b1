"""From finite-element matrices to the few coordinates of a flexible body.

A body's degrees of freedom are those of P (6), of each child port (6), and interior ones. P's motion carries the body rigidly
(`rigid`); what remains, relative to P, is reduced to a basis ``Psi``::

    M_qq = Psi^T M Psi    K_qq = Psi^T K Psi    L = Psi^T M Phi_r    D_P = Phi_r^T M Phi_r

with the rigid-body vectors ``Phi_r`` about P. Craig-Bampton (Craig and Bampton, AIAA Journal 6(7), 1968): ``Psi`` holds the
static deformations under unit displacements of the child ports and the lowest modes with all ports held. They make any static
load at the ports exact, whatever hangs on them or holds them. Large sparse matrices stay sparse: what is dense has as many
columns as the reduced body has coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError, warn
from titop.blocks.basics.spatial import Array, skew
from titop.blocks.basics.tolerances import BALANCED, CANCELLED, COARSE, NEAR_AXIS, TYPED
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.element_matrices import (
    element_moments,
    entries_of,
    is_sparse,
    read_loads,
    read_matrices,
    read_nodes,
    refuse_shared_nodes,
    rigid_motion,
    rotary_part,
)
from titop.blocks.bodies.second_order import LOADS

METHODS = ("craig-bampton", "attachment")

#: Rotary inertia of nodes that is more than this part of the body's makes its second order wrong by as much.
_ROTARY = 2 * COARSE


def rigid_data(rigid_inertia: Array) -> tuple[float, Array, Array]:
    """Return mass (kg), centre of mass (3, m) and inertia about it (3x3, kg m^2) of a 6x6 inertia."""
    mass = float(np.trace(rigid_inertia[:3, :3]) / 3)
    coupling = (rigid_inertia[3:, :3] - rigid_inertia[:3, 3:]) / 2
    com = np.array([coupling[2, 1], coupling[0, 2], coupling[1, 0]]) / mass
    inertia = rigid_inertia[3:, 3:] + mass * skew(com) @ skew(com)
    return mass, com, (inertia + inertia.T) / 2


def reduced(mass: Any, stiffness: Any, rigid: Array, basis: Array) -> tuple[Array, Array, Array]:
    """Return mass, stiffness (n, n) and participation (n, 6) of a body with a basis (N, n) and rigid-body vectors (N, 6)."""
    at_modes = mass @ basis
    return _symmetric(basis.T @ at_modes), _symmetric(basis.T @ stiffness @ basis), at_modes.T @ rigid


def reduced_fields(mass: Any, stiffness: Any, rigid: Array, basis: Array) -> dict[str, Any]:
    """Return the fields of a `FlexibleBody` for its mass and stiffness, see `reduced`."""
    total, com, inertia = rigid_data(rigid.T @ mass @ rigid)
    M, K, L = reduced(mass, stiffness, rigid, basis)
    return {"mass": total, "com": com, "inertia": inertia, "participation": L, "modal_mass": M, "modal_stiffness": K}


def reduce_finite_elements(
    name: str,
    positions: Any,
    mass: Any,
    stiffness: Any,
    parent: Any,
    ports: Mapping[str, Any],
    modes: int,
    method: str,
    geometric_stiffness: Any,
) -> dict[str, Any]:
    """Return the fields of the reduced body; see `FlexibleBody.from_finite_elements`."""
    reader = FieldReader(name)
    nodes, freedoms, M, K = read_matrices(reader, positions, mass, stiffness)
    if method not in METHODS:
        reader.report("bad-method", "method", method, " or ".join(map(repr, METHODS)), "choose one of the two")
    if not isinstance(modes, int | np.integer) or modes < 0:
        reader.report("not-a-count", "modes", modes, "a whole number >= 0", "check the value")
    ports = reader.mapping("ports", ports, "names to nodes", '{"tip": 12}')
    reader.raise_findings()
    loads = read_loads(reader, geometric_stiffness, M.shape[0], LOADS | dict.fromkeys(ports, 6))
    held = read_nodes(reader, "parent", parent, nodes, freedoms)
    sets = {port: read_nodes(reader, port, value, nodes, freedoms) for port, value in ports.items()}
    if not reader.findings:
        refuse_shared_nodes(reader, {"parent": held, **sets})
    reader.raise_findings()
    origin = nodes[held].mean(axis=0)
    rigid = rigid_motion(nodes - origin, freedoms)
    forces, scale = K @ rigid, abs(K) @ abs(rigid)
    if (abs(forces) > BALANCED * scale.max()).any():
        advice = "give the matrices of the free body, degrees of freedom node by node, in the axes of the positions"
        value = f"elastic forces of {abs(forces).max():.3g} under rigid motion"
        reader.report("not-free", "stiffness", value, "a stiffness that rigid motion does not strain", advice)
        reader.raise_findings()
    total = float(np.trace(rigid[:, :3].T @ M @ rigid[:, :3])) / 3
    if not total > 0:
        reader.report("negative-mass", "mass", f"a total mass of {total:.3g} kg", "a mass > 0", "check the mass matrix")
        reader.raise_findings()
    own = np.ones(len(rigid), dtype=bool)
    own[entries_of(held, freedoms)] = False
    columns, places = [], {}
    for port, members in sets.items():
        places[port] = nodes[members].mean(axis=0) - origin
        entries = entries_of(members, freedoms)
        carried = np.zeros((len(rigid), 6))
        carried[entries] = rigid_motion(nodes[members] - nodes[members].mean(axis=0), freedoms)
        columns.append(carried)
        own[entries] = False
    boundary = 6 * len(sets)
    if modes > own.sum():
        reader.report("too-many-modes", "modes", modes, f"at most {own.sum()} modes", "ask for fewer")
        reader.raise_findings()
    relative = _relative(columns, own, is_sparse(K))
    M_r, K_r = relative.T @ M @ relative, relative.T @ K @ relative
    static = boundary_names(sets) if method == "craig-bampton" else ()
    try:
        basis = (craig_bampton if static else attachment_modes)(M_r, K_r, boundary, modes)
    except np.linalg.LinAlgError:
        value = "a singular or indefinite stiffness, or fewer modes with mass than asked for"
        expected, advice = "one connected body, held by its parent", "look for loose parts, or ask for fewer modes"
        reader.report("singular-stiffness", "stiffness", value, expected, advice)
        raise ModelError(reader.findings) from None
    except ConvergenceError as error:
        raise ConvergenceError(f"{name}: {error}") from None
    names = *static, *(f"mode{k + 1}" for k in range(basis.shape[1] - len(static)))
    shapes = {port: basis[6 * k : 6 * k + 6] for k, port in enumerate(sets)}
    moved = relative @ basis
    second: dict[str, Any] = {}
    if loads is not None:
        _warn_of_rotary_inertia(name, rotary_part(M, rigid, freedoms))
        position, displacement = element_moments(M, K, rigid, moved, freedoms)
        stiffening = {
            load: np.array([_symmetric(moved.T @ (matrix @ moved)) for matrix in matrices]) for load, matrices in loads.items()
        }
        second = {"position_moments": position, "displacement_moments": displacement, "geometric_stiffness": stiffening}
    return reduced_fields(M, K, rigid, moved) | {"ports": places, "shapes": shapes, "coordinate_names": names} | second


def _warn_of_rotary_inertia(name: str, part: float) -> None:
    if part > _ROTARY:
        value, expected = f"{100 * part:.2g} % of the inertia as rotary inertia of nodes", "the masses of points"
        advice = "what these do to a body that spins while it deforms is not known: connect rigid bodies at ports there instead"
        warn([Finding("rotary-inertia", f"{name}.mass", value, expected, advice)])


def _relative(ports: Sequence[Array], own: Array, sparse: bool) -> Any:
    """Return the matrix from the coordinates relative to P to the degrees of freedom: motions with ports, then their `own`."""
    if not sparse:
        return np.hstack([*ports, np.eye(len(own))[:, own]])
    from scipy.sparse import csc_array, eye_array, hstack

    return hstack([*map(csc_array, ports), eye_array(len(own), format="csc")[:, own]], format="csc")


def boundary_names(ports: Sequence[str] | Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the ports' displacements as coordinates: ``C_x`` to ``C_rz``."""
    return tuple(f"{port}_{direction}" for port in ports for direction in ("x", "y", "z", "rx", "ry", "rz"))


def _symmetric(matrix: Array) -> Array:
    return (matrix + matrix.T) / 2


# -- bases of few deformations of a body that is held at P: static ones, and its lowest natural modes --------------------------
#
# Matrices are dense, or sparse: then the stiffness is factorised once (`solver_of`), and modes come from a Lanczos iteration.

#: Relative excess at which a squared period counts as larger than another; and the accuracy of the first search for one.
_LARGER = 10 * NEAR_AXIS
_ROUGH = NEAR_AXIS
#: Vectors of an iteration: so many a mode, and so many more. With few of them it begins anew more often.
_ROOM = 3, 40
#: From so many modes on, one in so many degrees of freedom, a dense matrix holds little more than they do.
_MANY = 4


def craig_bampton(mass: Any, stiffness: Any, boundary: int, modes: int) -> Array:
    """Return the Craig-Bampton basis of a body held at P.

    `mass`, `stiffness` (N, N; or sparse ones): boundary degrees of freedom first; `boundary`: number of these; `modes`: number
    of fixed-interface modes, the lowest. Returns (N, boundary + modes) array: static deformations under unit displacements of
    the boundary, then modes with the boundary held, mass-normalised. Raises `LinAlgError` as `solver_of` and `lowest_modes`.
    """
    size, interior = mass.shape[0], slice(boundary, None)
    basis = np.zeros((size, boundary + modes))
    basis[:boundary, :boundary] = np.eye(boundary)
    if size == boundary:
        return basis
    held, moved = stiffness[interior, interior], stiffness[interior, :boundary]
    solve = solver_of(held)
    basis[interior, :boundary] = -solve(moved.toarray() if is_sparse(moved) else moved)
    basis[interior, boundary:] = lowest_modes(mass[interior, interior], held, modes, solve)
    return basis


def attachment_modes(mass: Any, stiffness: Any, boundary: int, modes: int) -> Array:
    """Return the natural modes of the space of clamped modes and static deformations under loads at the boundary.

    Parameters and errors as `craig_bampton`; the basis (N, modes + boundary) is mass-normalised.
    """
    from scipy import linalg

    solve = solver_of(stiffness)
    clamped = lowest_modes(mass, stiffness, modes, solve)
    static = solve(np.eye(mass.shape[0], boundary))
    static = static - clamped @ (clamped.T @ (mass @ static))
    static /= np.sqrt(np.einsum("ij,ij->j", static, mass @ static))
    basis = np.hstack([clamped, static])
    return _fix_signs(basis @ linalg.eigh(basis.T @ stiffness @ basis, basis.T @ mass @ basis)[1])


def solver_of(stiffness: Any) -> Callable[[Array], Array]:
    """Return a function that solves with a stiffness (N, N), for vectors (N) or columns (N, m).

    Raises `LinAlgError` if it is not positive definite.
    """
    from scipy import linalg

    if is_sparse(stiffness):
        return _factored_sparse(stiffness)
    factor = linalg.cho_factor(stiffness)
    return lambda loads: np.asarray(linalg.cho_solve(factor, loads))


def _factored_sparse(stiffness: Any) -> Callable[[Array], Array]:
    """Return `solver_of` of a sparse matrix: elimination along the diagonal, whose pivots have the signs of the eigenvalues."""
    from scipy.sparse.linalg import splu

    try:
        factor = splu(stiffness.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError as error:  # a pivot is zero
        raise np.linalg.LinAlgError from error
    order = np.argsort(factor.perm_c)
    along_diagonal = np.array_equal(factor.perm_r, factor.perm_c)
    if not along_diagonal or not (factor.U.diagonal() > CANCELLED * np.abs(stiffness.diagonal()[order])).all():
        raise np.linalg.LinAlgError
    return lambda loads: np.asarray(factor.solve(loads))


def lowest_modes(mass: Any, stiffness: Any, modes: int, solve: Callable[[Array], Array]) -> Array:
    """Return the lowest natural modes (N, modes), mass-normalised; the mass may be singular, not the stiffness.

    The largest entry of each is positive.

    From ``M phi = phi K / w^2``, whose largest eigenvalues are the accurate ones. `solve` is that of the stiffness.

    Raises `LinAlgError` if the stiffness is singular, or there are fewer modes with mass. Raises `ConvergenceError` if the
    Lanczos iteration of sparse matrices does not find them.
    """
    from scipy import linalg

    n = mass.shape[0]
    if not modes:
        return np.zeros((n, 0))
    if is_sparse(mass) and modes < n // _MANY:
        inverse_squares, shapes = _largest(mass, stiffness, modes, solve)
    else:
        both = (matrix.toarray() if is_sparse(matrix) else matrix for matrix in (mass, stiffness))
        inverse_squares, shapes = linalg.eigh(*both, subset_by_index=(n - modes, n - 1))
    if len(inverse_squares) < modes or not inverse_squares[0] > CANCELLED * inverse_squares[-1]:
        raise np.linalg.LinAlgError
    return _fix_signs(shapes[:, ::-1] / np.sqrt(inverse_squares[::-1]))


def _fix_signs(modes: Array) -> Array:
    """Return modes (N, n) with signs such that the largest entry of each (the first of several) is positive."""
    if not modes.size:
        return modes
    sizes = np.abs(modes)
    first = (sizes >= (1 - TYPED) * sizes.max(axis=0, initial=0.0)).argmax(axis=0)
    return modes * np.sign(modes[first, np.arange(modes.shape[1])])


def _largest(mass: Any, stiffness: Any, modes: int, solve: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Return the largest eigenvalues, ascending, and eigenvectors of ``M x = nu K x``.

    An iteration from one vector may miss some of several equal eigenvalues: the complement of the eigenvectors is searched
    until it contains none as large.
    """
    values, vectors = _lanczos(lambda x: mass @ x, stiffness, modes, solve)
    while True:
        pulled = mass @ vectors
        kept = values > CANCELLED * values[-1]

        def rest(x: Array, pulled: Array = pulled[:, kept], values: Array = values[kept]) -> Array:
            return np.asarray(mass @ x - pulled @ ((pulled.T @ x) / values))

        if not kept.all() or not _lanczos(rest, stiffness, 1, solve, _ROUGH)[0][0] > (1 + _LARGER) * values[0]:
            break
        more, missed = _lanczos(rest, stiffness, 1, solve)
        order = np.argsort(np.append(values, more), kind="stable")[-modes:]
        values, vectors = np.append(values, more)[order], np.column_stack([vectors, missed])[:, order]
    return values, vectors


def _lanczos(
    product: Callable[[Array], Array], stiffness: Any, number: int, solve: Any, accuracy: float = 0.0
) -> tuple[Array, Array]:
    """Return the largest eigenvalues, ascending, and eigenvectors of a symmetric `product` over the stiffness.

    To rounding, or a part `accuracy` of them.
    """
    from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

    n = stiffness.shape[0]
    room = min(n, _ROOM[0] * number + _ROOM[1])
    operators = (LinearOperator((n, n), matvec=function, dtype=float) for function in (product, solve))
    start = np.random.default_rng(0).normal(size=n)
    try:
        values, vectors = eigsh(
            next(operators), number, M=stiffness, Minv=next(operators), which="LA", v0=start, ncv=room, tol=accuracy
        )
    except ArpackNoConvergence as error:
        raise ConvergenceError(f"the Lanczos iteration does not find {number} natural modes; ask for fewer") from error
    except ArpackError as error:  # without mass nothing is left to iterate
        raise np.linalg.LinAlgError from error
    order = np.argsort(values)
    return values[order], vectors[:, order]
