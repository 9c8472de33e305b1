"""Blocks connected port to port, and what is made of that.

- `network` (with `connections`): connecting blocks;
- `include`: networks as blocks of others;
- `assembly`: the frozen picture that resolvers read: connections parents first, coordinates in the order of `System.connect`;
- `lengths`: how long its bodies are; `kinematic`: whether anything that moves has inertia.
"""
