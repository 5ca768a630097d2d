"""One run of a DataLoader in a process of its own: what came out, as a line of JSON.

A script, so that whoever runs it can put a limit on its time: a loader that hangs is ended.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader

from videoformat.torch import FrameDataset, FrameStream, IntervalSampler

BATCH = 8


def resident_bytes() -> int:
    """Memory of this process and its children."""
    own = os.getpid()
    total = 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if int(entry.name) == own or parent == own:
                total += int((entry / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            continue
    return total


def main() -> None:
    choices: dict[str, Any] = json.loads(sys.argv[1])
    warnings.filterwarnings("ignore", message="lance is not fork-safe")
    torch.set_num_threads(1)
    workers = choices["workers"]
    dataset = FrameDataset(
        choices["uri"],
        delta_timestamps={"action": [-1 / 30, 0.0]},
        storage_options=choices.get("storage_options"),
    )
    if choices.get("read_first"):
        _ = dataset[0]
    options: dict[str, Any] = {"num_workers": workers, "timeout": 100 if workers else 0}
    if workers:
        options |= {"multiprocessing_context": choices["method"], "persistent_workers": True}
    if choices["kind"] == "map":
        sampler = IntervalSampler(dataset, group=4, buffer=BATCH, seed=3)
        loader = DataLoader(dataset, batch_size=BATCH, sampler=sampler, **options)
        order: Any = sampler
    else:
        order = FrameStream(dataset, batch_size=BATCH, group=4, buffer=4 * BATCH, seed=3)
        loader = DataLoader(order, batch_size=None, **options)
    epochs, memory = [], []
    for epoch in range(choices["epochs"]):
        order.set_epoch(epoch)
        seen: list[int] = []
        for batch in loader:
            assert batch[choices["camera"]].dtype == torch.uint8
            assert batch["action"].shape[1:] == (2, 2)
            # The scene writes (episode, frame) into the action; the window's last is the frame.
            assert torch.equal(batch["action"][:, 1, 0].long(), batch["episode_index"])
            assert torch.equal(batch["action"][:, 1, 1].long(), batch["frame_index"])
            seen += batch["index"].tolist()
        epochs.append(seen)
        memory.append(resident_bytes())
    print(json.dumps({"frames": len(dataset), "epochs": epochs, "memory": memory}))


if __name__ == "__main__":
    main()
