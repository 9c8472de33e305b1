"""Rods in model files: round trips to the last bit, short forms, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.graph.files.model_texts import HEAD
from titop.graph.load import load

SECTION = tt.Section.circle([0.03, 0.015])
MATERIAL: dict[str, Any] = {"young": 1e6, "density": 1000.0}
TURNED = tt.Pose([0.0, 0.0, 0.1], np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]))
RODS: dict[str, dict[str, Any]] = {
    "plain": {"section": SECTION},
    "rubber": {"section": SECTION, "poisson": 0.5, "damping": 1e4, "points": 7, "strains": "timoshenko", "basis": 2},
    "own section": {"section": tt.Section(1e-4, [1e-9, 2e-9], 2e-9, shear_factor_y=0.8), "shear_modulus": 3e5},
    "rectangle": {"section": tt.Section.rectangle(0.02, [0.01, 0.005]), "reference_strain": [0.1, 0, 2, 1, 0, 0]},
    "tube": {"section": tt.Section.tube(0.02, 0.01), "strains": {"bending_y": tt.StrainBasis.gaussian(3, 0.2), "shear_z": 0}},
    "pieces": {"section": tt.Section.ellipse(0.02, 0.01), "basis": tt.StrainBasis.piecewise_affine(2)},
    "ports": {"section": SECTION, "ports": {"camera": (0.3, TURNED), "middle": 0.1 + 0.2, "tip": (0.5, TURNED)}},
}
ROD = """
[bodies.rod]
type = "rod"
length = 0.5
section = { shape = "circle", radius = 0.01 }
young = 1e6
density = 1000
"""
JOINT = """
[joints.clamp]
type = "weld"
parent = "world"
child = "rod"
"""


@pytest.mark.parametrize("fields", RODS.values(), ids=RODS)
def test_what_is_saved_is_loaded_to_the_last_bit(fields: dict[str, Any], tmp_path: Path) -> None:
    s = tt.System("soft")
    s.connect("world", tt.Rod("rod", 0.5, **MATERIAL, **fields), tt.Weld("clamp"))
    s.save(tmp_path / "soft.toml")
    loaded = tt.load(tmp_path / "soft.toml")
    np.testing.assert_array_equal(loaded["rod"].law_numbers(), s["rod"].law_numbers())
    assert loaded["rod"].coordinates == s["rod"].coordinates
    assert loaded["rod"].ports == s["rod"].ports
    assert loaded["rod"].parameters() == s["rod"].parameters()
    loaded.save(tmp_path / "again.toml")
    assert (tmp_path / "again.toml").read_text() == (tmp_path / "soft.toml").read_text()


def test_short_forms() -> None:
    loaded = load(HEAD + ROD + 'strains = "extensible"\nbasis = 1\nports = { eye = 0.25 }\n' + JOINT)
    made = tt.Rod("rod", 0.5, tt.Section.circle(0.01), **MATERIAL, strains="extensible", basis=1, ports={"eye": 0.25})
    np.testing.assert_array_equal(loaded["rod"].law_numbers(), made.law_numbers())


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ("strains = 3\n", "wrong-type"),
        ('strains = "kirchof"\n', "unknown-theory"),
        ('strains = { torsion = { kind = "splines", order = 2 } }\n', "unknown-basis"),
        ('strains = { torsion = { kind = "gaussian", order = 2 } }\n', "wrong-numbers"),
        ("strains = { torsion = 9 }\n", "too-few-points"),
        ("ports = { eye = { abscissa = 0.2, place = 3 } }\n", "unknown-key"),
        ("ports = { eye = { pose = [0, 0, 1] } }\n", "missing-key"),
        ("ports = { eye = 0.7 }\n", "off-the-rod"),
    ],
)
def test_what_is_refused(rows: str, code: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        load(HEAD + ROD + rows + JOINT).resolve("reference")
    assert caught.value.code == code


@pytest.mark.parametrize(
    "section", ['{ shape = "circel", radius = 1 }', '{ shape = "circle", radius = -1 }', "0.1", "{ shape = 1 }"]
)
def test_sections_that_are_refused(section: str) -> None:
    text = ROD.replace('{ shape = "circle", radius = 0.01 }', section)
    with pytest.raises(tt.ModelError) as caught:
        load(HEAD + text + JOINT)
    assert caught.value.where.startswith("bodies.rod.section")


@pytest.mark.parametrize(
    "fields",
    [
        {"section": tt.Section.circle(lambda X: 0.01 + 0.01 * X)},
        {"section": SECTION, "strains": {"torsion": tt.StrainBasis(lambda X: [1.0], 1)}},
        {"section": SECTION, "reference_strain": lambda X: [0, 0, 0, 1, 0, 0]},
    ],
    ids=["section", "basis", "reference"],
)
def test_functions_cannot_be_saved(fields: dict[str, Any], tmp_path: Path) -> None:
    s = tt.System("soft")
    s.connect("world", tt.Rod("rod", 0.5, **MATERIAL, **fields), tt.Weld("clamp"))
    with pytest.raises(tt.ModelError, match=r"rod\..*build this block in Python"):
        s.save(tmp_path / "soft.toml")
    assert not (tmp_path / "soft.toml").exists()
