"""A model's functions for PyTorch, against PyTorch's own checks of gradients by differences."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.example_scripts import script
from tests.solvers.tensors.test_differentiable import NAMES, _arm

ROOT = Path(__file__).parents[3]
torch: Any = pytest.importorskip("torch")
pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture(scope="module")
def model() -> tt.Model:
    return _arm()


@pytest.fixture(scope="module")
def made(model: tt.Model) -> Any:
    return model.to_torch()


def _state(model: tt.Model, rows: int = 2) -> list[Any]:
    rng = np.random.default_rng(0)
    q = [1.1 * model.random_configuration(rng) for _ in range(rows)]  # quaternions of another length
    return [torch.tensor(np.array(x), requires_grad=True) for x in (q, *rng.normal(size=(2, rows, model.nv)))]


def _arguments(name: str, state: list[Any]) -> list[Any]:
    return state[: {"forward_dynamics": 3, "inverse_dynamics": 3, "momentum": 2, "configuration_rate": 2}.get(name, 1)]


@pytest.mark.parametrize("name", NAMES)
def test_gradients_pass_pytorchs_check(model: tt.Model, made: Any, name: str) -> None:
    function, given = getattr(made, name), _arguments(name, _state(model))
    assert torch.autograd.gradcheck(function, given, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, given, atol=1e-4)  # accelerations are some tens: differences of theirs

    def wrong(*x: Any) -> Any:
        return function(*x) + 1e-2 * (x[0].detach() ** 2).sum()

    with pytest.raises(RuntimeError, match="mismatch"):
        torch.autograd.gradcheck(wrong, given)


def test_values_have_the_models_bits_and_the_tensors_type(model: tt.Model, made: Any) -> None:
    q, v, tau = (x.detach() for x in _state(model))
    own = model.forward_dynamics(model.mechanism.unit_configuration(q.numpy()), v.numpy(), tau.numpy())
    assert np.array_equal(made.forward_dynamics(q, v, tau).numpy(), own)
    single = made.forward_dynamics(q.float(), v.float(), tau.float())
    assert single.dtype == torch.float32
    assert np.allclose(single, own, rtol=1e-4, atol=1e-4)
    assert made.forward_dynamics(q[0], v, tau[:, None]).shape == (2, 2, model.nv)


def test_no_states_have_gradients(model: tt.Model, made: Any) -> None:
    for name in ("forward_dynamics", "mass_matrix"):
        q = torch.zeros(0, model.nq, dtype=torch.float64, requires_grad=True)
        (gradient,) = torch.autograd.grad(getattr(made, name)(q).sum(), q)
        assert gradient.shape == q.shape


def test_copies_compute_the_same(model: tt.Model) -> None:
    made, q = model.to_torch(parameters=["upper.mass"]), torch.tensor(model.neutral())
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other.names == made.names
        assert torch.equal(other.mass_matrix(q, parameters=[2.0]), made.mass_matrix(q, parameters=[2.0]))


def test_it_is_mapped_and_differentiated_by_torch_func(model: tt.Model, made: Any) -> None:
    func = torch.func
    q, v, tau = (x.detach() for x in _state(model, 4))

    def cost(q: Any, v: Any, tau: Any) -> Any:
        return (made.forward_dynamics(q, v, tau) ** 2).sum()

    one = [func.grad(cost)(*x) for x in zip(q, v, tau, strict=True)]
    assert torch.allclose(func.vmap(func.grad(cost))(q, v, tau), torch.stack(one), rtol=1e-12, atol=1e-12)
    jacobian = func.jacrev(made.forward_dynamics, argnums=(0, 1, 2))(q[0], v[0], tau[0])
    for back, forward in zip(jacobian, func.jacfwd(made.forward_dynamics, argnums=(0, 1, 2))(q[0], v[0], tau[0]), strict=True):
        assert torch.allclose(back, forward, rtol=1e-10, atol=1e-10)
    hessians = [func.hessian(cost), func.jacfwd(func.jacfwd(cost)), func.jacrev(func.jacrev(cost))]
    found = [hessian(q[0], v[0], tau[0]) for hessian in hessians]
    for other in found[1:]:
        assert torch.allclose(found[0], other, rtol=1e-9, atol=1e-9 * float(found[0].abs().max()))
    assert torch.allclose(func.vmap(func.hessian(cost))(q, v, tau)[0], found[0], rtol=1e-9, atol=1e-9)
    nested = func.vmap(lambda a: func.vmap(lambda b: made.forward_dynamics(a, b, tau))(v))(q)
    assert torch.allclose(nested[1, 2, 3], made.forward_dynamics(q[1], v[2], tau[3]), rtol=1e-12, atol=1e-12)
    mixed = func.vmap(made.forward_dynamics, in_dims=(0, None, 1))(q, v[0], tau.T)
    assert torch.allclose(mixed[1], made.forward_dynamics(q[1], v[0], tau[1]), rtol=1e-12, atol=1e-12)


def test_third_derivatives_are_refused_or_no_numbers(model: tt.Model, made: Any) -> None:
    q, v, tau = (x.detach()[0] for x in _state(model))

    def cost(v: Any) -> Any:
        return made.forward_dynamics(q, v, tau).sum()

    third = torch.func.jacrev(torch.func.jacrev(torch.func.jacrev(cost)))
    assert torch.isnan(third(v)).all()
    with pytest.raises(NotImplementedError, match="third"):
        torch.func.jacfwd(torch.func.jacfwd(torch.func.jacrev(cost)))(v)


def test_masses_are_learned(model: tt.Model) -> None:
    names = ["upper.mass", "hinge.damping"]
    made, rng = model.to_torch(parameters=names), np.random.default_rng(3)
    true = torch.tensor([1.3, 0.25], dtype=torch.float64)
    q = torch.tensor(np.array([model.random_configuration(rng) for _ in range(20)]))
    v, tau = (torch.tensor(x) for x in rng.normal(size=(2, 20, model.nv)))
    measured = made.forward_dynamics(q, v, tau, parameters=true)
    guess = torch.tensor([1.0, 0.1], dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS(
        [guess], max_iter=100, tolerance_grad=1e-14, tolerance_change=1e-16, line_search_fn="strong_wolfe"
    )

    def cost() -> Any:
        search.zero_grad()
        loss = ((made.forward_dynamics(q, v, tau, parameters=guess) - measured) ** 2).mean()
        loss.backward()
        return loss

    search.step(cost)
    assert torch.allclose(guess, true, rtol=1e-6)  # of a quadratic's flat bottom the square root of rounding is left


def test_the_page_runs() -> None:
    s = tt.System("slider", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("slider", mass=2.0), tt.Prismatic("rail", axis=[0, 0, 1]))
    page = (ROOT / "examples" / "pages" / "derivatives.md").read_text()
    (block,) = re.findall(r"```py\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {"m": s.resolve()}
    exec(compile(block, "page", "exec"), names)
    assert float(names["mass"].grad) == 0.0  # what falls does so alike


def test_the_example_fits_and_learns(tmp_path: Path) -> None:
    example = script("learned_pendulum")
    found, policy = example["main"](["--output", str(tmp_path / "figure.png"), "--rounds", "60"])
    for name, value in example["TRUE"].items():
        assert found.values[name] == pytest.approx(value, rel=0.1), name  # 400 noisy samples: errors of 4 percent at most
    assert policy.costs[-1] < 0.5 * policy.costs[0]
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
