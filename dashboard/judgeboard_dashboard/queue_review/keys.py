"""The keys on the page of a queue, as its list of keys says them."""

QUEUE_KEYS = (
    ("Y N U", "there is a problem, there is none, unsure"),
    ("1–4", "quality"),
    ("A S D F G", "groundedness 0, 0.2, 0.5, 0.8, 1"),
    ("1–5 K", "rubric: level, next dimension; 6–0 where the quality is asked for too"),
    ("Q W", "label: grounded, hallucinated"),
    ("Q W E", "of a pair: the left one is better, a tie, the right one"),
    ("V B X P", "next claim or sentence; supported, contradicted, unsupported"),
    ("I O", "answer sentence by sentence; why you and the judge differ"),
    ("M", "write a note, Esc leaves it"),
    ("J", "skip, with a reason if you like; Enter skips"),
    ("Y E", "after the judge is shown: keep yours, change it"),
    ("Z", "undo the last decision"),
    ("L", "leave the queue"),
    ("H", "close this list"),
)
