"""Lines through rods that are not there, or do not carry each other."""

from __future__ import annotations

from typing import Any

import pytest

import titop as tt


def rod(name: str, **fields: Any) -> tt.Rod:
    return tt.Rod(name, 0.3, tt.Section.circle(0.01), young=1e6, density=1000.0, strains={"bending_z": 0}, **fields)


def chain(joint: tt.Block | None = None, port: str = "tip", link: tt.Block | None = None) -> tuple[tt.System, tt.Rod, tt.Rod]:
    s, near, far = tt.System("chain"), rod("near", ports={"middle": 0.15, "end": 0.3}), rod("far")
    s.connect("world", near, tt.Weld("clamp"))
    knuckle = tt.RigidBody("knuckle", mass=0.1, inertia=1e-4, ports={"top": [0.01, 0, 0]}) if link is None else link
    s.connect(near.port(port), knuckle, tt.Weld("first"))
    s.connect(knuckle.port(knuckle.ports[0] if link else "top"), far, tt.Weld("second") if joint is None else joint)
    return s, near, far


def codes(s: tt.System) -> list[str]:
    return [finding.code for finding in s.check()]


@pytest.mark.parametrize("port", ["tip", "end"])
def test_rods_that_carry_each_other_are_fine(port: str) -> None:
    s, near, far = chain(port=port)
    s.add_interaction(tt.Tendon("tendon", [near, far], y=0.005))
    assert not codes(s)


def test_what_moves_between_rods_is_suspicious() -> None:
    for s, near, far in (chain(tt.Revolute("hinge")), chain(link=rod("middle"))):
        s.add_interaction(tt.Tendon("tendon", [near, far], y=0.005))
        assert codes(s) == ["moving-joint"]
    s, near, far = chain(tt.Revolute("hinge"))
    s.add_interaction(tt.Tendon("tendon", [near], y=0.005))
    assert not codes(s)


def test_rods_in_another_order_or_place_are_suspicious() -> None:
    s, near, far = chain()
    s.add_interaction(tt.Tendon("tendon", [far, near], y=0.005))
    assert codes(s) == ["not-in-series"]
    s, near, far = chain(port="middle")
    s.add_interaction(tt.Tendon("tendon", [near, far], y=0.005))
    assert codes(s) == ["not-at-the-tip"]


def test_rods_of_other_systems_are_refused() -> None:
    s, _near, _ = chain()
    s.add_interaction(tt.Tendon("twin", rod("near"), y=0.005))
    s.add_interaction(tt.Tendon("lost", rod("elsewhere"), y=0.005))
    with pytest.raises(tt.ModelError) as error:
        s.check()
    assert "twin.rods: got near; expected a rod of this system" in str(error.value)
    assert "lost.rods: got elsewhere" in str(error.value)


def test_targets_beside_the_rods_are_those_of_arms() -> None:
    s, near, _far = chain(tt.Revolute("hinge"))
    s.add_interaction(tt.Tendon("tendon", near, y=0.005), "hinge")
    with pytest.raises(tt.ModelError, match="tendon: got 2 coordinates; expected 1 coordinates"):
        s.check()


def test_sensors_read_tendons() -> None:
    s, near, _ = chain()
    s.add_interaction(tt.Tendon("tendon", near, y=0.005))
    s.add_interaction(tt.PressureChamber("chamber", near, area=1e-5, y=0.005))
    s.add_sensor(tt.TendonSensor("good", s["tendon"]))
    assert not codes(s)
    s.add_sensor(tt.TendonSensor("typo", "tndon"))
    s.add_sensor(tt.TendonSensor("other", "chamber"))
    with pytest.raises(tt.ModelError) as error:
        s.check()
    assert "typo.tendon: got tndon; expected a tendon of the system; did you mean 'tendon'" in str(error.value)
    assert "other.tendon: got chamber" in str(error.value)
