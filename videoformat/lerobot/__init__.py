"""LeRobot's dataset class over this format: change the import, keep the rest.

::

    from videoformat.lerobot import LeRobotDataset

    dataset = LeRobotDataset("me/pick", root="pick.vf", delta_timestamps={"action": [0.0, 0.1]})

Items, their keys, order, types and values are those of LeRobot 0.6.1. LeRobot need not be installed.
Where one is that has a registry of readers, ``write_meta`` lets its own class open a dataset.
"""

from videoformat.lerobot.dataset import LeRobotDataset
from videoformat.lerobot.meta_files import write_meta
from videoformat.lerobot.metadata import LeRobotDatasetMetadata

__all__ = ["LeRobotDataset", "LeRobotDatasetMetadata", "write_meta"]
