"""A dataset's life against a model in memory: no acknowledged episode lost, none half visible.

``VIDEOFORMAT_LIFE_STEPS`` sets how many steps there are (60 by default).
"""

import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import whole
from crashing import AT_ONCE, open_writer, run_and_kill, write_episode
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import videoformat as vf
from videoformat.errors import DatasetNotFoundError
from videoformat.verify import verify

STEPS = int(os.environ.get("VIDEOFORMAT_LIFE_STEPS", "60"))
STEPS_A_LIFE = 50
MOST_EPISODES = 8

seeds = st.integers(0, 10**6)
lengths = st.integers(1, 7)
places = st.lists(st.integers(0, MOST_EPISODES - 1), min_size=1, max_size=3)
actions = st.one_of(
    st.tuples(st.just("append"), st.tuples(seeds, lengths)),
    st.tuples(st.just("abandon"), st.none()),
    st.tuples(st.just("delete"), places),
    st.tuples(st.just("vacuum"), st.none()),
    st.tuples(st.just("merge"), st.none()),
)
done_steps = [0]
outcomes: Counter[str] = Counter()


class Life(RuleBasedStateMachine):
    """``episodes`` are digests by identity, in order; ``tagged`` are those of each tag."""

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

    @precondition(lambda self: len(self.episodes) < MOST_EPISODES)
    @rule(made=st.lists(st.tuples(seeds, lengths), min_size=1, max_size=3), together=st.booleans())
    def append(self, made: list[tuple[int, int]], together: bool) -> None:
        with open_writer(self.uri, episodes_per_append=len(made) if together else 1) as writer:
            uids = [write_episode(writer, *each) for each in made]
        found = self.stored()
        assert list(found) == [*self.episodes, *uids]
        self.episodes |= {uid: found[uid] for uid in uids}
        self.note()

    @precondition(lambda self: self.episodes)
    @rule(which=places)
    def delete(self, which: list[int]) -> None:
        uids = list(self.episodes)
        gone = {uids[at % len(uids)] for at in which}
        vf.delete_episodes(self.uri, sorted(gone))
        self.episodes = {uid: x for uid, x in self.episodes.items() if uid not in gone}
        self.note()

    @rule(choice=st.integers(0, 10**6))
    def undelete(self, choice: int) -> None:
        version = sorted(self.undoable)[choice % len(self.undoable)]
        then = self.undoable[version]
        back = set(vf.undelete(self.uri, version).episodes)
        assert back == set(then) - set(self.episodes)
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

    @precondition(lambda self: self.tagged)
    @rule()
    def untag(self) -> None:
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

    @rule(steps=st.lists(actions, min_size=1, max_size=4), seconds=st.floats(0, 0.25))
    def crash(self, steps: list[tuple[str, Any]], seconds: float) -> None:
        """Another process does things and is killed; what it said it had done is done."""
        planned: list[tuple[str, Any]] = []
        for kind, value in steps:
            uids = list(self.episodes)
            if kind == "delete" and not uids:
                continue
            planned.append(
                (kind, sorted({uids[at % len(uids)] for at in value}))
                if kind == "delete"
                else (kind, self.donor if kind == "merge" else value)
            )
        said = run_and_kill(self.uri, planned, seconds)
        before, vacuumed = dict(self.episodes), False
        found = self.stored()
        pending: tuple[str, Any] | None = None
        for word, kind, value in said:
            vacuumed |= kind == "vacuum"
            if word == "begin":
                pending = (kind, value)
                continue
            assert pending is not None
            self.apply(before, kind, value if kind == "append" else pending[1], found)
            pending = None
        if list(found.items()) != list(before.items()):
            # What was begun may have been done: then wholly.
            assert pending is not None, (list(before), list(found))
            kind, value = pending
            if kind == "append":
                (value,) = set(found) - set(before)
            elif kind == "merge":
                # A merge of two small episodes is one commit.
                assert set(found) - set(before) <= set(self.donated)
            self.apply(before, kind, value, found)
            assert list(found.items()) == list(before.items())
        self.episodes = found
        if vacuumed:
            self.undoable.clear()
        report = verify(self.uri, workers=1)
        assert report.ok, report.problems
        outcomes[said[-1][0] if said else "nothing"] += 1
        self.note()

    def apply(self, state: dict[str, str], kind: str, value: Any, found: dict[str, str]) -> None:
        if kind == "append":
            # It may have been deleted by a later step, which then is applied next.
            state[value] = found.get(value, "")
        elif kind == "delete":
            for uid in value:
                state.pop(uid, None)
        elif kind == "merge":
            state.update({u: x for u, x in self.donated.items() if u not in state})

    @invariant()
    def holds(self) -> None:
        if hasattr(self, "episodes"):
            assert vf.open(self.uri).directory.uids() == list(self.episodes)

    @rule()
    def everything(self) -> None:
        assert list(self.stored().items()) == list(self.episodes.items())
        done_steps[0] += 1


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
    if STEPS >= 500:
        # Processes were killed in the middle of something, and some came to their end.
        assert outcomes["begin"] > 0
        assert outcomes["done"] > 0
