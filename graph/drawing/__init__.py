"""Diagrams of a system, as figures and as text.

- `outline`: boxes, wires and signals without positions, which all the others start from;
- `draw`: the figure, with `forest` (its boxes) and `layout` (their places);
- `text`: text for terminals, Markdown, Graphviz, and notebooks.
"""
