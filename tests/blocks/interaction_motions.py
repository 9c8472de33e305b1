"""Motions and inputs that interactions are told."""

from __future__ import annotations

import numpy as np

from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import Interaction, random_motion


def motion(cable: Interaction, seed: int, ports: int = 3, tension: float = 0.0) -> TargetMotion:
    return random_motion(cable, np.random.default_rng(seed), ports)._replace(u=np.array([tension]))
