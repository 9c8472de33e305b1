"""Whether the links of a URDF robot are one tree, and what its root is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import networkx as nx

from titop.blocks.basics.errors import did_you_mean
from titop.graph.urdf.robot import RobotReader


def check_tree(reader: RobotReader) -> str:
    """Report what keeps the links from being one tree, and return the name of its root (empty if there is none)."""
    report, links, joints = reader.report, dict.fromkeys(link.name for link in reader.links), reader.joints
    if not links:
        report.error("no-links", "", "no link", "a robot with at least one link", "expand xacro files first")
        return ""
    for kind, names in (("link", [link.name for link in reader.links]), ("joint", [joint.name for joint in joints])):
        for name in [name for name, count in Counter(names).items() if count > 1]:
            report.error("duplicate-name", name, f"{kind} {name!r}", f"unique {kind} names", "rename one of the two")
    before = len(report.findings)
    _check_ends(reader, links)
    _check_parents(reader, links)
    graph = nx.DiGraph([(joint.parent, joint.child) for joint in joints if joint.parent and joint.child])
    graph.add_nodes_from(links)
    roots = [name for name in links if graph.in_degree(name) == 0]
    if len(report.findings) > before:
        return roots[0] if roots else ""
    try:
        hops = [edge[0] for edge in nx.find_cycle(graph)]
        advice = "cut it, and close the loop in Python"
        report.error("cycle", hops[0], " -> ".join([*hops, hops[0]]), "a tree of links", advice)
    except nx.NetworkXNoCycle:
        if len(roots) > 1:
            advice = "give every other link a joint that has it as its child"
            report.error("several-roots", "", ", ".join(roots), "one link without parent", advice)
    return roots[0] if roots else ""


def _check_ends(reader: RobotReader, links: Collection[str]) -> None:
    ends = [(j, role, name) for j in reader.joints for role, name in (("parent", j.parent), ("child", j.child)) if name]
    for joint, role, name in ends:
        if name not in links:
            where, advice = f"{joint.name}.{role}.link", did_you_mean(name, links)
            reader.report.error("unknown-link", where, repr(name), "the name of a link", advice)


def _check_parents(reader: RobotReader, links: Collection[str]) -> None:
    parents: dict[str, list[str]] = {name: [] for name in links}
    for joint in reader.joints:
        parents.setdefault(joint.child, []).append(joint.name)
    for link, joints in parents.items():
        if link and len(joints) > 1:
            advice = "keep one of them, and close the loop in Python"
            reader.report.error("two-parents", link, " and ".join(joints), "one joint with this link as its child", advice)
