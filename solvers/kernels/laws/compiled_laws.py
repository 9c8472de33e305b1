"""Laws of general blocks as compiled stages (see `stages`), made of one function that writes the law.

Inverse dynamics follow from the law's terms (`term_stages`), the linearised law from complex steps through the function, exact
to rounding. What a step of q changes of a port's twist and acceleration, in the port's own axes, is X and ``Y + ad(X) V``; a
step of v changes them by S and ``Z + ad(S) V`` (see `derivatives`). Kinds may have faster stages of their own (`modal_stages`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.tolerances import COMPLEX_STEP
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import by_rate_at, by_twist_at, columns_at, is_used, law_size, port_at, slopes_size
from titop.solvers.kernels.interface.stages import Call, row_at, vector_at
from titop.solvers.kernels.laws import term_stages
from titop.solvers.kernels.laws.applied_laws import CompiledSurroundings
from titop.solvers.kernels.laws.term_stages import write_result
from titop.solvers.kernels.spatial.algebra import minus, plus, six, twist_cross
from titop.solvers.kernels.tree.general import at_port
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
        self.outward = stage("outward", outward) if outward else term_stages.OUTWARD
        self.inward = stage("inward", inward) if inward else term_stages.INWARD
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
            speed = plus(speed, _times(1j * STEP, _column(law, target + layout.PORT_S, n, column)))
        x = imaginary(speed)
        y = minus(imaginary(rate), twist_cross(x, real(speed)))
        if j < n:
            put_column(slopes, at, n, column, x)
            put_column(slopes, at + 6 * n, n, column, y)
        else:
            put_column(slopes, at + 12 * n, n, column, y)


@helper
def _column(t, o, n, j):
    return t[0, o + j], t[0, o + n + j], t[0, o + 2 * n + j], t[0, o + 3 * n + j], t[0, o + 4 * n + j], t[0, o + 5 * n + j]


@helper
def put_column(t, o, n, j, x):
    """Write column j of the 6 x n matrix at ``t[0, o]``."""
    for r in range(6):
        t[0, o + r * n + j] = x[r]


@helper
def _times(s, x):
    return s * x[0], s * x[1], s * x[2], s * x[3], s * x[4], s * x[5]


@helper
def imaginary(x):
    """Return the derivatives of six numbers that have taken a step."""
    return x[0].imag / STEP, x[1].imag / STEP, x[2].imag / STEP, x[3].imag / STEP, x[4].imag / STEP, x[5].imag / STEP


@helper
def real(x):
    return x[0].real, x[1].real, x[2].real, x[3].real, x[4].real, x[5].real
