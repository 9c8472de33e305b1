"""Spatial algebra on scalars: nothing here knows of systems.

- `algebra`: twists, wrenches and inertias;
- `rotations`: functions of rotation vectors; `turning`: sine and cosine;
- `moving`: from one configuration to another, and the derivatives of that.
"""
