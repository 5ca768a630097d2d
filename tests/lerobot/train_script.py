"""A training script as LeRobot's users write it; only its first import names this package."""

from __future__ import annotations

import sys

import torch
from torch import nn

from videoformat.lerobot import LeRobotDataset  # was: from lerobot.datasets.lerobot_dataset import


class Policy(nn.Module):  # stands in for a policy: images and states in, a chunk of actions out
    def __init__(self, camera: str, states: int, actions: int, horizon: int) -> None:
        super().__init__()
        self.camera, self.horizon, self.actions = camera, horizon, actions
        self.eye = nn.Sequential(
            nn.Conv2d(3, 8, 5, stride=4), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten()
        )
        self.head = nn.Linear(8 * 16 + states, horizon * actions)

    def forward(self, batch: dict) -> torch.Tensor:
        seen = self.eye(batch[self.camera])
        state = batch["observation.state"]
        flat = self.head(torch.cat([seen, state], dim=1))
        error = flat.view(-1, self.horizon, self.actions) - batch["action"]
        kept = ~batch["action_is_pad"].unsqueeze(-1)
        return (error.square() * kept).mean()


def main(root: str, steps: int) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    horizon = 8
    meta = LeRobotDataset("me/set", root=root).meta
    camera = meta.camera_keys[0]
    dataset = LeRobotDataset(
        "me/set",
        root=root,
        episodes=[0, 1, 2, 3],
        delta_timestamps={"action": [at / meta.fps for at in range(horizon)]},
    )
    stats = dataset.meta.stats
    mean = torch.as_tensor(stats["action"]["mean"], dtype=torch.float32)
    std = torch.as_tensor(stats["action"]["std"], dtype=torch.float32).clamp_min(1e-3)
    policy = Policy(camera, meta.shapes["observation.state"][0], meta.shapes["action"][0], horizon)
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    loader = torch.utils.data.DataLoader(
        dataset, batch_size=8, shuffle=True, num_workers=0, drop_last=True
    )
    losses: list[float] = []
    while len(losses) < steps:
        for batch in loader:
            batch["action"] = (batch["action"] - mean) / std
            loss = policy(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    print("first", sum(losses[:5]) / 5, "last", sum(losses[-5:]) / 5, batch["task"][0])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
