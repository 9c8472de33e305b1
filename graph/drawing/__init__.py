"""Diagrams of a system, as figures and as text.

- `outline`: boxes, wires and signals without positions, which all the others start from;
- `draw`: the figure, with `forest` (its boxes), `layout` and `chords` (their places);
- `text`, `mermaid`, `dot`, `notebook`: text for terminals, Markdown, Graphviz and notebooks.
"""
