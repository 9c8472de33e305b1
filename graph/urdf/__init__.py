"""Systems from robot descriptions in URDF.

- `robot_system`: the system that a description stands for, if its links are one tree, and whether its meshes are there;
- `xml_gate`: XML from strangers; `elements`, `vocabulary`: elements of URDF; `robot`: links and joints of these;
- `repair`: what real robots have wrong.
"""
