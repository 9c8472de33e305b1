"""The tables that describe a system to the kernels: names of their columns.

``ints`` and ``floats`` have one row per element, then one per coordinate of each spring, then those of the rigid closures, one
per gear, those of interactions, and one per load. Row 0, the world's, holds the counts, gravity and how the world turns. Passes
keep what they compute in rows of a ``work`` array of the call. The first two rows of a closure stand for its ports. An
interaction has a row of its own, then one for each of its ports, then one for each of its coordinates.

``loops`` says where the rigid closures and gears stand, for the functions that know of them: a row, then one for each gear,
then one for each coordinate.

Behind the coordinates' rows, ``columns`` has a row for each own coordinate of a general block at each of its ports. ``sums``
has rows of elements, then of these ports.

``law`` holds what is known of the general blocks at a state: for a block with n coordinates, at its offset, the (6 + n)-square
M, then h; the wrench W_P and the efforts tau of inverse dynamics; for each of its ports, at an offset of its own, rotation (9),
position (3), twist, acceleration, the wrench that the block applies there less loads (6 each), bias gamma (6) and S (6 x n);
then, for each coordinate, what it carries with all joints held; last, if anything surrounds the block and acts on it, that
(6 + n). Behind the blocks, for each interaction: of each port the pose in the first one (rotation 9, position 3) and the twist
(6), the coordinates and their rates; then the wrenches on the ports (6 each) and the efforts on the coordinates; last, what
kinds of blocks keep in a room of theirs.

``slopes`` holds the general blocks' linearised laws: the
derivatives of [W_P; tau] by q and v ((6 + n) x n each) and by the twist ((6 + n) x 6), then for each port X, Y, Z (6 x n each,
see `tree_derivatives`) in its frame; at an offset of their own, for a block on which something acts, the derivatives of that by
q, v, V and displacement of the parent port, (6 + n) x (n, n, 6, 6). `records` says where in a block's part of these what is.
An interaction's part of ``slopes`` holds the derivatives of what it does by small twists of all ports but the first, by all
twists, by the coordinates and by their rates, row by row; then room for the ports' poses (12 each), and for a change of its
motion, of as many numbers as each row has.

``numbers`` (one row) holds what the laws of general blocks and interactions are computed from, one after the other, each
interaction's inputs last, and its states behind them; ``stages`` a row for each of these with the addresses of the compiled
functions that compute them (see `stages`).
"""

# -- ints: rows of elements
PARENT = 0  # row of the parent element
KIND = 1  # of elementary joint, below
Q = 2  # first entry of its coordinates in q
V = 3  # and in v
MULTI = 4  # row of `multi`, for spherical and free joints
LAW = 5  # offset of a general block's law, -1 for a rigid body
OWN = 6  # number of a general block's own coordinates
OWN_V = 7  # first entry of these in v
PORT = 8  # offset of the parent's port in `law` when the parent is a general block, else -1
ROW = 9  # and the port's row of `sums`, else -1; of loads likewise
LAST = 10  # row of `columns` of the coordinate nearest to the element, -1 without
PORTS = 11  # row of `sums` of a general block's first port
PORT_COUNT = 12
COLUMN = 13  # row of `columns` of a general block's first coordinate at its first port
SLOPES = 14  # offset of a general block's slopes
OWN_Q = 15  # first entry of a general block's own coordinates in q
NUMBERS = 16  # offset of its `numbers`
NUMBER_COUNT = 17  # and how many there are
BLOCK = 18  # its row of `stages`
ROOM = 19  # offset of the room of its kind in `law`
APPLIED = 20  # offset in `law` of what surrounds it, -1 for one on which nothing acts
APPLIED_SLOPES = 21  # offset in `slopes` of its derivatives
USED = 22  # a bit for each of a general block's ports that is in use (see `records.is_used`)
BEARING = 23  # and for each that bears an element: others only have loads
GATHERED = 24  # row of `work` in which the elimination gathers the inertia of its subtree
INT_COLUMNS = 25

# -- ints: row of the world
ELEMENTS = 0  # number of element rows
MULTIS = 1  # number of spherical and free joints
SPRINGS = 2  # number of springs
FIRST_LOAD = 3  # row of the first load
LOADS = 4  # number of loads
INERTIAL_LOADS = 5  # whether what acts depends on poses: loads given in the inertial frame, what surrounds general blocks
NQ = 6  # sizes of q and v
NV = 7
LAW_SIZE = 8  # length of `law`
INTERACTIONS = 9  # number of interactions
PASSIVE = 10  # whether the general blocks' elasticity and damping act
SLOPES_SIZE = 11  # length of `slopes`
ALL_PORTS = 12  # number of the general blocks' ports
APPLYING = 13  # what surrounds general blocks: 0 nothing, 1 as far as it is gravity, 2 all that does
FIRST_INTERACTION = 14  # row of the first interaction
STATES = 15  # number of states of the first order, of all interactions
WEIGHING = 16  # how many interactions, the last ones, are a field's gravity
OWN_INPUTS = 17  # the first row of floats with inputs of interactions that a state has of its own, 0 where they are `numbers`

# -- ints: rows of springs, loads and closures' ports
SIZE = 0  # number of coordinates of a spring, each with a row
ELEMENT = 0  # on which a load acts, or that has a port; -1 in a rigid closure's other rows
CONSTRAINTS = 1  # number of constraints of a rigid closure
INERTIAL = 2  # whether a load's components are inertial
FORM = 2  # of a rigid closure's constraints: below
SLIPS = 3  # in the row of each constraint of a rigid closure: whether it is of velocities alone

# -- forms of rigid closures' constraints
ALIGNED_FORM = 0  # along . r + c . R n - offset
LOG_FORM = 1  # and a component of log R
ROLLING_FORM = 2  # what rolls on a plane, see `titop.blocks.constraints.rolling`
DISTANCE_FORM = 3  # half the first of `ALONG` times r . r, less the offset

# -- ints: rows of interactions
ACT_PORTS = 1  # number of ports
ACT_COORDINATES = 2  # number of coordinates
ACT_INPUTS = 3  # number of inputs, states included
ACT_STATES = 4  # number of states of the first order

# -- ints: rows of gears, one for each coordinate, which have no `ELEMENT`
GEAR_TERMS = 1  # number of coordinates of the gear
TERM_Q = 2  # place of the coordinate
TERM_V = 3

# -- loops
FIRST_RIGID = 0  # row of the first rigid closure
RIGIDS = 1  # number of rigid closures
ROWS = 2  # number of all constraints, the gears' included
RANK = 3  # how many of these act on the coordinates whose motion is not imposed
FIRST_GEAR = 4  # row of the first gear
GEARS = 5  # number of gears
HELD = 6  # whether their number is held where more are independent, or the redundant ones contradict the others
FOLLOWERS = 7  # number of gears that take a coordinate out
WHOLE_RANK = 8  # how many constraints act where no motion is imposed
PLACES = 9  # number of constraints that are not of velocities alone
STIFFENED = 10  # whether constraints have to hold coordinates that move no inertia

# -- loops: a row for each gear, those that take a coordinate out first, in the order in which they do
FOLLOWER = 0  # the coordinate
LEADER = 1  # the one that it follows, which may be imposed; -1 if it stands still
FOLLOWER_TERM = 2  # the gear's rows of both coordinates
LEADER_TERM = 3
CONSTRAINT = 4  # number of the gear among the constraints
LOOPS_COLUMNS = 11

# -- loops: a row for each coordinate
LENGTH = 0  # whether it is a length, of which `EXTENT` counts as one

# -- kinds of elementary joints
WELD = 0
AXIAL = 1  # one coordinate along and about local z
SPHERICAL = 2
FREE = 3

# -- floats: rows of elements
R_TREE = 0  # rotation (9) and position (3) of the joint frame in the parent
P_TREE = 9
MASS = 12
MOMENT = 13  # mass times centre of mass (3)
INERTIA = 16  # about the element's origin (6)
LINEAR = 22  # motion along and about z a unit of an axial coordinate
ANGULAR = 23
ARMATURE = 24  # (6)
ROUNDING = 30  # pivots below this part of what the coordinates carry are rounding
TURNING = 31  # inertia of the body about all axes at the origin, from numbers without signs
FLOAT_COLUMNS = 32

# -- floats: row of the world
GRAVITY = 0  # (3)
EXTENT = 3  # the system's length
REACH = 4  # and that of all its bodies in a row
TURN = 5  # the world's angular velocity (3) and its derivative (3)
FIELD = 12  # a field of gravity (9), see `titop.blocks.laws.central_field`; zeros without any

# -- floats: rows of springs and loads
STIFFNESS = 0  # row of K (6)
DAMPING = 6  # row of D (6)
REST = 12  # rest configuration (7), in the first row
FRICTION = 19  # Coulomb, breakaway, Stribeck velocity, smoothing (4)
STOP = 23  # lower, upper, stiffness, dissipation (4)
FORCE = 12  # of a load (3), its torque behind it; its port's pose stands as an element's tree transform does

# -- floats: rows of closures, beside the ports' poses
ALONG = 12  # coefficients of r in a constraint (3); see `titop.blocks.constraints.rigid_closure.Rows`
ABOUT = 15  # of log R (3)
ALIGNED1 = 18  # c (3)
ALIGNED2 = 21  # and n (3) of c . R n
OFFSET = 24  # for what rolls the radius; `ALONG` + R `ABOUT` is then u, `ALIGNED1` the normal, `ALIGNED2` the axis
PERIOD = 25  # of what the value counts but for multiples, as on a thread; zero of all others
FACTOR = 12  # coefficient of a gear's coordinate; the sum of all less the offset, in the first row, vanishes

# -- work: rows of elements
R = 0  # rotation (9) and position (3) of the element in its parent
P = 9
TWIST = 12  # V (6)
BIAS = 18  # wrench at zero acceleration (6); the whole wrench in inverse dynamics
ACC = 24  # A - G (6)
INVERSE_COLUMNS = 30
MA = 30  # a (6), b (9), c (6) of the articulated inertia
SUBTREE = 30  # of the mass matrix: mass, first moment (3) and inertia (6) of the subtree about the element's origin, and
AXES = 40  # rotation (9) and position (3) of the element in its parent, all in the axes of the world
U = 51  # column M S of an axial joint (6)
PIVOT = 57  # 1 / (S^T M S)
REST_EFFORT = 58  # effort less bias along an axial joint's axis
CARRIED = 59  # mass of the subtree with all its joints held, and its inertia about all axes at the origin
FORWARD_COLUMNS = 61

# -- multi: rows of spherical and free joints
FULL = 0  # the 6x6 inertia, reduced coordinate by coordinate
FULL_P = 36  # and bias
U_MULTI = 42  # a column M S for each coordinate (6 x 6)
PIVOT_MULTI = 78
REST_MULTI = 84
MULTI_COLUMNS = 90

# -- sums: rows of elements, in the frame of their tree's first element
BASE = 0  # rotation (9) and position (3) of the element
WRENCH = 12  # of the subtree (6)
SUM_MASS = 18  # mass, first moment (3) and inertia (6) of the subtree
MOMENTUM = 28  # of the subtree (6)
STIRRED = 34  # the symmetric part C of the subtree's B (6)
TURNED = 40  # inertial loads on the subtree: force (3), ``[t] + [r][f]`` (9)
SUM_COLUMNS = 52
FULL_D = 52  # D and B of the general blocks of the subtree (6 x 6), beside those of its rigid bodies
FULL_B = 88
FULL_TURNED = 124  # change of the subtree's wrench with its displacement, by what surrounds its blocks (6 x 6)
FULL_COLUMNS = 160

# -- columns: rows of coordinates, in the same frame (see `tree_derivatives`)
COLUMN_S = 0
COLUMN_X = 6
COLUMN_Y = 12
COLUMN_Z = 18
COLUMN_COLUMNS = 24

# -- law: of a port
PORT_P = 9
PORT_TWIST = 12
PORT_ACC = 18
PORT_WRENCH = 24
PORT_GAMMA = 30
PORT_S = 36

# -- law: of an interaction's port
MOVING = 12  # its twist, behind its pose
MOTION_SIZE = 18
#: How many numbers are read of everything that touches in a contact: the gap, the force on it, its slip.
TOUCH_SIZE = 7

# -- stages: of blocks, see `stages`
TERMS = 0
OUTWARD = 1
INWARD = 2
LINEARISED = 3
APPLY = 4  # what surrounds a block and acts on it: see `surroundings`
APPLY_SLOPES = 5  # and its derivatives
ENERGY = 6
ACT = 0  # of interactions: what they do
ACT_SLOPES = 1  # its derivatives
STORED = 2  # their energy
GAP = 3  # and what is zero where they switch
RATES = 4  # how their states change
RATES_DRIVEN = 5  # the derivatives of that by inputs and states
RATES_SLOPES = 6  # and by the motion, beside those of what they do by states
PROGRAMS = 7  # a block's own programs, in an order that its kind knows; of interactions, the address of a table of them
ROOM_COUNT = 18  # in tables for lanes: how many numbers a block's stages keep
SINGLE_ROW = 19  # and the address of the row in the table for single states
STAGE_COLUMNS = 20

# -- whether what a pass begins with is known; of a block's terms, whether M and the ports alone are asked for, or these alone
UNKNOWN = 0
KNOWN = 1
ONLY_INERTIA = 2
ONLY_PORTS = 3

# -- status codes, beside `signatures.RAISED`; a positive status is the row of an element whose joint moves no inertia
OK = 0
WRONG_SIZE = -1
NOT_UNIT = -2
NOT_FINITE = -3
SINGULAR = -4  # not as many constraints are independent as `loops` says
INCONSISTENT = -5  # velocities with which redundant constraints contradict the others
