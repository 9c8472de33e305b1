"""What passes take as one, and where things stand in the records of a general block with n own coordinates.

The latter are its parts of ``law`` and of ``slopes``: see `layout` for what they are. Kernels call these functions, and so does
Python.
"""

from __future__ import annotations

from collections import namedtuple

from titop.solvers.kernels.interface import layout
from titop.solvers.native.kernel import helper

#: How many ports of a block can be out of use: one has a bit in an integer.
SPARED_PORTS = 62

#: The tables of a system, with the law of its blocks (None without any); the same with the table of its closures and gears.
Tables, ClosedTables = namedtuple("Tables", "ints floats numbers stages law"), namedtuple("ClosedTables", "tables loops")
#: A state. Along its coordinates: what is known and what is sought, and where motion is imposed (None: nowhere).
State, Along = namedtuple("State", "q v"), namedtuple("Along", "v a effort imposed")
#: The rooms of the passes of derivatives: motions, poses, sums over subtrees, and columns of the coordinates.
Rooms = namedtuple("Rooms", "work world sums columns")


@helper
def is_used(used, p):
    """Tell from their bits whether the p-th port is in use: what stands at the others is not read."""
    return p >= SPARED_PORTS or (used >> p) & 1 == 1


# -- law


@helper
def bias_at(n):
    """Return where h stands, behind M."""
    return (6 + n) * (6 + n)


@helper
def result_at(n):
    """Return where W_P and tau stand."""
    return (6 + n) * (7 + n)


@helper
def port_at(n, p):
    """Return where the p-th port begins."""
    return (6 + n) * (8 + n) + p * (layout.PORT_S + 6 * n)


@helper
def carried_at(n, ports):
    """Return where what each coordinate carries stands, behind the ports."""
    return port_at(n, ports)


@helper
def law_size(n, ports):
    """Return how many numbers a block has in ``law``, besides the room of its kind."""
    return carried_at(n, ports) + n


# -- slopes, which begin with the derivatives by q


@helper
def by_rate_at(n):
    """Return where the derivatives by v stand."""
    return (6 + n) * n


@helper
def by_twist_at(n):
    """Return where the derivatives by the twist stand."""
    return 2 * (6 + n) * n


@helper
def columns_at(n, p):
    """Return where X of the p-th port stands; Y and Z follow."""
    return (6 + n) * (2 * n + 6) + 18 * n * p


@helper
def slopes_size(n, ports):
    """Return how many numbers a block has in ``slopes``."""
    return columns_at(n, ports)
