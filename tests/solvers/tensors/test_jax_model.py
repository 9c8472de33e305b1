"""A model's functions for JAX, against the model's own and central differences."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.solvers.tensors.test_differentiable import _arm

jax: Any = pytest.importorskip("jax")
pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def _double_precision() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def model() -> tt.Model:
    return _arm()


def _state(model: tt.Model, rows: int = 3) -> list[Any]:
    rng = np.random.default_rng(0)
    q = np.array([model.random_configuration(rng) for _ in range(rows)])
    return [q, *rng.normal(size=(2, rows, model.nv))]


def test_jit_vmap_and_grad(model: tt.Model) -> None:
    made, (q, v, tau) = model.to_jax(), _state(model)
    own = model.forward_dynamics(q, v, tau)
    assert np.array_equal(jax.jit(made.forward_dynamics)(q, v, tau), own)
    assert np.array_equal(jax.vmap(made.forward_dynamics)(q, v, tau), own)

    def cost(q: Any, v: Any, tau: Any) -> Any:
        return (made.forward_dynamics(q, v, tau) ** 2).sum()

    by_v = jax.jit(jax.vmap(jax.grad(cost, argnums=1)))(q, v, tau)
    expected = np.einsum("rm,rmn->rn", 2 * own, model.forward_dynamics_derivatives(q, v, tau)[1])
    assert np.allclose(by_v, expected, rtol=1e-12, atol=1e-10)
    back, forward = (of(made.forward_dynamics)(q[0], v[0], tau[0]) for of in (jax.jacrev, jax.jacfwd))
    assert np.allclose(back, forward, rtol=1e-12, atol=1e-12)


def test_hessians_and_their_products(model: tt.Model) -> None:
    made, (q, v, tau) = model.to_jax(), _state(model)

    def cost(v: Any) -> Any:
        return (made.forward_dynamics(q[0], v, tau[0]) ** 2).sum()

    hessian, gradient, step = jax.hessian(cost)(v[0]), jax.grad(cost), 1e-5
    units = np.eye(model.nv)
    differences = np.stack([(gradient(v[0] + step * e) - gradient(v[0] - step * e)) / (2 * step) for e in units], axis=1)
    assert np.allclose(hessian, differences, rtol=0, atol=1e-8 * np.abs(differences).max())
    product = jax.jvp(gradient, (v[0],), (tau[0],))[1]
    assert np.allclose(product, hessian @ tau[0], rtol=0, atol=1e-12 * np.abs(hessian).max())


def test_parameters_are_arguments(model: tt.Model) -> None:
    names = ["upper.mass", "hinge.damping"]
    made, (q, v, tau) = model.to_jax(parameters=names), _state(model)
    values = np.array([1.0, 0.1])

    def cost(values: Any) -> Any:
        return (made.forward_dynamics(q, v, tau, parameters=values) ** 2).sum()

    own, by_names = model.forward_dynamics(q, v, tau), model.forward_dynamics_sensitivities(q, v, tau, names)
    expected = [2 * (own * by_names[name]).sum() for name in names]
    assert np.allclose(jax.grad(cost)(values), expected, rtol=1e-9)


def test_whole_numbers_and_copies(model: tt.Model) -> None:
    """Whole numbers are those of the precision that is set; those of single precision stay so."""
    made, q, v = model.to_jax(), np.round(model.neutral()).astype(int), np.full(model.nv, 0.5)
    assert made.mass_matrix(q).dtype == made.mass_matrix(q.tolist()).dtype == np.float64
    assert made.forward_dynamics(q.astype(np.float32)).dtype == np.float32
    gradient = jax.grad(lambda v: made.forward_dynamics(q, v).sum())
    assert np.array_equal(gradient(v), jax.grad(lambda v: made.forward_dynamics(1.0 * q, v).sum())(v))
    assert np.array_equal(pickle.loads(pickle.dumps(made)).forward_dynamics(q, v), made.forward_dynamics(q, v))


def test_single_precision_and_errors(model: tt.Model) -> None:
    made, (q, v, tau) = model.to_jax(), _state(model)
    jax.config.update("jax_enable_x64", False)
    found = made.forward_dynamics(q, v, tau)
    assert found.dtype == np.float32
    assert np.allclose(found, model.forward_dynamics(q, v, tau), rtol=1e-3, atol=1e-3)
    with pytest.raises(tt.ModelError, match="wrong-shape"):
        made.forward_dynamics(q[:, :3], v, tau)
    with pytest.raises(Exception, match="not-finite"):
        made.forward_dynamics(q * np.nan, v, tau).block_until_ready()
