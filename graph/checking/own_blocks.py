"""Whether blocks that users wrote keep the contract."""

from __future__ import annotations

from collections.abc import Iterator

from titop.blocks.basics.errors import Finding
from titop.blocks.checking.block_check import disagreements, law_disagreements
from titop.blocks.checking.block_findings import damping_findings, driving_findings, law_findings
from titop.blocks.checking.complex_safety import is_complex_safe
from titop.blocks.checking.interaction_findings import interaction_findings
from titop.blocks.checking.surroundings_check import weight_findings
from titop.blocks.constraints.closure import Closure
from titop.blocks.constraints.gear import Gear
from titop.blocks.contract.block import Block, overrides_method
from titop.blocks.contract.overrides import built_in, is_titops_own
from titop.blocks.devices.actuators import Actuator
from titop.blocks.devices.loads import Load
from titop.blocks.devices.sensors import Sensor
from titop.blocks.interactions.interaction import Interaction
from titop.blocks.joints.coordinate_limits import CoordinateLimits
from titop.blocks.joints.joint import Joint, is_elementary
from titop.graph.network.network import Network


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
            if built_in(type(block)) is not Block:  # what it leaves as it is may belong to what it does not
                yield from ((False, finding) for finding in disagreements(block))
            yield from ((False, finding) for finding in law_disagreements(block))
        if not block.complex_safe:
            advice = "derivatives use sixth-order differences instead of complex steps (errors near 1e-10)"
            expected = "functions that accept complex coordinates"
            yield False, Finding("not-complex-safe", block.name, type(block).__name__, expected, advice)
    for loop in system.loops:
        if not isinstance(loop.closure, Interaction):
            continue
        if not is_titops_own(loop.closure) or built_in(type(loop.closure)) is Interaction:  # which says nothing by itself
            inertial = any(ref.block is system.world for ref in loop.ports)
            yield from interaction_findings(loop.closure, len(loop.ports), len(loop.coordinates), inertial)
