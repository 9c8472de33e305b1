"""What efforts alone cause from rest, by the factors that an elimination has left: O(N), without another elimination.

After `forward` has eliminated every coordinate, each keeps its column ``U = M S`` and ``1 / D``. With no motion and no other
wrenches, what a coordinate leaves inwards is ``U e / D`` for ``e = tau - S^T p``, and outwards all is as there.
"""

from __future__ import annotations

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import bias_at, is_used, port_at
from titop.solvers.kernels.interface.stages import part_of
from titop.solvers.kernels.spatial.algebra import add_six, carry_wrench, dot, plus, put_six, scaled, six
from titop.solvers.kernels.tree.forward import outward_accelerations
from titop.solvers.kernels.tree.general import law_bias, subspace_column
from titop.solvers.kernels.tree.multi_joints import rest_of_multi
from titop.solvers.native.kernel import helper

_NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@helper
def respond(ints, floats, law, efforts, still, work, multi):
    """Replace efforts by the accelerations that they alone cause from rest, `still` being zeros (nv).

    `work`, `multi` and `law` are as the elimination has left them, but for accelerations and biases, which are used up.
    """
    _let_rest(ints, law, work)
    _press_inwards(ints, floats, law, efforts, work, multi)
    outward_accelerations(ints, floats, law, still, efforts, efforts, None, work, multi)


@helper
def _let_rest(ints, law, work):
    """Let nothing move, and nothing act."""
    put_six(work, 0, layout.ACC, _NOTHING)
    for i in range(ints[0, layout.ELEMENTS]):
        put_six(work, i, layout.BIAS, _NOTHING)
        if law is not None:
            if i > 0 and ints[i, layout.LAW] >= 0:
                o, n = ints[i, layout.LAW], ints[i, layout.OWN]
                for r in range(6 + n):
                    law[0, o + bias_at(n) + r] = 0.0
                for p in range(ints[i, layout.PORT_COUNT]):
                    if is_used(ints[i, layout.USED], p):
                        put_six(law, 0, o + port_at(n, p) + layout.PORT_GAMMA, _NOTHING)


@helper
def _press_inwards(ints, floats, law, efforts, work, multi):
    """From the leaves inwards: the efforts less what presses on each coordinate, and what passes on to the parent."""
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        bias, kind = six(work, i, layout.BIAS), ints[i, layout.KIND]
        if law is not None:
            if ints[i, layout.LAW] >= 0:
                _press_on_own(ints, law, i, efforts)
                bias = law_bias(ints, law, i)
        if kind == layout.AXIAL:
            rest = efforts[ints[i, layout.V]] - (floats[i, layout.LINEAR] * bias[2] + floats[i, layout.ANGULAR] * bias[5])
            work[i, layout.REST_EFFORT] = rest
            bias = plus(bias, scaled(rest * work[i, layout.PIVOT], six(work, i, layout.U)))
        elif kind == layout.SPHERICAL or kind == layout.FREE:
            bias = rest_of_multi(ints, i, bias, efforts, multi)
        if ints[i, layout.PARENT] > 0:
            _transmit(ints, law, i, carry_wrench(work, i, layout.R, bias), work)


@helper
def _press_on_own(ints, law, i, efforts):
    """Leave the rest of each own effort of block i in its h, and what passes on at the head of that (see `eliminate_own`)."""
    o, n, k = ints[i, layout.LAW], ints[i, layout.OWN], ints[i, layout.OWN_V]
    size, h = 6 + n, o + bias_at(n)
    for j in range(n - 1, -1, -1):
        row = part_of(law, o + (6 + j) * size, (size,))
        before = part_of(law, h, (size,))
        rest = efforts[k + j] - before[6 + j]
        share = rest * row[6 + j]
        for r in range(6 + j):
            before[r] += row[r] * share
        before[6 + j] = rest


@helper
def _transmit(ints, law, i, wrench, work):
    """Add what element i's subtree presses with, at its joint, to the parent's bias or law."""
    p = ints[i, layout.PARENT]
    if law is not None:
        if ints[i, layout.PORT] >= 0:
            h = ints[p, layout.LAW] + bias_at(ints[p, layout.OWN])
            for j in range(ints[p, layout.OWN]):
                law[0, h + 6 + j] += dot(subspace_column(ints, law, i, p, j), wrench)
            add_six(law, 0, h, carry_wrench(law, 0, ints[i, layout.PORT], wrench))
            return
    add_six(work, p, layout.BIAS, wrench)
