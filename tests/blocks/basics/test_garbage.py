"""Building and resolving pause the garbage collector, and leave it as it was."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import titop as tt
from titop.blocks.basics.garbage import collection_paused


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def test_paused_within() -> None:
    with collection_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_left_off_where_it_was_off() -> None:
    gc.disable()
    with collection_paused():
        pass
    assert not gc.isenabled()


@pytest.mark.parametrize("broken", [False, True])
def test_on_again_after_resolving(broken: bool) -> None:
    s = tt.System("pendulum")
    s.connect("world", tt.RigidBody("bob", mass=-1.0 if broken else 1.0, com=[0, 0, -1]), tt.Revolute("pivot", axis=[1, 0, 0]))
    if broken:
        with pytest.raises(tt.ModelError):
            s.resolve()
    else:
        s.resolve()
    assert gc.isenabled()


def test_on_again_after_a_bad_robot() -> None:
    with pytest.raises(tt.ModelError):
        tt.from_urdf("<robot/>")
    assert gc.isenabled()
