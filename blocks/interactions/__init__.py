"""Interactions: what acts on ports and coordinates because of their motion, and does not constrain it.

- `interaction`: what they have in common, and how to write one of your own;
- `block_states`: what states of the first order of blocks do on these blocks' coordinates;
- `springs`: springs and dampers between two ports; `cable`: over several;
- `shape`: what contacts touch, `touching`: what touches it, and `contact`: what happens there;
- `line`: what tendons and chambers have in common, whatever bodies carry them;
- `rod_routing`: lines through soft rods and their length; `rod_line`: what acts along them; `tendon`: tendons, and chambers;
- `soft_line`: lines and cavities in deformable bodies; `soft_tendon`: tendons and chambers of these;
- `distributed_load`: loads along rods.
"""
