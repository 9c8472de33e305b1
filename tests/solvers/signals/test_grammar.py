"""Names of signals: what they stand for, their units, and that nobody else takes them apart."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import titop as tt
from tests.solvers.signals.rigs import ROLES
from titop.solvers.signals.grammar import COMMANDED, INPUT, MEASURED, OUTPUT, STATE, UNKNOWN, Role, read_name
from titop.solvers.signals.quantities import Kind

ROOT = Path(tt.__file__).parent


# -- names -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "name", "kind", "owner", "entries", "paths"),
    [
        (OUTPUT, "hinge.q", Kind.POSITION, "hinge", (3,), ("hinge.q",)),
        (OUTPUT, "boom.extension.tau", Kind.EFFORT, "boom.extension", (1,), ("boom.extension.tau",)),
        (OUTPUT, "boom.a", Kind.ACCELERATION, "boom", (1, 2), ("boom.extension.a", "boom.slosh.a")),
        (OUTPUT, "segment.q", Kind.POSITION, "segment", (4,), ("segment.q",)),
        (OUTPUT, "segment.v", Kind.TWIST, "segment", (0, 1, 2), ("segment.v[0]", "segment.v[1]", "segment.v[2]")),
        (OUTPUT, "tip.E.w[1]", Kind.TWIST, "tip.E", (4,), ("tip.E.w[1]",)),
        (OUTPUT, "pose.theta[2]", Kind.POSE, "tip", (5,), ("pose.theta[2]",)),
        (OUTPUT, "pose.theta", Kind.POSE, "tip", (3, 4, 5), ("pose.theta[0]", "pose.theta[1]", "pose.theta[2]")),
        (OUTPUT, "length", Kind.CONFIGURATION, "boom.extension", (1,), ("length",)),
        (OUTPUT, "weld.reaction[3]", Kind.REACTION, "weld", (3,), ("weld.reaction[3]",)),
        (INPUT, "hinge", Kind.EFFORT, "hinge", (3,), ("hinge",)),
        (INPUT, "hinge.tau", Kind.EFFORT, "hinge", (3,), ("hinge",)),
        (INPUT, "bender", Kind.INPUT, "bender", (1,), ("bender",)),
        (INPUT, "tip.E.T", Kind.WRENCH, "tip.E", (3, 4, 5), ("tip.E.T[0]", "tip.E.T[1]", "tip.E.T[2]")),
        (INPUT, "tip.E[4]", Kind.WRENCH, "tip.E", (4,), ("tip.E.T[1]",)),
        (UNKNOWN, "segment", Kind.POSITION, "segment", (4,), ("segment.bend",)),
        (UNKNOWN, "lift.v", Kind.RATE, "lift", (0,), ("lift.v",)),
        (UNKNOWN, "tip.mass", Kind.PARAMETER, "tip.mass", (0,), ("tip.mass",)),
        (STATE, "boom", Kind.STATE, "boom", (1, 2), ("boom.extension", "boom.slosh")),
        (MEASURED, "hinge.q", Kind.CONFIGURATION, "hinge", (3,), ("hinge.q",)),
        (COMMANDED, "boom.extension", Kind.EFFORT, "boom.extension", (1,), ("boom.extension.tau",)),
    ],
)
def test_names_stand_for(model, role: Role, name: str, kind: Kind, owner: str, entries, paths) -> None:
    of = read_name(model, role, name)
    assert (of.kind, of.owner, of.entries, of.paths) == (kind, owner, entries, paths)


def test_tendons_stand_for_their_tension() -> None:
    rod = tt.Rod("rod", 1.0, tt.Section.circle(0.01), young=1e8, density=1e3, strains={"bending_z": 0})
    s = tt.System("finger")
    s.connect("world", rod, tt.Weld("clamp"))
    s.add_interaction(tt.Tendon("flexor", rod, y=0.008))
    for role in (INPUT, UNKNOWN, COMMANDED):
        of = read_name(s.resolve("reference"), role, "flexor")
        assert (of.kind, of.entries, of.paths) == (Kind.INPUT, (0,), ("flexor.tension",))


@pytest.mark.parametrize("role", ROLES.values(), ids=ROLES)
@pytest.mark.parametrize("name", ["hinge.x", "tip.E.w[3]", "Hinge", "", "[0]", ".q", "tip..w", 3, None])
def test_other_names_are_refused_with_advice(model, role: Role, name) -> None:
    with pytest.raises(tt.ModelError, match=re.escape(role.expected)) as refusal:
        read_name(model, role, name)
    assert refusal.value.findings[0].code == f"unknown-{role.what}"


@pytest.mark.parametrize("role", ROLES.values(), ids=ROLES)
def test_whatever_is_proposed_is_valid(model, role: Role) -> None:
    """All names of a role can be read, and the closest ones come first."""
    names = [*role.names(model)]
    assert len(names) >= model.nv
    for name in names:
        of = read_name(model, role, name)
        assert len(of.entries) == len(of.paths) > 0
        with pytest.raises(tt.ModelError, match=re.escape(repr(name))):
            read_name(model, role, f"{name}_")


# -- one place -------------------------------------------------------------------------------------------------------------

#: Who takes dotted names apart; `compilation` does so with those of Python's modules, `block_network` with labels made by hand.
ALLOWED = {
    "blocks/basics/paths.py",
    "solvers/signals/grammar.py",
    "solvers/signals/forms.py",
    "solvers/signals/exported.py",
    "solvers/native/compilation.py",
    "solvers/native/identity.py",
    "solvers/engines/compiled/law_kinds.py",
    "solvers/linear/block_network.py",
    "solvers/programs/on_gpu.py",  # of a library: the package of a module
}

_AT_DOTS = {"partition", "rpartition", "split", "rsplit"}
_OF_ENDS = {"endswith", "removesuffix"}


def dissections(source: str) -> Iterator[int]:
    """Yield the lines in which a source takes dotted names apart: at a dot, by an ending, or by a pattern of a component."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        name, first = node.func.attr, [x.value for x in ast.walk(node.args[0]) if isinstance(x, ast.Constant)]
        texts = [text for text in first if isinstance(text, str)]
        at_dot = name in _AT_DOTS and "." in texts
        by_end = name in _OF_ENDS and any(re.fullmatch(r"\.[a-z]+", text) for text in texts)
        by_pattern = name in ("compile", "match", "fullmatch", "search") and any(r"\[" in text for text in texts)
        if at_dot or by_end or by_pattern:
            yield node.lineno


def test_nobody_else_takes_names_apart() -> None:
    files = [path for layer in ("blocks", "graph", "solvers") for path in sorted((ROOT / layer).rglob("*.py"))]
    assert len(files) > 250
    names = {path: path.relative_to(ROOT).as_posix() for path in files}
    found = {names[path] for path in files if [*dissections(path.read_text("utf8"))]}
    assert found - ALLOWED == set()


@pytest.mark.parametrize(
    "source",
    [
        'name.partition(".")',
        'owner, _, end = name.rpartition(".")',
        'name.split(".", 1)[0]',
        '"a.b".rsplit(".")',
        'name.removesuffix(".q")',
        'name.endswith((".q", ".v"))',
        're.compile(r"(.+)\\[(\\d+)\\]")',
    ],
)
def test_the_finder_of_dissections_finds(source: str) -> None:
    """The negative control."""
    assert [*dissections(source)] == [1]
    assert not [*dissections('name.split(", ") + text.endswith("q") + f"{name}.q" + re.compile("[a-z]").pattern')]
