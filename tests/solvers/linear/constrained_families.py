"""Families of systems with closures and gears."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import titop as tt
from tests.closed_systems import bar

MATRICES = ("A", "B", "C", "D")


def chain(lengths: tuple[float, ...], ground: float) -> tt.Model:
    """Return a planar chain of bars on the world whose end is pinned to the ground."""
    s = tt.System("chain", gravity=[0, -9.81, 0])
    s.world.add_port("ground", [ground, 0, 0])
    parent: Any = "world"
    for k, length in enumerate(lengths):
        link = bar(f"bar{k}", length, 1.0)
        s.connect(parent, link, tt.Revolute(f"q{k}"))
        parent = link.port("end")
    s.close_loop(s.world.port("ground"), parent, tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    return s.resolve()


def four_bar() -> tt.Model:
    """Return the linkage of the page on loops."""
    return chain((0.3, 0.9, 0.7), 1.0)


class Case(NamedTuple):
    """A family over the values of a parameter: what is searched, from where."""

    model: tt.Model
    parameter: str
    values: Any
    unknowns: list[str]
    q: Any

    def family(self, values: Any = None, **options: Any) -> tt.LPVModel:
        """Return the family, from the first joint's effort to its coordinate."""
        joint = self.model.coordinate_names[0]
        signals = {"inputs": [joint], "outputs": [f"{joint}.q"]}
        over = {self.parameter: self.values if values is None else values}
        return tt.lpv(self.model, over, unknowns=self.unknowns, q=self.q, **signals, **options)

    def member(self, family: tt.LPVModel, value: float, **options: Any) -> Any:
        """Return the linear model at a value, from an equilibrium searched near the family's trim."""
        trim = family.trim_at({self.parameter: value})
        parameters = {} if self.parameter.endswith(".q") else {self.parameter: value}
        q = trim["q"]
        if self.parameter.endswith(".q"):
            q = self.model.assemble(q, fixed=[self.parameter[:-2]])
        point = tt.trim(self.model, self.unknowns, q=q, tau=trim["tau"], parameters=parameters)
        joint = self.model.coordinate_names[0]
        return tt.linearize(self.model, point, [joint], [f"{joint}.q"], **options)


def crank_case(low: float = 1.0, high: float = 3.0, points: int = 9) -> Case:
    model = four_bar()
    q = model.assemble([low, -1.0, -1.0], fixed=["q0"])
    return Case(model, "q0.q", np.linspace(low, high, points), ["q1", "q2", "q0.tau"], q)
