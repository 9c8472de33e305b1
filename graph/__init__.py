"""Systems: blocks connected into a networkx graph. It imports blocks, not solvers; only it imports networkx.

Read in this order:

- `network`: connecting blocks, including systems in others, and the frozen assembly that resolvers read;
- `checking`: errors and warnings about a system;
- `drawing`: diagrams of it, as figures and as text;
- `files`: model files;
- `system`: `System`, the network that users build, with its methods; `load`: systems from model files;
- `robots`: systems from robot descriptions.

Each imports only those above it.
"""
