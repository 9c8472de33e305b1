"""The stages of flexible bodies, with a control that breaks each."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.flexible import random_system
from tests.solvers.kernels.interface.flexible_states import ACCURACY, error, state, wrenches
from titop.solvers.engines.compiled import law_kinds
from titop.solvers.engines.compiled.python_laws import Callback
from titop.solvers.kernels.interface import layout, records
from titop.solvers.kernels.interface.stages import Call
from titop.solvers.kernels.laws import modal
from titop.solvers.kernels.laws.compiled_laws import CompiledLaw


def of_first_order(law: Any) -> Callable[[Any], Any]:
    """Return what tells the law of flexible bodies, this one of those without stiffening."""
    return lambda body: law if body.second_order is None else "stiffening_stages.LAW"


@pytest.mark.parametrize("bend", [1.0, 30.0])
def test_inverse_dynamics_of_flexible_bodies_need_no_terms(bend: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Port rotations of about 0.1 rad, and of about 3 rad."""
    system, at = random_system(np.random.default_rng(1)), wrenches(1)
    model, reference = system.resolve(), system.resolve("reference")
    arguments = *state(model, 1, bend), at
    found = model.inverse_dynamics(*arguments)
    assert error(found, reference.inverse_dynamics(*arguments)) < ACCURACY
    law = CompiledLaw("modal", modal.write_law)
    monkeypatch.setitem(law_kinds.KINDS, "FlexibleBody", of_first_order(law))
    by_terms = system.resolve()
    assert error(found, by_terms.inverse_dynamics(*arguments)) < ACCURACY
    energy = model.energy(*arguments[:2])
    assert energy.elastic > 0.0
    assert error(energy, reference.energy(*arguments[:2])) < ACCURACY
    assert error(energy, by_terms.energy(*arguments[:2])) < ACCURACY  # which asks the body itself
    for joint in ("hinge", "ball", "glue"):
        assert error(model.reaction(joint, *arguments), by_terms.reaction(joint, *arguments)) < ACCURACY


def changed(stage: str, column: int, factor: float) -> Any:
    """Return the kind of flexible bodies with a stage that multiplies what it reads of its ports, or what it wrote."""
    law = modal.LAW
    whole = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(Call._fields))(getattr(law, stage).address)

    def scaled(*words: int) -> None:
        call = Call(*words)
        record = np.ctypeslib.as_array((ctypes.c_double * records.law_size(call.n, call.ports)).from_address(call.law))
        if stage == "outward":
            assert whole(*words) == layout.OK
        for p in range(call.ports):
            record[records.port_at(call.n, p) + column :][:6] *= factor
        if stage != "outward":
            assert whole(*words) == layout.OK

    stages = {name: getattr(law, name) for name in ("terms", "outward", "inward", "slopes", "energy")}
    return SimpleNamespace(**stages | {stage: Callback(scaled, len(Call._fields))}, room=law.room)


@pytest.mark.parametrize(
    ("stage", "column"),
    [
        ("outward", layout.PORT_ACC),
        ("outward", layout.PORT_TWIST),
        ("inward", layout.PORT_WRENCH),
        ("slopes", layout.PORT_WRENCH),
    ],
)
def test_a_broken_stage_is_seen(stage: str, column: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: a stage whose ports differ by a hundredth."""
    system, at = random_system(np.random.default_rng(1)), wrenches(1)
    arguments = *state(model := system.resolve(), 1), at
    expected = np.vstack([model.inverse_dynamics(*arguments), *model.inverse_dynamics_derivatives(*arguments)])
    for factor, sound in ((1.0, True), (1.01, False)):
        law = changed(stage, column, factor)
        monkeypatch.setitem(law_kinds.KINDS, "FlexibleBody", of_first_order(law))
        other = system.resolve()
        found = np.vstack([other.inverse_dynamics(*arguments), *other.inverse_dynamics_derivatives(*arguments)])
        assert (error(found, expected) < ACCURACY) is sound
