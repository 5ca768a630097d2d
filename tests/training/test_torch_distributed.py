"""torchrun with gloo: ranks find their shares by themselves."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import small_dataset

pytest.importorskip("torch")

LENGTHS = (40, 33, 27, 19)


def test_ranks_of_torchrun_share_an_epoch(tmp_path: Path) -> None:
    uri = tmp_path / "small.vf"
    small_dataset.write_dataset(uri, lengths=LENGTHS, interval=8, cameras=small_dataset.CAMERAS[:1])
    script = Path(__file__).with_name("distributed_run.py")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*command, str(script), str(uri), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    reports = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    total = sum(LENGTHS)
    assert [report["total"] for report in reports] == [total, total]
    first, second = (report["seen"] for report in reports)
    assert sorted(first + second) == list(range(total))
    assert abs(len(first) - len(second)) <= 1
