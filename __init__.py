"""titop: multibody systems as causal block diagrams of two-input two-output port (TITOP) blocks.

Blocks (`titop.blocks`) are connected into a graph (`titop.graph`) that is resolved into dynamics, simulations and
linear models (`titop.solvers`).
"""

from titop.blocks.block import Block, PortRef
from titop.blocks.errors import ConvergenceError, Finding, ModelError, ModelWarning
from titop.blocks.joints import (
    Cylindrical,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
    Weld,
)
from titop.blocks.loads import Load
from titop.blocks.pose import Pose
from titop.blocks.rigid_body import RigidBody
from titop.graph.system import System
from titop.solvers import Event, Model, Trajectory, load_trajectory, simulate

__version__ = "0.1.0"

__all__ = [
    "Block",
    "ConvergenceError",
    "Cylindrical",
    "Event",
    "Finding",
    "Free",
    "Joint",
    "Load",
    "Model",
    "ModelError",
    "ModelWarning",
    "Planar",
    "PortRef",
    "Pose",
    "Prismatic",
    "Revolute",
    "RigidBody",
    "Screw",
    "Spherical",
    "System",
    "Trajectory",
    "Universal",
    "Weld",
    "load_trajectory",
    "simulate",
]
