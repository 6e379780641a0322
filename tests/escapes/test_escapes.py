"""Nothing gets out. Each case makes the attempts of a group; a canary outside says for each whether it worked."""

import pytest

from tests.escapes.conftest import Judge, got_out
from tests.escapes.world.catalogue import groups, in_group
from tests.escapes.world.people import ORDINARY, ROOT, Person

# What is tried again without git writes, an ordinary user tries: that .git can be written is all that differs.
_ALL = [
    pytest.param(person, group, id=f"{person.name}-{group}")
    for person in (ROOT, ORDINARY)
    for group in groups(person)
    if not (person.is_root and "--no-git" in group)
]


@pytest.mark.parametrize(("person", "group"), _ALL)
def test_none_gets_out(person: Person, group: str, judge: Judge) -> None:
    assert not got_out(person, in_group(group, person), judge)
