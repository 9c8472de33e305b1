"""Spatial algebra on scalars: nothing here knows of systems.

- `algebra`: twists, wrenches and inertias; `vectors`: of any length;
- `rotations`: functions of rotation vectors;
- `moving`: from one configuration to another, and the derivatives of that.
"""
