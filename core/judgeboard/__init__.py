"""Judgeboard: judge logged RAG answers, flag the ones to distrust, review them, measure the judge.

Judge one answer without a database::

    verdict = judgeboard.judge_answer_blocking(query, answer, passages, judge="rag", model="gpt-4o-mini")
    shown = judgeboard.annotate(answer, verdict.groundedness)

Judge, improve, annotate and record the answer of an assistant in one call that never fails::

    served = await judgeboard.serve_answer(query, answer, passages, judge="rag", model="gpt-4o-mini", store=store)

Judge a whole log, in a notebook too::

    board = judgeboard.open("judgeboard.db")
    board.add(frame)
    board.judge("lexical")
    board.ratings()

``__init__.pyi`` lists the public names with the module that defines each. Every error that a caller
can cause is a `JudgeboardError`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
