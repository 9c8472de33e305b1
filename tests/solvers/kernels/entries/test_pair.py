"""Kernels of two kinds of systems from one function."""

from __future__ import annotations

from typing import Any

from titop.solvers.kernels.entries.pair import pair
from titop.solvers.native.signatures import FLOATS, INTS

LAWS = True


@pair(INTS, FLOATS, INTS)
def asked(ints: Any, numbers: Any, stages: Any) -> int:
    """Which kind it is."""
    return 2 if LAWS else 1


def test_each_kernel_knows_its_kind_of_systems() -> None:
    assert (asked.rigid.function(None, None, None), asked.mixed.function(None, None, None)) == (1, 2)
    assert {asked.rigid.__doc__, asked.mixed.__doc__} == {"Which kind it is."}
    assert asked.rigid.name != asked.mixed.name  # each is kept under its own


def test_rigid_systems_leave_out_what_describes_laws() -> None:
    assert [kind.given for kind in asked.rigid.signature.arguments] == [True, False, False]
    assert [kind.given for kind in asked.mixed.signature.arguments] == [True, True, True]
