"""The errors: the tree as it is drawn, messages as they were given, through pickle and back."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

from videoformat import errors
from videoformat.errors import UnsupportedStreamError, VideoFormatError

CLASSES: dict[str, type[VideoFormatError]] = {
    name: getattr(errors, name) for name in errors.__all__
}


def drawn() -> dict[str, str | None]:
    """The parent of each class in the docstring's tree."""
    assert errors.__doc__ is not None
    found: dict[str, str | None] = {}
    path: list[str] = []
    for line in errors.__doc__.splitlines():
        match = re.match(r"    ((?:[│ ]   )*)(?:[├└]── )?(\w+Error)\b", line)
        if match:
            depth = (match.start(2) - 4) // 4
            path[depth:] = [match[2]]
            found[match[2]] = path[depth - 1] if depth else None
    return found


def test_the_tree_is_as_it_is_drawn() -> None:
    tree = drawn()
    assert sorted(tree) == sorted(CLASSES)
    for name, parent in tree.items():
        bases = CLASSES[name].__bases__
        assert bases[0] is (Exception if parent is None else CLASSES[parent])


def test_the_builtin_kinds_are_as_they_are_drawn() -> None:
    assert errors.__doc__ is not None
    said = dict(re.findall(r"(\w+Error)\s+\(also (\w+)\)", errors.__doc__))
    for name, kind in CLASSES.items():
        others = [base.__name__ for base in kind.__bases__[1:]]
        assert others == ([said[name]] if name in said else []), name


def test_every_error_class_of_the_package_is_in_the_list() -> None:
    defined = {
        name for name, item in vars(errors).items()
        if inspect.isclass(item) and issubclass(item, Exception)
    }  # fmt: skip
    assert defined == set(errors.__all__)
    assert errors.__all__ == sorted(errors.__all__)
    assert all(kind.__doc__ for kind in CLASSES.values())


@pytest.mark.parametrize("kind", CLASSES.values(), ids=CLASSES)
def test_an_error_says_its_message_and_survives_pickle(kind: type[VideoFormatError]) -> None:
    """Also those that are KeyError or OSError, whose own text would be another."""
    message = "episode 3: it has 'x', expected \"ü\"\n"
    for error in (kind(message), pickle.loads(pickle.dumps(kind(message)))):
        assert type(error) is kind
        assert str(error) == message
        assert message in "".join(error.args) if error.args else True
        with pytest.raises(VideoFormatError, match="expected"):
            raise error


def test_a_refused_stream_has_a_kind_through_pickle_too() -> None:
    for made in (
        UnsupportedStreamError("film grain", "episode 3"),
        UnsupportedStreamError("depth"),
    ):
        copy = pickle.loads(pickle.dumps(made))
        for error in (made, copy):
            assert error.kind in ("film grain", "depth")
            assert str(error) == (
                "film grain: episode 3" if error.kind == "film grain" else "depth"
            )
        assert (copy.kind, copy.detail) == (made.kind, made.detail)
