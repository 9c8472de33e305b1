"""`Model.to_jax`: a model's functions for arrays of JAX, with derivatives of first and second order.

JAX calls them back from compiled code. Their derivatives are matrices, which it multiplies forward and back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from titop.blocks.basics.errors import missing_extra
from titop.solvers.tensors.differentiable import Differentiable, TensorModel


def jax_model(
    model: Any, parameters: Sequence[str] = (), inputs: Sequence[str] = (), outputs: Sequence[str] | None = None
) -> TensorModel:
    """Return a model's functions of JAX's arrays: `Model.to_jax`."""
    try:
        import jax
    except ImportError as error:
        raise missing_extra("jax", "jax", "Model.to_jax", "JAX") from error
    return TensorModel(model, parameters, inputs, outputs, partial(_of_arrays, jax), jax_model)


def _of_arrays(jax: Any, function: Differentiable) -> Callable[..., Any]:
    """Return a function of JAX's arrays."""

    @jax.custom_jvp
    def slopes(*given: Any) -> Any:
        return _computed(jax, function.slopes, given, _matrices(function))

    @slopes.defjvp
    def _(given: Any, changes: Any) -> Any:
        changed = _computed(jax, function.curvatures, (*given, *changes), _matrices(function))
        return slopes(*given), changed

    @jax.custom_jvp
    def values(*given: Any) -> Any:
        return _computed(jax, function.values, given, function.shape)

    @values.defjvp
    def _(given: Any, changes: Any) -> Any:
        value = values(*given)
        change = sum(jax.numpy.einsum("...ij,...j->...i", by, d) for by, d in zip(slopes(*given), changes, strict=True))
        return value, change.reshape(value.shape)

    def call(*state: Any, **others: Any) -> Any:
        given, xp = function.given(state, others), jax.numpy
        floats = [x for x in map(xp.asarray, (*state, *others.values())) if xp.issubdtype(x.dtype, xp.floating)]
        kind = xp.result_type(*floats, xp.float32) if floats else xp.result_type(float)
        return values(*(xp.asarray(x, kind) for x in given))

    call.__name__, call.__doc__ = function.name, f"`Model.{function.name}`, of JAX's arrays."
    return call


def _matrices(function: Differentiable) -> list[tuple[int, ...]]:
    return [(int(np.prod(function.shape)), size) for size in function.sizes.values()]


def _computed(jax: Any, compute: Callable[..., Any], given: Sequence[Any], shapes: Any) -> Any:
    """Return arrays of these shapes, stacked as the arguments are when these are broadcast."""
    stack = jax.numpy.broadcast_shapes(*(x.shape[:-1] for x in given))
    kind = jax.numpy.result_type(*given, jax.numpy.float32)

    def called(*arrays: Any) -> Any:
        stack = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
        rows = [np.broadcast_to(x, (*stack, x.shape[-1])).reshape(-1, x.shape[-1]) for x in map(np.asarray, arrays)]
        found = compute(*(np.array(x, dtype=float, order="C") for x in rows))
        if isinstance(found, list):
            return [x.reshape(*stack, *x.shape[1:]).astype(kind) for x in found]
        return found.reshape(*stack, *found.shape[1:]).astype(kind)

    def result(shape: tuple[int, ...]) -> Any:
        return jax.ShapeDtypeStruct((*stack, *shape), kind)

    results = list(map(result, shapes)) if isinstance(shapes, list) else result(shapes)
    return jax.pure_callback(called, results, *given, vmap_method="broadcast_all")
