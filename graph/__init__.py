"""Systems: blocks connected into a networkx graph. Knows blocks, not solvers; the only place that knows networkx.

Read in this order:

- `system` (with `connections`): connecting blocks;
- `check`: what can be wrong with a system; `doubtful_units`: what is suspicious;
- `assembly`: the frozen picture that resolvers read: connections parents first, coordinates in the order of `connect`;
- `flatten`: the assembly as arrays for the compiled resolver;
- `include`: systems as blocks of others;
- `text`: the diagram as text; `outline`, and from it `draw` (with `draw_tree`, `draw_layout`, `draw_chords`), `mermaid`,
  `dot` and `notebook`: pictures of it;
- `files` (with `document`, `block_types`, `fields`, `records`, `reading`, `expressions`, `toml_text`): model files;
- `urdf` (with `xml_gate` and `urdf_*`): robot descriptions.
"""
