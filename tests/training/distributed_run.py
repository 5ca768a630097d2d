"""One rank of a torchrun job on gloo: an epoch of its share, in step with the others."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

from videoformat.torch import FrameDataset, IntervalSampler

BATCH = 8


def main() -> None:
    uri, out = sys.argv[1:]
    warnings.filterwarnings("ignore", message="lance is not fork-safe")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    dataset = FrameDataset(uri)
    sampler = IntervalSampler(dataset, group=4, buffer=BATCH)
    sampler.set_epoch(1)
    loader = DataLoader(dataset, batch_size=BATCH, sampler=sampler)
    seen: list[int] = []
    for batch in loader:
        seen += batch["index"].tolist()
    total = torch.tensor([len(seen)])
    dist.all_reduce(total)
    report = {"rank": dist.get_rank(), "seen": seen, "total": int(total)}
    Path(out, f"{dist.get_rank()}.json").write_text(json.dumps(report))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
