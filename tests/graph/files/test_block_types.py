"""Classes of users' own in model files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.graph.files.model_texts import ARM, HEAD, PIN, SPRING, accelerations
from titop.graph.files import block_types
from titop.graph.files.block_types import register_block
from titop.graph.files.file_fields import NUMBER, FileField
from titop.graph.files.saving import to_text
from titop.graph.load import load


class Bar(tt.Block):
    """A user's block: a rigid bar with a port at its end."""

    ports = ("C",)

    def __init__(self, name: str, length: float = 1.0, density: float = 1.0) -> None:
        super().__init__(name)
        if length < 0:
            raise ValueError("a negative length")
        self.length, self.density = length, density

    def pose(self, port: str, q: Any) -> tuple[Any, Any]:
        return np.eye(3), np.array([0.0, 0.0, self.length])

    def mass_matrix(self, q: Any) -> Any:
        return self.density * self.length * np.eye(6)


def with_bars() -> tt.System:
    """Return a system with a user's block as a body and one as a joint."""
    s = tt.System("bars")
    bar = Bar("bar", length=0.3)
    s.connect("world", bar, tt.Revolute("hinge", axis=[1, 0, 0]))
    s.connect(bar.port("C"), tt.RigidBody("tip", 1.0), Bar("link", length=0.1 + 0.2, density=2.0))
    return s


@pytest.fixture
def registered() -> Iterator[None]:
    """Register the user's block for one test."""
    known = dict(block_types._TYPES)
    register_block(Bar, "bar", {"length": NUMBER, "density": FileField(NUMBER, 1.0)})
    yield
    block_types._TYPES.clear()
    block_types._TYPES.update(known)


class TestUserBlocks:
    def test_an_unregistered_class_is_refused_by_name(self) -> None:
        with pytest.raises(tt.ModelError) as caught:
            to_text(with_bars())
        assert [(finding.code, finding.where) for finding in caught.value.findings] == [
            ("unregistered-class", "bar"),
            ("unregistered-class", "link"),
        ]
        assert "register_block" in str(caught.value)

    def test_a_subclass_of_a_known_class_is_no_known_class(self) -> None:
        s = tt.System()
        s.connect("world", tt.RigidBody("b", 1.0, inertia=1.0), type("Mine", (tt.Revolute,), {})("hinge"))
        with pytest.raises(tt.ModelError, match="got Mine; expected a class that files know"):
            to_text(s)

    @pytest.mark.usefixtures("registered")
    def test_round_trip(self) -> None:
        text = to_text(with_bars())
        assert '[joints.link]\ntype = "bar"\nparent = "bar.C"\nchild = "tip"\nlength = 0.30000000000000004\n' in text
        assert to_text(load(text)) == text
        assert accelerations(load(text)) == accelerations(with_bars())

    @pytest.mark.usefixtures("registered")
    def test_a_constructor_that_refuses(self) -> None:
        text = to_text(with_bars()).replace("length = 0.3\n", "length = -1\n")
        with pytest.raises(tt.ModelError, match="ValueError: a negative length") as caught:
            load(text)
        assert (caught.value.code, caught.value.where) == ("block-fails", "bodies.bar")

    @pytest.mark.usefixtures("registered")
    def test_type_names_are_unique_but_a_class_may_be_registered_again(self) -> None:
        register_block(Bar, "bar", {"length": NUMBER})
        with pytest.raises(tt.ModelError, match="choose another name"):
            register_block(Bar, "rigid", {})

    def test_a_users_closure_has_the_table_of_closures(self) -> None:
        known = dict(block_types._TYPES)
        cls = type("Strut", (tt.CompliantClosure,), {"__module__": __name__})
        try:
            register_block(cls, "strut", {"stiffness": NUMBER})
            text = SPRING.replace("compliant", "strut").partition("damping")[0]
            text = HEAD + ARM + "[closures.pin]\n" + text + PIN.partition("length]\n")[2] + 'first = "arm"\nsecond = "world"\n'
            assert type(load(text).loops[0].closure) is cls
            with pytest.raises(tt.ModelError, match="rename the field"):
                register_block(cls, "strut", {"first": NUMBER})
            with pytest.raises(tt.ModelError, match="choose another name"):
                register_block(cls, "rigid", {})
            register_block(cls, "weld", {})  # a joint's type, which is no closure's
        finally:
            block_types._TYPES.clear()
            block_types._TYPES.update(known)

    def test_fields_that_every_table_has_are_refused(self) -> None:
        with pytest.raises(tt.ModelError, match="rename the field"):
            register_block(Bar, "bar", {"type": NUMBER, "parent": NUMBER})


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ((int, "bar", {}), "int: got .*not-a-block"),
        ((tt.Beam("beam", 1, 1, 1, 1, 1, 1), "bar", {}), "not-a-block"),
        ((tt.RigidBody, "", {}), r"RigidBody\.type_name"),
        ((tt.RigidBody, 3, {}), r"RigidBody\.type_name"),
        ((tt.RigidBody, "bar", ["mass"]), r"RigidBody\.fields"),
        ((tt.RigidBody, "bar", {"mass": float}), r"RigidBody\.mass: .*ValueKind"),
    ],
)
def test_only_classes_of_blocks_with_kinds_of_fields_are_registered(arguments: Any, found: str) -> None:
    with pytest.raises(tt.ModelError, match=found):
        register_block(*arguments)
