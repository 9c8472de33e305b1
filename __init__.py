"""titop: multibody systems as causal block diagrams of two-input two-output port (TITOP) blocks.

Blocks (`titop.blocks`) are connected into a graph (`titop.graph`) that is resolved into dynamics and simulations
(`titop.solvers`).
"""

from titop.blocks.actuators import Force, Motor, Thruster, Torque
from titop.blocks.beam import Beam
from titop.blocks.block import Block, PortRef
from titop.blocks.block_check import check_block
from titop.blocks.compliant_closure import CompliantClosure
from titop.blocks.errors import ConvergenceError, Finding, ModelError, ModelWarning
from titop.blocks.flexible_body import FlexibleBody
from titop.blocks.friction import Friction
from titop.blocks.joint import Joint
from titop.blocks.joints import Cylindrical, Planar, Prismatic, Revolute, Screw, Universal, Weld
from titop.blocks.limits import Limits
from titop.blocks.loads import Load
from titop.blocks.pose import Pose
from titop.blocks.quaternion_joints import Free, Spherical
from titop.blocks.reaction_wheel import ReactionWheel
from titop.blocks.rigid_body import RigidBody
from titop.blocks.rigid_closure import RigidClosure
from titop.blocks.sensors import Accelerometer, Encoder, Gyro, PoseSensor, ReactionSensor, Tachometer, WheelMomentum
from titop.graph.block_types import register_block
from titop.graph.files import load
from titop.graph.system import System
from titop.graph.urdf import from_urdf
from titop.solvers import (
    ControlHistory,
    Controller,
    Event,
    GeneralizedAlpha,
    LPVModel,
    Model,
    OperatingPoint,
    Samples,
    ScheduledController,
    Signal,
    Trajectory,
    block_system,
    invert_channels,
    linear_matrices,
    linearize,
    load_trajectory,
    lpv,
    monte_carlo,
    signal_table,
    simulate,
    trim,
    trim_along,
)

__version__ = "0.1.0"

__all__ = [
    "Accelerometer",
    "Beam",
    "Block",
    "CompliantClosure",
    "ControlHistory",
    "Controller",
    "ConvergenceError",
    "Cylindrical",
    "Encoder",
    "Event",
    "Finding",
    "FlexibleBody",
    "Force",
    "Free",
    "Friction",
    "GeneralizedAlpha",
    "Gyro",
    "Joint",
    "LPVModel",
    "Limits",
    "Load",
    "Model",
    "ModelError",
    "ModelWarning",
    "Motor",
    "OperatingPoint",
    "Planar",
    "PortRef",
    "Pose",
    "PoseSensor",
    "Prismatic",
    "ReactionSensor",
    "ReactionWheel",
    "Revolute",
    "RigidBody",
    "RigidClosure",
    "Samples",
    "ScheduledController",
    "Screw",
    "Signal",
    "Spherical",
    "System",
    "Tachometer",
    "Thruster",
    "Torque",
    "Trajectory",
    "Universal",
    "Weld",
    "WheelMomentum",
    "block_system",
    "check_block",
    "from_urdf",
    "invert_channels",
    "linear_matrices",
    "linearize",
    "load",
    "load_trajectory",
    "lpv",
    "monte_carlo",
    "register_block",
    "signal_table",
    "simulate",
    "trim",
    "trim_along",
]
