"""Calibrations as the tools write them, every kind once, and how tests read and break them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from rayrelief.cameras.calibration.document import Document, read_document
from rayrelief.cameras.calibration.reading import Reader, Reading, Request
from rayrelief.errors import FileError

CAMERA_JSON = """\
{
  "format": "rayrelief-camera",
  "version": 1,
  "model": "kannala_brandt",
  "parameters": {
    "fx": 285.1236,
    "fy": 285.4409,
    "cx": 426.2217,
    "cy": 398.8403,
    "skew": 0.0,
    "k1": -0.0075426,
    "k2": 0.0436318,
    "k3": -0.0411889,
    "k4": 0.0076294,
    "size": [
      848,
      800
    ]
  }
}
"""
OPENCV_YAML = """\
%YAML:1.0
---
calibration_time: "Wed 15 Nov 2023 04:12:09 PM CET"
nr_of_frames: 1
image_width: 640
image_height: 480
board_width: 9
board_height: 6
square_size: 50.
fix_aspect_ratio: 1.
# flags:  +fix_aspectRatio
flags: 2
fisheye_model: 0
camera_matrix: !!opencv-matrix
   rows: 3
   cols: 3
   dt: d
   data: [ 5.3591573396163199e+02, 0., 3.4228315473308373e+02, 0.,
       5.3591573396163199e+02, 2.3557082909788173e+02, 0., 0., 1. ]
distortion_coefficients: !!opencv-matrix
   rows: 5
   cols: 1
   dt: d
   data: [ -2.6637260909660682e-01, -3.8588898922304653e-02,
       1.7831947042852964e-03, -2.8122100441115472e-04,
       2.3839153080878486e-01 ]
avg_reprojection_error: 3.9259109564815858e-01
# a set of 6-tuples (rotation vector + translation vector) for each view
extrinsic_parameters: !!opencv-matrix
   rows: 1
   cols: 6
   dt: d
   data: [ 1.6866673097722978e-01, 2.7567195383689680e-01,
       1.3463666677617407e-02, -7.5217911266918208e+01,
       -1.0895078340556710e+02, 3.9970206048713362e+02 ]
"""
OPENCV_XML = """\
<?xml version="1.0"?>
<opencv_storage>
<calibration_time>"Wed 15 Nov 2023 04:12:09 PM CET"</calibration_time>
<image_width>640</image_width>
<image_height>480</image_height>
<!-- flags:  +fix_aspectRatio -->
<flags>2</flags>
<fisheye_model>0</fisheye_model>
<camera_matrix type_id="opencv-matrix">
  <rows>3</rows>
  <cols>3</cols>
  <dt>d</dt>
  <data>
    5.3591573396163199e+02 0. 3.4228315473308373e+02 0.
    5.3591573396163199e+02 2.3557082909788173e+02 0. 0. 1.</data></camera_matrix>
<distortion_coefficients type_id="opencv-matrix">
  <rows>5</rows>
  <cols>1</cols>
  <dt>d</dt>
  <data>
    -2.6637260909660682e-01 -3.8588898922304653e-02
    1.7831947042852964e-03 -2.8122100441115472e-04
    2.3839153080878486e-01</data></distortion_coefficients>
<avg_reprojection_error>3.9259109564815858e-01</avg_reprojection_error>
</opencv_storage>
"""
OPENCV_JSON = """\
{
    "calibration_time": "Wed 15 Nov 2023 04:12:09 PM CET",
    "image_width": 640,
    "image_height": 480
    // flags:  +fix_aspectRatio
    ,
    "flags": 2,
    "fisheye_model": 0,
    "camera_matrix": {
        "type_id": "opencv-matrix",
        "rows": 3,
        "cols": 3,
        "dt": "d",
        "data": [ 535.91573396163199, 0.0, 342.28315473308373, 0.0,
            535.91573396163199, 235.57082909788173, 0.0, 0.0, 1.0 ]
    },
    "distortion_coefficients": {
        "type_id": "opencv-matrix",
        "rows": 5,
        "cols": 1,
        "dt": "d",
        "data": [ -0.26637260909660682, -0.038588898922304653,
            0.0017831947042852964, -0.00028122100441115472,
            0.23839153080878486 ]
    },
    "avg_reprojection_error": 0.39259109564815858
}
"""
SCRIPT_JSON = """\
{"camera_matrix": [[535.91573396163199, 0.0, 342.28315473308373],
 [0.0, 535.91573396163199, 235.57082909788173], [0.0, 0.0, 1.0]],
 "dist_coeff": [[-0.26637260909660682, -0.038588898922304653, 0.0017831947042852964,
 -0.00028122100441115472, 0.23839153080878486]]}"""
ROS_FILE = """\
image_width: 640
image_height: 480
camera_name: narrow_stereo
camera_matrix:
  rows: 3
  cols: 3
  data: [430.21554970319971, 0.0, 306.6913434743704, 0.0, 430.53169252696676, 227.22480030078816, 0.0, 0.0, 1.0]
distortion_model: plumb_bob
distortion_coefficients:
  rows: 1
  cols: 5
  data: [-0.33758562758914146, 0.11161239414304096, -0.00021819272592442094, -3.029195446330518e-05, 0]
rectification_matrix:
  rows: 3
  cols: 3
  data: [1, 0, 0, 0, 1, 0, 0, 0, 1]
projection_matrix:
  rows: 3
  cols: 4
  data: [395.60662814306596, 0.0, 316.72212558212516, 0.0, 0.0, 395.60662814306596, 238.55637359619141, 0.0, 0.0, 0.0, 1.0, 0.0]
"""  # noqa: E501
ROS_MESSAGE = """\
header:
  stamp:
    sec: 1700061129
    nanosec: 738674179
  frame_id: camera_color_optical_frame
height: 480
width: 640
distortion_model: plumb_bob
d:
- -0.33758562758914146
- 0.11161239414304096
- -0.00021819272592442094
- -3.029195446330518e-05
- 0.0
k:
- 430.21554970319971
- 0.0
- 306.6913434743704
- 0.0
- 430.53169252696676
- 227.22480030078816
- 0.0
- 0.0
- 1.0
r:
- 1.0
- 0.0
- 0.0
- 0.0
- 1.0
- 0.0
- 0.0
- 0.0
- 1.0
p:
- 395.60662814306596
- 0.0
- 316.72212558212516
- 0.0
- 0.0
- 395.60662814306596
- 238.55637359619141
- 0.0
- 0.0
- 0.0
- 1.0
- 0.0
binning_x: 0
binning_y: 0
roi:
  x_offset: 0
  y_offset: 0
  height: 0
  width: 0
  do_rectify: false
"""
KALIBR = """\
cam0:
  cam_overlaps: [1]
  camera_model: pinhole
  distortion_coeffs: [-0.27695497, 0.06712482, 0.00087538, 0.00011556]
  distortion_model: radtan
  intrinsics: [461.629, 460.152, 362.680, 246.049]
  resolution: [752, 480]
  rostopic: /cam0/image_raw
cam1:
  T_cn_cnm1:
  - [0.99998854, 0.00216014, 0.00427195, -0.11003785]
  - [-0.00221074, 0.99992702, 0.01187697, 0.00045792]
  - [-0.00424598, -0.01188627, 0.99992034, -0.00064487]
  - [0.0, 0.0, 0.0, 1.0]
  cam_overlaps: [0]
  camera_model: omni
  distortion_coeffs: [-0.33518750, 0.13211436, 0.00055967, 0.00057686]
  distortion_model: radtan
  intrinsics: [0.80065662, 833.006, 830.345, 373.850, 253.749]
  resolution: [752, 480]
  rostopic: /cam1/image_raw
"""
MRCAL = """\
# generated on 2023-11-15 16:12:09 with   mrcal-calibrate-cameras --lensmodel LENSMODEL_OPENCV8
# RMS error: 0.3
{
    'lensmodel':  'LENSMODEL_OPENCV8',

    # intrinsics are fx,fy,cx,cy,distortion0,distortion1,....
    'intrinsics': [ 1766.071241, 1765.892527, 1944.06645, 1064.523121, 2.164802516, -1.185158138, -9.31342e-05, 0.0007782462, -0.2351910903, 2.446029503, -0.6697132481, -0.6284355415,],

    # extrinsics are rt_fromref
    'extrinsics': [ 0, 0, 0, 0, 0, 0,],

    'imagersize': [ 3840, 2160,],

    'icam_intrinsics': 0,

    # The optimization inputs contain all the data used to compute this model.
    'optimization_inputs': b'P)h>@6aWAK2mk;8Apk%#{0#XB:&*0B,~4[]!?|>',

}
"""  # noqa: E501
COLMAP_TEXT = """\
# Camera list with one line of data per camera:
#   CAMERA_ID, MODEL, WIDTH, HEIGHT, PARAMS[]
# Number of cameras: 2
1 PINHOLE 3072 2304 2559.81 2560.5 1536 1152
2 OPENCV 1280 720 900.25 901.5 640.5 360.5 -0.1 0.02 0.001 -0.002
"""
COLMAP_BINARY = struct.pack(
    "<Q IiQQ4d IiQQ8d",
    *(2, 1, 1, 3072, 2304, 2559.81, 2560.5, 1536, 1152),
    *(2, 4, 1280, 720, 900.25, 901.5, 640.5, 360.5, -0.1, 0.02, 0.001, -0.002),
)
NERFSTUDIO = """\
{
    "w": 3008, "h": 2000,
    "fl_x": 1072.281897246229, "fl_y": 1068.6906965388932,
    "cx": 1504.0, "cy": 1000.0,
    "k1": 0.03126218448029553, "k2": 0.005177020067511987,
    "p1": -6.472477652140879e-05, "p2": -1.374647851912992e-07,
    "camera_model": "OPENCV",
    "frames": [
        {
            "file_path": "images/frame_00001.jpeg",
            "transform_matrix": [
                [0.89264391, 0.08799600, 0.44209003, 3.16835941],
                [0.44641900, -0.0367545, -0.8940689, -5.4794899],
                [-0.0624257, 0.99544252, -0.0720918, -0.9791661], [0.0, 0.0, 0.0, 1.0]],
            "colmap_im_id": 1
        }
    ],
    "applied_transform": [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [-0.0, -1.0, -0.0, -0.0]],
    "ply_file_path": "sparse_pc.ply"
}
"""
NERF_BLENDER = """\
{
    "camera_angle_x": 0.6911112070083618,
    "frames": [
        {
            "file_path": "./train/r_0", "rotation": 0.012566370614359171,
            "transform_matrix": [
                [-0.9999022, 0.00419225, -0.0133457, -0.0537983],
                [-0.0139887, -0.2996591, 0.95394367, 3.84547043],
                [-4.66e-10, 0.95403719, 0.29968831, 1.20808232], [0.0, 0.0, 0.0, 1.0]]
        },
        {
            "file_path": "./train/r_1", "rotation": 0.012566370614359171,
            "transform_matrix": [
                [-0.9305422, 0.11707554, -0.3469646, -1.3986591],
                [-0.3661846, -0.2975104, 0.88170075, 3.55424976],
                [7.45e-09, 0.94751304, 0.31971723, 1.28882146], [0.0, 0.0, 0.0, 1.0]]
        }
    ]
}
"""
METASHAPE_CALIBRATION = """\
<?xml version="1.0" encoding="UTF-8"?>
<calibration>
  <projection>frame</projection>
  <width>1920</width>
  <height>1080</height>
  <f>1430.125</f>
  <cx>-24.25</cx>
  <cy>17.5</cy>
  <b1>0.5</b1>
  <b2>-4.25</b2>
  <k1>-0.118322055927498</k1>
  <k2>0.293632083518507</k2>
  <k3>-0.01</k3>
  <p1>0.000330080086304322</p1>
  <p2>0.00182154893322038</p2>
  <date>2017-11-14T23:30:12Z</date>
</calibration>
"""
METASHAPE_CAMERAS = """\
<?xml version="1.0" encoding="UTF-8"?>
<document version="2.0.0">
  <chunk label="Chunk 1" enabled="true">
    <sensors next_id="2">
      <sensor id="0" label="ZenmuseP1 (35mm)" type="frame">
        <resolution width="8192" height="5460"/>
        <property name="pixel_width" value="0.0043945"/>
        <property name="focal_length" value="35"/>
        <bands><band label="Red"/><band label="Green"/><band label="Blue"/></bands>
        <calibration type="frame" class="initial">
          <resolution width="8192" height="5460"/>
          <f>8198.125</f>
        </calibration>
        <calibration type="frame" class="adjusted">
          <resolution width="8192" height="5460"/>
          <f>8196.75</f>
          <cx>15.5</cx>
          <cy>16.25</cy>
          <k1>-0.044669927911113239</k1>
        </calibration>
        <covariance><params>f</params><coeffs>1.2160894102e-01</coeffs></covariance>
      </sensor>
      <sensor id="1" label="unknown" type="frame">
        <resolution width="4032" height="3024"/>
      </sensor>
    </sensors>
    <cameras next_id="1" next_group_id="0">
      <camera id="0" sensor_id="0" component_id="0" label="DJI_0001">
        <transform>0.6 0.8 0 -5.4 0.48 -0.36 -0.8 13.3 -0.64 0.48 -0.6 2.1 0 0 0 1</transform>
        <orientation>1</orientation>
      </camera>
    </cameras>
    <reference>LOCAL_CS["Local Coordinates (m)",LOCAL_DATUM["Local Datum",0]]</reference>
  </chunk>
</document>
"""
MESHROOM = """\
{
    "version": ["1", "2", "9"],
    "featuresFolders": ["../../FeatureExtraction/1d9d60ca1c2ed8f9"],
    "matchesFolders": ["../../FeatureMatching/8bcece46dc65548f"],
    "views": [{
        "viewId": "935868197", "poseId": "935868197", "intrinsicId": "3486608314",
        "frameId": "1030", "path": "images/IMG_1030.jpg", "width": "3424", "height": "2202",
        "metadata": {"Make": "Canon", "Exif:FocalLength": "24", "Orientation": "1"}
    }],
    "intrinsics": [{
        "intrinsicId": "3486608314", "width": "3424", "height": "2202",
        "sensorWidth": "32", "sensorHeight": "20.5", "serialNumber": "2042956",
        "type": "pinhole", "initializationMode": "estimated", "initialFocalLength": "-1",
        "focalLength": "24", "pixelRatio": "1.5", "pixelRatioLocked": "true",
        "principalPoint": ["12.25", "-3.5"], "distortionInitializationMode": "none",
        "distortionParams": ["-0.1", "0.02", "-0.003"], "distortionType": "radialk3",
        "undistortionOffset": ["0", "0"], "undistortionParams": "", "undistortionType": "none",
        "locked": "false"
    }],
    "poses": [{"poseId": "935868197", "pose": {"transform": {
        "rotation": ["1", "0", "0", "0", "1", "0", "0", "0", "1"],
        "center": ["0.25", "-1.5", "3"]}, "locked": "0"}}]
}
"""
BLENDER = """\
{
  "type": "PERSP", "lens": 50.0, "sensor_width": 36.0,
  "sensor_height": 24.0, "sensor_fit": "AUTO", "shift_x": 0.0,
  "shift_y": 0.0, "resolution_x": 1920, "resolution_y": 1080,
  "resolution_percentage": 50, "pixel_aspect_x": 1.0, "pixel_aspect_y": 1.0
}
"""
BOP_CAMERA = """\
{
  "cx": 325.2611082792282, "cy": 242.04899594187737, "depth_scale": 0.1, "fx": 572.4114,
  "fy": 573.57043, "height": 480, "width": 640
}
"""
BOP_SCENE = """\
{
  "0": {"cam_K": [1778.5, 0.0, 967.25, 0.0, 1779.0, 572.5, 0.0, 0.0, 1.0],
        "cam_R_w2c": [0.6, 0.8, 0.0, 0.48, -0.36, -0.8, -0.64, 0.48, -0.6],
        "cam_t_w2c": [12.5, -31.75, 902.5], "depth_scale": 1.0},
  "1": {"cam_K": [1700.5, 0.0, 960.25, 0.0, 1701.0, 540.5, 0.0, 0.0, 1.0],
        "cam_R_w2c": [0.8, -0.6, 0.0, -0.36, -0.48, -0.8, 0.48, 0.64, -0.6],
        "cam_t_w2c": [-8.0, 27.25, 911.0], "depth_scale": 1.0}
}
"""
DSINE = "577.87,580.25,319.5,239.5\n"
MOGE_INTRINSICS = '{"intrinsics": [[0.75, 0.0, 0.5], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]]}\n'
MOGE_FOV = '{"fov_x": 90.0, "fov_y": 60.0}'
K_TXT = """\
3.772000000000000000e+03 0.000000000000000000e+00 3.058750000000000000e+02
0.000000000000000000e+00 3.759000000000000000e+03 2.551250000000000000e+02
0.000000000000000000e+00 0.000000000000000000e+00 1.000000000000000000e+00
"""

# File name and content.
FILES: dict[str, tuple[str, str | bytes]] = {
    "camera_json": ("camera.json", CAMERA_JSON),
    "opencv_yaml": ("out_camera_data.yml", OPENCV_YAML),
    "opencv_xml": ("out_camera_data.xml", OPENCV_XML),
    "opencv_json": ("out_camera_data.json", OPENCV_JSON),
    "opencv_script": ("calibration.json", SCRIPT_JSON),
    "ros_file": ("ost.yaml", ROS_FILE),
    "ros_message": ("camera_info.txt", ROS_MESSAGE),
    "kalibr": ("camchain.yaml", KALIBR),
    "mrcal": ("camera-0.cameramodel", MRCAL),
    "colmap_text": ("cameras.txt", COLMAP_TEXT),
    "colmap_binary": ("cameras.bin", COLMAP_BINARY),
    "nerfstudio": ("transforms.json", NERFSTUDIO),
    "nerf_blender": ("transforms_train.json", NERF_BLENDER),
    "metashape_calibration": ("calibration.xml", METASHAPE_CALIBRATION),
    "metashape_cameras": ("cameras.xml", METASHAPE_CAMERAS),
    "meshroom": ("cameras.sfm", MESHROOM),
    "blender": ("blender.json", BLENDER),
    "bop_camera": ("camera.json", BOP_CAMERA),
    "bop_scene": ("scene_camera.json", BOP_SCENE),
    "moge_intrinsics": ("meta.json", MOGE_INTRINSICS),
    "moge_fov": ("fov.json", MOGE_FOV),
    "dsine": ("office_01.txt", DSINE),
    "k_txt": ("K.txt", K_TXT),
}

NAME = "calibration.dat"  # says nothing about the format
PLAIN = Request()


def write(folder: Path, content: str | bytes, name: str = NAME) -> Path:
    """File with some content."""
    path = folder / name
    path.unlink(missing_ok=True)  # some file systems take far longer to overwrite it
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def parse(folder: Path, content: str | bytes, name: str = NAME) -> Document:
    """Document of a file with some content, as the readers are given it."""
    return read_document(write(folder, content, name))


def read(
    reader: Reader, folder: Path, content: str | bytes, request: Request = PLAIN, name: str = NAME
) -> Reading:
    """Reading of a file that the reader has to recognise."""
    document = parse(folder, content, name)
    assert reader.recognises(document)
    return reader.read(document, request)


def changed(sample: str, *replacements: tuple[str, str]) -> str:
    """A sample with texts replaced, each of which it has to contain."""
    for old, new in replacements:
        assert old in sample
        sample = sample.replace(old, new)
    return sample


def check_broken(
    reader: Reader,
    folder: Path,
    content: str | bytes,
    words: str,
    request: Request = PLAIN,
    name: str = NAME,
) -> None:
    """A broken file gives one message that names it and says what was expected and what to do."""
    with pytest.raises(FileError, match=words) as caught:
        read(reader, folder, content, request, name)
    assert name in caught.value.found
    assert caught.value.expected
    assert caught.value.remedy
