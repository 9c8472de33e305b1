"""Spatial algebra on scalars: nothing here knows of systems.

- `algebra`: twists, wrenches and inertias; `matrices`: products of 3x3 matrices; `vectors`: of any length;
- `rotation_series`, `rotations`: functions of rotation vectors;
- `moving`: from one configuration to another, and the derivatives of that.
"""
