"""Laws of general blocks as compiled stages (see `stages`), made of one function that writes the law.

Inverse dynamics follow from the law's terms, the linearised law from complex steps through the function, exact
to rounding. What a step of q changes of a port's twist and acceleration, in the port's own axes, is X and ``Y + ad(X) V``; a
step of v changes them by S and ``Z + ad(S) V`` (see `tree_derivatives`). Kinds may have faster stages of their own (`modal`).
What acts on a block by its motion and pose are stages beside its law.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from titop.blocks.basics.tolerances import COMPLEX_STEP
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import (
    by_rate_at,
    by_twist_at,
    columns_at,
    is_used,
    law_size,
    port_at,
    result_at,
    slopes_size,
)
from titop.solvers.kernels.interface.stages import APPLYING_CALL, CALL, Call, call_at, complex_type, ints_at, row_at, vector_at
from titop.solvers.kernels.laws.matrices import clear, put_column
from titop.solvers.kernels.spatial.algebra import column_of, copy, minus, plus, put_six, scaled, six, twist_cross
from titop.solvers.kernels.tree.general import (
    add_port_wrenches,
    at_port,
    write_own_result,
    write_port_accelerations,
    write_port_twists,
)
from titop.solvers.native.kernel import Stage, StageHelper, helper

#: The imaginary steps by which laws are differentiated.
STEP = COMPLEX_STEP

#: What kinds on which something acts are told: rows `numbers`, `twist` and `pose`, arrays `q`, `v` and `gravity`.
Applying = namedtuple("Applying", "n applying numbers q v twist pose gravity")


class CompiledSurroundings:
    """The stages of what acts on a kind of block.

    Parameters
    ----------
    name : str
        Of the kind.
    apply, apply_slopes : callable
        ``function(block, result)`` with an `Applying` and a row for what `stages` says. Returns a status.
    """

    def __init__(self, name: str, apply: Any, apply_slopes: Any) -> None:
        def stage(of: str, function: Any, columns_of: Any) -> Stage:
            inner, columns = StageHelper(function), helper(columns_of)

            def stage(n, count, applying, stages, numbers, q, v, twist, pose, gravity, result):
                motion = row_at(numbers, count), vector_at(q, n), vector_at(v, n), row_at(twist, 6), row_at(pose, 12)
                return inner(Applying(n, applying, *motion, vector_at(gravity, 3)), row_at(result, (6 + n) * columns(n)))

            return Stage(f"{name}_{of}", stage, APPLYING_CALL).for_lanes()

        self.apply = stage("apply", apply, lambda n: 1)
        self.apply_slopes = stage("apply_slopes", apply_slopes, lambda n: 2 * n + 12)


class CompiledLaw:
    """The stages of a kind of block; without stages of its own those that follow from its law.

    Parameters
    ----------
    name : str
        Of the kind.
    write : helper, optional
        ``write(block, q, v, twist, law)`` writes what ``terms`` does, at a state of its own: arrays `q` and `v` (n), six
        numbers of `twist` and the row `law`, which may be complex, unless the kind has `slopes` of its own. Not asked for of a
        kind with `terms` and `slopes`.
    terms, outward, inward, slopes, energy_stage : callable, optional
        ``function(block)`` with a `Call` that has in place of addresses the numbers there: rows `numbers`, `law` and `slopes`,
        arrays `q`, `v`, `a` (n), six numbers each of `twist` and `acceleration`; but `stages` and `room` are addresses. Returns
        a status.
    energy : helper, optional
        In place of `energy_stage`: ``energy(n, numbers, q)`` returns the stored elastic energy.
    room : callable, optional
        How many numbers they need to keep, from n, the number of ports and the block's `numbers`.
    surroundings : CompiledSurroundings, optional
        What acts on the kind, where something does.
    is_for_lanes : bool
        Whether the functions are written for states in lanes, too: what a value decides by `titop.blocks.basics.choices`, room
        by ``np.empty(shape, q.dtype)``.

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
        is_for_lanes: bool = True,
    ) -> None:
        def stage(of: str, function: Any) -> Stage:
            made = Stage(f"{name}_{of}", function, CALL)
            return made.for_lanes() if is_for_lanes else made

        self.terms = stage("terms", _reading(terms or _terms_of(write)))
        self.outward = stage("outward", _reading(outward)) if outward else OUTWARD
        self.inward = stage("inward", _reading(inward)) if inward else INWARD
        self.slopes = stage("slopes", _reading(slopes or _slopes_of(write)))
        store = energy_stage or (energy and _energy_of(energy))
        self.energy = stage("energy", _reading(store)) if store else None
        self.surroundings = surroundings
        self._room = room

    def room(self, n: int, ports: int, numbers: Any) -> int:
        """Return how many numbers the stages keep of a block."""
        return self._room(n, ports, numbers) if self._room else 0


def _reading(function: Any) -> Any:
    """Return a stage that calls a function of what stands at the addresses; see `CompiledLaw`."""
    inner = StageHelper(function)

    def stage(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
        told = n, ports, used, number_count, passive, known, stages, row_at(numbers, number_count)
        motion = vector_at(q, n), vector_at(v, n), vector_at(a, n)
        x, y = six(row_at(twist, 6), 0, 0), six(row_at(acceleration, 6), 0, 0)
        written = row_at(law, law_size(n, ports)), room, row_at(slopes, slopes_size(n, ports))
        return inner(Call(*told, *motion, x, y, *written))

    return stage


def _terms_of(write: Any) -> Any:
    def terms(block):
        write(block, block.q, block.v, block.twist, block.law)
        return layout.OK

    return terms


def _energy_of(function: Any) -> Any:
    def energy(block):
        block.law[0, 0] = function(block.n, block.numbers, block.q)
        return layout.OK

    return energy


def _slopes_of(write: Any) -> Any:
    def slopes(block):
        n, slopes, kind = block.n, block.slopes, complex_type(block.q)
        moved, rates, carried = np.empty(n, kind), np.empty(n, kind), np.empty((1, 6), kind)
        stepped, column = np.empty((1, law_size(n, block.ports)), kind), np.empty((1, 6 + n), kind)
        copy(block.q, moved)
        copy(block.v, rates)
        put_six(carried, 0, 0, block.twist)
        for j in range(2 * n + 6):
            where, k = (moved, j) if j < n else ((rates, j - n) if j < 2 * n else (carried[0], j - 2 * n))
            where[k] += 1j * STEP
            write(block, moved, rates, six(carried, 0, 0), stepped)
            where[k] -= 1j * STEP
            write_result(block, stepped, column, 0)
            begin, columns = (0, n) if j < n else ((by_rate_at(n), n) if j < 2 * n else (by_twist_at(n), 6))
            for r in range(6 + n):
                slopes[0, begin + r * columns + k] = column[0, r].imag / STEP
            if j < 2 * n:
                write_port_columns(block, j, rates, six(carried, 0, 0), stepped)
        return layout.OK

    return slopes


@helper
def write_port_columns(block, j, v, twist, law):
    """Write X and Y, or Z, of what step j, of q or v, which `law` has taken, changes of all ports."""
    n, slopes, column = block.n, block.slopes, j % block.n
    for p in range(block.ports):
        if is_used(block.used, p):
            target, at = port_at(n, p), columns_at(n, p)
            speed, rate = at_port(n, law, target, twist, v, 0), at_port(n, law, target, block.acceleration, block.a, 0)
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
def write_result(block, law, result, o):
    """Write W_P and tau into ``result[0]`` from `o`, from M, h and the ports in `law`, and the ports' wrenches."""
    write_own_result(block.n, law, block.acceleration, block.a, result, o)
    add_port_wrenches(block.n, block.ports, block.used, law, block.law, result, o)


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


def _inward(block):
    write_result(block, block.law, block.law, result_at(block.n))
    return layout.OK


OUTWARD = Stage("outward_from_terms", _outward, CALL).for_lanes()
INWARD = Stage("inward_from_terms", _reading(_inward), CALL).for_lanes()


# -- what acts on blocks, as users say it


def surroundings_by(name: str, write: Any) -> CompiledSurroundings:
    """Return the stages made of a function that writes what acts, gravity apart.

    Parameters
    ----------
    name : str
        Of the kind.
    write : helper
        ``write(numbers, q, v, twist, rotation, position, efforts)``, as `titop.blocks.contract.law.Law` says; all but the
        numbers may be complex.
    """

    def apply(block, efforts):
        clear(efforts, 0, 6 + block.n)
        if block.applying > 1:
            place = block.pose[0, :9].reshape(3, 3), block.pose[0, 9:]
            write(block.numbers[0], block.q, block.v, block.twist[0], *place, efforts[0])
        return layout.OK

    def apply_slopes(block, slopes):
        n, q = block.n, block.q
        moved, efforts = np.empty(2 * n + 18, complex_type(q)), np.empty(6 + n, complex_type(q))
        copy(q, moved[:n])
        copy(block.v, moved[n : 2 * n])
        copy(block.twist[0], moved[2 * n : 2 * n + 6])
        copy(block.pose[0], moved[2 * n + 6 :])
        begin, columns, column = 0, n, 0
        for j in range(2 * n + 12):
            if j == n or j == 2 * n or j == 2 * n + 6:
                begin, column = begin + (6 + n) * column, 0
            if j >= 2 * n:
                columns = 6
            _step(moved, n, j, 1j * STEP)
            efforts[:] = 0.0
            rates, at_parent, rotation = moved[n : 2 * n], moved[2 * n : 2 * n + 6], moved[2 * n + 6 : 2 * n + 15]
            write(block.numbers[0], moved[:n], rates, at_parent, rotation.reshape(3, 3), moved[2 * n + 15 :], efforts)
            for k in range(moved.size):
                moved[k] = moved[k].real
            for r in range(6 + n):
                slopes[0, begin + r * columns + column] = efforts[r].imag / STEP
            column += 1
        return layout.OK

    return CompiledSurroundings(name, apply, apply_slopes)


@helper
def _step(moved, n, j, step):
    """Make step j: of q, v or the twist, or, behind these, of a displacement of the port whose pose stands at the end."""
    k = j - 2 * n - 6
    if k < 0:
        moved[j] += step
        return
    o = 2 * n + 6
    for r in range(3):
        if k < 3:
            moved[o + 9 + r] += moved[o + 3 * r + k] * step
        else:
            left, right = (k + 1) % 3, (k + 2) % 3
            turned = moved[o + 3 * r + right]
            moved[o + 3 * r + right] -= moved[o + 3 * r + left] * step
            moved[o + 3 * r + left] += turned * step
