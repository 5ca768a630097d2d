"""A columnar dataset format for video that models train on.

::

    import videoformat as vf

    ds = vf.open("dataset.vf")
    frames = ds.read_frames(3, "observation.images.top", [17, 250])
"""

from videoformat.columns import add_feature, set_episode_metadata
from videoformat.convert import ConvertReport, convert
from videoformat.dataset import Dataset
from videoformat.dataset import open_dataset as open  # noqa: A004 - the name users expect: vf.open
from videoformat.editing import EditReport, delete_episodes, undelete
from videoformat.errors import VideoFormatError
from videoformat.export import ExportReport, export
from videoformat.media.episode import ChunkBounds
from videoformat.media.gop import DDRA
from videoformat.media.star import Star
from videoformat.merging import CopyReport, merge, split, subset
from videoformat.reading import ReadOptions, ReadPlan, ReadReport
from videoformat.recording import Recorder
from videoformat.recover import RecoverReport, recover
from videoformat.versions import VacuumReport, log, tag, untag, vacuum
from videoformat.writer import Writer, create

__all__ = [
    "DDRA",
    "ChunkBounds",
    "ConvertReport",
    "CopyReport",
    "Dataset",
    "EditReport",
    "ExportReport",
    "ReadOptions",
    "ReadPlan",
    "ReadReport",
    "Recorder",
    "RecoverReport",
    "Star",
    "VacuumReport",
    "VideoFormatError",
    "Writer",
    "add_feature",
    "convert",
    "create",
    "delete_episodes",
    "export",
    "log",
    "merge",
    "open",
    "recover",
    "set_episode_metadata",
    "split",
    "subset",
    "tag",
    "undelete",
    "untag",
    "vacuum",
]
