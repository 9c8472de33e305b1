"""Diagrams of a system, as figures and as text.

- `outline`: boxes, wires and signals without positions, which all the others start from;
- `draw`: the figure, with `forest` (its boxes) and `layout` (their places);
- `text`, `notebook`: text for terminals, for Markdown and Graphviz, and for notebooks.
"""
