"""Named queues: made by leads, handed out with leases, reviewed blind, settled, adjudicated."""

from judgeboard.queues.adjudicating import Adjudicated, adjudicate
from judgeboard.queues.bundle_merging import Conflict, MergedBundle, merge_bundle
from judgeboard.queues.bundles import Bundle, export_bundle
from judgeboard.queues.deciding import DecidedItem, decide_item
from judgeboard.queues.item_texts import PairText, item_texts
from judgeboard.queues.making import Made, assign_queue, close_queue, create_queue
from judgeboard.queues.named_people import people_named
from judgeboard.queues.pair_adjudicating import AdjudicatedPair, adjudicate_pair
from judgeboard.queues.pair_changing import UndonePair, reveal_pair, undo_pair
from judgeboard.queues.pair_deciding import DecidedPair, decide_pair, preference_at
from judgeboard.queues.progress import PersonProgress, QueueProgress, queue_progress
from judgeboard.queues.revealing import answer_reveal, reveal_item
from judgeboard.queues.rule_words import rule_words
from judgeboard.queues.rules import QueueRules
from judgeboard.queues.splits import Split, SplitLine, SplitPage, load_split, own_splits, split_items
from judgeboard.queues.taking import Held, next_item, release, renew, skip, take_item
from judgeboard.store.queues.item_texts import AnswerText
from judgeboard.store.queues.queue_rows import Queue

__all__ = [
    "Adjudicated",
    "AdjudicatedPair",
    "AnswerText",
    "Bundle",
    "Conflict",
    "DecidedItem",
    "DecidedPair",
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
    "UndonePair",
    "adjudicate",
    "adjudicate_pair",
    "answer_reveal",
    "assign_queue",
    "close_queue",
    "create_queue",
    "decide_item",
    "decide_pair",
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
    "reveal_item",
    "reveal_pair",
    "rule_words",
    "skip",
    "split_items",
    "take_item",
    "undo_pair",
]
