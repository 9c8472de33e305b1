"""Systems that are drawn, and what their figures hold."""

from __future__ import annotations

from typing import Any

import numpy as np

import titop as tt
from titop.graph.drawing.forest import Item, bundle, collapse_rest, forest
from titop.graph.drawing.outline import Box, outline


def body(name: str, **fields: Any) -> tt.RigidBody:
    """Return a body with a port ``tip``, fields replaced."""
    return tt.RigidBody(name, **({"mass": 1.0, "inertia": 0.1, "ports": {"tip": [0, 0, 1]}} | fields))


def chain(s: tt.System, start: Any, names: list[str]) -> tt.System:
    """Hang bodies one below the other on revolute joints."""
    for name in names:
        link = body(name)
        s.connect(start, link, tt.Revolute(f"{name}_joint", axis=[1, 0, 0]))
        start = link.port("tip")
    return s


def crane() -> tt.System:
    """Return two branches, two loads on one body, a motor and a sensor."""
    s = tt.System("crane")
    tower = body("tower")
    s.connect("world", tower, tt.Free("base"))
    chain(chain(s, tower.port("tip"), ["jib", "hook"]), tower, ["counterweight"])
    s.add_load(tt.Load("wind", tower.port("tip"), force=[3, 4, 0], frame="world"))
    s.add_load(tt.Load("gust", tower, torque=[0, 0, 7]))
    return s


def arms(count: int, links: int) -> tt.System:
    """Return a hub with arms that are subsystems."""
    s = tt.System("many arms")
    hub = body("hub")
    s.connect("world", hub, tt.Free("base"))
    for arm in range(count):
        chain(s, hub, [f"arm{arm}/link{k}" for k in range(links)])
    return s


def faulty() -> tt.System:
    """Return a system with a cycle, a body of negative mass, and a part that hangs on nothing."""
    s = tt.System("faulty")
    a, b = body("a"), body("b")
    s.connect("world", a, tt.Revolute("h1", axis=[1, 0, 0]))
    s.connect(a, b, tt.Revolute("h2", axis=[1, 0, 0]))
    s.connect(b, a, tt.Weld("h3"))
    s.connect(body("c"), body("lost", mass=-1.0), tt.Weld("h4"))
    return s


def four_bar() -> tt.System:
    """Return two branches that a pin closes to a loop."""
    s = tt.System("four_bar")
    chain(s, "world", ["crank", "coupler"])
    chain(s, "world", ["rocker"])
    s.close_loop(s["coupler"].port("tip"), s["rocker"].port("tip"), tt.RigidClosure("pin", "revolute"))
    return s


def two_loops() -> tt.System:
    """Return loops through one body, parallel closures, one to the world, and one between bodies of one column."""
    s = four_bar()
    chain(s, s["coupler"].port("tip"), ["link"])
    chain(s, "world", ["slider"])
    s.add_sensor(tt.Gyro("gyro", s["coupler"]))
    s.close_loop(s["link"].port("tip"), s["slider"], tt.RigidClosure("wrist", directions=np.eye(6)[:, :2]))
    for k in range(3):
        s.close_loop(s["rocker"], s["slider"].port("tip"), tt.CompliantClosure(f"spring{k}", stiffness=1))
    s.close_loop("world", s["slider"], tt.CompliantClosure("damper", damping=1))
    return s


def legged(legs: int = 12) -> tt.System:
    """Return a trunk of 40 bodies and more, its legs subsystems of two branches, with closures in and between them."""
    s, leg = tt.System("walker"), tt.System("leg")
    chain(leg, "world", ["thigh", "shin"])
    chain(leg, "world", ["rod"])
    leg.close_loop(leg["rod"].port("tip"), leg["shin"].port("tip"), tt.RigidClosure("ankle", "revolute"))
    chain(s, "world", ["trunk"])
    parts = [s.include(leg, f"leg{k}", at=s["trunk"].port("tip")) for k in range(legs)]
    chain(s, s["trunk"], ["tail0", "tail1", "tail2", "tail3"])
    for k in range(legs - 1):
        s.close_loop(parts[k].port("shin.tip"), parts[k + 1].port("shin.tip"), tt.CompliantClosure(f"band{k}", stiffness=1))
    for k in range(4):
        s.close_loop(s["tail3"], parts[3].port("shin.tip"), tt.CompliantClosure(f"string{k}", stiffness=1))
    return s


def ladder() -> tt.System:
    """Return a chain of 40 bodies, folded and collapsed at its end, with closures within rows and across them."""
    s = chain(tt.System("ladder"), "world", [f"link{k}" for k in range(40)])
    for first, second in ((1, 5), (7, 11), (15, 19), (22, 26), (2, 38), (33, 36)):
        ends = (s[f"link{k}"].port("tip") for k in (first, second))
        s.close_loop(*ends, tt.RigidClosure(f"pin{first}", "spherical"))
    s.close_loop("world", s["link36"], tt.RigidClosure("anchor"))
    return s


def devices() -> tt.System:
    """Return a hub with tanks, of several bodies at one port, and wheels out of balance at one port."""
    s = tt.System("craft")
    hub = body("hub", ports={name: [0, 0, 1] for name in ("tank", "wheels")})
    s.connect("world", hub, tt.Free("base"))
    s.add_device(tt.Slosh.sphere("fuel", hub.port("tank"), 0.3, 0.5, 1010.0, "spring", damping_ratio=0.02, acceleration=0.08))
    for k, axis in enumerate(np.eye(3)):
        s.add_device(tt.ReactionWheel(f"wheel{k}", hub.port("wheels"), axis, 0.1, mass=6.0, static_imbalance=3e-5))
    return s


def tendons() -> tt.System:
    """Return a rod that two tendons pull, with more coordinates than can be listed, and long names."""
    s = tt.System("manipulator")
    rod = tt.Rod("a_rod_with_a_name_that_is_longer_than_others", 0.5, tt.Section.circle(0.01), 1e6, 1000.0)
    s.connect("world", rod, tt.Weld("the/clamp/of/the/rod/at/the/base/of/all"))
    for k in range(2):
        s.add_interaction(tt.Tendon(f"pull{k}", rod, y=0.005 * (1 - 2 * k)))
    return s


def faulty_loops() -> tt.System:
    """Return closures with what is wrong: on one body, on a stranger, on a part that hangs on nothing."""
    s = four_bar()
    lamp = body("lamp")
    s.connect(lamp, body("bulb"), tt.Weld("socket"))
    s.close_loop(s["crank"], s["crank"].port("tip"), tt.RigidClosure("hoop"))
    s.close_loop(s["crank"], body("stranger").port("tip"), tt.RigidClosure("rope", "sperical"))
    s.close_loop(s["crank"], lamp, tt.RigidClosure("cable", "spherical"))
    return s


def top_of(s: tt.System) -> Item:
    """Return the boxes of a system, collapsed as they are drawn."""
    top = Item(Box("group", ""), children=forest(outline(s)))
    collapse_rest(top)
    bundle(top)
    return top


def names_of(figure: Any) -> list[str]:
    """Return the names of the boxes."""
    return [text.get_text() for text in figure.axes[0].texts if text.get_gid().startswith("name:")]


def texts_of(figure: Any) -> str:
    """Return everything that is written."""
    return "\n".join(text.get_text() for text in figure.axes[0].texts)
