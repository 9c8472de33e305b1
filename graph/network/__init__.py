"""Blocks connected port to port.

- `network` (with `connections`): connecting blocks;
- `include`: networks as blocks of others;
- `assembly`: the frozen system that engines read: connections parents first, coordinates in the order of `System.connect`;
- `lengths`: the characteristic length of its bodies; `kinematic`: whether moving parts have inertia.
"""
