"""`Model.to_torch`: a model's functions for tensors of PyTorch, with derivatives of first and second order."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from titop.blocks.basics.spatial import Array
from titop.solvers.tensors.differentiable import Differentiable, TensorModel


def torch_model(
    model: Any, parameters: Sequence[str] = (), inputs: Sequence[str] = (), outputs: Sequence[str] | None = None
) -> TensorModel:
    """Return a model's functions of tensors: `Model.to_torch`."""
    return TensorModel(model, parameters, inputs, outputs, _of_tensors)


def _of_tensors(function: Differentiable) -> Callable[..., Any]:
    """Return a function of tensors."""

    def call(*state: Any, **others: Any) -> Any:
        given = function.given(state, others)
        like = [x for x in given if isinstance(x, torch.Tensor) and x.is_floating_point()]
        kind = functools.reduce(torch.promote_types, (x.dtype for x in like), like[0].dtype) if like else torch.float64
        where = like[0].device if like else None
        return _values(function, *(torch.as_tensor(x, dtype=kind, device=where) for x in given))

    call.__name__, call.__doc__ = function.name, f"`Model.{function.name}`, of tensors."
    return call


def _computed(compute: Callable[..., Any], tensors: Sequence[torch.Tensor]) -> Any:
    """Return arrays (rows, ...) that are computed from tensors (..., size), as tensors (..., ...)."""
    shape = torch.broadcast_shapes(*(x.shape[:-1] for x in tensors))
    rows = [x.detach().expand(*shape, x.shape[-1]).reshape(-1, x.shape[-1]).to("cpu", torch.float64).numpy() for x in tensors]

    def tensor(array: Array) -> torch.Tensor:
        return torch.from_numpy(array).to(tensors[0]).reshape(*shape, *array.shape[1:])

    found = compute(*map(np.ascontiguousarray, rows))
    return tuple(map(tensor, found)) if isinstance(found, list) else tensor(found)


def _made(compute: str, back: Callable[..., Any], change: Callable[..., Any]) -> Any:
    """Return what applies a method of a `Differentiable` to tensors, which may be broadcast and mapped by ``vmap``.

    Derivatives back by weights of the results, and forward along changes of the tensors, are such functions again:
    ``back(function, tensors, weights)`` returns one for each tensor, ``change(function, tensors, changes)`` one
    for each result.
    """

    class Made(torch.autograd.Function):
        @staticmethod
        def forward(function: Differentiable, *tensors: torch.Tensor) -> Any:
            return _computed(getattr(function, compute), tensors)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.function, *tensors = inputs
            ctx.save_for_backward(*tensors)
            ctx.save_for_forward(*tensors)

        @staticmethod
        def backward(ctx: Any, *weights: torch.Tensor) -> Any:
            found = back(ctx.function, ctx.saved_tensors, weights)
            return None, *(by.sum_to_size(x.shape) for by, x in zip(found, ctx.saved_tensors, strict=True))

        @staticmethod
        def jvp(ctx: Any, _: None, *changes: torch.Tensor | None) -> Any:
            pairs = zip(changes, ctx.saved_tensors, strict=True)
            known = [torch.zeros_like(x) if given is None else given for given, x in pairs]
            return change(ctx.function, ctx.saved_tensors, known)

        @staticmethod
        def vmap(info: Any, in_dims: tuple[Any, ...], function: Differentiable, *tensors: torch.Tensor) -> tuple[Any, Any]:
            found = Made.apply(function, *_in_stacks(info, in_dims[1:], tensors))
            return found, (0,) * len(found) if isinstance(found, tuple) else 0

    return Made.apply


def _back_values(f: Differentiable, x: Any, weights: Any) -> Any:
    (w,) = weights
    return _weighted(f, w.reshape(*w.shape[: w.ndim - len(f.shape)], -1), *x)


def _change_values(f: Differentiable, x: Any, dx: Any) -> Any:
    change = _changed(f, *x, *dx)
    return change.reshape(*change.shape[:-1], *f.shape)


def _back_weighted(f: Differentiable, tensors: Any, weights: Any) -> Any:
    w, *x = tensors
    return _changed(f, *x, *weights), *_curved(f, w, *x, *weights)


def _change_weighted(f: Differentiable, tensors: Any, changes: Any) -> Any:
    (w, *x), (dw, *dx) = tensors, changes
    return tuple(map(torch.add, _curved(f, w, *x, *dx), _weighted(f, dw, *x)))


def _back_changed(f: Differentiable, tensors: Any, weights: Any) -> Any:
    x = tensors[: len(tensors) // 2]
    return *_curved(f, *weights, *tensors), *_weighted(f, *weights, *x)


def _change_changed(f: Differentiable, tensors: Any, changes: Any) -> Any:
    n = len(tensors) // 2
    return _twice(f, *tensors, *changes[:n]) + _changed(f, *tensors[:n], *changes[n:])


def _back_curved(f: Differentiable, tensors: Any, weights: Any) -> Any:
    n = len(weights)
    w, x, along = tensors[0], tensors[1 : 1 + n], tensors[1 + n :]
    third = [torch.full_like(part, math.nan) for part in x]  # which are not known: no number is better than a wrong one
    return _twice(f, *x, *along, *weights), *third, *_curved(f, w, *x, *weights)


def _no_more(f: Differentiable, tensors: Any, given: Any) -> Any:
    raise NotImplementedError(f"{f.name}: tensors have first and second derivatives, no third ones")


_values = _made("values", _back_values, _change_values)
_weighted = _made("weighted", _back_weighted, _change_weighted)
_changed = _made("change", _back_changed, _change_changed)
_curved = _made("weighted_curvatures", _back_curved, _no_more)
_twice = _made("second_change", _no_more, _no_more)


def _in_stacks(info: Any, in_dims: Sequence[Any], tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return tensors of which some have a dimension more, at `in_dims`: with that one first, before as many others in all."""
    most = max(x.ndim - (d is not None) for x, d in zip(tensors, in_dims, strict=True))
    stacked = []
    for x, d in zip(tensors, in_dims, strict=True):
        moved = x.expand(info.batch_size, *x.shape) if d is None else x.movedim(d, 0)
        stacked.append(moved.reshape(info.batch_size, *[1] * (most + 1 - moved.ndim), *moved.shape[1:]))
    return stacked
