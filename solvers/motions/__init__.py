"""Motions that are given as functions of time.

- `prescribed`: those of coordinates in simulations, with velocities and accelerations, each a `motion`: a function or a spline;
- `trajectory_series`: the stacks of derivatives that series of dynamics take, from those of functions, rotations and poses
  (`motion_series`).
"""
