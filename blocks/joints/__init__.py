"""Joints: massless blocks whose child port moves, with friction and limits of their coordinates.

- `joint`: the common part of joints, and the names of their parameters;
- `plain_joints`: rotations and translations along fixed axes; `quaternion_joints`: free attitudes;
- `friction`: dry friction; `limits`: limits and stops; `coordinate_limits`: those of other blocks' coordinates.
"""
