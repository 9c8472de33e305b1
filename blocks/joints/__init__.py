"""Joints: massless blocks whose child port moves, with friction and limits of their coordinates.

- `joint`: the common part of joints, and the names of their parameters;
- `plain_joints`: rotations and translations along fixed axes; `quaternion_joints`: free attitudes; `curvilinear`: along curves;
- `friction_and_limits`: dry friction, limits and stops, also of other blocks' coordinates.
"""
