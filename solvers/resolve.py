"""Resolving a system into a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, refuse, warn
from titop.blocks.basics.garbage import collection_paused
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.user_input import read_number
from titop.blocks.constraints.relation import Gear
from titop.graph.checking.system_check import system_findings
from titop.graph.network.assembly import Assembly, assemble
from titop.graph.network.network import Network
from titop.solvers.arguments.reading import coordinate_mask
from titop.solvers.constraints.engine_interface import Engine
from titop.solvers.model.mechanism import Mechanism
from titop.solvers.model.model import Model
from titop.solvers.support.threads import read_threads


def resolve(system: Network, engine: str = "compiled", hold: Any = (), threads: int | None = 1) -> Model:
    """Check a system and return its model; see `System.resolve`."""
    with collection_paused():
        make_engine, threads = _engine(engine), read_threads(threads)
        warn(system_findings(system))
        mechanism = Mechanism(_hold(assemble(system), hold), make_engine, threads)
        described = mechanism.parameters()
        if not np.isfinite([x for x, _ in described.values()]).all():
            advice = "give a number, or let the block have no such parameter (parameter_units, parameter_fields)"
            unlimited = ((name, x) for name, (x, _) in described.items() if not np.isfinite(x))
            refuse(Finding("not-finite", name, x, "a finite number, as of all parameters", advice) for name, x in unlimited)
        findings = mechanism.check_inertia()
    warn([*findings, *mechanism.closure_findings()])
    return Model(mechanism)


def _hold(assembly: Assembly, hold: Any) -> Assembly:
    """Return the assembly with coordinates that stay at their places: driven ones of gears that do not turn them.

    Raises `ModelError` for unknown names, places that are no numbers, coordinates of spherical and free joints, and where
    nothing else moves.
    """
    places = hold if isinstance(hold, Mapping) else dict.fromkeys([hold] if isinstance(hold, str) else hold)
    held = coordinate_mask(list(places), assembly, "hold")
    names, gears = assembly.coordinate_names, []
    driver = next((name for name, is_held in zip(names, held, strict=True) if not is_held), None)
    for name, place in places.items():
        block = assembly.blocks[name if name in assembly.v_slices else owner_of(name)]
        if block.configuration_names != block.coordinates:
            got, expected = f"{name} of {block.name!r}", "plain coordinates"
            raise ModelError(Finding("not-plain", "hold", got, expected, "connect it by a tt.Weld at its place"))
        if driver is None:
            advice = "leave one free, or connect bodies by tt.Weld"
            raise ModelError(Finding("nothing-moves", "hold", name, "a coordinate that moves", advice))
        for k in assembly.entries_of(name) or ():
            value = block.neutral()[k - assembly.v_slices[block.name].start] if place is None else place
            wrong = Finding("wrong-type", f"hold[{name!r}]", value, "a finite number", "of one coordinate each")
            gears.append(Gear(f"hold_{names[k].replace('.', '_')}", driver, names[k], 0.0, read_number(wrong)))
    return replace(assembly, gears=(*assembly.gears, *gears)) if gears else assembly


def _engine(name: str) -> type[Engine]:
    if name == "compiled":
        from titop.solvers.engines.compiled.compiled_engine import CompiledEngine

        return CompiledEngine
    if name == "reference":
        from titop.solvers.engines.reference.reference_engine import ReferenceEngine

        return ReferenceEngine
    raise ModelError(Finding("bad-engine", "engine", name, "'compiled' or 'reference'", "choose one of the two"))
