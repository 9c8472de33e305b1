"""Systems that pictures show, with hostile names; and the lines of text for Graphviz."""

from __future__ import annotations

import titop as tt

#: A quoted DOT string: no bare quote, no backslash but before a quote, a backslash or an n.
STRING = r'"(?:[^"\\\n]|\\["\\n])*"'

ATTRIBUTES = rf"\[\w+=(?:{STRING}|\w+)(?:, \w+=(?:{STRING}|\w+))*\]"

LINES = [
    rf"digraph {STRING} \{{",
    r"  rankdir=LR;",
    r"  node \[fontname=Helvetica, fontsize=10\];",
    rf"  \w+ {ATTRIBUTES};",
    rf"  \w+ -> \w+(?: {ATTRIBUTES})?;",
    r"\}",
]


def crane() -> tt.System:
    """Return two bodies and a load."""
    s = tt.System("crane")
    tower = tt.RigidBody("tower", mass=10.0, inertia=1.0, ports={"top": [0, 0, 2]})
    hook = tt.RigidBody("hook", mass=2.5, ports={"eye": [0, 0, 0.1]})
    s.connect("world", tower, tt.Revolute("slew", axis=[0, 0, 1]))
    s.connect(tower.port("top"), hook.port("eye"), tt.Spherical("rope"))
    s.add_load(tt.Load("wind", tower.port("top"), force=[3, 4, 0], frame="world"))
    return s


def renamed(name: str) -> tt.System:
    """Return the crane, its tower, a joint and the system given a name that a constructor would refuse."""
    s = crane()
    s.name = s.connections[0].child.block.name = s.connections[1].joint.name = name
    return s


HOSTILE = [
    'a"]; evil [label="x',
    "a\\",
    'a\\"]; b',
    "a\nb -> c",
    "<b>bold</b>",
    "&quot;",
    "} digraph {",
    "a\x00\x1b\u202e",
    "]]-->|x|",
    "\\N\\G",
]


def looped() -> tt.System:
    """Return the crane with its hook tied to the world."""
    s = crane()
    hook = s.connections[1].child
    s.close_loop(hook, "world", tt.RigidClosure("rope2", directions=[[0], [0], [1], [0], [0], [0]]))
    s.close_loop(s["tower"].port("top"), hook.block, tt.CompliantClosure("spring", stiffness=1))
    return s
