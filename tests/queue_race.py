"""Many workers take and decide the items of one queue at once: threads in this process, or processes of their own.

Run as a script it is the parent of the processes, so that what they need is imported once:
``python queue_race.py DATABASE QUEUE WORKERS SHARE`` prints a line of JSON for each.
"""

import gc
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from threading import Barrier, Lock

from judgeboard.domain import Decision, Grade
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.leases import next_item
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.store.opening import open_store

GRADE = Grade(groundedness=0.5)


@dataclass
class Worked:
    """What one worker did: reviews in its fixed share and after it, and its longest wait for an item, in seconds."""

    share: list[int] = field(default_factory=list)
    rest: list[int] = field(default_factory=list)
    longest: float = 0.0
    empty_in_share: int = 0


def work(store, queue, name, share, meet=lambda: True):
    """Decide ``share`` items, ``meet`` the other workers, then go on, if that says so, until nothing is left."""
    reviewer = ensure_reviewer(store, "page", name)
    done = Worked()
    while True:
        before = time.monotonic()
        leased = next_item(store, queue, reviewer)
        done.longest = max(done.longest, time.monotonic() - before)
        if leased is None:
            if len(done.share) < share:
                done.empty_in_share += 1
                meet()
            return done
        decided = submit(
            store,
            Submission(
                token=leased.token,
                reviewer=reviewer,
                decision=Decision.CONFIRM,
                grade=GRADE,
                request_key=f"{name} {leased.item_id}",
            ),
        )
        if len(done.share) == share:
            done.rest.append(decided.item_id)
            continue
        done.share.append(decided.item_id)
        if len(done.share) == share and not meet():
            return done


def acknowledge(database, queue, workers, acknowledged):
    """Let threads work, sending what they were told is stored, as soon as they were told: the review, its item."""
    store, sending = open_store(database), Lock()

    def one(number):
        reviewer = ensure_reviewer(store, "page", f"worker {number}")
        while (leased := next_item(store, queue, reviewer)) is not None:
            key = f"{number} {leased.token}"
            decided = submit(
                store,
                Submission(
                    token=leased.token,
                    reviewer=reviewer,
                    decision=Decision.CONFIRM,
                    grade=GRADE,
                    request_key=key,
                ),
            )
            with sending:
                acknowledged.send((decided.review_id, decided.item_id))

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(one, range(workers)))


def race_threads(store, queue, workers, share):
    """Let threads of this process work."""
    start = Barrier(workers)

    def one(number):
        start.wait()
        return work(store, queue, f"worker {number}", share)

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(one, range(workers)))


def race_processes(database, queue, workers, share):
    """Let processes of their own work, each with its own connection, and print what each did.

    Nobody goes beyond their share before all have theirs: how many items a process gets in a free
    race is the fairness of the operating system, not ours. A worker in this process decides one
    item before: what it compiles and reads serves all the others.
    """
    store = open_store(database)
    sys.stdout.write(json.dumps(asdict(work(store, queue, "first", 1, lambda: False))) + "\n")
    sys.stdout.flush()
    gc.freeze()
    all_have_theirs = get_context("fork").Barrier(workers, timeout=120)
    children = []
    started, start = os.pipe()
    for number in range(workers):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            os.close(start)
            os.nice(
                15
            )  # all of them together as heavy as one: a browser test beside them waits 30 s for a page else
            store.engine.dispose(close=False)  # its connections are the parent's
            os.read(started, 1)  # returns when the parent has started all and closes its end
            done = work(
                store, queue, f"worker {number}", share, lambda: all_have_theirs.wait() >= 0
            )
            store.close()
            with os.fdopen(write, "w") as out:
                out.write(json.dumps(asdict(done)))
            os._exit(0)
        os.close(write)
        children.append((child, read))
    os.close(start)
    for child, read in children:
        with os.fdopen(read) as said:
            sys.stdout.write((said.read() or "null") + "\n")
        os.waitpid(child, 0)


if __name__ == "__main__":
    race_processes(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
