"""Whether the links of a robot are one tree."""

from __future__ import annotations

import pytest

import titop as tt
from tests.graph.urdf.urdf_texts import GOOD, findings
from titop.graph.urdf.robot_system import from_urdf


def test_no_links() -> None:
    assert findings('<robot name="r"/>') == {"r": "no-links"}


def test_two_parents_and_cycles() -> None:
    again = '<joint name="again" type="fixed"><parent link="stand"/><child link="bob"/></joint></robot>'
    assert findings(GOOD.replace("</robot>", again)) == {"r.bob": "two-parents"}
    back = '<joint name="back" type="fixed"><parent link="bob"/><child link="stand"/></joint></robot>'
    with pytest.raises(tt.ModelError, match="stand -> bob -> stand"):
        from_urdf(GOOD.replace("</robot>", back))
