"""Systems from robot descriptions in URDF.

- `robot_system`: the system that a description stands for;
- `xml_gate`: XML from strangers; `elements`, `vocabulary`: elements of URDF; `robot`: links and joints of these;
- `tree`: whether they are one; `repair`: what real robots have wrong; `meshes`: whether their files are there.
"""
