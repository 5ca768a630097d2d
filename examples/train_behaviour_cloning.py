"""Behaviour cloning from a bucket: images in, actions out, with a plot of loss and loading wait.

    python examples/train_behaviour_cloning.py s3://bucket/pick.vf --epochs 3 --plot training.png

Credentials come from the usual environment variables (AWS_ACCESS_KEY_ID, …). The dataset needs a
camera and a feature "action". Loader workers read ahead from the bucket while the network trains;
what is left of the wait for data is drawn under the loss.
"""

import argparse
import time

import matplotlib as mpl
import torch
from torch import nn
from torch.utils.data import DataLoader

from videoformat.torch import FrameDataset, FrameStream

mpl.use("Agg")
import matplotlib.pyplot as plt  # after the choice of a backend that needs no window


class Policy(nn.Module):
    """A small network from one image to one action."""

    def __init__(self, actions: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=3), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(),
            nn.Linear(32 * 16, 128), nn.ReLU(), nn.Linear(128, actions),
        )  # fmt: skip

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Actions for a batch of images of bytes."""
        return self.layers(images.float() / 255)


def show(epoch: int, done: int, total: int, loss: float, wait: float) -> None:
    filled = 24 * done // total
    bar = "#" * filled + "." * (24 - filled)
    print(f"\repoch {epoch} [{bar}] {done}/{total}  loss {loss:.4f}  wait {wait:.0%} ", end="")


def train(options: argparse.Namespace) -> tuple[list[float], list[float]]:
    cameras = None if options.camera is None else [options.camera]
    frames = FrameDataset(options.uri, cameras=cameras, columns=["action"], size=(96, 96))
    camera = frames.cameras[0]
    stream = FrameStream(frames, batch_size=options.batch, seed=options.seed)
    # Nothing was read in this process yet, so that workers could be forked; these need not be.
    loader = DataLoader(
        stream,
        batch_size=None,
        num_workers=options.workers,
        multiprocessing_context="forkserver" if options.workers else None,
        persistent_workers=options.workers > 0,
    )
    torch.manual_seed(options.seed)
    policy: Policy | None = None
    losses, waits = [], []
    for epoch in range(options.epochs):
        stream.set_epoch(epoch)
        total = len(stream)
        begin = time.perf_counter()
        for done, batch in enumerate(loader, 1):
            loaded = time.perf_counter()
            if policy is None:
                policy = Policy(batch["action"].shape[1])
                optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
            loss = (policy(batch[camera]) - batch["action"]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            end = time.perf_counter()
            losses.append(loss.item())
            waits.append((loaded - begin) / (end - begin))
            show(epoch, done, total, losses[-1], waits[-1])
            begin = end
        print()
    return losses, waits


def plot(losses: list[float], waits: list[float], path: str) -> None:
    figure, (upper, lower) = plt.subplots(2, 1, sharex=True, figsize=(7, 5))
    upper.plot(losses)
    upper.set(ylabel="loss", yscale="log")
    lower.plot([100 * wait for wait in waits], color="tab:orange")
    lower.set(xlabel="step", ylabel="wait for data, % of step", ylim=(0, 100))
    figure.tight_layout()
    figure.savefig(path, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("uri", help="a dataset: s3://…, gs://…, az://… or a folder")
    parser.add_argument("--camera", help="whose images the policy sees; default: the first")
    parser.add_argument("--epochs", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--batch", type=int, default=32, help="frames a step; default: %(default)s")
    parser.add_argument(
        "--workers", type=int, default=2, help="loader processes; default: %(default)s"
    )
    parser.add_argument("--seed", type=int, default=0, help="of order and weights")
    parser.add_argument(
        "--plot", default="training.png", help="where the plot goes; default: %(default)s"
    )
    options = parser.parse_args()
    losses, waits = train(options)
    plot(losses, waits, options.plot)
    tenth = max(len(losses) // 10, 1)
    print(f"loss {sum(losses[:tenth]) / tenth:.4f} -> {sum(losses[-tenth:]) / tenth:.4f}")
    print(f"mean wait for data {sum(waits) / len(waits):.0%} of a step; plot in {options.plot}")


if __name__ == "__main__":
    main()
