"""A pendulum on a cart that learns with PyTorch: first its masses and friction from measurements, then how to swing up.

`Model.to_torch` gives forward dynamics of tensors. Their exact derivatives by parameters fit a mass and two dampers to noisy
accelerations; those by the state train a small network through the whole motion: it pushes the cart until the pole stands.

Run it: ``python examples/learned_pendulum.py`` draws ``learned_pendulum.png``. It needs PyTorch: ``pip install titop[torch]``.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np

import titop as tt

#: What is fitted, and what it truly is: kg, N s/m, N m s/rad.
TRUE = {"pole.mass": 0.35, "rail.damping": 0.4, "hinge.damping": 0.015}
#: Standard deviation of measured accelerations (m/s^2, rad/s^2).
NOISE = 0.2
#: Steps (s) of the motions through which the network learns, and how many.
STEP, STEPS = 0.025, 80
#: The largest push (N).
LARGEST = 15.0


class Fit(NamedTuple):
    """Fitted parameters, and their mean squared errors of the accelerations on the way."""

    values: dict[str, float]
    costs: list[float]


class Policy(NamedTuple):
    """A trained network, the costs on the way, and a motion: angles (rad) and places (m) at each step."""

    network: Any
    costs: list[float]
    angles: np.ndarray
    places: np.ndarray


def build() -> tt.System:
    """Return a pole on a cart; at an angle of zero it stands."""
    cart = tt.RigidBody("cart", mass=1.0)
    pole = tt.RigidBody("pole", mass=0.3, com=[0, 0, 0.5], inertia=[0.03, 0.03, 0.001])
    s = tt.System("cart and pole", gravity=[0, 0, -9.81])
    s.connect("world", cart, tt.Prismatic("rail", axis=[1, 0, 0], damping=0.1))
    s.connect(cart, pole, tt.Revolute("hinge", axis=[0, 1, 0], damping=0.001))
    return s


def fit(model: tt.Model, samples: int = 400, seed: int = 0) -> Fit:
    """Return the parameters that explain noisy accelerations of a cart that truly has those of `TRUE`."""
    import torch

    rng = np.random.default_rng(seed)
    q, v, tau = rng.uniform(-3, 3, (3, samples, 2))
    measured = model.with_parameters(TRUE).forward_dynamics(q, v, tau) + rng.normal(scale=NOISE, size=(samples, 2))
    learner = model.to_torch(parameters=list(TRUE))
    start = torch.tensor([model.parameters()[name][0] for name in TRUE], dtype=torch.float64)
    logarithms = torch.zeros(len(TRUE), dtype=torch.float64, requires_grad=True)  # masses and dampers stay positive
    state, goal = [torch.tensor(x) for x in (q, v, tau)], torch.tensor(measured)
    search, costs = torch.optim.LBFGS([logarithms], max_iter=60, line_search_fn="strong_wolfe"), list[float]()

    def cost() -> Any:
        search.zero_grad()
        loss = ((learner.forward_dynamics(*state, parameters=start * logarithms.exp()) - goal) ** 2).mean()
        loss.backward()
        costs.append(float(loss.detach()))
        return loss

    search.step(cost)
    values = (start * logarithms.exp()).detach().tolist()
    return Fit(dict(zip(TRUE, values, strict=True)), costs)


def train(model: tt.Model, rounds: int = 150, batch: int = 16, seed: int = 0) -> Policy:
    """Return a network that pushes the cart so that the pole, which hangs nearly still at first, stands at last."""
    import torch

    torch.manual_seed(seed)
    learner = model.to_torch()
    layers = [torch.nn.Linear(5, 32), torch.nn.Tanh(), torch.nn.Linear(32, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)]
    network = torch.nn.Sequential(*layers).double()
    search, costs = torch.optim.Adam(network.parameters(), lr=5e-3), list[float]()

    def motion(q: Any, v: Any) -> Any:
        """Return all configurations and pushes on the way, by the semi-implicit Euler rule."""
        on_the_way = []
        for _ in range(STEPS):
            seen = torch.stack([q[:, 1].sin(), q[:, 1].cos(), v[:, 1] / 5, q[:, 0], v[:, 0] / 3], dim=1)
            push = LARGEST * torch.tanh(network(seen))
            v = v + STEP * learner.forward_dynamics(q, v, torch.cat([push, torch.zeros_like(push)], dim=1))
            q = q + STEP * v
            on_the_way.append(torch.cat([q, v, push], dim=1))
        return torch.stack(on_the_way)

    hanging = torch.tensor([[0.0, np.pi]])
    for _ in range(rounds):
        x = motion(hanging + 0.1 * torch.randn(batch, 2, dtype=torch.float64), 0.1 * torch.randn(batch, 2, dtype=torch.float64))
        late = x[STEPS // 2 :]
        cost = (1 - late[..., 1].cos()).mean() + 0.05 * (late[..., :1] ** 2).mean() + 0.01 * (late[..., 3] ** 2).mean()
        cost = cost + 1e-4 * (x[..., 4] ** 2).mean()
        search.zero_grad()
        cost.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        search.step()
        costs.append(float(cost.detach()))
    with torch.no_grad():
        x = motion(hanging.double(), torch.zeros(1, 2, dtype=torch.float64))[:, 0].numpy()
    return Policy(network, costs, x[:, 1], x[:, 0])


def main(arguments: list[str] | None = None) -> tuple[Fit, Policy]:
    """Fit, train, and draw. Return both results."""
    parser = argparse.ArgumentParser(description="Learn a pendulum's parameters, and how to swing it up.")
    parser.add_argument("--output", default="learned_pendulum.png", help="name of the picture")
    parser.add_argument("--rounds", type=int, default=150, help="rounds of training")
    options = parser.parse_args(arguments)
    import matplotlib.pyplot as plt

    model = build().resolve()
    found = fit(model)
    for name, value in found.values.items():
        print(f"{name}: {value:.4f}, truly {TRUE[name]}")
    policy = train(model.with_parameters(found.values), rounds=options.rounds)
    print(f"cost of the policy: {policy.costs[0]:.2f} at first, {policy.costs[-1]:.3f} at last; ")
    print(
        f"at last the pole is {np.degrees(abs(np.arctan2(np.sin(policy.angles[-1]), np.cos(policy.angles[-1])))):.1f} deg off"
    )
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
    left.semilogy(found.costs)
    left.set(title="fit of three parameters", xlabel="evaluation", ylabel="mean squared error")
    middle.semilogy(policy.costs)
    middle.set(title="training of the policy", xlabel="round", ylabel="cost")
    t = STEP * np.arange(1, STEPS + 1)
    right.plot(t, np.degrees(policy.angles), label="pole [deg]")
    right.plot(t, 100 * policy.places, label="cart [cm]")
    right.set(title="swing-up", xlabel="t [s]")
    right.legend()
    figure.savefig(options.output)
    print(f"wrote {options.output}")
    return found, policy


if __name__ == "__main__":
    main()
