"""Laws of general blocks as compiled stages (see `stages`), made of one function that writes the law.

Inverse dynamics follow from the law's terms, the linearised law from complex steps through the function, exact
to rounding. What a step of q changes of a port's twist and acceleration, in the port's own axes, is X and ``Y + ad(X) V``; a
step of v changes them by S and ``Z + ad(S) V`` (see `derivatives`). Kinds may have faster stages of their own (`modal_stages`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.tolerances import COMPLEX_STEP
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import (
    bias_at,
    by_rate_at,
    by_twist_at,
    columns_at,
    is_used,
    law_size,
    port_at,
    result_at,
    slopes_size,
)
from titop.solvers.kernels.interface.stages import Call, call_at, ints_at, row_at, vector_at
from titop.solvers.kernels.laws.applied_laws import CompiledSurroundings
from titop.solvers.kernels.laws.rod_matrices import column_of, put_column
from titop.solvers.kernels.spatial.algebra import add_six, carry_wrench, dot, entry_of, minus, plus, scaled, six, twist_cross
from titop.solvers.kernels.tree.general import at_port, write_port_accelerations, write_port_twists
from titop.solvers.native.kernel import Stage, helper

#: The imaginary steps by which laws are differentiated.
STEP = COMPLEX_STEP


class CompiledLaw:
    """The stages of a kind of block; without stages of its own those that follow from its law.

    Parameters
    ----------
    name : str
        Of the kind.
    write : helper, optional
        ``write(n, ports, used, numbers, q, v, twist, passive, law)`` with arrays `numbers` (1, count), `q` and `v` (n), `twist`
        (1, 6) and `law` (1, as many as the block's law); writes what ``terms`` does. The states and `law` may be complex,
        unless the kind has `slopes` of its own. Not asked for of a kind with `terms` and `slopes`.
    terms, outward, inward, slopes : callable, optional
        Functions of what `stages.Call` says, that return a status.
    energy : helper, optional
        ``energy(n, numbers, q)`` with arrays `numbers` (1, count) and `q` (n) returns the stored elastic energy.
    energy_stage : callable, optional
        Instead, the stage of what `stages.Call` says.
    room : callable, optional
        How many numbers they need to keep, from n, the number of ports and the block's `numbers`.
    surroundings : CompiledSurroundings, optional
        What acts on the kind, where something does.

    Attributes
    ----------
    terms, outward, inward, slopes : Stage
    energy : Stage or None
    surroundings : CompiledSurroundings or None
    """

    def __init__(
        self,
        name: str,
        write: Any = None,
        *,
        terms: Any = None,
        outward: Any = None,
        inward: Any = None,
        slopes: Any = None,
        energy: Any = None,
        energy_stage: Any = None,
        room: Any = None,
        surroundings: CompiledSurroundings | None = None,
    ) -> None:
        def stage(of: str, function: Any) -> Stage:
            return Stage(f"{name}_{of}", function, len(Call._fields))

        self.terms = stage("terms", terms or _terms_of(write))
        self.outward = stage("outward", outward) if outward else OUTWARD
        self.inward = stage("inward", inward) if inward else INWARD
        self.slopes = stage("slopes", slopes or _slopes_of(write))
        store = energy_stage or (energy and _energy_of(energy))
        self.energy = stage("energy", store) if store else None
        self.surroundings = surroundings
        self._room = room

    def room(self, n: int, ports: int, numbers: Any) -> int:
        """Return how many numbers the stages keep of a block."""
        return self._room(n, ports, numbers) if self._room else 0


def _terms_of(write: Any) -> Any:
    def terms(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
        rows = row_at(numbers, number_count), row_at(twist, 6), row_at(law, law_size(n, ports))
        write(n, ports, used, rows[0], vector_at(q, n), vector_at(v, n), rows[1], passive, rows[2])
        return layout.OK

    return terms


def _energy_of(function: Any) -> Any:
    def energy(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
        vector_at(law, 1)[0] = function(n, row_at(numbers, number_count), vector_at(q, n))
        return layout.OK

    return energy


def _slopes_of(write: Any) -> Any:
    def slopes(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
        moved, rates = np.empty(n, np.complex128), np.empty(n, np.complex128)
        carried, stepped = np.empty((1, 6), np.complex128), np.empty((1, law_size(n, ports)), np.complex128)
        column = np.empty((1, 6 + n), np.complex128)
        base, own, at_parent = vector_at(q, n), vector_at(v, n), row_at(twist, 6)
        for j in range(n):
            moved[j], rates[j] = base[j], own[j]
        for j in range(6):
            carried[0, j] = at_parent[0, j]
        record, result = row_at(law, law_size(n, ports)), row_at(slopes, slopes_size(n, ports))
        x, own_a = six(row_at(acceleration, 6), 0, 0), vector_at(a, n)
        for j in range(2 * n + 6):
            where, k = (moved, j) if j < n else ((rates, j - n) if j < 2 * n else (carried[0], j - 2 * n))
            where[k] += 1j * STEP
            write(n, ports, used, row_at(numbers, number_count), moved, rates, carried, passive, stepped)
            where[k] -= 1j * STEP
            write_result(n, ports, used, stepped, x, own_a, record, column, 0)
            begin, columns = (0, n) if j < n else ((by_rate_at(n), n) if j < 2 * n else (by_twist_at(n), 6))
            for r in range(6 + n):
                result[0, begin + r * columns + k] = column[0, r].imag / STEP
            if j < 2 * n:
                write_port_columns(n, ports, used, j, x, rates, own_a, carried, stepped, result)
        return layout.OK

    return slopes


@helper
def write_port_columns(n, ports, used, j, acceleration, v, a, twist, law, slopes):
    """Write X and Y, or Z, of what step j, of q or v, which `law` has taken, changes of all ports."""
    column, own, first = j % n, six(twist, 0, 0), 0
    for p in range(ports):
        if not is_used(used, p):
            continue
        target, at = port_at(n, p), columns_at(n, p)
        speed, rate = at_port(n, law, target, own, v, first), at_port(n, law, target, acceleration, a, first)
        rate = plus(rate, six(law, 0, target + layout.PORT_GAMMA))
        if j >= n:
            speed = plus(speed, scaled(1j * STEP, column_of(law, target + layout.PORT_S, n, column)))
        x = imaginary(speed)
        y = minus(imaginary(rate), twist_cross(x, real(speed)))
        if j < n:
            put_column(slopes, at, n, column, x)
            put_column(slopes, at + 6 * n, n, column, y)
        else:
            put_column(slopes, at + 12 * n, n, column, y)


@helper
def imaginary(x):
    """Return the derivatives of six numbers that have taken a step."""
    return x[0].imag / STEP, x[1].imag / STEP, x[2].imag / STEP, x[3].imag / STEP, x[4].imag / STEP, x[5].imag / STEP


@helper
def real(x):
    return x[0].real, x[1].real, x[2].real, x[3].real, x[4].real, x[5].real


# -- inverse dynamics from what ``terms`` writes: ``[W_P; tau] = M [A_P; a] + h + sum_k [Ad(g_k)^-T; S_k^T] W_k``;
# a port's twist is ``Ad(g)^-1 V_P + S v``, its acceleration ``Ad(g)^-1 A_P + S a + gamma``


@helper
def write_result(n, ports, used, law, x, a, wrenches, result, o):
    """Write W_P and tau into ``result[0]`` from `o`, from M, h and the ports in `law` and the ports' wrenches in `wrenches`."""
    write_own_result(n, law, x, a, result, o)
    add_port_wrenches(n, ports, used, law, wrenches, result, o)


@helper
def write_own_result(n, law, x, a, result, o):
    """Write what W_P and tau are without wrenches at the ports, ``M x + h``."""
    size = 6 + n
    for r in range(size):
        total = law[0, bias_at(n) + r] + dot(six(law, 0, r * size), x)
        for j in range(n):
            total += law[0, r * size + 6 + j] * a[j]
        result[0, o + r] = total


@helper
def add_port_wrenches(n, ports, used, law, wrenches, result, o):
    """Add to W_P and tau at ``result[0, o]`` what the ports' wrenches in `wrenches` ask for."""
    for p in range(ports):
        if not is_used(used, p):
            continue
        at = port_at(n, p)
        wrench = six(wrenches, 0, at + layout.PORT_WRENCH)
        add_six(result, 0, o, carry_wrench(law, 0, at, wrench))
        for r in range(6):
            s, w = at + layout.PORT_S + r * n, entry_of(wrench, r)
            for j in range(n):
                result[0, o + 6 + j] += law[0, s + j] * w


def _outward(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    if known == layout.UNKNOWN:
        sizes, own = (n, ports, used, number_count, passive, known), ints_at(stages, 1, layout.STAGE_COLUMNS)
        status = call_at(own[0, layout.TERMS], (*sizes, stages, numbers, q, v, a, twist, acceleration, law, room, slopes))
        if status != layout.OK:
            return status
    record = row_at(law, law_size(n, ports))
    write_port_twists(n, ports, used, record, 0, six(row_at(twist, 6), 0, 0), vector_at(v, n), 0)
    write_port_accelerations(n, ports, used, record, 0, six(row_at(acceleration, 6), 0, 0), vector_at(a, n), 0)
    return layout.OK


def _inward(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    record, x = row_at(law, law_size(n, ports)), six(row_at(acceleration, 6), 0, 0)
    write_result(n, ports, used, record, x, vector_at(a, n), record, record, result_at(n))
    return layout.OK


OUTWARD = Stage("outward_from_terms", _outward, len(Call._fields))
INWARD = Stage("inward_from_terms", _inward, len(Call._fields))
