"""A pole on a ball joint, swung up in space by a cart that is pushed along two rails: trajectory optimisation by collocation.

Nodes in time hold states and forces. Between neighbours the trapezoidal rule must hold,
``difference(q0, q1) = h (v0 + v1) / 2``, and the same of rates and accelerations. scipy's SLSQP looks for the least integral of
the squared forces, with exact derivatives: `forward_dynamics_derivatives` of all nodes at once, `integrate_derivatives` and
`difference_derivatives` for the quaternions. The plan is then tried in a simulation, with its forces alone.

Run it: ``python examples/swing_up.py`` draws ``swing_up.png``.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult, minimize

import titop as tt

#: Time (s) of the motion, and its nodes.
DURATION, NODES = 1.6, 21
#: Where the cart is at first (m); at the end it stands at the origin.
START = {"rail_x": 0.4, "rail_y": -0.3}


class Plan(NamedTuple):
    """Nodes in time `t` (n): configurations, rates and forces (n, 2); what the optimiser says."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    force: np.ndarray
    result: OptimizeResult


def build() -> tt.System:
    """Return the cart on its two rails, and the pole that hangs from it."""
    slide, cart = tt.RigidBody("slide", mass=0.2), tt.RigidBody("cart", mass=1.0)
    pole = tt.RigidBody("pole", mass=0.3, com=[0, 0, -0.5], inertia=[0.025, 0.025, 0.001], ports={"tip": [0, 0, -1.0]})
    s = tt.System("swing-up", gravity=[0, 0, -9.81])
    s.connect("world", slide, joint=tt.Prismatic("rail_x", axis=[1, 0, 0]))
    s.connect(slide, cart, joint=tt.Prismatic("rail_y", axis=[0, 1, 0]))
    s.connect(cart, pole, joint=tt.Spherical("ball", damping=0.01 * np.eye(3)))
    return s


class Problem:
    """The optimisation of a motion from hanging to standing: unknowns are displacements from a guess, rates and forces.

    Attributes
    ----------
    guess : (n, nq) array
        The pole turns steadily, the cart moves straight.
    held : (k,) array
        The unknowns that stay zero: first and last displacement and rates, but for the pole's spin at last, which nothing
        drives.
    """

    def __init__(self, model: tt.Model) -> None:
        self.model, self.t = model, np.linspace(0.0, DURATION, NODES)
        self.h = self.t[1]
        start, end = model.configuration(START), model.configuration({"ball": [0.6, -0.8, 0.0, 0.0]})
        whole = model.difference(start, end)
        self.guess = model.integrate(np.tile(start, (NODES, 1)), np.outer(self.t / DURATION, whole))
        steady = np.tile(whole / DURATION, (NODES, 1))
        steady[[0, -1]] = 0.0
        self.x = np.concatenate([np.zeros((NODES, model.nv)), steady, np.zeros((NODES, 2))], axis=1).ravel()
        spin = model.coordinate_names.index("ball.rz")
        states = np.arange(self.x.size).reshape(NODES, -1)[:, : 2 * model.nv]
        self.held = np.concatenate([states[0], np.delete(states[-1], [spin, model.nv + spin])])

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return displacements, rates and forces of all nodes."""
        n, rows = self.model.nv, x.reshape(NODES, -1)
        return rows[:, :n], rows[:, n : 2 * n], rows[:, 2 * n :]

    def states(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return configurations, rates and efforts of all nodes."""
        dq, v, force = self.split(x)
        tau = np.hstack([force, np.zeros((NODES, self.model.nv - 2))])
        return self.model.integrate(self.guess, dq), v.copy(), tau

    def cost(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the integral of the squared forces, and its gradient."""
        weights = np.full(NODES, self.h)
        weights[[0, -1]] *= 0.5
        force, gradient = self.split(x)[2], np.zeros(x.shape)
        self.split(gradient)[2][:] = 2.0 * weights[:, None] * force
        return float(weights @ (force**2).sum(axis=1)), gradient

    def defects(self, x: np.ndarray) -> np.ndarray:
        """Return what the trapezoidal rule lacks between all nodes, and first and last states of where they should be."""
        m = self.model
        q, v, tau = self.states(x)
        a = m.forward_dynamics(q, v, tau)
        along = m.difference(q[:-1], q[1:]) - 0.5 * self.h * (v[:-1] + v[1:])
        rates = v[1:] - v[:-1] - 0.5 * self.h * (a[:-1] + a[1:])
        return np.concatenate([along.ravel(), rates.ravel(), x[self.held]])

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """Return the derivatives of the defects by all unknowns."""
        m, n, h = self.model, self.model.nv, self.h
        q, v, tau = self.states(x)
        _, by_step = m.integrate_derivatives(self.guess, self.split(x)[0])
        by_q, by_v, by_tau = m.forward_dynamics_derivatives(q, v, tau)
        a_by = np.concatenate([by_q @ by_step, by_v, by_tau[:, :, :2]], axis=2)  # of all nodes, (n, nv, 2 nv + 2)
        before, after = m.difference_derivatives(q[:-1], q[1:])
        J = np.zeros((2, NODES - 1, n, NODES, 2 * n + 2))
        for k in range(NODES - 1):
            for node, difference, sign in ((k, before[k], -1.0), (k + 1, after[k], 1.0)):
                J[0, k, :, node, :n] = difference @ by_step[node]
                J[0, k, :, node, n : 2 * n] = -0.5 * h * np.eye(n)
                J[1, k, :, node] = -0.5 * h * a_by[node]
                J[1, k, :, node, n : 2 * n] += sign * np.eye(n)
        return np.vstack([J.reshape(-1, x.size), np.eye(x.size)[self.held]])

    def solve(self) -> Plan:
        """Return the best motion that SLSQP finds."""
        constraint = {"type": "eq", "fun": self.defects, "jac": self.slopes}
        result = minimize(
            self.cost, self.x, jac=True, constraints=[constraint], method="SLSQP", options={"maxiter": 200, "ftol": 1e-2}
        )
        q, v, tau = self.states(result.x)
        return Plan(self.t, q, v, tau[:, :2], result)


def replay(model: tt.Model, plan: Plan) -> tt.Trajectory:
    """Return the simulation under the planned forces, straight lines between the nodes."""

    def forces(t: float, *_: object) -> np.ndarray:
        return np.array([*(np.interp(t, plan.t, force) for force in plan.force.T), *np.zeros(model.nv - 2)])

    return tt.simulate(model, np.linspace(0.0, DURATION, 161), plan.q[0], plan.v[0], tau=forces)


def height(model: tt.Model, q: np.ndarray) -> np.ndarray:
    """Return the height (m) of the pole's tip at stacked configurations."""
    return np.asarray(model.pose("pole.tip", q)[1][:, 2])


def main(argv: list[str] | None = None) -> tuple[Plan, tt.Trajectory]:
    """Plan, simulate and draw."""
    parser = argparse.ArgumentParser(description="A pole on a ball joint, swung up in space.")
    parser.add_argument("--output", default="swing_up.png")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    plan = Problem(model).solve()
    trajectory = replay(model, plan)
    tip = height(model, trajectory.q)
    print(f"SLSQP: {plan.result.nit} iterations, {plan.result.message}")
    print(f"integral of squared forces {plan.result.fun:.1f} N^2 s, largest force {np.abs(plan.force).max():.1f} N")
    print(f"tip from {tip[0]:.2f} m to {tip[-1]:.3f} m in the simulation")
    _draw(model, plan, trajectory).savefig(arguments.output)  # type: ignore[attr-defined]
    print(f"figure in {arguments.output}")
    return plan, trajectory


def _draw(model: tt.Model, plan: Plan, trajectory: tt.Trajectory) -> object:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    left.plot(plan.t, plan.force, "o-", markersize=3)
    left.set(title="forces along the rails", xlabel="t [s]", ylabel="N")
    left.legend(left.lines, ["along x", "along y"], fontsize=8)
    middle.plot(trajectory.t, height(model, trajectory.q))
    middle.plot(plan.t, height(model, plan.q), "k.", markersize=4, label="plan")
    middle.set(title="height of the tip", xlabel="t [s]", ylabel="m")
    middle.legend(fontsize=8)
    right.plot(*model.pose("pole.tip", trajectory.q)[1][:, :2].T, label="tip")
    right.plot(*trajectory.q[:, :2].T, label="cart")
    right.set(title="from above", xlabel="x [m]", ylabel="y [m]", aspect="equal", xlim=(-0.4, 0.9))
    right.legend(fontsize=8)
    return figure


if __name__ == "__main__":
    main()
