"""Inverse dynamics with the mass matrix in the same passes (key P, section 5 and appendix A.6: MID; without what acts, MIID).

Outwards, each general block is asked for its law once, and its motion gives what it takes by itself, ``M x + h``. Inwards,
wrenches and composite inertias go along together. Cost: linear in the number of blocks, but for the matrix itself.
"""

from __future__ import annotations

from titop.solvers.kernels.equations.whole_passes import apply_to_all, outward_whole, start_efforts
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import law_size, result_at
from titop.solvers.kernels.interface.stages import address_of, row_at, vector_at
from titop.solvers.kernels.laws.compiled_laws import add_port_wrenches, write_own_result
from titop.solvers.kernels.spatial.algebra import (
    add_inertia,
    add_six,
    carry_inertia,
    carry_wrench,
    put_six,
    rigid_wrench,
    six,
)
from titop.solvers.kernels.tree.armatures import armature_effort
from titop.solvers.kernels.tree.composite import fill_mass_matrix
from titop.solvers.kernels.tree.forward import inertia_of, take_law, write_rigid_inertia
from titop.solvers.kernels.tree.general import add_at_port, write_port_accelerations
from titop.solvers.kernels.tree.inverse import accelerate, without_wrenches
from titop.solvers.kernels.tree.joints import along_joint
from titop.solvers.native.kernel import helper, shared


@shared
def mass_and_efforts(ints, floats, numbers, stages, law, q, v, a, work, world, tau, matrix):
    """Inverse dynamics into `tau`, and the mass matrix into `matrix`; return a status. The laws' M become composite."""
    status = outward_whole(ints, floats, numbers, stages, law, q, v, work, world)
    if status == layout.OK:
        mass_and_efforts_of(ints, floats, law, q, v, a, work, world, tau, matrix)
    return status


@shared
def mass_and_efforts_of(ints, floats, law, q, v, a, work, world, tau, matrix):
    """Do so from known twists, laws, and what interactions do."""
    start_efforts(ints, floats, q, v, tau)
    _outward_wrenches(ints, floats, law, v, a, work)
    apply_to_all(ints, floats, law, work, world, tau)
    _inward_wrenches_and_inertias(ints, floats, law, a, work, tau)
    matrix[:] = 0.0
    fill_mass_matrix(ints, floats, law, work, matrix)


@helper
def _outward_wrenches(ints, floats, law, v, a, work):
    """From known twists and laws outwards: accelerations, and what moves each block alone."""
    for i in range(1, ints[0, layout.ELEMENTS]):
        acceleration = accelerate(ints, floats, law, i, v, a, work)
        if law is not None and ints[i, layout.LAW] >= 0:
            n, ports, used, k = ints[i, layout.OWN], ints[i, layout.PORT_COUNT], ints[i, layout.USED], ints[i, layout.OWN_V]
            write_port_accelerations(n, ports, used, law, ints[i, layout.LAW], acceleration, a, k)
            without_wrenches(ints, law, i, work)
            record, own = row_at(address_of(law, ints[i, layout.LAW]), law_size(n, ports)), vector_at(address_of(a, k), n)
            write_own_result(n, record, acceleration, own, record, result_at(n))
            continue
        put_six(work, i, layout.BIAS, rigid_wrench(floats, i, layout.MASS, six(work, i, layout.TWIST), acceleration))
        write_rigid_inertia(floats, i, work)


@helper
def _inward_wrenches_and_inertias(ints, floats, law, a, work, tau):
    """From the leaves inwards: efforts, and the inertia of every subtree with all its joints held."""
    nothing = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        p = ints[i, layout.PARENT]
        if law is not None and ints[i, layout.LAW] >= 0:
            _add_result(ints, law, i, work, tau)
        wrench = six(work, i, layout.BIAS)
        along_joint(ints, floats, i, wrench, tau, ints[i, layout.V])
        armature_effort(ints, floats, i, a, tau, ints[i, layout.V])
        if law is not None and ints[i, layout.LAW] >= 0:
            take_law(ints, law, i, work)
        if p == 0:
            continue
        wrench, inertia = carry_wrench(work, i, layout.R, wrench), inertia_of(work, i)
        masses, moments, turning = carry_inertia(work, i, layout.R, inertia[0], inertia[1], inertia[2])
        if law is not None and ints[i, layout.PORT] >= 0:
            add_six(law, 0, ints[i, layout.PORT] + layout.PORT_WRENCH, wrench)
            add_at_port(ints, law, i, p, masses, moments, turning, nothing)
            continue
        add_six(work, p, layout.BIAS, wrench)
        add_inertia(work, p, layout.MA, (masses, moments, turning))


@helper
def _add_result(ints, law, i, work, tau):
    """Add what general block i takes, with what its ports carry, to the wrench on its parent port and to its efforts."""
    n, ports = ints[i, layout.OWN], ints[i, layout.PORT_COUNT]
    record, at = row_at(address_of(law, ints[i, layout.LAW]), law_size(n, ports)), result_at(n)
    add_port_wrenches(n, ports, ints[i, layout.USED], record, record, record, at)
    add_six(work, i, layout.BIAS, six(record, 0, at))
    for j in range(n):
        tau[ints[i, layout.OWN_V] + j] += record[0, at + 6 + j]
