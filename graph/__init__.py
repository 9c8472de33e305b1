"""Systems: blocks connected into a networkx graph. Knows blocks, not solvers; the only place that knows networkx.

Read in this order:

- `network`: connecting blocks, including systems in others, and the frozen assembly that resolvers read;
- `checking`: what can be wrong with a system;
- `drawing`: pictures of it, in ink and in text;
- `files`: model files;
- `system`: what users build, a network with all that is done with it; `load`: systems from model files;
- `urdf`: systems from robot descriptions.

Rooms know those above them alone.
"""
