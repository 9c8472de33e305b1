"""What is wrong, or suspicious, with the data of flexible bodies is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.bodies.flexible_panels import panel


def codes(body: tt.Block) -> list[tuple[str, str]]:
    """Return code and place of every error."""
    return [(finding.code, finding.where) for finding in body.check()[0]]


class TestFindings:
    def test_a_sound_body_has_none(self) -> None:
        assert panel().check() == ([], [])

    @pytest.mark.parametrize(
        ("code", "where", "fields"),
        [
            ("negative-mass", "mass", {"mass": -1.0}),
            ("wrong-shape", "com", {"com": [0, 0]}),
            ("wrong-type", "inertia", {"inertia": "heavy"}),
            ("negative-inertia", "inertia", {"inertia": [1, 1, -1]}),
            ("frequencies-or-stiffness", "frequencies", {"frequencies": None}),
            ("frequencies-or-stiffness", "frequencies", {"modal_stiffness": [1.0, 2.0]}),
            ("frequencies-and-mass", "modal_mass", {"modal_mass": [4.0, 4.0]}),
            ("bad-frequency", "frequencies", {"frequencies": [0.0, 3.0]}),
            ("bad-frequency", "frequencies", {"frequencies": [-1.0, 3.0]}),
            ("not-finite", "frequencies", {"frequencies": [np.nan, 3.0]}),
            ("missing-participation", "participation", {"participation": None}),
            ("wrong-shape", "participation", {"participation": [[0] * 6] * 3}),
            ("wrong-shape", "shapes.C", {"shapes": {"C": [[0] * 3] * 6}}),
            ("missing-shape", "shapes.C", {"shapes": {}}),
            ("wrong-type", "shapes", {"shapes": [1, 2], "ports": {}}),
            ("unknown-port", "shapes.D", {"shapes": {"C": np.zeros((6, 2)), "D": np.zeros((6, 2))}}),
            ("wrong-type", "ports", {"ports": [1, 0, 0], "shapes": {}}),
            ("bad-name", "P", {"ports": {"P": [0, 0, 0]}, "shapes": {"P": np.zeros((6, 2))}}),
            ("bad-name", "a.b", {"ports": {"a.b": [0, 0, 0]}, "shapes": {"a.b": np.zeros((6, 2))}}),
            ("wrong-shape", "damping_ratios", {"damping_ratios": [0.1, 0.1, 0.1]}),
            ("bad-name", "coordinate_names", {"coordinate_names": ["a", "a"]}),
            ("bad-modal-mass", "modal_mass", {"frequencies": None, "modal_stiffness": [1, 2], "modal_mass": [1, -2]}),
            ("not-symmetric", "modal_mass", {"frequencies": None, "modal_stiffness": [1, 2], "modal_mass": [[2, 1], [0, 2]]}),
            ("indefinite-stiffness", "modal_stiffness", {"frequencies": None, "modal_stiffness": [[1, 2], [2, 1]]}),
            ("too-much-participation", "participation", {"mass": 0.6, "inertia": [0.001, 0.05, 0.05]}),
            ("out-of-range", "participation", {"participation": np.full((2, 6), 1.7e308)}),
            ("out-of-range", "participation", {"participation": np.full((2, 6), 1e160)}),
        ],
    )
    def test_errors(self, code: str, where: str, fields: dict[str, Any]) -> None:
        assert codes(panel(**fields)) == [(code, f"panel.{where}")]

    def test_too_much_participation_says_how_much_and_where(self) -> None:
        body = panel(participation=[[0, 1.1, 0, 0, 0, 0.55], [0, 0, 0, 0, 0, 0]])
        (finding,) = body.check()[0]
        assert "along y, rz" in finding.value

    def test_negative_damping_is_suspicious_only(self) -> None:
        for fields in ({"damping_ratios": [0.1, -0.1]}, {"modal_damping": [1.0, -1.0]}):
            errors, warnings = panel(**fields).check()
            assert errors == []
            assert [finding.code for finding in warnings] == ["negative-damping"]

    def test_all_findings_come_with_the_system_s(self) -> None:
        s = tt.System("broken")
        s.connect("world", panel(mass="heavy", frequencies=[-1, 2], shapes={}), tt.Weld("foot"))
        with pytest.raises(tt.ModelError) as raised:
            s.resolve()
        assert {finding.code for finding in raised.value.findings} == {"wrong-type", "bad-frequency", "missing-shape"}
