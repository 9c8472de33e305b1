"""Statics of the fin-ray finger beside corotational finite elements of OpenSees (openseespy), where that is installed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import fin_ray_finger as finger

#: Elements a rod, load steps, and places of the slider (m).
ELEMENTS, STEPS, PLACES = 24, 50, (0.0, 0.003, -0.006, 0.006)


@pytest.fixture(scope="module")
def opensees() -> Any:
    try:
        return pytest.importorskip("openseespy.opensees")
    except RuntimeError as error:  # it is installed, but a library that it needs is not
        pytest.skip(str(error))


def deflections(ops: Any, slider: float) -> tuple[Any, float]:
    """Return how far the upper ends of both walls' parts move (12 x 2, m), and the force on the slider (N)."""
    ops.wipe()
    ops.model("basic", "-ndm", 2, "-ndf", 3)
    ops.geomTransf("Corotational", 1)
    lean, weights = np.arcsin(finger.BASE / 2 / (finger.LEVELS * finger.LENGTH)), {}
    count = {"node": 0, "element": 0}

    def node(place: Any) -> int:
        count["node"] += 1
        ops.node(count["node"], *map(float, place))
        return count["node"]

    def beam(first: int, last: int, begin: Any, end: Any, height: float) -> None:
        area, second = height * finger.WIDTH, height * finger.WIDTH**3 / 12
        inner = [node(begin + (end - begin) * k / ELEMENTS) for k in range(1, ELEMENTS)]
        for pair in zip([first, *inner], [*inner, last], strict=True):
            count["element"] += 1
            ops.element("elasticBeamColumn", count["element"], *pair, area, finger.YOUNG, second, 1)
            for tag in pair:
                weight = finger.DENSITY * area * np.linalg.norm(end - begin) / ELEMENTS * 9.81
                weights[tag] = weights.get(tag, 0.0) + weight / 2

    walls = []
    for side in (1, -1):
        up = np.array([side * np.sin(lean), np.cos(lean)])
        places = [np.array([-side * finger.BASE / 2, 0.0]) + finger.LENGTH * k * up for k in range(finger.LEVELS + 1)]
        nodes = [node(place) for place in places]
        for k in range(finger.LEVELS):
            beam(nodes[k], nodes[k + 1], places[k], places[k + 1], finger.HEIGHT)
        walls.append((places, nodes))
    (left, at_left), (right, at_right) = walls
    for k in range(1, finger.LEVELS):  # hinges: nodes of their own that move along
        ends = node(left[k]), node(right[k])
        for wall, end in zip((at_left[k], at_right[k]), ends, strict=True):
            ops.equalDOF(wall, end, 1, 2)
        beam(*ends, left[k], right[k], finger.RIB_HEIGHT)
    ops.equalDOF(at_left[-1], at_right[-1], 1, 2, 3)
    ops.fix(at_right[0], 1, 1, 1)
    ops.fix(at_left[0], 0 if slider else 1, 1, 1)
    ops.timeSeries("Linear", 1)
    ops.pattern("Plain", 1, 1)
    for tag, weight in weights.items():
        ops.load(tag, 0.0, -float(weight), 0.0)
    if slider:
        ops.sp(at_left[0], 1, slider)
    for name, *given in (
        *(("constraints", "Transformation"), ("numberer", "RCM"), ("system", "FullGeneral"), ("algorithm", "Newton")),
        *(("test", "NormDispIncr", 1e-10, 60), ("integrator", "LoadControl", 1.0 / STEPS), ("analysis", "Static")),
    ):
        getattr(ops, name)(*given)
    assert ops.analyze(STEPS) == 0
    ops.reactions()
    return np.array([ops.nodeDisp(tag)[:2] for tag in (*at_left[1:], *at_right[1:])]), ops.nodeReaction(at_left[0])[0]


def test_statics_are_those_of_corotational_beams(opensees: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strains of third order without shear, which these elements leave out: 0.3 % of the force."""
    monkeypatch.setattr(finger, "STRAINS", {"bending_y": 1, "elongation": 0})
    model = finger.build(3, redundant=False).resolve()
    names = [f"{side}{k}.tip" for side in ("left", "right") for k in range(1, finger.LEVELS + 1)]
    straight = np.array([model.pose(name, model.neutral())[1] for name in names])
    for place, point in zip(PLACES, finger.openings(model, np.array(PLACES)), strict=True):
        moved, force = deflections(opensees, place)
        found = (np.array([model.pose(name, point.q)[1] for name in names]) - straight)[:, [0, 2]]
        # 24 elements a rod leave 2e-7 m of 3 mm, eight 1e-6: the error falls with their square
        np.testing.assert_allclose(found, moved, rtol=0, atol=1e-4 * np.abs(moved).max())
        assert point.tau[0] == pytest.approx(force, rel=3e-4)
