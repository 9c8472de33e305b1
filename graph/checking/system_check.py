"""Checks of a whole system, before anything is computed, and of numbers that are valid, but probably in wrong units."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from titop.blocks.basics.errors import MAX_FINDINGS, Finding, refuse
from titop.blocks.basics.pose import pose_findings, pose_suspicions
from titop.blocks.basics.tolerances import NEGLIGIBLE
from titop.blocks.checking.block_check import disagreements, law_disagreements
from titop.blocks.checking.block_findings import damping_findings, driving_findings, law_findings
from titop.blocks.checking.complex_safety import is_complex_safe
from titop.blocks.checking.description_findings import weight_findings
from titop.blocks.checking.interaction_findings import interaction_findings
from titop.blocks.constraints.closure import Closure
from titop.blocks.constraints.relation import Relation
from titop.blocks.contract.block import Block, is_titops_own, overrides_method, titop_class
from titop.blocks.contract.description import MassProperties
from titop.blocks.contract.fields import altered_fields
from titop.blocks.devices.actuators import Actuator
from titop.blocks.devices.loads import Load
from titop.blocks.devices.sensors import Sensor
from titop.blocks.interactions.interaction import Interaction
from titop.blocks.joints.friction_and_limits import CoordinateLimits
from titop.blocks.joints.joint import Joint
from titop.blocks.surroundings.body_gravity import findings_in_field
from titop.graph.checking.targets import (
    ambiguous_devices,
    ambiguous_ports,
    foreign_targets,
    lines_across_joints,
    loose_loops,
    renamed_blocks,
    reserved_names,
    unknown_joints,
    unknown_ports,
    wrong_lines,
    wrong_targets,
)
from titop.graph.checking.tree import contradicting_gears, massless_leaves, motionless_loops, no_tree
from titop.graph.network.connections import weighed
from titop.graph.network.network import Network


def system_findings(system: Network) -> list[Finding]:
    """Check a system, and return the warnings.

    Raises `ModelError` listing all errors.
    """
    errors, warnings = check_system(system)
    refuse(errors)
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
    for device in system.devices:
        errors += [*device.check()[0], *altered_fields(device)]
        warnings += device.check()[1]
    if (field := system.field) is not None:
        errors += [*field.check()[0], *altered_fields(field)]
        warnings += field.check()[1]
        errors += itertools.chain.from_iterable(map(findings_in_field, weighed(system)))
    elif lost := [each.name for each in system.sensors if each.needs_planet]:
        advice = "give the system gravity=tt.CentralGravity(...) or tt.Orbit(...), or leave orbiting out"
        errors += [Finding("no-planet", name, "no planet's gravity", "a system with a planet", advice) for name in lost]
    errors += [*renamed_blocks(system), *ambiguous_devices(system)]
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
        lawless = isinstance(block, Closure | Relation | CoordinateLimits | Load | Actuator | Sensor)
        known = is_titops_own(block) and not (isinstance(block, Joint) and block.compiled_law is None and not block.chain)
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
            if system.field is not None or system.gravity.any():
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


#: Masses with a larger ratio leave no digit of the smaller one in their sum.
_FAR = 1e12
#: An inertia is probably in kg mm^2 or g mm^2 if the radius of gyration is more than this many times the largest distance in
#: the system, and the mass over the cube of this radius is less than this density (kg/m^3). A steel ball in kg mm^2 has 1.3e-4,
#: slender bodies have less; booms and sails in the right unit have more.
_GYRATION, _THIN = 3.0, 2e-4
#: The density of osmium (kg/m^3), the densest matter: a ball of it has the smallest inertia of all bodies of its mass. An
#: inertia below a hundred-thousandth of that is in a larger unit than kg m^2; larger ones are often written for point masses.
_DENSEST, _LEAST = 22_600.0, 1e-5


def doubtful_units(system: Network) -> Iterator[Finding]:
    """Yield warnings about rotations in degrees, masses of very different size, and impossible inertias."""
    for connection in system.connections:
        yield from pose_suspicions(f"{connection.joint.name}.placement", connection.placement)
    bodies = [connection.child.block for connection in system.connections]
    masses = {body.name: of for body in bodies if (of := body.mass_properties()).mass > 0}
    yield from _far_masses({name: float(of.mass) for name, of in masses.items()})
    places = [connection.placement.position for connection in system.connections]
    places += [body.neutral_pose(port)[1] for body in (system.world, *bodies) for port in body.ports]
    places += [of.com for of in masses.values()]
    with np.errstate(over="ignore"):
        reach = float(np.linalg.norm(np.reshape(places, (-1, 3)), axis=1).max(initial=0.0))
    yield from _impossible_inertias(masses, reach)


def _far_masses(masses: dict[str, float]) -> Iterator[Finding]:
    if masses:
        least, most = min(masses, key=masses.__getitem__), max(masses, key=masses.__getitem__)
        if masses[most] > _FAR * masses[least]:
            value = f"{masses[least]:.3g} kg, beside {masses[most]:.3g} kg of {most}"
            expected, advice = f"masses within a factor of {_FAR:g}", "check the units of both"
            yield Finding("far-masses", f"{least}.mass", value, expected, advice)


def _impossible_inertias(bodies: dict[str, MassProperties], reach: float) -> Iterator[Finding]:
    """Compare radii of gyration with the largest distance in the system, and with the densest and the thinnest matter.

    Distances may say nothing about the size of a body: a wheel has only ports near its axis, an unbalance is no length. A
    warning about a large inertia therefore also requires a very low density.
    """
    masses = np.array([body.mass for body in bodies.values()])
    largest = np.array([max(map(abs, body.inertia.ravel().tolist())) for body in bodies.values()])
    with np.errstate(all="ignore"):  # infinite for numbers out of range
        radii = np.sqrt(largest / masses)
        thin = (masses < _THIN * radii**3) & (largest > NEGLIGIBLE * masses.max(initial=0.0) * reach**2)
        least = 0.4 * masses * (3.0 * masses / (4.0 * np.pi * _DENSEST)) ** (2.0 / 3.0)
    for k, name in enumerate(bodies):
        where = f"{name}.inertia"
        if reach > 0 and radii[k] > _GYRATION * reach and thin[k]:
            value = f"a radius of gyration of {radii[k]:.3g} m, where everything is within {reach:.3g} m"
            advice = "divide by 1e6 if these are kg mm^2 (g mm^2: by 1e9)"
            yield Finding("large-inertia", where, value, "an inertia in kg m^2", advice)
        elif 0 < largest[k] < _LEAST * least[k]:
            value = f"moments up to {largest[k]:.3g} kg m^2, with a mass of {masses[k]:.3g} kg"
            expected = f"{least[k]:.2g} kg m^2 or more, which a ball of osmium has: no matter is denser"
            yield Finding("small-inertia", where, value, expected, "check the unit; leave the inertia out for a point mass")
