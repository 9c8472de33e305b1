"""Model files: systems as TOML that people can read, write and share; `titop.graph.load` reads them.

- `saving`: the tables of a file, and such files from systems;
- `block_types`: which blocks files know, with which fields; `file_fields`, `block_fields`: how each kind of value is read and
  written;
- `file_reading`: what readers share; `expressions`: numbers as arithmetic of parameters; `toml_text`: TOML itself.
"""
