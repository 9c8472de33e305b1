"""Loops: which targets a closure is told, and which it has of itself."""

from __future__ import annotations

import networkx as nx
import numpy as np

import titop as tt
from titop.blocks.contract.block import PortRef
from titop.graph.network.connections import Joined, reached

BODIES = [tt.RigidBody(f"b{k}", 1.0, inertia=1.0, ports={"C": [0, 0, 1]}) for k in range(2)]
PORTS = tuple(PortRef(body, "C") for body in BODIES)
ROD = tt.Rod("rod", 1.0, tt.Section.circle(0.01), young=1e6, density=1000.0, strains={"bending_z": 1})


def test_what_edges_lead_to_is_what_networkx_finds() -> None:
    rng, sizes = np.random.default_rng(0), set()
    for _ in range(50):
        edges = [(f"b{i}", f"b{j}") for i, j in rng.integers(0, 12, (9, 2))]
        found = reached(edges, "b0")
        graph = nx.DiGraph([*edges, ("b0", "b0")])
        assert found == nx.descendants(graph, "b0") | {"b0"}
        sizes.add(len(found))
    assert {1, 4} <= sizes


def test_a_closure_joins_two_ports() -> None:
    loop = Joined(PORTS, tt.RigidClosure("pin"))
    assert loop.is_between_two_ports
    assert (loop.first, loop.second) == PORTS
    assert loop.targets == loop.named_ports == PORTS
    assert loop.named_targets == ()


def test_coordinates_come_after_ports() -> None:
    loop = Joined(PORTS, tt.Cable("cable", arms=[0.1, 0.2]), ("j1", "j2"))
    assert not loop.is_between_two_ports
    assert loop.targets == (*PORTS, "j1", "j2")


def test_blocks_stand_for_their_coordinates() -> None:
    tendon = tt.Tendon("t", ROD, y=0.001, stiffness=1.0, arms=[0.1])
    loop = Joined((), tendon, (*tendon.own_coordinates, "motor"))
    assert tendon.own_coordinates == ("rod.bending_z0", "rod.bending_z1")
    assert loop.named_coordinates == ("motor",)
    assert loop.targets == loop.named_targets == ("rod", "motor")
