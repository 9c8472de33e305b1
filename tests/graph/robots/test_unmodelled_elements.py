"""What URDF says beside the dynamics is left out, told or not."""

from __future__ import annotations

import pytest

from tests.graph.robots.urdf_texts import GOOD, findings, load, warned


@pytest.mark.parametrize("text", ['<sdf version="1.7"/>', "<mujoco/>", '<x:robot xmlns:x="y"/>'])
def test_other_formats_are_refused(text: str) -> None:
    assert findings(text) == {"root": "not-urdf"}


def test_what_is_left_out_is_told_once() -> None:
    text = GOOD.replace("<link ", '<link colour="red" ')
    assert "r.stand: got attribute 'colour' of <link> (2 times)" in warned(text)
    assert "element <flexible>" in warned(GOOD.replace("</robot>", "<flexible/></robot>"))
    weightless = '<gazebo reference="bob"><turnGravityOff>true</turnGravityOff></gazebo></robot>'
    assert "r.bob: got element <gazebo><turnGravityOff>" in warned(GOOD.replace("</robot>", weightless))


def test_what_says_nothing_about_the_dynamics_is_left_out_silently() -> None:
    silent = '<material name="m"/><transmission/><gazebo/><sensor/><ros2_control/></robot>'
    text = GOOD.replace("</robot>", silent).replace("</inertial>", "</inertial><visual/><visual/><collision/><contact/>")
    load(text.replace("</joint>", '<calibration rising="0"/><safety_controller k_velocity="1"/></joint>'))
