"""Joints: blocks without mass that let their child port move, and what belongs to their coordinates.

- `joint`: what joints have in common; `parameters`: what their numbers are called;
- `plain_joints`: rotations and translations along fixed axes; `quaternion_joints`: free attitudes;
- `friction`: dry friction; `limits`: limits and stops; `coordinate_limits`: those of other blocks' coordinates;
"""
