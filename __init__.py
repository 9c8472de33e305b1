"""titop: multibody systems as causal block diagrams of two-input two-output port (TITOP) blocks.

Blocks (`titop.blocks`) are connected into a graph (`titop.graph`) that is resolved into dynamics and simulations
(`titop.solvers`). The public names stand in `__init__.pyi`; each is imported when it is first used.
"""

from typing import Any

import lazy_loader

__version__ = "0.1.0"
#: Where functions stand that lower layers call by name (`titop.blocks.basics.above`).
ABOVE = {
    "resolve": "titop.solvers.resolve",
    "nonlinear_system": "titop.solvers.linear.nlsys",
    "program": "titop.solvers.programs.model_program",
    "torch_model": "titop.solvers.tensors.torch_model",
    "jax_model": "titop.solvers.tensors.jax_model",
    "on_gpu": "titop.solvers.programs.on_gpu",
    "GpuSimulation": "titop.solvers.simulation.gpu_simulation",
}
_first_use, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    from titop.blocks.basics.garbage import collection_paused

    with collection_paused():  # a first use may import two hundred modules
        return _first_use(name)
