"""What functions of tensors cost beside the model's own: gradients of PyTorch for a batch of 4096 states.

Nanoseconds of processor time a state on one core, the least of interleaved repeats: the model's values and derivatives,
and values and gradients by ``backward`` of `Model.to_torch`.

Run it: ``OPENBLAS_NUM_THREADS=1 python examples/benchmarks/tensors.py``. It needs PyTorch.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from models import fixed_arm, system
from stacked import Calls, humanoid, least

ROWS, REPEATS = 4096, 30


def calls(model: Any, name: str) -> Calls:
    """Return what is timed, after the results were compared."""
    rng = np.random.default_rng(0)
    q = np.array([model.random_configuration(rng) for _ in range(ROWS)])
    v, third, weights = rng.normal(size=(3, ROWS, model.nv))
    own, derivatives = getattr(model, name), getattr(model, f"{name}_derivatives")
    function = getattr(model.to_torch(), name)
    tensors = [torch.tensor(x, requires_grad=True) for x in (q, v, third)]
    w = torch.tensor(weights)

    def gradients() -> list[torch.Tensor]:
        return list(torch.autograd.grad((function(*tensors) * w).sum(), tensors))

    by_v = np.einsum("rm,rmn->rn", weights, derivatives(q, v, third)[1])
    np.testing.assert_allclose(gradients()[1].numpy(), by_v, rtol=1e-9, atol=1e-9 * np.abs(by_v).max())
    return {"own": (lambda: (own(q, v, third), derivatives(q, v, third)), ROWS), "tensors": (gradients, ROWS)}


def main() -> None:
    torch.set_num_threads(1)
    models = {"7 hinges": system(fixed_arm()).resolve(), "free base and 29 joints": system(humanoid()).resolve()}
    for label, model in models.items():
        for name in ("forward_dynamics", "inverse_dynamics"):
            own, tensors = least(calls(model, name), REPEATS, time.process_time).values()
            print(f"{label}, {name}: {own:.0f} ns, by tensors {tensors:.0f} ns, {tensors / own:.2f}")


if __name__ == "__main__":
    main()
