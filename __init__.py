"""titop: multibody systems as causal block diagrams of two-input two-output port (TITOP) blocks.

Blocks (`titop.blocks`) are connected into a graph (`titop.graph`) that is resolved into dynamics and simulations
(`titop.solvers`). The public names stand in `__init__.pyi`; each is imported when it is first used.
"""

import lazy_loader

__version__ = "0.1.0"
#: Where functions stand that lower layers call by name (`titop.blocks.basics.above`).
ABOVE = {"resolve": "titop.solvers.resolve", "nonlinear_system": "titop.solvers.linear.nlsys"}
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
