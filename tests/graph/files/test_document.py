"""What stands in a model file: each section once, in the order in which files are written."""

from __future__ import annotations

import tomllib

import titop as tt
from titop.graph.files.saving import FORMAT, KEYS, SECTIONS, SYSTEM, VERSION, WORLD, to_text


def test_sections_are_told_once_and_in_order() -> None:
    assert KEYS[:5] == ("format", "version", "system", "parameters", "world")
    assert KEYS[5:] == SECTIONS
    assert len(set(KEYS)) == len(KEYS)


def test_files_have_these_keys_in_this_order() -> None:
    s = tt.System("s", gravity=[0, 0, -9.81])
    s.world.add_port("A", position=[1, 0, 0])
    s.connect(s.world.port("A"), tt.RigidBody("b", 1.0, inertia=1.0), tt.Revolute("j"))
    s.add_actuator(tt.Motor("m", "j"))
    s.add_sensor(tt.Encoder("e", "j"))
    read = tomllib.loads(to_text(s))
    assert (read["format"], read["version"]) == (FORMAT, VERSION)
    assert [*read] == [key for key in KEYS if key in read]
    assert {"bodies", "joints", "actuators", "sensors", "world"} < set(read)
    assert set(read["system"]) <= set(SYSTEM)
    assert set(read["world"]) <= set(WORLD)
