"""Robots in URDF as short texts."""

from __future__ import annotations

import warnings

import pytest

import titop as tt
from titop.graph.robots.robot import AXIAL_KINDS
from titop.graph.robots.urdf import from_urdf

#: Products of a few rounded numbers of order one.
ROUNDING = 1e-14


def inertial(mass: float = 2.0, xyz: str = "0 0 0", rpy: str = "0 0 0", diagonal: tuple[float, ...] = (0.3, 0.4, 0.5)) -> str:
    """Return an inertial element."""
    xx, yy, zz = diagonal
    tensor = f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/>'
    return f'<inertial><origin xyz="{xyz}" rpy="{rpy}"/><mass value="{mass}"/>{tensor}</inertial>'


def one_joint(kind: str, inside: str = "", inertia: str = "", name: str = "joint") -> str:
    """Return a robot of two links; their joint, if it has no axis, moves along or about x."""
    inertia = inertia or inertial()
    if kind in AXIAL_KINDS and "<axis" not in inside:
        inside += '<axis xyz="1 0 0"/>'
    links = f'<link name="stand"/><link name="bob">{inertia}</link>'
    ends = '<parent link="stand"/><child link="bob"/>'
    return f'<robot name="r">{links}<joint name="{name}" type="{kind}">{ends}{inside}</joint></robot>'


LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'


def load(text: str, base: str = "fixed") -> tt.Model:
    """Return the model of a text about which there is nothing to say."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return from_urdf(text, base).resolve()


def findings(text: str) -> dict[str, str]:
    """Return what is wrong: where and code."""
    with pytest.raises(tt.ModelError) as caught:
        from_urdf(text)
    assert all(finding.expected and finding.advice for finding in caught.value.findings)
    return {finding.where: finding.code for finding in caught.value.findings}


def warned(text: str) -> str:
    """Return the only warning."""
    with pytest.warns(tt.ModelWarning) as caught:
        from_urdf(text)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    return str(caught[0].message)


# -- what is refused ---------------------------------------------------------------------------------------------------

GOOD = one_joint("revolute", f'<origin xyz="0 0 1" rpy="0 0 0"/><axis xyz="0 1 0"/>{LIMIT}<dynamics damping="0.1"/>')
