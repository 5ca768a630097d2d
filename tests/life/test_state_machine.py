"""A dataset's life against a model in memory: no acknowledged episode lost, none half visible.

``VIDEOFORMAT_LIFE_STEPS`` sets how many steps there are (500 by default); a step may hold up to four
that another process begins before it is killed.
"""

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import whole
from crashing import AT_ONCE, CrashServer, Step, open_writer, write_episode
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

import videoformat as vf
from videoformat.errors import DataError, DatasetNotFoundError
from videoformat.verify import verify

STEPS = int(os.environ.get("VIDEOFORMAT_LIFE_STEPS", "500"))
STEPS_A_LIFE = 50
MOST_EPISODES = 8

seeds = st.integers(0, 10**6)
lengths = st.integers(1, 7)
places = st.lists(st.integers(0, MOST_EPISODES - 1), min_size=1, max_size=3)
# Seconds after the first word: within a first append as often as anywhere.
moments = st.one_of(st.floats(0, 0.03), st.floats(0, 0.15))
actions = st.one_of(
    st.tuples(st.just("append"), st.tuples(seeds, lengths)),
    st.tuples(st.just("abandon"), st.none()),
    st.tuples(st.just("delete"), places),
    st.tuples(st.just("vacuum"), st.none()),
    st.tuples(st.just("merge"), st.none()),
    st.tuples(st.just("tag"), st.sampled_from(["a", "b"])),
)
done_steps = [0]
outcomes: Counter[str] = Counter()
servers: list[CrashServer] = []


class Life(RuleBasedStateMachine):
    """``episodes`` are digests by identity, in order; ``tagged`` are those of each tag.

    No rule has a precondition: when a process died is not the same in two runs, so what may be drawn
    cannot depend on it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="life-"))
        self.uri = str(self.folder / "d.vf")
        self.donor = str(self.folder / "donor.vf")
        self.tagged: dict[str, dict[str, str]] = {}
        # Versions that no vacuum has had since, so that deletes after them can be undone.
        self.undoable: dict[int, dict[str, str]] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    @initialize()
    def create(self) -> None:
        open_writer(self.uri, "create").close()
        with open_writer(self.donor, "create") as writer:
            for seed in (1, 2):
                write_episode(writer, seed, 4)
        self.donated = whole.episodes(self.donor)
        self.episodes: dict[str, str] = {}
        self.note()

    def stored(self, version: Any = None) -> dict[str, str]:
        return whole.episodes(self.uri, version)

    def note(self) -> None:
        done_steps[0] += 1
        self.undoable[vf.open(self.uri).version] = dict(self.episodes)

    @rule(made=st.lists(st.tuples(seeds, lengths), min_size=1, max_size=3), together=st.booleans())
    def append(self, made: list[tuple[int, int]], together: bool) -> None:
        made = made[: max(MOST_EPISODES - len(self.episodes), 0)]
        if not made:
            return
        with open_writer(self.uri, episodes_per_append=len(made) if together else 1) as writer:
            uids = [write_episode(writer, *each) for each in made]
        found = self.stored()
        assert list(found) == [*self.episodes, *uids]
        self.episodes |= {uid: found[uid] for uid in uids}
        self.note()

    @rule(which=places)
    def delete(self, which: list[int]) -> None:
        uids = list(self.episodes)
        gone = {uids[at % len(uids)] for at in which if uids}
        vf.delete_episodes(self.uri, sorted(gone))
        self.episodes = {uid: x for uid, x in self.episodes.items() if uid not in gone}
        self.note()

    @rule(choice=st.integers(0, 10**6))
    def undelete(self, choice: int) -> None:
        version = sorted(self.undoable)[choice % len(self.undoable)]
        then = self.undoable[version]
        gone = set(then) - set(self.episodes)
        try:
            back = set(vf.undelete(self.uri, version).episodes)
        except DataError:
            back = set()
        assert back <= gone
        if back < gone:
            # It is said, and what cannot come back to its place can be copied.
            target = str(self.folder / f"back-{choice}.vf")
            vf.subset(self.uri, target, sorted(gone - back), version=version)
            assert whole.episodes(target) == {uid: then[uid] for uid in gone - back}
            shutil.rmtree(target)
            outcomes["copied instead of undeleted"] += 1
        then = {uid: digest for uid, digest in then.items() if uid not in gone - back}
        # Where they come back to is the store's; what was there keeps its order.
        order = vf.open(self.uri).directory.uids()
        assert sorted(order) == sorted({*then, *self.episodes})
        known = {**then, **self.episodes}
        assert [uid for uid in order if uid in self.episodes and uid not in then] == [
            uid for uid in self.episodes if uid not in then
        ]
        self.episodes = {uid: known[uid] for uid in order}
        self.note()

    @rule()
    def merge(self) -> None:
        report = vf.merge([self.donor], self.uri)
        new = {uid: x for uid, x in self.donated.items() if uid not in self.episodes}
        assert report.episodes == len(new)
        self.episodes |= new
        self.note()

    @rule(choice=st.integers(0, 10**6))
    def reorder(self, choice: int) -> None:
        uids = list(self.episodes)
        turned = uids[choice % (len(uids) or 1) :] + uids[: choice % (len(uids) or 1)]
        target = str(self.folder / f"turned-{choice}.vf")
        vf.subset(self.uri, target, turned)
        assert list(whole.episodes(target).items()) == [(u, self.episodes[u]) for u in turned]
        shutil.rmtree(target)
        done_steps[0] += 1

    @rule(name=st.sampled_from(["a", "b"]))
    def tag(self, name: str) -> None:
        vf.tag(self.uri, name, move=True)
        self.tagged[name] = dict(self.episodes)
        done_steps[0] += 1

    @rule(name=st.sampled_from(["a", "b"]))
    def read_tag(self, name: str) -> None:
        if name in self.tagged:
            assert list(self.stored(name).items()) == list(self.tagged[name].items())
        done_steps[0] += 1

    @rule()
    def untag(self) -> None:
        if not self.tagged:
            return
        name = min(self.tagged)
        vf.untag(self.uri, name)
        del self.tagged[name]
        try:
            vf.open(self.uri, version=name)
        except DatasetNotFoundError:
            done_steps[0] += 1
        else:
            raise AssertionError(name)

    @rule(at_once=st.booleans())
    def vacuum(self, at_once: bool) -> None:
        vf.vacuum(self.uri, **({"older_than": AT_ONCE} if at_once else {}))
        self.undoable.clear()
        self.note()

    @rule()
    def verify(self) -> None:
        report = verify(self.uri, decode=True, workers=1)
        assert report.ok, report.problems
        done_steps[0] += 1

    @rule(steps=st.lists(actions, min_size=1, max_size=4), seconds=moments)
    def crash(self, steps: list[Step], seconds: float) -> None:
        """Another process does things and is killed; what it said it had done is done."""
        uids = list(self.episodes)
        planned: list[Step] = []
        for kind, value in steps:
            if kind == "delete" and uids:
                planned.append((kind, sorted({uids[at % len(uids)] for at in value})))
            elif kind != "delete":
                planned.append((kind, self.donor if kind == "merge" else value))
        said = servers[0].run_and_kill(self.uri, planned, seconds) if planned else []
        assert all(word != "failed" for word, _, _ in said), said
        found = self.stored()
        state = list(self.episodes)
        tags = {name: list(items) for name, items in self.tagged.items()}
        pending: Step | None = None
        for word, kind, value in said:
            if word == "begin":
                pending = (kind, value)
                continue
            assert pending is not None
            state, tags = applied(kind, pending[1], value, state, tags, list(self.donated))
            pending = None
        # What was begun may have been done: then wholly. A merge of two episodes is one commit.
        if pending is not None:
            kind, value = pending
            new = [uid for uid in found if uid not in state]
            if list(found) != state or (kind == "tag" and self.order(value) != tags.get(value)):
                uid = new[0] if new else None
                state, tags = applied(kind, value, uid, state, tags, list(self.donated))
        assert list(found) == state
        for uid, digest in found.items():
            assert digest == {**self.donated, **self.episodes}.get(uid, digest), uid
        self.episodes = found
        for name in tags:
            self.tagged[name] = self.stored(name)
            assert list(self.tagged[name]) == tags[name]
        if any(kind == "vacuum" for _, kind, _ in said):
            self.undoable.clear()
        report = verify(self.uri, workers=1)
        assert report.ok, report.problems
        outcomes[f"killed in {pending[0]}" if pending else "came to its end"] += 1
        self.note()

    def order(self, name: str) -> list[str] | None:
        try:
            return vf.open(self.uri, version=name).directory.uids()
        except DatasetNotFoundError:
            return None

    @invariant()
    def holds(self) -> None:
        if hasattr(self, "episodes"):
            assert vf.open(self.uri).directory.uids() == list(self.episodes)

    @rule()
    def everything(self) -> None:
        assert list(self.stored().items()) == list(self.episodes.items())
        done_steps[0] += 1


def applied(
    kind: str,
    value: Any,
    result: Any,
    state: list[str],
    tags: dict[str, list[str]],
    donated: list[str],
) -> tuple[list[str], dict[str, list[str]]]:
    """The identities in the newest version and of each tag after a step."""
    match kind:
        case "append":
            return [*state, result], tags
        case "delete":
            return [uid for uid in state if uid not in value], tags
        case "merge":
            return [*state, *(uid for uid in donated if uid not in state)], tags
        case "tag":
            return state, {**tags, value: state}
    return state, tags


@pytest.fixture(autouse=True)
def server() -> Iterator[None]:
    servers.append(CrashServer())
    yield
    servers.pop().close()


def test_a_life_keeps_what_it_acknowledged() -> None:
    done_steps[0] = 0
    # The first life of a run is the shortest that there is, and a step may be passed over.
    while done_steps[0] < STEPS:
        lives = 1 + -(-(STEPS - done_steps[0]) // STEPS_A_LIFE)
        run_state_machine_as_test(
            Life,
            settings=settings(
                max_examples=lives,
                stateful_step_count=STEPS_A_LIFE + 1,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                print_blob=True,
                database=None,
                # A life takes seconds: what failed is shown as it is.
                phases=[Phase.generate],
            ),
        )
    print(f"{done_steps[0]} steps;", dict(sorted(outcomes.items())))
    if STEPS >= 500:
        # Processes were killed in the middle of something, and some came to their end.
        assert any(name.startswith("killed in") for name in outcomes)
        assert outcomes["came to its end"] > 0
