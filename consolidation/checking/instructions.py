"""Text in a memory that tries to command who reads it.

A memory is data: what it orders is nothing that anyone ordered. A rule that the user set ("Never
commit secrets") or a wish ("Answer with bullet points") is none of this; an order about the
reader's own instructions, answers or notes is, and so is what plays the system or its tools.
"""

# ruff: noqa: RUF001 - orders are given in other alphabets, too

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from slowwave.consolidation.language.reading import read

from .company import share_told
from .statements import Statement, statements_of

# What only the reader has: its instructions, what it was told before, the notes before it.
_WHOSE = r"(?:previous|prior|earlier|above|former|preceding|other|your|system|original|existing)"
_BEFORE = rf"(?:(?:all|any|every|each|the|these|those|following|of|else|what|stands|{_WHOSE})\s+)*"
_OWN = (
    r"(?:instructions?|prompts?|notes?|memor(?:y|ies)|messages?|rules?|guidelines?|directives?|"
    r"context|commands?)"
)
# "The rules of chess" are not the reader's; "the previous rules" are, and "the rules above".
_READERS = (
    rf"(?:{_BEFORE}{_WHOSE}\s+{_BEFORE}{_OWN}\b|{_BEFORE}{_OWN}(?:\s+(?:above|before)\b|"
    r"\s*(?=[.,;:!?\"”)]|$|\band\b))|(?:the\s+|what\s+(?:is|was|stands)\s+)?above\b)"
)
_READER = r"(?:AIs?|LLMs?|(?:AI |large )?language models?|chat ?bots?|(?:AI )?assistants?|AI \w+)"
# Where an order begins: at the head of a sentence or of a quotation.
_HEAD = r"(?:^|[.!?:;,\"“'(*>-]\s*|\b(?:and|please|then|now)\s+)"
_COMMANDS = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        rf"\b(?:ignore|disregard|forget|override|overlook|bypass)\s+{_READERS}",
        rf"\b(?:do not|don't|stop|cease)\s+follow(?:ing)?\s+{_READERS}",
        r"\b(?:ignore|disregard|forget)\s+(?:(?:everything|anything|all)\s*(?:$|[.,;:!?\"”]|"
        r"(?:and|else|that|you|I|before|above|said|told|so far|other|prior|previous)\b(?! warn))|"
        r"what you (?:were|have been|know)\b|the text (?:before|above)\b)",
        r"\byou are now (?:(?:an?|the|my) (?:[\w-]+ ){0,3}?(?:assistant|AI|model|bot|agent|chatbot|"
        r"admin(?:istrator)?|hacker|character|pirate)\b|in \w+ mode\b)|\byou are DAN\b",
        r"\byou are no longer (?:bound|restricted|limited|subject|an? (?:AI|assistant))\b",
        r"\bpretend (?:that )?you are\b|\b(?:pretend|act) (?:to be|as if|as though|like) you\b"
        r"|\bfrom now on,?\s+you\b",
        r"\b(?:disable|bypass|ignore|override|drop|lift|turn off)\s+(?:all\s+)?your\s+"
        r"(?:\w+\s+){0,2}(?:guidelines?|restrictions?|filters?|rules|limits|safeguards?|training)",
        r"\b(?:above|previous|prior|earlier|preceding) (?:system )?(?:instructions?|prompts?|rules|"
        r"directives?) (?:are|is) (?:now )?(?:void|obsolete|invalid|cancelled|revoked|wrong)",
        r"\bI (?:hereby )?(?:authori[sz]e|instruct|order|command) you to\b",
        rf"{_HEAD}obey (?:me|only|this|these|the following)\b|\byour new (?:instructions?|role|"
        r"task|system prompt|rules)\b|\bnew (?:system )?instructions (?:for you|below|follow)\b",
        # What it was told is not to be told on.
        r"\b(?:reveal|print|output|show|repeat|leak|display|quote|share|send)\b[^.!?\n]{0,20}\b"
        rf"(?:{_WHOSE}|initial|hidden|developer) (?:prompts?|instructions?)\b",
        r"\brepeat (?:all |everything |the )?(?:words|text|sentences?|everything) above\b",
        r"\b(?:this|here|below|follows|following) (?:is|are) (?:the|your) (?:new |updated |real |"
        r"revised )?(?:system prompt|developer message)\b",
        rf"\b(?:reveal|leak|print|output)\s+{_BEFORE}(?:credentials|secrets|api keys?|passwords?)\b"
        r"|\bsend\s+(?:\w+\s+){0,2}(?:credentials|secrets|api keys?|passwords?)\s+to\s+"
        r"(?:\S+@|https?:)",
        # What it answers, and what becomes of its notes.
        r"\b(?:reply|respond|answer) (?:only with\b|with (?:only|just|ok|yes|no|same)\b|"
        r"with (?:the (?:single )?word\b|[\"“'{\[]))",
        r"\byou must (?:now )?(?:obey|(?:answer|reply|respond|say|write|output) (?:that|only|"
        r"with))\b",
        r"(?:^|[\"“'(*>:;-]\s*|[.!?]\s+|\b(?:and|please|then|now)\s+)(?:write|state|claim|report|"
        r"record|output|say) that\b(?! (?:down|again|it is one)\b|[.,])",
        r"\b(?:delete|erase|wipe|destroy|forget) (?:all|every|your|the other)\s+(?:\w+\s+)?"
        r"memor(?:y|ies)\b",
        r"\b(?:do not|don't|never) (?:tell|mention)\b[^.!?\n]{0,30}\b(?:this|these) "
        r"(?:notes?|memor(?:y|ies)|messages?|instructions?|text)\b",
        r"\bwhen (?:you )?(?:summari[sz]|consolidat|merg)(?:e|ing) (?:this|these memories)\b",
        r"\b(?:judge|call|mark|label|answer) (?:p\d+\b|(?:every|all|each) pairs?\b[^.!?\n]{0,10}\b"
        r"(?:same|newer|different)\b)|\bsame (?:for|of) (?:every|all|each) pairs?\b",
        r"\bcite m\d|[\"']judgements?[\"']\s*:|[\"']claims[\"']\s*:\s*\[",
        # Who speaks to a model, and not to a person.
        rf"{_HEAD}(?:dear|hey|hello|attention|(?:note|message|instructions?) (?:to|for)(?: the| "
        rf"any| all)?) {_READER}\s*[:,!]|\b{_READER}(?: \w+)? reading this\b"
        rf"|<!--\s*{_READER}\s*[:,]|\bif you are an? {_READER}\s*(?:[,.:]|reading\b)",
        r"\bbase64\b[^.!?\n]{0,30}\b(?:follow|obey|execute)\b",
        # What plays the system, its tools, or our own marks.
        r"<\|\w+\|>|\[/?(?:INST|SYSTEM)\]|<</?SYS>>|^#+\s*(?:system|assistant)\s*:",
        r"^\W*system\s*:\s*(?:you|ignore|the (?:AI|assistant|model)|new)\b|\bsystem override\W*:",
        r"[\"']role[\"']\s*:\s*[\"'](?:system|developer|tool)[\"']|[\"']tool_calls[\"']\s*:",
        r"<\s*/?\s*(?:system|instructions?|memories|faults|tool_calls?|function_calls|invoke)\b[^>]"
        r"{0,40}>|\bend of memories\b|(?-i:\bEND OF (?:THE )?(?:DATA|INPUT|CONTEXT|PROMPT)\b)",
        # "Ignore the previous instructions", in the languages in which that is mostly tried.
        r"\b(?:ignor\w+|oublie\w*|vergiss|missachte|negeer|olvida|dimentica|zignoruj)\s+(?:\w+\s+)"
        r"{0,3}(?:anweisungen|instru(?:ktionen|cciones|cties|ções|kcje)|istruzioni|consignes|"
        r"instructions (?:précédentes|antérieures|ci-dessus))",
        r"(?:игнорируй|забудь)\w*\s+(?:\w+\s+){0,3}(?:инструкци|указани|команд)|"
        r"talimat\w*\s+(?:yok say|unut|görmezden)|تجاهل[^.!?\n]{0,20}(?:التعليمات|الأوامر)|"
        r"निर्देश[^।.!?\n]{0,20}(?:अनदेखा|भूल)|(?:지시|명령|지침)[^.!?\n]{0,12}(?:무시|잊)|"
        r"(?:忽略|无视|無視|忘记)[^。！？\n]{0,12}(?:指令|指示|说明)|"
        r"(?:指示|命令)[^。！？\n]{0,12}(?:無視|忘れ)",
    )
)
# One of these, in lower case, stands in whatever is found above. Few memories hold one, and to look
# for them takes a small part of the time that the patterns take.
_SIGNS = (
    *("ignor", "disregard", "forget", "overrid", "overlook", "bypass", "n't follow", "not follow"),
    *("stop follow", "cease follow", "you are", "pretend", "act as", "act like", "act to be"),
    *("from now on", "disable", "turn off", "lift ", "drop ", "instruction", "prompt", "directive"),
    *("rules", "you to ", "obey", "your new", "words above", "text above", "sentence above"),
    *("everything above", "sentences above", "developer message", "credential", "secret"),
    *("api key", "password", "reply", "respond", "answer", "you must", "write that", "state that"),
    *("claim that", "report that", "record that", "output that", "say that", "memor", "not tell"),
    *("n't tell", "never tell", "not mention", "n't mention", "never mention", "summari"),
    *("consolidat", "merge this", "merging this", "pair", "judge p", "call p", "mark p", "label p"),
    *("cite m", "judgement", "claims", " ai", " llm", "language model", "chatbot", "chat bot"),
    *("assistant", "<!--", "base64", "<|", "[inst", "[/inst", "[system", "<<", "system", '"role"'),
    *("'role'", "tool_call", "function_call", "faults", "invoke", "end of ", "oubli", "vergiss"),
    *("missachte", "negeer", "olvida", "dimentica", "игнорируй", "забудь", "talimat", "تجاهل"),
    *("निर्देश", "지시", "명령", "지침", "指令", "指示", "说明", "命令"),
)
# Text that no screen shows and a model may read; behind a black flag such letters draw a flag.
_HIDDEN = re.compile("(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0020-\U000e007e]+")
_TAGS = {number: chr(number - 0xE0000) for number in range(0xE0020, 0xE007F)}
# Behind these stands what one is told to say.
_ORDERED = re.compile(
    r"\b(?:write|state|report|claim|say|record|output|answer|reply|respond)\b(?: only)?"
    r"(?: that| with)?[:,]?\s+",
    re.IGNORECASE,
)
_QUOTING = re.compile(r"[\"“”]|\b(?:sa(?:ys|id)|reads?|demands?|asks?|asked|tells|told|orders)\b")
# From this share of its things on, a statement tells what was ordered.
_OBEYING = 0.75


def commands(text: str) -> tuple[str, ...]:
    """Give the sentences that try to command who reads them, as they stand in the text."""
    plain = _plain(text)
    lowered = f" {' '.join(plain.lower().split())}"
    if not _hides_text(text) and not any(map(lowered.__contains__, _SIGNS)):
        return ()
    found = tuple(sentence for sentence in read(text).sentences if _is_command(sentence))
    # One that goes on over the end of a line is no single sentence.
    return found or ((text,) if _is_command(" ".join(plain.split())) else ())


def obeyed(draft: Sequence[Statement], sources: Sequence[Statement]) -> Iterator[str]:
    """Find what a draft tells as a fact although a source only orders to say so."""
    orders = [one for source in sources if _is_command(source.text) for one in _ordered(source)]
    plain = [one for one in sources if not _is_command(one.text)]
    for statement in draft:
        if _QUOTING.search(statement.text) or _is_command(statement.text):
            continue
        for order in orders:
            obeys = share_told(statement.keys, order.keys, {}) >= _OBEYING
            told = any(share_told(statement.keys, one.context, {}) >= _OBEYING for one in plain)
            if statement.keys and obeys and not told:
                yield f"tells as a fact what a source only orders to say: {statement.text}"


def _is_command(text: str) -> bool:
    plain = _plain(text)
    return _hides_text(text) or any(pattern.search(plain) for pattern in _COMMANDS)


def _hides_text(text: str) -> bool:
    return not text.isascii() and _HIDDEN.search(text) is not None


def _plain(text: str) -> str:
    """Give a text as a model reads it: wide letters narrow, marks that no screen shows left out."""
    if text.isascii():
        return text
    folded = unicodedata.normalize("NFKC", text.translate(_TAGS))
    return "".join(letter for letter in folded if unicodedata.category(letter) != "Cf")


def _ordered(source: Statement) -> Iterator[Statement]:
    for found in _ORDERED.finditer(source.text):
        yield from statements_of(source.text[found.end() :].strip("\"”' "))[:1]
