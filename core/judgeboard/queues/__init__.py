"""Named queues: made by leads, handed out with leases, reviewed blind, settled, adjudicated."""

from judgeboard.queues.bundle_merging import Conflict, MergedBundle, merge_bundle
from judgeboard.queues.bundles import Bundle, export_bundle
from judgeboard.queues.deciding import (
    Adjudicated,
    DecidedItem,
    adjudicate,
    answer_reveal,
    decide_item,
    preference_at,
    reveal,
)
from judgeboard.queues.item_texts import PairText, item_texts
from judgeboard.queues.making import Made, assign_queue, close_queue, create_queue
from judgeboard.queues.named_people import people_named
from judgeboard.queues.progress import PersonProgress, QueueProgress, queue_progress
from judgeboard.queues.rule_words import rule_words
from judgeboard.queues.rules import QueueRules
from judgeboard.queues.splits import Split, SplitLine, SplitPage, load_split, own_splits, split_items
from judgeboard.queues.taking import Held, next_item, release, renew, skip, take_item
from judgeboard.store.queues.item_texts import AnswerText
from judgeboard.store.queues.queue_rows import Queue

__all__ = [
    "Adjudicated",
    "AnswerText",
    "Bundle",
    "Conflict",
    "DecidedItem",
    "Held",
    "Made",
    "MergedBundle",
    "PairText",
    "PersonProgress",
    "Queue",
    "QueueProgress",
    "QueueRules",
    "Split",
    "SplitLine",
    "SplitPage",
    "adjudicate",
    "answer_reveal",
    "assign_queue",
    "close_queue",
    "create_queue",
    "decide_item",
    "export_bundle",
    "item_texts",
    "load_split",
    "merge_bundle",
    "next_item",
    "own_splits",
    "people_named",
    "preference_at",
    "queue_progress",
    "release",
    "renew",
    "reveal",
    "rule_words",
    "skip",
    "split_items",
    "take_item",
]
