"""Systems from robot descriptions: URDF, SDF and MJCF.

Every reader returns one `Robot`, its links and joints, of which one builder makes blocks. Strict readers of our own for URDF
and SDF stand behind the guarded parser (`xml_gate`): the readers in circulation load meshes and import mesh libraries, which
alone takes several times as long as Pinocchio needs from start to first dynamics, repair broken files on their own, and drop
silently what they do not know.

- `report`: what is wrong and suspicious in a file; `xml_gate`: XML from strangers, and robots by name;
- `robot`: a robot as links and joints; `repair`: what real robots have wrong; `building`: systems of these;
- `looks`: shapes and meshes of links;
- `urdf_elements`: elements of URDF and their vocabulary; `urdf_reader`: links and joints of these; `urdf`: `from_urdf`;
- `sdf_reader`: links and joints of SDF; `sdf`: `from_sdf`;
- `mjcf_reader`: links and joints that MuJoCo compiles; `mjcf_looks`: shapes of these; `mujoco_states`: its states;
  `mjcf_parts`: closures, tendons, actuators and such; `mjcf`: `from_mjcf`.
"""
