"""Map-style items against the frames and rows of the dataset."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import small_dataset

import videoformat as vf

torch = pytest.importorskip("torch")

from videoformat.torch import FrameDataset  # noqa: E402 - needs torch

LENGTHS = (13, 6, 9)
TOP, WRIST = small_dataset.CAMERAS


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("frames") / "small.vf"
    small_dataset.write_dataset(path, lengths=LENGTHS)
    return path


def test_items_are_frames_and_rows(uri: Path) -> None:
    dataset = FrameDataset(uri)
    truth = vf.open(uri)
    assert len(dataset) == sum(LENGTHS)
    index = 0
    for episode, length in enumerate(LENGTHS):
        for frame in range(length):
            item = dataset[index]
            for camera in (TOP, WRIST):
                (rgb,) = truth.read_frames(episode, camera, [frame])
                assert item[camera].dtype == torch.uint8
                np.testing.assert_array_equal(item[camera].permute(1, 2, 0).numpy(), rgb)
            assert item["action"].tolist() == [episode, frame]
            assert item["action"].dtype == torch.float32
            assert item["task"] == f"task {episode}"
            positions = [int(item[key]) for key in ("episode_index", "frame_index", "index")]
            assert positions == [episode, frame, index]
            index += 1


def test_a_window_is_clamped_to_its_episode_and_marked(uri: Path) -> None:
    step = 1 / small_dataset.FPS
    windows = {WRIST: [-2 * step, 0.0, step], "action": [-step, 3 * step]}
    dataset = FrameDataset(uri, cameras=[WRIST], columns=["action"], delta_timestamps=windows)
    truth = vf.open(uri)
    first = LENGTHS[0]
    for index, frames, pads in [
        (first, [0, 0, 1], [True, False, False]),
        (first + 1, [0, 1, 2], [True, False, False]),
        (first + 5, [3, 5, 5], [False, False, True]),
    ]:
        item = dataset[index]
        expected = truth.read_frames(1, WRIST, frames)
        np.testing.assert_array_equal(item[WRIST].permute(0, 2, 3, 1).numpy(), expected)
        assert item[f"{WRIST}_is_pad"].tolist() == pads
        at = index - first
        assert item["action"].tolist() == [[1, max(at - 1, 0)], [1, min(at + 3, 5)]]
        assert item["action_is_pad"].tolist() == [at == 0, at + 3 > 5]
        assert TOP not in item


def test_forms_of_an_image(uri: Path) -> None:
    whole = FrameDataset(uri, cameras=[TOP], columns=[])
    as_float = FrameDataset(uri, cameras=[TOP], columns=[], as_float=True, channels_first=False)
    small = FrameDataset(uri, cameras=[TOP], columns=[], size=(16, 24))
    height, width = small_dataset.HEIGHT, small_dataset.WIDTH
    assert whole[4][TOP].shape == (3, height, width)
    assert as_float[4][TOP].shape == (height, width, 3)
    assert torch.equal(as_float[4][TOP], whole[4][TOP].permute(1, 2, 0).float() / 255)
    expected = vf.open(uri).read_frames(0, TOP, [4], size=(16, 24))[0]
    np.testing.assert_array_equal(small[4][TOP].permute(1, 2, 0).numpy(), expected)


def test_some_episodes_keep_their_positions(uri: Path) -> None:
    dataset = FrameDataset(uri, cameras=[], columns=["action"], episodes=[2, 0, 2])
    assert len(dataset) == LENGTHS[0] + LENGTHS[2]
    item = dataset[LENGTHS[0]]
    assert (int(item["episode_index"]), int(item["index"])) == (2, LENGTHS[0] + LENGTHS[1])
    # Chunks of 8 frames in intervals of 4: episodes of 13 and of 9 frames.
    assert dataset.interval_starts().tolist() == [0, 4, 8, 12, 13, 17, 21, 22]


def test_a_transform_sees_the_item_where_it_is_read(uri: Path) -> None:
    dataset = FrameDataset(
        uri, cameras=[], columns=["action"], transform=lambda item: item["action"]
    )
    assert dataset[3].tolist() == [0, 3]


def test_columns_are_kept_within_their_bound(uri: Path) -> None:
    """With room for nothing, each episode is read when it is asked for."""
    tight = FrameDataset(uri, cameras=[], column_cache_bytes=1)
    roomy = FrameDataset(uri, cameras=[])
    for index in (0, 14, 27, 1):
        assert tight[index]["action"].tolist() == roomy[index]["action"].tolist()
        assert tight[index]["task"] == roomy[index]["task"]


def test_a_pickle_reads_the_version_that_was_open(tmp_path: Path) -> None:
    uri = tmp_path / "grows.vf"
    small_dataset.write_dataset(uri, lengths=(3,), cameras=(TOP,))
    before = FrameDataset(uri, columns=["action"])
    with vf.create(uri, mode="append") as writer:
        for frame in range(2):
            rgb = small_dataset.scene(1, 0, frame)
            writer.add_frame({TOP: rgb, "action": np.array([1, frame], np.float32)})
        writer.save_episode()
    copy = pickle.loads(pickle.dumps(before))
    assert len(copy) == 3
    assert len(FrameDataset(uri)) == 5
    assert torch.equal(copy[2][TOP], before[2][TOP])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"cameras": ["nose"]}, KeyError, "cameras: there is no 'nose'"),
        ({"columns": "action"}, ValueError, "columns is a list"),
        ({"delta_timestamps": {"action": [0.01]}}, ValueError, "multiples of 1/fps"),
        ({"delta_timestamps": {"action": ["1"]}}, ValueError, "expected seconds"),
        ({"delta_timestamps": {"speed": [0.0]}}, KeyError, "there is no 'speed'"),
        ({"transform": 3}, ValueError, "expected a callable"),
    ],
)
def test_arguments_that_cannot_be_are_refused(
    uri: Path, arguments: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        FrameDataset(vf.open(uri), **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("index", [28, -29])
def test_an_index_outside_is_an_index_error(uri: Path, index: int) -> None:
    with pytest.raises(IndexError, match=f"there is no item {index}; valid are -28 to 27"):
        _ = FrameDataset(vf.open(uri))[index]
