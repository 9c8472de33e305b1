"""Rods cut at a section: what moves with them, and that nothing else changes."""

from __future__ import annotations

import numpy as np

import titop as tt
from titop.blocks.bodies.rods.rod import CutRod
from titop.solvers.signals.lines_and_sections import cut_rod_at, is_on_rod, is_rod, section_of


def system() -> tt.System:
    s = tt.System("s", gravity=[0, 0, -9.81])
    rod = tt.Rod("rod", 0.8, tt.Section.circle(0.01), 1e8, 1e3, strains={"bending_z": 1}, points=24, ports={"camera": 0.2})
    s.connect("world", rod, tt.Revolute("hinge"))
    s.connect(rod.port("tip"), tt.RigidBody("b", 1.0, inertia=1.0), tt.Weld("weld"))
    s.add_interaction(tt.Tendon("tendon", rod, y=0.005))
    s.close_loop(s.world, rod.port("camera"), tt.CompliantClosure("spring", stiffness=3.0))
    return s


MODEL = system().resolve("reference")


def test_ports_of_rods_are_told_from_others() -> None:
    assembly = MODEL.mechanism.assembly
    assert is_rod(assembly.blocks["rod"])
    assert not is_rod(assembly.blocks["b"])
    assert not is_rod(None)
    told = {name: is_on_rod(assembly, name) for name in ("rod", "rod.tip", "rod.camera", "rod.other", "b", "nobody")}
    assert told == {"rod": True, "rod.tip": True, "rod.camera": True, "rod.other": False, "b": False, "nobody": False}


def test_sections_are_parts_of_the_length() -> None:
    for port, part in (("rod", 0.0), ("rod.camera", 0.25), ("rod.tip", 1.0)):
        assert section_of(MODEL.mechanism.assembly, port)[1] == part


def test_all_that_hangs_on_the_rod_hangs_on_the_cut_one() -> None:
    assembly = MODEL.mechanism.assembly
    rod, part = section_of(assembly, "rod.camera")
    opened = cut_rod_at(assembly, rod, part)
    whole = opened.blocks["rod"]
    assert isinstance(whole, CutRod)
    assert isinstance(assembly.blocks["rod"], tt.Rod)
    ends = [ref.block for c in opened.connections for ref in (c.parent, c.child) if ref.block.name == "rod"]
    ends += [ref.block for loop in opened.loops for ref in loop.ports if ref.block.name == "rod"]
    assert len(ends) == 3
    assert all(block is whole for block in ends)


def test_a_cut_that_is_closed_moves_as_the_rod() -> None:
    """Six more coordinates, behind the rod's own; held at zero, they change neither poses nor energy."""
    assembly = MODEL.mechanism.assembly
    opened = MODEL.mechanism.with_assembly(cut_rod_at(assembly, *section_of(assembly, "rod.camera")))
    assert opened.nv == MODEL.nv + 6
    q = np.array([0.3, 0.2, -0.1])
    more = np.concatenate([q, np.zeros(6)])
    for port in ("b", "rod.camera", "rod.tip"):
        for one, other in zip(opened.pose(port, more), MODEL.pose(port, q), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=3e-9)  # steps between points err by their fifth power
    turned = more + np.eye(9)[5] * 0.1
    assert np.abs(opened.pose("b", turned)[1] - MODEL.pose("b", q)[1]).max() > 1e-2
