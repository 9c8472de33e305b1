"""Blocks connected port to port.

- `network`: connecting blocks; `connections`: what connects them, and which joints move no inertia;
- `include`: networks as blocks of others;
- `assembly`: the frozen system that engines read: connections parents first, coordinates in the order of `System.connect`; and
  the characteristic length of its bodies.
"""
