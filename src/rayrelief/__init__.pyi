from . import backends as backends
from . import cameras as cameras
from . import errors as errors
from . import laws as laws
from . import methods as methods
from . import solvers as solvers
from . import synthetic as synthetic
from .cameras.calibration import read_camera as read_camera
from .conventions import from_opencv as from_opencv
from .conventions import to_opencv as to_opencv
from .datasets.folder import read_scene as read_scene
from .errors import IntegrationWarning as IntegrationWarning
from .errors import RayreliefError as RayreliefError
from .evaluation.metrics import depth_errors as depth_errors
from .integration import integrate as integrate
from .io.depth import read_depth as read_depth
from .io.depth import write_depth as write_depth
from .io.meshes import write_mesh as write_mesh
from .mesh import Mesh as Mesh
from .methods.recipes import BiNI as BiNI
from .methods.recipes import RayPlane as RayPlane
from .methods.recipes import Smooth as Smooth
from .preprocess import Preprocessing as Preprocessing
from .result import Integration as Integration
from .scene import Scene as Scene
from .viewer.preview import write_preview as write_preview

__version__: str
