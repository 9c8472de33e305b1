"""What acts besides the applied efforts and wrenches: springs, armatures' gyroscopic efforts."""

from __future__ import annotations

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.tree.joints import add_armature_gyroscopic
from titop.solvers.kernels.tree.springs import add_springs
from titop.solvers.native.kernel import helper


@helper
def add_passive_efforts(ints, floats, q, v, tau):
    """Add springs, dampers, stops and armatures' gyroscopic efforts to `tau`."""
    if ints[0, layout.SPRINGS] > 0:
        add_springs(ints, floats, q, v, tau)
    if ints[0, layout.MULTIS] > 0:
        add_armature_gyroscopic(ints, floats, v, tau)
