"""Whole passes: from a state to efforts or accelerations.

Of `Tables` the law is None for systems without general blocks and interactions; numbers and stages describe these (see
`layout`).

Inverse dynamics with the mass matrix are one pair of passes (key P, section 5 and appendix A.6: MID; without what acts, MIID).
Outwards, each general block is asked for its law once, and its motion gives what it takes by itself, ``M x + h``. Inwards,
wrenches and composite inertias go along together. Cost: linear in the number of blocks, but for the matrix itself.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.choices import everywhere
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import Along, Tables
from titop.solvers.kernels.ports.interactions import add_interaction_efforts, apply_interactions, write_interactions
from titop.solvers.kernels.ports.loads import apply_loads, apply_to_ports
from titop.solvers.kernels.ports.surroundings import subtract_from_laws, subtract_from_wrenches, write_surroundings
from titop.solvers.kernels.spatial.algebra import copy
from titop.solvers.kernels.tree.composite import write_mass_matrix
from titop.solvers.kernels.tree.forward import inward_elimination, outward_accelerations, rigid_laws
from titop.solvers.kernels.tree.inverse import inward_wrenches, outward_motions
from titop.solvers.kernels.tree.kinematics import outward_twists, start, world_poses
from titop.solvers.kernels.tree.springs import add_passive_efforts
from titop.solvers.native.kernel import helper, shared


@helper
def sizes_fit(ints, q, v, x, out):
    """Tell whether the state arguments have the lengths of the system."""
    nv = ints[0, layout.NV]
    return q.size == ints[0, layout.NQ] and v.size == nv and x.size == nv and out.size == nv


@helper
def world_rows(ints):
    """Return the number of rows that `apply_wrenches` needs in `world`."""
    return ints[0, layout.ELEMENTS] if ints[0, layout.INERTIAL_LOADS] or ints[0, layout.INTERACTIONS] else 0


@shared
def moving_rooms(ints, columns, q):
    """Return `work` of so many columns, and `world` with room for the poses of all elements."""
    count = ints[0, layout.ELEMENTS]
    return np.empty((count, columns), q.dtype), np.empty((count, 12), q.dtype)


@helper
def apply_wrenches(tables, work, world, general):
    """Subtract loads and interactions from the laws of general blocks, or else from the biases of rigid bodies."""
    ints, floats, law = tables.ints, tables.floats, tables.law
    apply_loads(ints, floats, law, work, world, general)
    if law is not None:
        apply_interactions(ints, floats, law, work, general)


@helper
def state_fits(ints, y, dy, tau):
    """Tell whether a state ``y = [q, v]``, its rate and efforts have the lengths of the system."""
    return y.size == ints[0, layout.NQ] + ints[0, layout.NV] and dy.size == y.size and tau.size == ints[0, layout.NV]


@helper
def status_of(out):
    """Return whether all results are finite, as a status."""
    a = b = c = d = 0.0  # four sums, which do not wait for each other
    rest = out.size % 4
    for k in range(0, out.size - rest, 4):
        a += 0.0 * out[k]
        b += 0.0 * out[k + 1]
        c += 0.0 * out[k + 2]
        d += 0.0 * out[k + 3]
    for k in range(out.size - rest, out.size):
        a += 0.0 * out[k]
    return layout.OK if everywhere(a + b + c + d == 0.0) else layout.NOT_FINITE


@helper
def status_of_rows(matrix):
    """Return whether all of a matrix's entries are finite, as a status."""
    status = layout.OK
    for i in range(matrix.shape[0]):
        status = min(status, status_of(matrix[i]))
    return status


@helper
def status_of_slopes(slopes):
    """Return whether all of several matrices' entries are finite, as a status."""
    status = layout.OK
    for k in range(slopes.shape[0]):
        status = min(status, status_of_rows(slopes[k]))
    return status


@helper
def inverse_from(tables, state, a, work, world, tau, known):
    """Turn poses, twists and laws (in `work` and `law`), unless `known` found on the way, into efforts; return a status."""
    status = outward_moved(tables, state, a, work, world, known)
    return status if status != layout.OK else efforts_from(tables, state, a, work, world, tau)


@shared
def efforts_from(tables, state, a, work, world, tau):
    """Turn known motions, and what interactions do, into efforts; return a status."""
    start_efforts(tables.ints, tables.floats, state.q, state.v, tau)
    apply_to_all(tables, work, world, tau)
    return inward_wrenches(tables, state, a, work, tau)


@helper
def start_efforts(ints, floats, q, v, tau):
    """Write minus the passive efforts of joints: what inverse dynamics begin with."""
    for k in range(tau.size):
        tau[k] = 0.0
    add_passive_efforts(ints, floats, q, v, tau)
    for k in range(tau.size):
        tau[k] = -tau[k]


@helper
def apply_to_all(tables, work, world, tau):
    """Subtract all that acts from the wrenches that blocks take, and from efforts."""
    ints, law = tables.ints, tables.law
    apply_wrenches(tables, work, world, False)
    if law is not None:
        add_interaction_efforts(ints, law, tau, -1.0)
        apply_to_ports(ints, tables.floats, law, work, world)
        subtract_from_wrenches(ints, law, work, tau)


@shared
def find_acting(tables, state, work, world):
    """Let interactions, and what surrounds the blocks, write what they do, from known poses and twists; return a status."""
    if tables.ints[0, layout.INTERACTIONS] == 0 and tables.ints[0, layout.APPLYING] == 0:
        return layout.OK
    world_poses(tables.ints, tables.law, work, world)
    status = write_interactions(tables, state, work, world)
    return status if status != layout.OK else write_surroundings(tables, state, work, world)


@helper
def outward_whole(tables, state, work, world):
    """From a state to twists, the laws of general blocks, and what interactions do; return a status."""
    status = outward_twists(tables, state, work, layout.UNKNOWN)
    if tables.law is not None and status == layout.OK:
        status = find_acting(tables, state, work, world)
    return status


@shared
def outward_moved(tables, state, a, work, world, known):
    """From a state to motions and what interactions do, unless poses, twists and laws are `known`; return a status.

    No law is asked for M and S. Where accelerations are not read, v may stand for them.
    """
    if known == layout.UNKNOWN:
        start(tables.floats, work)
    status = outward_motions(tables, state, a, work, known)
    if tables.law is not None and known == layout.UNKNOWN and status == layout.OK:
        status = find_acting(tables, state, work, world)
    return status


@helper
def inverse_whole(tables, state, a, work, world, tau):
    """Inverse dynamics into `tau`; return a status."""
    status = inverse_from(tables, state, a, work, world, tau, layout.UNKNOWN)
    return status if status != layout.OK else status_of(tau)


@helper
def forward_whole(tables, state, tau, work, multi, world, a):
    """Forward dynamics into `a`; return a status."""
    status = outward_whole(tables, state, work, world)
    return status if status != layout.OK else forward_from_twists(tables, state, tau, work, multi, world, a)


@shared
def eliminate(tables, along, work, multi, world):
    """Turn known twists (in `work`) and laws, efforts and imposed motions into accelerations and efforts; return a status.

    The laws are used up.
    """
    ints, law = tables.ints, tables.law
    if law is not None:
        apply_wrenches(tables, work, world, True)
        subtract_from_laws(ints, law)
    rigid_laws(ints, tables.floats, law, work)
    apply_wrenches(tables, work, world, False)
    status = inward_elimination(tables, along, work, multi, False)
    if status == layout.OK:
        outward_accelerations(tables, along, work, multi)
    return status


@shared
def hybrid_from_twists(tables, state, a, tau, imposed, work, multi, world):
    """Turn known twists and laws, which are used up, into accelerations and efforts of a tree: complete `a` and `tau`."""
    q, v = state
    passive, effort = np.zeros(tau.size, q.dtype), np.empty(tau.size, q.dtype)
    add_passive_efforts(tables.ints, tables.floats, q, v, passive)
    if tables.law is not None:
        add_interaction_efforts(tables.ints, tables.law, passive, 1.0)
    for k in range(tau.size):
        effort[k] = tau[k] + passive[k]
    status = eliminate(tables, Along(v, a, effort, imposed), work, multi, world)
    for k in range(tau.size):
        if imposed[k]:
            tau[k] = effort[k] - passive[k]
    return status if status != layout.OK else min(status_of(tau), status_of(a))


@helper
def forward_from_twists(tables, state, tau, work, multi, world, a):
    """Turn known twists (in `work`), laws and efforts into accelerations; return a status. The laws are used up."""
    copy(tau, a)
    add_passive_efforts(tables.ints, tables.floats, state.q, state.v, a)
    if tables.law is not None:
        add_interaction_efforts(tables.ints, tables.law, a, 1.0)
    status = eliminate(tables, Along(state.v, a, a, None), work, multi, world)
    return status if status != layout.OK else status_of(a)


@shared
def mass_and_efforts(tables, state, a, work, world, tau, matrix):
    """Inverse dynamics into `tau`, and the mass matrix into `matrix`; return a status. The laws' M become composite."""
    status = outward_whole(tables, state, work, world)
    if status == layout.OK:
        mass_and_efforts_of(tables, state, a, work, world, tau, matrix)
    return status


@shared
def mass_and_efforts_of(tables, state, a, work, world, tau, matrix):
    """Do so from known twists, laws, and what interactions do."""
    ints, floats, law = tables.ints, tables.floats, tables.law
    known = Tables(ints, floats, None, None, law)
    start_efforts(ints, floats, state.q, state.v, tau)
    outward_motions(known, state, a, work, layout.KNOWN)
    apply_to_all(tables, work, world, tau)
    inward_wrenches(known, state, a, work, tau)
    write_mass_matrix(ints, floats, law, work, matrix)
