"""Warnings of flexible bodies that spin without geometric stiffness."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.flexible import Cloud, random_body

#: What shows how a body spins.
SHOWN: dict[str, Callable[[tt.Model, Any], Any]] = {
    "simulate": lambda model, v: tt.simulate(model, [0.0, 0.01], model.neutral(), v),
    "trim": lambda model, v: tt.trim(model, ["panel"], v=v),
    "linearize": lambda model, v: tt.linearize(model, (model.neutral(), v, np.zeros(model.nv))),
}


def hinged(body: tt.FlexibleBody) -> tt.Model:
    """Return the model of a body on a hinge."""
    s = tt.System("hinged", gravity=[0, 0, 0])
    s.connect("world", body, tt.Revolute("hinge", axis=[0, 0, 1]))
    return s.resolve()


def found(show: str, model: tt.Model, spin: float) -> list[str]:
    """Return the warnings about spin."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SHOWN[show](model, model.velocity({"hinge": spin}))
    return [str(each.message) for each in caught if "spinning-modes" in str(each.message)]


@pytest.mark.parametrize("show", SHOWN)
def test_fast_spins_are_told(show: str) -> None:
    body = random_body(np.random.default_rng(0), "panel")
    model, lowest = hinged(body), body.natural_frequencies[0]
    (message,) = found(show, model, 0.15 * lowest)
    assert message.startswith(f"panel: got a spin of {0.15 * lowest:.3g} rad/s beside a lowest frequency of {lowest:.3g} rad/s")
    assert not found(show, model, 0.05 * lowest)


@pytest.mark.parametrize("show", SHOWN)
def test_bodies_that_stiffen_may_spin(show: str) -> None:
    rng = np.random.default_rng(0)
    body = Cloud.random(rng).body(rng, "panel")
    assert not found(show, hinged(body), 0.15 * body.natural_frequencies[0])
