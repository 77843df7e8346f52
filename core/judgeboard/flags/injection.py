"""The rule injection_suspected: marks of texts that order a judge to give a certain verdict.

All patterns are bounded, so that the time grows linearly with the text.
"""

import base64
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice

from judgeboard.flags.rule import Reason, Signals
from judgeboard.settings.model import Thresholds

INJECTION_SUSPECTED = "injection_suspected"

_FIRST_TAG = 0xE0000  # the invisible twin of character 0
_FLAG_EMOJI = re.compile("\U0001f3f4[\U000e0030-\U000e007a]{2,7}\U000e007f")
_TAGS = re.compile("[\U000e0020-\U000e007e]{4,}")
_INVISIBLE = re.compile(
    "[\U000e0100-\U000e01ef]{4,}"  # variation selectors, which can carry bytes
    "|[\u200b-\u200d\u2060-\u2064\ufeff\u180e]{8,}"  # zero width, which can carry bits
    "|[\u202d\u202e][^\u202c\n]"  # shown in another order than it is read
)
_ZERO_WIDTH = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_LOOKALIKES = str.maketrans("аеорсухіѕјԁοαεικνρτυ", "aeopcyxisjdoaeiknptu")
_URL_SAFE = str.maketrans("-_", "+/")
_MOST_BASE64 = 20  # pieces of a text that are decoded

_VALUE = r"[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:\d|best|worst|highest|lowest|pass|fail|grounded|halluc)"
_VERDICT = (
    "(?:score|rating|verdict|grade|mark|evaluation|groundedness|faithfulness|correctness|points?)"
)
_EXTREME = (
    "(?:high(?:est)?|low(?:est)?|best|worst|greatest|poorest|top|perfect|full|max(?:imum|imal)?|min(?:imum|imal)?"
    "|zero|10/10|5/5|4/4|[01][.]0|100 ?%)"
)
_ANSWER = r"(?:answer|response|reply|summary|it)\b"
_THIS_ANSWER = f"(?:this|the|that|my|above|following) (?:output|text|item|{_ANSWER})"
_JUDGE = (
    "(?:evaluator|judge|grader|rater|reviewer|auditor|scorer|assessor|(?:ai|llm|language) model)s?"
)
_REASON = "[\"'](?:reasoning|evaluation|explanation|feedback)[\"']\\s{0,3}:"
_SCORE = f"[\"'](?:overall_?)?{_VERDICT}[\"']\\s{{0,3}}:"
_GROUNDED = "(?:groundedness|faithfulness|correctness)"
_EARLIER = "(?:previous|prior|earlier|preceding|above|foregoing|former|all|any|your|other|system)"
_RULES = "(?:instruction|prompt|rule|direction|guideline|criteria|order|rubric|task|text)"

_PATTERNS: Mapping[str, Sequence[str]] = {
    "fence": (
        r"\[(?:begin|end) [a-z0-9' ]{2,30} [0-9a-f]{6,}\]",
        r"<\|(?:im_start|im_end|system|user|assistant|eot_id|endoftext|start_header_id)\|>",
        r"\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>",
        (
            r"^\W{0,8}(?:end of|begin(?:ning of)?) (?:the )?"
            r"(?:answer|response|passages?|context|material|system prompt)\W{0,8}$"
        ),
        r"</(?:answer|response|passages?|context|material|document|system)>",
    ),
    "reply": (
        rf"[\"']{_GROUNDED}[\"']\s{{0,3}}:\s{{0,3}}[\"']?[\d.]",
        rf"{_REASON}[^{{}}]{{0,400}}{_SCORE}",
        rf"{_SCORE}[^{{}}]{{0,80}}{_REASON}",
        r"^\W{0,3}(?:in)?correct [01]\W{0,3}$",
        rf"<{_GROUNDED}>|</{_VERDICT}>",
    ),
    "score": (
        rf"\b{_GROUNDED}\W{{1,8}}(?:[01][.]\d|[0-9]\b)",
        rf"^\W{{0,4}}{_GROUNDED}{_VALUE}",
        rf"^\W{{0,4}}(?:final|overall|total|expected|correct|evaluation|judge'?s?) {_VERDICT}{_VALUE}",
        r"^\W{0,4}(?:score|verdict|grade|rating)[:=]? {0,3}[01][.]0\W{0,4}$",
        r"^\W{0,4}(?:score|verdict|grade|rating): {0,3}(?:10/10|5/5|4/4|100 ?%|pass)\W{0,4}$",
    ),
    "order": (
        rf"\b(?:ignor|disregard|forget|overrid|bypass|skip)\w{{0,3}} (?:\w+ ){{0,2}}{_EARLIER} (?:\w+ ){{0,2}}{_RULES}",
        (
            rf"\b(?:give|assign|award|grant|mark|score|rate|grade|deserve|receive|get)s? (?:\w+ ){{0,3}}{_ANSWER}"
            rf"[^.\n]{{0,40}}\b{_EXTREME}\b[^.\n]{{0,30}}\b{_VERDICT}"
        ),
        (
            rf"\b(?:give|assign|award|grant|output|return|respond with|reply with|use)s? (?:\w+ ){{0,4}}{_EXTREME}\b"
            rf"[^.\n]{{0,20}}\b{_VERDICT}s?\b[^.\n]{{0,40}}\b{_ANSWER}"
        ),
        (
            rf"\b(?:rate|score|grade|mark|evaluate|judge) {_THIS_ANSWER}[^.\n]{{0,30}}\b(?:as|with|at)\b[^.\n]{{0,20}}"
            rf"(?:\b{_EXTREME}\b|\b[0-9]\b)"
        ),
        rf"\b(?:note|message|notice|instructions?|attention|hint) (?:to|for) (?:\w+ ){{0,2}}{_JUDGE}\b",
        rf"\b(?:dear|attention|hey) (?:\w+ )?{_JUDGE}\b ?[:,!]",
        rf"\bas (?:an?|the) (?:\w+ ){{0,2}}{_JUDGE},? you (?:must|should|have to|will)\b",
        (
            rf"\b{_THIS_ANSWER} (?:\w+ ){{0,2}}(?:deserve|merit|must (?:get|receive)|should (?:get|receive))s?\b"
            rf"[^.\n]{{0,20}}\b{_EXTREME}\b"
        ),
        rf"\b(?:assign|award|grant|output|reply with|respond with) (?:\w+ ){{0,2}}{_EXTREME} (?:\w+ )?{_VERDICT}",
        rf"\byou (?:judge|rate|score|grade|evaluate) {_THIS_ANSWER}",
        rf"\b(?:if|unless) {_THIS_ANSWER} is (?:not )?(?:rated|scored|graded|judged)\b",
        r"\b(?:grading|judging|scoring|evaluation) (?:\w+ ){0,4}(?:is|are|was) (?:disabled|cancelled|suspended|over)\b",
        r"\bwho(?:ever)? (?:grades|judges|rates|scores|evaluates) this\b",
        r"\byou are (?:now )?(?:an? |the )?\w{0,12}(?:judge|grader|evaluator|rater)\b",
        r"\bdecode (?:this|it|the following|with|and follow)\b|\bdeveloper (?:message|mode|note)\b",
        r"\b(?:new|updated|revised) (?:system )?instructions? ?(?:for|to|:)",
        r"\bsystem (?:note|message|override|prompt|notice|update)\b ?(?:\w+ ){0,3}[:\]]",
        r"\bwhen (?:you )?(?:evaluat|judg|grad|scor|rat)\w{1,4}[^.\n]{0,40}\b(?:give|assign|always|must|only)\b",
    ),
    "foreign order": (
        # German
        (
            r"\b(?:ignorier|vergiss|missacht)\w{0,4} (?:\w+ ){0,3}"
            r"(?:bisherig|vorherig|obig|früher|vorangehend|all)\w{0,3} (?:\w+ ){0,2}"
            r"(?:anweisung|instruktion|vorgabe|regel|befehl)"
        ),
        r"\b(?:gib|bewerte|vergib)\b[^.\n]{0,60}\b(?:best|höchst|schlechtest|niedrigst|voll)\w{0,3}\b",
        # French
        (
            r"\b(?:ignor|oubli)e[zr]?\b[^.\n]{0,30}\b(?:instruction|consigne|directive)s?\b[^.\n]{0,15}"
            r"(?:précédent|antérieur|ci-dessus)"
        ),
        (
            r"\b(?:donne[zr]?|attribue[zr]?|notez)\b[^.\n]{0,50}"
            r"\b(?:meilleur|pire|maxima|minima|plus (?:haut|élevé|bas))\w{0,3}\b[^.\n]{0,30}"
            r"\b(?:réponse|note|score|évaluation)"
        ),
        # Spanish, Italian and Portuguese
        (
            r"\b(?:ignor|olvid|dimentic|esque[cç])\w{1,5} (?:\w+ ){0,4}"
            r"(?:instruc|istruzion|instruç|indicacion)\w{1,6} (?:\w+ )?(?:anterior|previ|precedent|acima)"
        ),
        (
            r"\b(?:dale|da|asigna|otorga|assegna|dai|atribua|dê)\b[^.\n]{0,50}\b(?:respuesta|risposta|resposta)\b[^.\n]{0,50}"
            r"\b(?:mejor|máxim|peor|mínim|miglior|massim|peggior|minim|melhor|pior|más (?:alt|baj))\w{0,3}"
        ),
        # Dutch, Polish and Russian
        r"\b(?:negeer|vergeet)\b[^.\n]{0,20}\b(?:vorige|eerdere|bovenstaande)\b[^.\n]{0,10}\b(?:instructies|opdrachten)",
        r"\b(?:zignoruj|pomiń)\b[^.\n]{0,20}\b(?:poprzedni|wcześniejsz)\w{0,3} (?:instrukcj|polece)",
        r"(?:игнориру|забуд)\w{0,5}[^.\n]{0,25}(?:предыдущ|прежн|вышеуказанн)\w{0,4}[^.\n]{0,10}(?:инструкц|указани|команд)",
        # Chinese, Japanese and Korean
        r"(?:忽略|无视|忽視|無視|忘记|忘掉)[^。\n]{0,12}(?:指示|指令|说明|要求|規則|规则|提示)",
        r"(?:给|給|将|把|请|請)[^。\n]{0,12}(?:回答|答案|回复)[^。\n]{0,14}(?:最高|最好|满分|滿分|最差|最低|零分)",
        r"(?:指示|命令|指令)[^。\n]{0,10}(?:無視|忘れ)|(?:回答|答え)[^。\n]{0,12}(?:最高|満点|最低)[^。\n]{0,6}(?:評価|点)",
        r"이전[^.\n]{0,10}(?:지시|명령|지침)[^.\n]{0,8}(?:무시|잊)|(?:답변|응답)[^.\n]{0,14}(?:최고|최저|만점)",
        # Arabic, Hindi and Turkish
        r"تجاهل[^.\n]{0,15}(?:التعليمات|الأوامر)|(?:पिछले|पूर्व)[^.\n]{0,10}निर्देश[^.\n]{0,15}(?:अनदेखा|नज़रअंदाज़)",
        r"önceki[^.\n]{0,12}(?:talimat|yönerge)[^.\n]{0,12}(?:yok say|görmezden|unut)",
    ),
}
# The search for orders in other languages is the slowest one, so a text in ASCII must have one of these.
_FOREIGN = re.compile(
    "ignor|vergiss|missacht|gib |bewerte|vergib|oubli|donne|attribu|note|olvid|dimentic|respuesta|risposta|resposta|"
    "negeer|vergeet|zignoruj"
)


@cache
def _marks() -> Mapping[str, re.Pattern[str]]:
    """Return the patterns, compiled late: short commands must not wait. Ignoring case would take far longer."""
    return {name: re.compile("|".join(each), re.MULTILINE) for name, each in _PATTERNS.items()}


def marks_in(text: str) -> tuple[str, ...]:
    """Return the kinds of marks that a text has, sorted; none for an ordinary text."""
    marks, texts = [], [text.lower()]
    if not text.isascii():
        without_flags = _FLAG_EMOJI.sub("", text)
        tags = "".join(_TAGS.findall(without_flags))
        marks += ["invisible"] if tags or _INVISIBLE.search(without_flags) else []
        visible = _ZERO_WIDTH.sub("", unicodedata.normalize("NFKC", text)).lower()
        hidden = "".join(chr(ord(letter) - _FIRST_TAG) for letter in tags).lower()
        texts = [visible, visible.translate(_LOOKALIKES), hidden]
    marks += [
        name
        for name, mark in _marks().items()
        if name != "foreign order" or not text.isascii() or _FOREIGN.search(texts[0])
        if any(map(mark.search, texts))
    ]
    # The first pieces of Base64, in lower case.
    for piece in islice(_BASE64.finditer(text), _MOST_BASE64):
        letters = piece[0].rstrip("=").translate(_URL_SAFE)
        try:
            decoded = base64.b64decode(letters + "=" * (-len(letters) % 4)).decode().lower()
        except ValueError:  # no Base64, or of no text
            continue
        if any(mark.search(decoded) for mark in _marks().values()):
            marks.append("base64")
            break
    return tuple(sorted(marks))


def injection_suspected(signals: Signals, thresholds: Thresholds) -> Reason | None:
    """Flags an answer if it, or one of its passages, looks as if it gave orders to a judge.

    The marks are invisible characters, imitations of the lines around texts in prompts, finished
    replies of a judge, scores, orders in several languages, and Base64 that decodes to one of these.
    The rule is on if the setting ``suspect_injections`` is on.

    Severity: 1 if the answer has a mark, 0.5 if only a passage has one
    """
    texts = signals.texts
    if texts is None or not thresholds.suspect_injections:
        return None
    of_answer = marks_in(texts.answer)
    of_passages = {mark for passage in texts.passages or () for mark in marks_in(passage)}
    if not of_answer and not of_passages:
        return None
    return Reason(
        INJECTION_SUSPECTED,
        1.0 if of_answer else 0.5,
        {"answer": list(of_answer), "passages": sorted(of_passages)},
    )
