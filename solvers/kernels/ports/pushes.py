"""What wrenches on ports do along the coordinates: carried from the port to the world, whatever else the system has."""

from __future__ import annotations

from titop.solvers.kernels.interface.layout import (
    ACT_COORDINATES,
    ACT_PORTS,
    APPLIED,
    ELEMENT,
    FORCE,
    INERTIAL,
    LAW,
    OWN,
    OWN_V,
    PARENT,
    PORT,
    R,
    V,
)
from titop.solvers.kernels.ports.interactions import loads_of
from titop.solvers.kernels.spatial.algebra import carry_wrench, rotate_back, six
from titop.solvers.kernels.tree.general import port_effort
from titop.solvers.kernels.tree.joints import along_joint
from titop.solvers.native.kernel import helper


@helper
def push_element(ints, floats, law, work, i, wrench, efforts):
    """Add what a wrench on element i, in its frame, does along all coordinates to `efforts` (nv)."""
    while i > 0:
        along_joint(ints, floats, i, wrench, efforts, ints[i, V])
        p = ints[i, PARENT]
        if p > 0:
            wrench = carry_wrench(work, i, R, wrench)
            if law is not None:
                if ints[i, PORT] >= 0:
                    port_effort(ints, law, i, p, wrench, efforts)
                    wrench = carry_wrench(law, 0, ints[i, PORT], wrench)
        i = p


@helper
def push_port(ints, floats, law, work, row, wrench, efforts):
    """Add what a wrench on the port at `row`, in its frame, does along all coordinates to `efforts` (nv)."""
    i = ints[row, ELEMENT]
    if law is not None:
        if ints[i, LAW] >= 0:
            if ints[row, PORT] >= 0:
                port_effort(ints, law, row, i, wrench, efforts)
                wrench = carry_wrench(law, 0, ints[row, PORT], wrench)
            push_element(ints, floats, law, work, i, wrench, efforts)
            return
    push_element(ints, floats, law, work, i, carry_wrench(floats, row, R, wrench), efforts)


@helper
def load_at_port(ints, floats, law, world, row):
    """Return the wrench of the load at `row` in the frame of its port."""
    wrench = six(floats, row, FORCE)
    if ints[row, INERTIAL] == 0:
        return wrench
    i = ints[row, ELEMENT]
    wrench = _turned_back(world, i, 0, wrench)
    if law is not None:
        if ints[i, LAW] >= 0:
            return _turned_back(law, 0, ints[row, PORT], wrench) if ints[row, PORT] >= 0 else wrench
    return _turned_back(floats, row, R, wrench)


@helper
def _turned_back(t, i, o, w):
    fx, fy, fz = rotate_back(t, i, o, w[0], w[1], w[2])
    tx, ty, tz = rotate_back(t, i, o, w[3], w[4], w[5])
    return fx, fy, fz, tx, ty, tz


@helper
def push_by_interaction(ints, floats, law, work, row, loads, o, efforts):
    """Add what an interaction's answer, at ``loads[0, o]``, does along all coordinates to `efforts` (nv)."""
    ports = ints[row, ACT_PORTS]
    for k in range(ports):
        push_port(ints, floats, law, work, row + 1 + k, six(loads, 0, o + 6 * k), efforts)
    for k in range(ints[row, ACT_COORDINATES]):
        efforts[ints[row + 1 + ports + k, V]] += loads[0, o + 6 * ports + k]


@helper
def push_by_surroundings(ints, floats, law, work, i, efforts):
    """Add what acts on general block i because of its motion and pose to `efforts` (nv)."""
    o = ints[i, APPLIED]
    push_element(ints, floats, law, work, i, six(law, 0, o), efforts)
    for j in range(ints[i, OWN]):
        efforts[ints[i, OWN_V] + j] += law[0, o + 6 + j]


@helper
def answer_at(ints, row):
    """Return where the answer of the interaction at `row` stands in ``law``, and how many numbers it has."""
    return loads_of(ints, row), 6 * ints[row, ACT_PORTS] + ints[row, ACT_COORDINATES]
