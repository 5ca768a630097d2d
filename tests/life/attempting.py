"""Tries inputs that were changed at random; only errors of this package may come of it.

    python attempting.py KIND FIRST COUNT FOLDER

Each input follows from its kind and number alone. What escapes is printed. An input that takes too
much memory or too long ends the process; which one it was is in FOLDER/at.
"""

import json
import os
import resource
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
from damage import index_of
from made_videos import write_video
from make_lerobot import SampleSpec
from make_lerobot import write_dataset as write_lerobot
from mutating import changed_bytes, changed_json, changed_table, changed_value
from small_dataset import CAMERAS, write_dataset

import videoformat as vf
from videoformat.convert.engine import open_source
from videoformat.convert.native import IndexedFiles, native_chunks
from videoformat.errors import VideoFormatError
from videoformat.index.pictures import PictureIndex
from videoformat.index.plan import plan_chunk
from videoformat.index.schema import PICTURE_TYPE, STREAM_TYPE, DatasetInfo
from videoformat.media.demux import VideoFile
from videoformat.table import Table
from videoformat.verify import verify

# Beyond what the process has when it begins.
MEMORY_BYTES = 2 * 2**30
# Of the processor, for one input.
SECONDS = 20
FRAMES = 100

Attempt = Callable[[Random, Path], None]


def metadata(folder: Path) -> Attempt:
    """The facts of a dataset, as JSON in its schema."""
    write_dataset(folder / "d.vf", lengths=(2,))
    table = Table.open(folder / "d.vf")
    text = table.info.to_json()

    def attempt(randomly: Random, _: Path) -> None:
        mutant = changed_json(randomly, text)
        info = DatasetInfo.from_schema(table.schema.with_metadata({b"videoformat": mutant}))
        # What was read can be written.
        DatasetInfo.from_schema(table.schema.with_metadata({b"videoformat": info.to_json()}))

    return attempt


def index(folder: Path) -> Attempt:
    """The cells of a picture index, with a checksum that is right: what is behind it is reached."""
    write_dataset(folder / "d.vf", lengths=(9,), chunk_frames=9)
    table = Table.open(folder / "d.vf")
    good = index_of(table.take([0], table.schema.names).to_pylist()[0], CAMERAS[0])
    facts = good.stream_value()

    def attempt(randomly: Random, _: Path) -> None:
        cells, stream = good.to_arrow(), dict(facts)
        if randomly.random() < 0.7:
            rows = pa.Table.from_batches([pa.RecordBatch.from_struct_array(cells)])
            changed = changed_table(randomly, rows)
            try:
                cells = pa.array(changed.to_pylist(), PICTURE_TYPE)
            except (pa.ArrowException, OverflowError, TypeError):
                return  # no table can hold it
        else:
            try:
                value = changed_value(randomly, {**stream, "configuration": ""})
                kept = {} if "configuration" in (value or {}) else {"configuration": b""}
                (stream,) = pa.array([{**stream, **value, **kept}], STREAM_TYPE).to_pylist()
            except (pa.ArrowException, OverflowError, TypeError, ValueError):
                return
        try:
            right = PictureIndex.from_arrow(good.key, cells, stream)
        except VideoFormatError as error:
            computed = str(error).partition("has checksum 0x")[2][:8]
            if not computed:
                raise
            right = PictureIndex.from_arrow(
                good.key, cells, {**stream, "checksum": int(computed, 16)}
            )
        plan_chunk(right, list(right.position_of))
        assert len(right) == len(cells)

    return attempt


def read_source(path: Path) -> None:
    """What a conversion reads of a source, both ways, without writing it."""
    files = IndexedFiles()
    origin = open_source(path, files)
    for number in origin.numbers:
        episode = origin.episode(number)
        origin.values(episode)
        for chunk in native_chunks(files, origin, episode, "u", vf.ChunkBounds(frames=4)):
            assert chunk.key.frame_count <= 16


def video(folder: Path) -> Attempt:
    """Video files, whose boxes say where everything is."""
    sources: list[tuple[bytes, tuple[int, int]]] = []
    for codec, options in (
        ("libx264", {"params": "bframes=2:keyint=6"}),
        ("libx265", {"params": "keyint=6:pools=1"}),
        ("libsvtav1", {"preset": "10", "g": "4"}),
    ):
        data = write_video(folder / "v.mp4", 8, codec=codec, **options).read_bytes()
        begin = data.index(b"moov") - 4
        sources.append((data, (begin, begin + int.from_bytes(data[begin : begin + 4], "big"))))

    def attempt(randomly: Random, place: Path) -> None:
        path = place / "mutant.mp4"
        path.write_bytes(changed_bytes(randomly, *randomly.choice(sources)))
        if randomly.random() < 0.5:
            read_source(path)
            return
        with VideoFile(path) as file:
            file.scan()
            for number, _ in enumerate(file.frames()):
                if number == FRAMES:
                    break

    return attempt


def lerobot(folder: Path) -> Attempt:
    """LeRobot's folders: JSON, tables, videos."""
    sources = [
        write_lerobot(
            folder / version,
            SampleSpec(version=version, lengths=(3, 2), cameras=("front",), tasks=("a", "b")),
        )
        for version in ("v2.0", "v2.1", "v3.0")
    ]

    def attempt(randomly: Random, place: Path) -> None:
        copy = Path(
            shutil.copytree(randomly.choice(sources), place / "mutant", copy_function=os.link)
        )
        try:
            files = sorted(path for path in copy.rglob("*") if path.is_file())
            chosen = randomly.choice([path for path in files if path.suffix != ".mp4"])
            data = chosen.read_bytes()
            chosen.unlink()
            if chosen.suffix == ".parquet" and randomly.random() < 0.7:
                pq.write_table(
                    changed_table(randomly, pq.read_table(pa.BufferReader(data))), chosen
                )
            elif chosen.suffix == ".parquet":
                chosen.write_bytes(changed_bytes(randomly, data))
            elif randomly.random() < 0.98:
                chosen.write_bytes(changed_json(randomly, data))
            read_source(copy)
        finally:
            shutil.rmtree(copy)

    return attempt


def table(folder: Path) -> Attempt:
    """The files of a Lance table."""
    source = folder / "d.vf"
    write_dataset(source, lengths=(5, 2), chunk_frames=4, cameras=CAMERAS[:1])

    def attempt(randomly: Random, place: Path) -> None:
        copy = Path(shutil.copytree(source, place / "mutant.vf", copy_function=os.link))
        try:
            files = sorted(path for path in copy.rglob("*") if path.is_file())
            chosen = randomly.choice([path for path in files if path.stat().st_size])
            data = chosen.read_bytes()
            chosen.unlink()
            chosen.write_bytes(changed_bytes(randomly, data, (len(data) * 3 // 4, len(data))))
            verify(copy, workers=1)
            dataset = vf.open(copy)
            for episode in range(dataset.num_episodes):
                dataset.rows(episode)
                dataset.read_frames(episode, CAMERAS[0], [0, -1])
        finally:
            shutil.rmtree(copy)

    return attempt


KINDS: dict[str, Callable[[Path], Attempt]] = {
    "metadata": metadata,
    "index": index,
    "video": video,
    "lerobot": lerobot,
    "table": table,
}


def begin_limits() -> None:
    """Bounds what one process may take from here on."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def peak_kib() -> int:
    """The most memory that was resident since this program began.

    ``ru_maxrss`` would say what the process took that started it, where that took more.
    """
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise RuntimeError("/proc/self/status has no VmHWM")


def main() -> None:
    kind, first, count, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    place = folder / "mutants"
    place.mkdir()
    attempt = KINDS[kind](folder)
    outcomes = {"accepted": 0, "refused": 0, "escaped": 0}
    # What is loaded lazily is loaded by then.
    for number in range(first, first + count):
        if number == first + min(10, count - 1):
            begin_limits()
        (folder / "at").write_text(str(number))
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            attempt(Random(f"{kind} {number}"), place)
            outcomes["accepted"] += 1
        except VideoFormatError:
            outcomes["refused"] += 1
        except BaseException:  # noqa: BLE001 - whatever it is was found
            outcomes["escaped"] += 1
            print(f"{kind} {number}: {traceback.format_exc()}", file=sys.stderr)
    print(json.dumps({**outcomes, "peak_kib": peak_kib()}))


if __name__ == "__main__":
    main()
