"""Systems: blocks connected into a networkx graph. Knows blocks, not solvers; the only place that knows networkx.

Read in this order:

- `system`: connecting blocks;
- `check`: what can be wrong with a system;
- `assembly`: the frozen picture that resolvers read: connections parents first, coordinates in the order of `connect`;
- `flatten`: the assembly as arrays for the compiled resolver;
- `text`: the diagram as text.
"""
