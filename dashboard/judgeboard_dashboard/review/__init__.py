"""The review screen of answers, pairs, queue items and conflicts."""
