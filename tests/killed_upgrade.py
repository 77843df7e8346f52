"""An upgrade that dies, for another process."""

import os
import signal
from itertools import count

from judgeboard.store import answer_facts
from judgeboard.store.engine import Store, connect, database_url
from judgeboard.store.opening import upgrade


def upgrade_until_killed(database):
    """Upgrade in batches of ten answers, and die within the third one."""
    answer_facts.AT_ONCE = 10
    calls, store_facts = count(1), answer_facts.store_facts

    def store_and_die(*facts):
        store_facts(*facts)
        if next(calls) == 3:
            os.kill(os.getpid(), signal.SIGKILL)

    answer_facts.store_facts = store_and_die
    upgrade(Store(connect(database_url(database), create=False)))
