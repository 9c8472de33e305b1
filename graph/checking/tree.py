"""Whether bodies and joints are one tree with the world as its root."""

from __future__ import annotations

from collections.abc import Iterator, Set

import networkx as nx

from titop.blocks.basics.errors import Finding
from titop.graph.network.network import Network

CLOSURES = "close the loop by s.close_loop(a, b, tt.RigidClosure(...)) or tt.CompliantClosure(...) instead"


def tree_of(system: Network) -> nx.DiGraph:
    """Return the system's graph without what acts on its bodies and joints."""
    closures = (loop.closure for loop in system.loops)
    acting = {block.name for block in (*closures, *system.attachments)}
    if not acting:
        return system.graph
    tree = nx.DiGraph()
    tree.add_nodes_from((name, data) for name, data in system.graph.nodes(data=True) if name not in acting)
    tree.add_edges_from(edge for edge in system.graph.edges if acting.isdisjoint(edge))
    return tree


def no_tree(system: Network) -> Iterator[Finding]:
    """Find what keeps bodies and joints from being one tree with the world as its root."""
    tree = tree_of(system)
    reached = nx.descendants(tree, "world") | {"world"}
    if len(reached) < len(tree) or tree.number_of_edges() >= len(tree):
        yield from _two_parents(tree)
        yield from _cycles(tree)
        yield from _unconnected(system, tree, reached)


def _two_parents(tree: nx.DiGraph) -> Iterator[Finding]:
    for name, degree in tree.in_degree():
        if name == "world" and degree:
            yield Finding(
                "world-as-child",
                "world",
                next(iter(tree.predecessors(name))),
                "world as a parent only",
                "swap parent and child",
            )
        elif degree > 1:
            parents = " and ".join(sorted(tree.predecessors(name)))
            yield Finding("two-parents", name, parents, "one parent joint a block", f"keep one of them and {CLOSURES}")


def _cycles(tree: nx.DiGraph) -> Iterator[Finding]:
    try:
        edges = nx.find_cycle(tree)
    except nx.NetworkXNoCycle:
        return
    hops = " -> ".join([edge[0] for edge in edges] + [edges[0][0]])
    yield Finding("cycle", edges[0][0], hops, "a tree of connections", f"take one of the joints out and {CLOSURES}")


def _unconnected(system: Network, tree: nx.DiGraph, reached: Set[str]) -> Iterator[Finding]:
    closed = {ref.block.name: loop.closure.name for loop in system.loops for ref in reversed(loop.ports)}
    for component in nx.weakly_connected_components(tree):
        lost = sorted(component - reached)
        if lost and "world" not in component:
            shown = ", ".join(lost[:8]) + (", ..." if len(lost) > 8 else "")
            advice = 'connect("world", ..., joint=tt.Free(...) or another joint)'
            closure = next((closed[name] for name in lost if name in closed), None)
            advice += f"; the closure {closure} constrains what joints carry and carries nothing itself" if closure else ""
            yield Finding("unconnected", lost[0], shown, "a path of joints from the world to every block", advice)
