"""`Model.to_torch`: a model's functions for tensors of PyTorch, with derivatives of first and second order."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import missing_extra
from titop.blocks.basics.spatial import Array
from titop.solvers.tensors.differentiable import Differentiable, TensorModel


def torch_model(
    model: Any, parameters: Sequence[str] = (), inputs: Sequence[str] = (), outputs: Sequence[str] | None = None
) -> TensorModel:
    """Return a model's functions of tensors: `Model.to_torch`."""
    return TensorModel(model, parameters, inputs, outputs, _operations().of_tensors, torch_model)


@functools.cache
def _operations() -> _Operations:
    """Return the operations. Raises `ModelError` without PyTorch."""
    try:
        import torch
    except ImportError as error:
        raise missing_extra("torch", "torch", "Model.to_torch", "PyTorch") from error
    return _Operations(torch)


class _Operations:
    """What tensors are given to, with derivatives: each operation applies a method of a `Differentiable`."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.values = self._made("values", self._back_values, self._change_values)
        self.weighted = self._made("weighted", self._back_weighted, self._change_weighted)
        self.changed = self._made("change", self._back_changed, self._change_changed)
        self.curved = self._made("weighted_curvatures", self._back_curved, self._no_more)
        self.twice = self._made("second_change", self._no_more, self._no_more)

    def of_tensors(self, function: Differentiable) -> Callable[..., Any]:
        """Return a function of tensors."""
        torch = self.torch

        def call(*state: Any, **others: Any) -> Any:
            given = function.given(state, others)
            like = [x for x in given if isinstance(x, torch.Tensor) and x.is_floating_point()]
            kind = functools.reduce(torch.promote_types, (x.dtype for x in like), like[0].dtype) if like else torch.float64
            where = like[0].device if like else None
            return self.values(function, *(torch.as_tensor(x, dtype=kind, device=where) for x in given))

        call.__name__, call.__doc__ = function.name, f"`Model.{function.name}`, of tensors."
        return call

    def _computed(self, compute: Callable[..., Any], tensors: Sequence[Any]) -> Any:
        """Return arrays (rows, ...) that are computed from tensors (..., size), as tensors (..., ...)."""
        torch = self.torch
        shape = torch.broadcast_shapes(*(x.shape[:-1] for x in tensors))
        rows = [
            x.detach().expand(*shape, x.shape[-1]).reshape(-1, x.shape[-1]).to("cpu", torch.float64).numpy() for x in tensors
        ]

        def tensor(array: Array) -> Any:
            return torch.from_numpy(array).to(tensors[0]).reshape(*shape, *array.shape[1:])

        found = compute(*map(np.ascontiguousarray, rows))
        return tuple(map(tensor, found)) if isinstance(found, list) else tensor(found)

    def _made(self, compute: str, back: Callable[..., Any], change: Callable[..., Any]) -> Any:
        """Return what applies a method of a `Differentiable` to tensors, which may be broadcast and mapped by ``vmap``.

        Derivatives back by weights of the results, and forward along changes of the tensors, are such functions again:
        ``back(function, tensors, weights)`` returns one for each tensor, ``change(function, tensors, changes)`` one
        for each result.
        """
        torch, computed = self.torch, self._computed

        class Made(torch.autograd.Function):  # type: ignore[misc,name-defined]
            @staticmethod
            def forward(function: Differentiable, *tensors: Any) -> Any:
                return computed(getattr(function, compute), tensors)

            @staticmethod
            def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
                ctx.function, *tensors = inputs
                ctx.save_for_backward(*tensors)
                ctx.save_for_forward(*tensors)

            @staticmethod
            def backward(ctx: Any, *weights: Any) -> Any:
                found = back(ctx.function, ctx.saved_tensors, weights)
                return None, *(by.sum_to_size(x.shape) for by, x in zip(found, ctx.saved_tensors, strict=True))

            @staticmethod
            def jvp(ctx: Any, _: None, *changes: Any) -> Any:
                pairs = zip(changes, ctx.saved_tensors, strict=True)
                known = [torch.zeros_like(x) if given is None else given for given, x in pairs]
                return change(ctx.function, ctx.saved_tensors, known)

            @staticmethod
            def vmap(info: Any, in_dims: tuple[Any, ...], function: Differentiable, *tensors: Any) -> tuple[Any, Any]:
                found = Made.apply(function, *_in_stacks(info, in_dims[1:], tensors))
                return found, (0,) * len(found) if isinstance(found, tuple) else 0

        return Made.apply

    def _back_values(self, f: Differentiable, x: Any, weights: Any) -> Any:
        (w,) = weights
        return self.weighted(f, w.reshape(*w.shape[: w.ndim - len(f.shape)], math.prod(f.shape)), *x)

    def _change_values(self, f: Differentiable, x: Any, dx: Any) -> Any:
        change = self.changed(f, *x, *dx)
        return change.reshape(*change.shape[:-1], *f.shape)

    def _back_weighted(self, f: Differentiable, tensors: Any, weights: Any) -> Any:
        w, *x = tensors
        return self.changed(f, *x, *weights), *self.curved(f, w, *x, *weights)

    def _change_weighted(self, f: Differentiable, tensors: Any, changes: Any) -> Any:
        (w, *x), (dw, *dx) = tensors, changes
        return tuple(map(self.torch.add, self.curved(f, w, *x, *dx), self.weighted(f, dw, *x)))

    def _back_changed(self, f: Differentiable, tensors: Any, weights: Any) -> Any:
        x = tensors[: len(tensors) // 2]
        return *self.curved(f, *weights, *tensors), *self.weighted(f, *weights, *x)

    def _change_changed(self, f: Differentiable, tensors: Any, changes: Any) -> Any:
        n = len(tensors) // 2
        return self.twice(f, *tensors, *changes[:n]) + self.changed(f, *tensors[:n], *changes[n:])

    def _back_curved(self, f: Differentiable, tensors: Any, weights: Any) -> Any:
        n = len(weights)
        w, x, along = tensors[0], tensors[1 : 1 + n], tensors[1 + n :]
        third = [
            self.torch.full_like(part, math.nan) for part in x
        ]  # which are not known: no number is better than a wrong one
        return self.twice(f, *x, *along, *weights), *third, *self.curved(f, w, *x, *weights)

    def _no_more(self, f: Differentiable, tensors: Any, given: Any) -> Any:
        raise NotImplementedError(f"{f.name}: tensors have first and second derivatives, no third ones")


def _in_stacks(info: Any, in_dims: Sequence[Any], tensors: Sequence[Any]) -> list[Any]:
    """Return tensors of which some have a dimension more, at `in_dims`: with that one first, before as many others in all."""
    most = max(x.ndim - (d is not None) for x, d in zip(tensors, in_dims, strict=True))
    stacked = []
    for x, d in zip(tensors, in_dims, strict=True):
        moved = x.expand(info.batch_size, *x.shape) if d is None else x.movedim(d, 0)
        stacked.append(moved.reshape(info.batch_size, *[1] * (most + 1 - moved.ndim), *moved.shape[1:]))
    return stacked
