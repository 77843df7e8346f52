"""A key that is not known is refused, also before the first key exists."""

import pytest

from judgeboard.receiving.keys import Door
from judgeboard.receiving.limits import Refused


def test_a_wrong_key_is_refused_before_the_first_key_exists(store):
    door = Door(lambda: False)
    door.admit(store, None, is_local=True)
    with pytest.raises(Refused) as caught:
        door.admit(store, "jb_wrong", is_local=True)
    assert caught.value.status == 401
