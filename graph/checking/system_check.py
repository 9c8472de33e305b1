"""Checks of a whole system, before anything is computed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from titop.blocks.basics.errors import MAX_FINDINGS, Finding, ModelError
from titop.blocks.basics.pose import pose_findings
from titop.blocks.checking.block_check import disagreements, law_disagreements
from titop.blocks.checking.block_findings import damping_findings, driving_findings, law_findings
from titop.blocks.checking.complex_safety import is_complex_safe
from titop.blocks.checking.interaction_findings import interaction_findings
from titop.blocks.checking.surroundings_check import weight_findings
from titop.blocks.constraints.closure import Closure
from titop.blocks.constraints.gear import Gear
from titop.blocks.contract.block import Block, is_titops_own, overrides_method, titop_class
from titop.blocks.contract.fields import altered_fields
from titop.blocks.devices.actuators import Actuator
from titop.blocks.devices.loads import Load
from titop.blocks.devices.sensors import Sensor
from titop.blocks.interactions.interaction import Interaction
from titop.blocks.joints.coordinate_limits import CoordinateLimits
from titop.blocks.joints.joint import Joint, is_elementary
from titop.graph.checking.doubtful_units import doubtful_units
from titop.graph.checking.names import ambiguous_ports, renamed_blocks, reserved_names
from titop.graph.checking.targets import (
    foreign_targets,
    lines_across_joints,
    loose_loops,
    unknown_joints,
    unknown_ports,
    wrong_lines,
    wrong_targets,
)
from titop.graph.checking.tree import contradicting_gears, massless_leaves, motionless_loops, no_tree
from titop.graph.network.network import Network


def system_findings(system: Network) -> list[Finding]:
    """Check a system, and return the warnings.

    Raises
    ------
    ModelError
        Listing all errors.
    """
    errors, warnings = check_system(system)
    if errors:
        raise ModelError(errors)
    return warnings


def check_system(system: Network) -> tuple[list[Finding], list[Finding]]:
    """Return all errors and warnings of a system, in linear time."""
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
        warnings += lines_across_joints(system)
        errors += contradicting_gears(system)
        for wrong, finding in itertools.chain(massless_leaves(system), own_block_findings(system)):
            (errors if wrong else warnings).append(finding)
    if not errors:
        warnings += doubtful_units(system)
        warnings += ambiguous_ports(system)
    return errors, warnings


def own_block_findings(system: Network) -> Iterator[tuple[bool, Finding]]:
    """Yield what is wrong (True) and suspicious (False) in blocks that users wrote."""
    for block in system.blocks:
        lawless = isinstance(block, Closure | Gear | CoordinateLimits | Load | Actuator | Sensor)
        known = is_elementary(block) or (is_titops_own(block) and not isinstance(block, Joint))
        if lawless or (known and not (block.inputs or block.state_names or overrides_method(block, "input_matrix"))):
            continue
        block.forget_steps()
        wrong = list(driving_findings(block) if known else law_findings(block))
        dotted = [port for port in block.ports if not isinstance(port, str) or not port or "." in port]
        wrong += [Finding("bad-name", f"{block.name}.{port}", port, "a port name without dots", "rename it") for port in dotted]
        yield from ((True, finding) for finding in wrong)
        if wrong:
            continue
        block.complex_safe = is_complex_safe(block)
        if not known:
            yield from ((False, finding) for finding in damping_findings(block))
            if system.gravity.any():
                yield from ((False, finding) for finding in weight_findings(block))
            if titop_class(type(block)) is not Block:  # what it leaves as it is may belong to what it does not
                yield from ((False, finding) for finding in disagreements(block))
            yield from ((False, finding) for finding in law_disagreements(block))
        if not block.complex_safe:
            advice = "derivatives use sixth-order differences instead of complex steps (errors near 1e-10)"
            expected = "functions that accept complex coordinates"
            yield False, Finding("not-complex-safe", block.name, type(block).__name__, expected, advice)
    for loop in system.loops:
        if not isinstance(loop.closure, Interaction):
            continue
        if not is_titops_own(loop.closure) or titop_class(type(loop.closure)) is Interaction:  # which says nothing by itself
            inertial = any(ref.block is system.world for ref in loop.ports)
            yield from interaction_findings(loop.closure, len(loop.ports), len(loop.coordinates), inertial)
