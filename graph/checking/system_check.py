"""Checks of a whole system: everything that is wrong with it, found before anything is computed."""

from __future__ import annotations

import itertools

from titop.blocks.basics.errors import MAX_FINDINGS, Finding, ModelError
from titop.blocks.basics.pose import pose_findings
from titop.blocks.contract.fields import altered_fields
from titop.graph.checking.coordinates import unknown_joints, wrong_targets
from titop.graph.checking.doubtful_units import doubtful_units
from titop.graph.checking.massless import massless_leaves
from titop.graph.checking.names import ambiguous_ports, renamed_blocks, reserved_names
from titop.graph.checking.own_blocks import own_block_findings
from titop.graph.checking.ports import foreign_targets, loose_loops, unknown_ports
from titop.graph.checking.relations import contradicting_gears, motionless_loops
from titop.graph.checking.rod_lines import lines_across_joints, wrong_lines
from titop.graph.checking.tree import no_tree
from titop.graph.network.network import Network


def checked(system: Network) -> list[Finding]:
    """Return everything suspicious in a system.

    Raises
    ------
    ModelError
        With everything that is wrong.
    """
    errors, warnings = check_system(system)
    if errors:
        raise ModelError(errors)
    return warnings


def check_system(system: Network) -> tuple[list[Finding], list[Finding]]:
    """Return everything that is wrong with a system and everything suspicious, in linear time."""
    errors = [*system.reader.findings, *altered_fields(system)]
    warnings: list[Finding] = []
    for connection in system.connections:
        errors += pose_findings(f"{connection.joint.name}.placement", connection.placement)
    for block in system.blocks:
        if altered := altered_fields(block):
            errors += [*block.reader.findings, *altered]
            continue
        block_errors, block_warnings = block.check()
        errors += block_errors
        warnings += block_warnings
    errors += renamed_blocks(system)
    if any(finding.code in ("duplicate-name", "renamed-block") for finding in errors):
        return errors, warnings  # edges by name would be edges of two blocks, or of none
    rules = (reserved_names, unknown_ports, foreign_targets, loose_loops, wrong_targets, unknown_joints, wrong_lines, no_tree)
    errors += itertools.islice(itertools.chain.from_iterable(rule(system) for rule in rules), MAX_FINDINGS)
    if not errors:
        for rigid, finding in motionless_loops(system):
            (errors if rigid else warnings).append(finding)
    if not errors:
        warnings += doubtful_units(system)
        warnings += lines_across_joints(system)
        errors += contradicting_gears(system)
        for wrong, finding in itertools.chain(massless_leaves(system), own_block_findings(system)):
            (errors if wrong else warnings).append(finding)
    if not errors:
        warnings += ambiguous_ports(system)
    return errors, warnings
