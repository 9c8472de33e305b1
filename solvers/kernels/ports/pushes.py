"""What wrenches on ports do along the coordinates: carried from the port to the world, whatever else the system has."""

from __future__ import annotations

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.ports.interactions import loads_of
from titop.solvers.kernels.spatial.algebra import carry_wrench, rotate_six_back, six
from titop.solvers.kernels.tree.general import port_effort
from titop.solvers.kernels.tree.joints import along_joint
from titop.solvers.native.kernel import helper


@helper
def push_element(ints, floats, law, work, i, wrench, efforts):
    """Add what a wrench on element i, in its frame, does along all coordinates to `efforts` (nv)."""
    while i > 0:
        along_joint(ints, floats, i, wrench, efforts, ints[i, layout.V])
        p = ints[i, layout.PARENT]
        if p > 0:
            wrench = carry_wrench(work, i, layout.R, wrench)
            if law is not None:
                if ints[i, layout.PORT] >= 0:
                    port_effort(ints, law, i, p, wrench, efforts)
                    wrench = carry_wrench(law, 0, ints[i, layout.PORT], wrench)
        i = p


@helper
def push_port(ints, floats, law, work, row, wrench, efforts):
    """Add what a wrench on the port at `row`, in its frame, does along all coordinates to `efforts` (nv)."""
    i = ints[row, layout.ELEMENT]
    if law is not None:
        if ints[i, layout.LAW] >= 0:
            if ints[row, layout.PORT] >= 0:
                port_effort(ints, law, row, i, wrench, efforts)
                wrench = carry_wrench(law, 0, ints[row, layout.PORT], wrench)
            push_element(ints, floats, law, work, i, wrench, efforts)
            return
    push_element(ints, floats, law, work, i, carry_wrench(floats, row, layout.R, wrench), efforts)


@helper
def load_at_port(ints, floats, law, world, row):
    """Return the wrench of the load at `row` in the frame of its port."""
    wrench = six(floats, row, layout.FORCE)
    if ints[row, layout.INERTIAL] == 0:
        return wrench
    i = ints[row, layout.ELEMENT]
    wrench = rotate_six_back(world, i, 0, wrench)
    if law is not None:
        if ints[i, layout.LAW] >= 0:
            return rotate_six_back(law, 0, ints[row, layout.PORT], wrench) if ints[row, layout.PORT] >= 0 else wrench
    return rotate_six_back(floats, row, layout.R, wrench)


@helper
def push_by_interaction(ints, floats, law, work, row, loads, o, efforts):
    """Add what an interaction's answer, at ``loads[0, o]``, does along all coordinates to `efforts` (nv)."""
    ports = ints[row, layout.ACT_PORTS]
    for k in range(ports):
        push_port(ints, floats, law, work, row + 1 + k, six(loads, 0, o + 6 * k), efforts)
    for k in range(ints[row, layout.ACT_COORDINATES]):
        efforts[ints[row + 1 + ports + k, layout.V]] += loads[0, o + 6 * ports + k]


@helper
def push_by_surroundings(ints, floats, law, work, i, efforts):
    """Add what acts on general block i because of its motion and pose to `efforts` (nv)."""
    o = ints[i, layout.APPLIED]
    push_element(ints, floats, law, work, i, six(law, 0, o), efforts)
    for j in range(ints[i, layout.OWN]):
        efforts[ints[i, layout.OWN_V] + j] += law[0, o + 6 + j]


@helper
def answer_at(ints, row):
    """Return where the answer of the interaction at `row` stands in ``law``, and how many numbers it has."""
    return loads_of(ints, row), 6 * ints[row, layout.ACT_PORTS] + ints[row, layout.ACT_COORDINATES]
