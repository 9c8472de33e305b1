"""Model files: systems as TOML that people can read, write and share.

- `file_loading`, `saving`: systems from files, and these from systems; `document`: the tables in them;
- `block_types`: which blocks files know, with which fields; `file_fields`, `records`, `block_fields`: how each kind of value is
  read and written;
- `file_reading`: what readers share; `expressions`: numbers as arithmetic of parameters; `toml_text`: TOML itself.
"""
