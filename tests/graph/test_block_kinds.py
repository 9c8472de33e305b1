"""Graphs and solvers ask a block for what they need, not which kind of block it is: kinds of one's own are then first class."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import titop
from titop.blocks.contract.block import Block

ROOT = Path(titop.__file__).parent

#: What a block is for in a system, not which kind it is: what has a method of `System` that adds it, and a shape of law of its
#: own. `PortedBlock` is what ports can be added to.
ROLES = {
    *("Block", "Joint", "Closure", "RigidClosure", "Interaction", "Gear", "Relation", "CoordinateLimits", "Load", "Sensor"),
    *("MultiplierClosure", "Actuator", "CoordinateActuator", "PortActuator", "PortedBlock", "World", "Device"),
    "CompositeDevice",
}

#: The places that know a kind, and why.
KNOWN = {
    "graph/checking/targets.py": (
        {"TendonSensor", "ReactionSensor", "Encoder", "DriveSensor"},
        "sensors that read no coordinate's rate",
    ),
    "solvers/signals/sensor_quantities.py": (
        {*("Accelerometer", "Gyro", "PoseSensor", "Encoder", "Tachometer", "WheelMomentum", "TendonSensor", "StrainGauge")}
        | {"ReactionSensor", "DriveSensor"},
        "the register of what sensors read: a line for each kind",
    ),
    "solvers/lft/system_loop.py": ({"PathStates"}, "filters in series, exact where ports turn"),
    "solvers/mechanism/system_parameters.py": (
        {"RigidBody"},
        "parameters whose checks can be left out, microseconds in families",
    ),
    "solvers/engines/compiled/repacking.py": ({"RigidBody"}, "the same of compiled models"),
    "solvers/constraints/closed_derivatives.py": ({"CompliantClosure"}, "derivatives of a pose that closures alone store"),
    "solvers/simulation/monitor.py": ({"CompliantClosure"}, "a rotation vector that jumps at half a turn"),
}


def kinds() -> set[str]:
    """Return the names of all classes of blocks in `titop.blocks` that are no roles."""
    for info in pkgutil.walk_packages([str(ROOT / "blocks")], "titop.blocks."):
        importlib.import_module(info.name)
    found, todo = set(), [Block]
    while todo:
        cls = todo.pop()
        todo += cls.__subclasses__()
        found |= {cls.__name__} if cls.__module__.startswith("titop.blocks.") else set()
    return found - ROLES


KINDS = kinds()


#: Functions that are given an object and classes.
COMPARING = ("isinstance", "issubclass", "redefines", "overrides_method")


def asked(source: str) -> set[str]:
    """Return the kinds that a source asks for: in calls and comparisons of classes, cases, keys, members of a class."""
    return {name for node in ast.walk(ast.parse(source)) for name in _asked_by(node)}


def _asked_by(node: ast.AST) -> Iterator[str]:
    parts: list[ast.AST | None] = []
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in COMPARING:
        parts = [*node.args[1:]]
    elif isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    elif isinstance(node, ast.MatchClass):
        parts = [node.cls]
    elif isinstance(node, ast.Dict):
        parts = [*node.keys]
    elif isinstance(node, ast.Attribute):
        parts = [node.value]
    for part in parts:
        for name in ast.walk(part) if part is not None and not isinstance(part, ast.Call) else ():
            if isinstance(name, ast.Name) and name.id in KINDS:
                yield name.id


@pytest.mark.parametrize("path", [*ROOT.glob("graph/**/*.py"), *ROOT.glob("solvers/**/*.py")], ids=lambda path: path.stem)
def test_no_one_asks_which_kind_a_block_is(path: Path) -> None:
    known, _ = KNOWN.get(path.relative_to(ROOT).as_posix(), (set(), ""))
    assert asked(path.read_text("utf8")) <= known


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_known_is_still_asked(name: str) -> None:
    """No exception that nobody needs any more."""
    assert KNOWN[name][0] <= asked((ROOT / name).read_text("utf8"))


@pytest.mark.parametrize(
    "source",
    [
        "isinstance(block, RigidBody | Joint)",
        "type(block) is Beam",
        "type(block) in (Rod, SoftBody)",
        "issubclass(type(block), (Joint, FlexibleBody))",
        "redefines(block, 'pose', Beam)",
        "TABLE = {Rod: 1}",
        "match block:\n    case SoftBody():\n        pass",
        "block.check is RigidBody.check",
        "isinstance(joint, Free)",
    ],
)
def test_the_finder_finds(source: str) -> None:
    """The negative control."""
    assert len(asked(source)) >= 1


def test_the_finder_lets_roles_pass() -> None:
    assert asked("isinstance(block, Joint | Interaction)\nRigidBody('hub', 1.0)") == set()
