"""Model files are written whole or not at all."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import titop as tt
from tests.graph.files.model_texts import hand_built
from titop.graph.files.saving import FORMAT, KEYS, SECTIONS, SYSTEM, VERSION, WORLD, save, to_text


class TestSaving:
    @pytest.mark.parametrize("name", ["x.txt", "x", "x.toml.bak", ".toml"])
    def test_other_suffixes_are_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(tt.ModelError, match=r"expected one of \.toml") as caught:
            hand_built().save(tmp_path / name)
        assert caught.value.code == "unknown-format"
        assert list(tmp_path.iterdir()) == []
        save(hand_built(), tmp_path / "x.TOML")

    def test_an_unsound_system_is_refused_and_nothing_written(self, tmp_path: Path) -> None:
        s = hand_built()
        s.connect(tt.RigidBody("lost", 1.0), tt.RigidBody("too", 1.0), tt.Revolute("pin"))
        with pytest.raises(tt.ModelError, match="unconnected"):
            save(s, tmp_path / "x.toml")
        assert list(tmp_path.iterdir()) == []

    def test_a_name_that_is_no_text_is_refused(self) -> None:
        s = hand_built()
        s.name = "\ud800"
        with pytest.raises(tt.ModelError, match="names that are text"):
            to_text(s)


# What stands in a model file: each section once, in the order in which files are written.


def test_sections_are_told_once_and_in_order() -> None:
    assert KEYS[:6] == ("format", "version", "order", "system", "parameters", "world")
    assert KEYS[6:] == SECTIONS
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
