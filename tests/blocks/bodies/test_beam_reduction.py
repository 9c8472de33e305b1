"""Beams without shear are a unit beam in other units."""

from __future__ import annotations

import numpy as np
import pytest

from titop.blocks.bodies.beam_matrices import KINDS, BeamSection, ReducedBeam, _reduce, reduced_beam

SECTION = BeamSection(2.5, 0.48, 1.9e-4, {"y": 2400.0, "z": 7100.0}, 1300.0, 1.8e7)


def far_apart(one: ReducedBeam, two: ReducedBeam) -> float:
    """Return by which part of the largest number of each array two beams differ at most."""
    return max(float(np.abs(x - y).max() / np.abs(y).max()) for x, y in zip(one, two, strict=True))


@pytest.mark.parametrize("counts", [(0, 0, 0, 0), (2, 1, 1, 0), (0, 3, 0, 2), (6, 6, 2, 2)])
def test_a_beam_is_the_unit_beam_in_its_units(counts: tuple[int, ...]) -> None:
    """Beside its reduction from its own matrices; to the rounding of these, whose numbers are of very different sizes."""
    of_kinds = dict(zip(KINDS, counts, strict=True))
    made, own = reduced_beam(SECTION, of_kinds), _reduce(SECTION, of_kinds)
    assert far_apart(made, own) < 1e-11
    assert (made.mass == made.mass.T).all()
    assert (made.stiffness == made.stiffness.T).all()
    assert far_apart(reduced_beam(SECTION._replace(line=0.5), of_kinds), own) > 1e-3  # the negative control


def test_a_beam_with_shear_is_reduced_from_its_own_matrices() -> None:
    shear, rotary = {"y": 1e5, "z": 2e5}, {"y": 1e-4, "z": 2e-4}
    section, of_kinds = SECTION._replace(shear=shear, rotary=rotary), dict(zip(KINDS, (1, 1, 0, 0), strict=True))
    assert far_apart(reduced_beam(section, of_kinds), _reduce(section, of_kinds)) == 0.0
    assert far_apart(reduced_beam(section, of_kinds), reduced_beam(SECTION, of_kinds)) > 1e-3


def test_unit_beams_are_stored_and_cannot_be_changed() -> None:
    of_kinds = dict(zip(KINDS, (1, 0, 0, 0), strict=True))
    one = reduced_beam(SECTION, of_kinds)
    one.mass[0, 0] = 7.0
    assert reduced_beam(SECTION, of_kinds).mass[0, 0] != 7.0
