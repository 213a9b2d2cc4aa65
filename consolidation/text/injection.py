"""Text in a memory that gives orders to its reader.

A memory is data: what it orders is nothing that anyone ordered. A rule that the user set ("Never
commit secrets") or a wish ("Answer with bullet points") is none of this; an order about the
reader's own instructions, answers or notes is, and so is what plays the system or its tools.
"""

# ruff: noqa: RUF001 - orders are given in other alphabets, too

from __future__ import annotations

import re
import unicodedata

from .anyof import any_of
from .invisible import hides_text, is_unseen
from .sentences import split_sentences

# What only the reader has: its instructions, what it was told before, the notes before it.
_WHOSE = r"(?:previous|prior|earlier|above|former|preceding|other|your|system|original|existing)"
_BEFORE = (
    rf"(?:(?:all|any|every|each|the|these|those|following|of|else|what|stands|{_WHOSE})\s+){{0,8}}"
)
_OWN = (
    r"(?:instructions?|prompts?|notes?|memor(?:y|ies)|messages?|rules?|guidelines?|directives?|"
    r"context|commands?)"
)
# "The rules of chess" are not the reader's; "the previous rules" are, and "the rules above".
_READERS = (
    rf"(?:{_BEFORE}{_WHOSE}\s+{_BEFORE}{_OWN}\b(?!(?<=messages) (?:in|from|of|by)\b)|"
    rf"{_BEFORE}{_OWN}(?:\s+(?:above|before)\b|"
    r"(?:\s+you (?:received|got|have|were given)(?: before| earlier| so far)?)?"
    r"\s*(?=[.,;:!?\"”)]|$|\band\b))|(?:the\s+|what\s+(?:is|was|stands)\s+)?above\b)"
)
_READER = r"(?:AIs?|LLMs?|(?:AI |large )?language models?|chat ?bots?|(?:AI )?assistants?|AI \w+)"
# Where an order begins: at the head of a sentence or of a quotation.
_HEAD = r"(?:^|[.!?:;,\"“'(*>-]\s*|\b(?:and|please|then|now)\s+)"
# The notes of the reader, and not the memory chips of a machine.
_MEMORIES = (
    r"(?:memories\b|memory(?=\s*(?:[^\w\s]|$)|\s+(?:of|about|from|and|in|on|as|that|here|is|below|"
    r"above|verbatim|word)\b))"
)
_EVERY = r"(?:every|all|each)"
_SECRETS = r"(?:credentials|secrets|api keys?|passwords?)"
_JUDGEMENT = r"[\"“']?(?:same|newer|different)\b[\"”']?"
_COMMANDS = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        rf"\b(?:ignore|disregard|forget|override|overlook|bypass|pay no (?:attention|heed) to|"
        rf"take no notice of)\s+{_READERS}",
        r"\b(?:do not|don't|never|stop|cease)\s+(?:(?:follow|heed|obey)(?:ing)?|listen(?:ing)? to"
        rf"(?![^.!?\n]{{0,30}}messages))\s+{_READERS}",
        r"\bset aside (?:the|all|any|your) (?:\w+ ){0,2}(?:prompts?|instructions?)\b"
        r"(?! (?:of|for|from|that)\b)",
        r"\b(?:ignore|disregard|forget)\s+(?:(?:everything|anything|all)\s*(?:$|[.,;:!?\"”]|"
        r"(?:and|else|that|you|I|before|above|said|told|so far|other|prior|previous)\b(?! warn))|"
        r"what you (?:were|have been|know)\b|the text (?:before|above)\b)",
        r"\byou are now (?:(?:an?|the|my) (?:[\w-]+ ){0,3}?(?:AI|bot|chatbot|(?:assistant|model|"
        r"agent|admin(?:istrator)?|hacker|character|pirate)\b(?! (?:of|in|on|at|for)\b))\b|"
        r"in \w+ mode\b)|\byou are DAN\b",
        r"\byou are no longer (?:bound|restricted|limited|subject|an? (?:AI|assistant))\b",
        r"\bpretend (?:that )?you are\b|\b(?:pretend|act) (?:to be|as if|as though|like) you\b"
        r"|\bfrom now on,?\s+you (?:(?:will|must|shall|should|are to|only|always) ){0,3}(?:reply|"
        r"respond|answer(?! the (?:phone|door|bell|mail))|output|return same|obey|ignore|act (?:as|"
        r"like)|(?:speak|write|say) (?:only|like|as|that)|are (?:an?|my|free|no))\b",
        r"\b(?:disable|bypass|ignore|override|drop|lift|turn off)\s+(?:all\s+)?your\s+"
        r"(?:\w+\s+){0,2}(?:guidelines?|restrictions?|filters?|rules|limits|safeguards?|training)",
        r"\b(?:above|previous|prior|earlier|preceding) (?:system )?(?:instructions?|prompts?|rules|"
        r"directives?) (?:are|is) (?:now )?(?:void|obsolete|invalid|cancelled|revoked|wrong)",
        r"\byour (?:\w+ )?(?:instructions|prompt|rules|guidelines) (?:no longer apply|(?:have|has) "
        r"(?:now )?(?:changed|been (?:changed|updated|replaced|revoked|lifted)))\b",
        r"\byou have no (?:rules|restrictions|limits|guidelines)\b(?! (?:on|for|in)\b)",
        r"\bI (?:hereby )?(?:authori[sz]e|instruct|order|command) you to\b",
        rf"{_HEAD}obey (?:me|only|this|these|the following)\b|\byour new (?:(?:instructions?|"
        r"system prompt|rules)\b(?! (?:for|of)\b)|(?:role|task)(?: is to\b|:))|"
        r"\bnew (?:system )?instructions (?:for you|below|follow)\b",
        # What it was told is not to be told on.
        r"\b(?:reveal|print|output|show|repeat|leak|display|quote|share|send)\b[^.!?\n]{0,20}\b"
        r"(?:(?:your|system|initial|hidden|developer) (?:prompts?|instructions?)\b|"
        rf"{_WHOSE} (?:prompts?|instructions?)\b(?! (?:with|from|to|on|in)\b))"
        r"(?! (?:of|for)\b(?! me\b))",
        r"\brepeat (?:all |everything |the )?(?:words|text|sentences?|everything) above\b",
        r"\b(?:this|here|below|follows|following) (?:is|are) (?:the|your) (?:new |updated |real |"
        r"revised )?(?:system prompt|developer message)\b",
        rf"(?:{_HEAD}|\byou (?:must|will|should|can) )(?:(?:reveal|leak|print|output)\s+{_BEFORE}"
        rf"{_SECRETS}\b|send\s+(?:\w+\s+){{0,2}}{_SECRETS}\s+to\s+(?:\S+@|https?:))",
        # What it answers, and what becomes of its notes.
        r"\b(?:reply|respond|answer) (?:only with\b|with (?:only|just)\b|with "
        r"(?:ok|yes|no|same)\s*(?:$|[.,;:!\"”'])|with (?:the (?:single )?word\b|[\"“'{\[]))",
        r"\byou must (?:now )?(?:obey|(?:answer|reply|respond|say|write|output) (?:that|only|"
        r"with))\b",
        r"(?:^|[\"“'(*>:;-]\s*|[.!?]\s+|\b(?:and|please|then|now)\s+)(?:write|state|claim|output) "
        r"that\b(?! (?:down|again)\b|[.,])",
        # A person, too, is asked to report or say something; not, mostly, that all is well.
        r"(?:[\"“(*>:]\s*(?:report|record|say) that\b(?![.,])|(?:^|[.!?;,]\s+|\b(?:and|please|then|"
        r"now)\s+)(?:report|say) that (?:no|all|every|nothing|everything)\b)",
        r"\b(?:delete|erase|wipe|destroy|forget|supersede|overwrite|replace) (?:all|every|your|"
        rf"the other)\s+(?:\w+\s+)?{_MEMORIES}",
        rf"\b(?:{_EVERY}|these) (?:other )?{_MEMORIES}[^.!?\n]{{0,25}}\b(?:duplicates?|identical|"
        r"outdated|superseded)\b",
        r"\b(?:skip|omit|bypass|disable|without) (?:the |any |all )?(?:verification|validation|"
        rf"checks?|checking|review) (?:for|of|on) (?:this|these) (?:claims?\b|{_MEMORIES})|"
        rf"\b(?:do not|don't|never) (?:verify|check|validate|question) (?:this|these) {_MEMORIES}|"
        rf"\bcopy (?:this|these|{_EVERY}) {_MEMORIES}",
        r"\b(?:do not|don't|never) (?:tell|mention)\b[^.!?\n]{0,30}\b(?:this|these) "
        r"(?:notes?|memor(?:y|ies)|messages?|instructions?|text)\b",
        r"\bwhen (?:you )?(?:summari[sz]|consolidat|merg)(?:e|ing) (?:this|these memories)\b",
        r"\b(?:judge|call|mark|label|answer|treat|consider|count) (?:p\d+\b|"
        rf"{_EVERY} pairs?\b(?! of\b)[^.!?\n]{{0,10}}\b(?:same|newer|different|identical|"
        rf"duplicates?)\b)|{_JUDGEMENT} (?:for|of) {_EVERY} pairs?\b(?! of\b)",
        rf"\b{_EVERY} pairs?\b(?! of\b)[^.!?\n]{{0,25}}\b(?:is|are) (?:the |an? )?[\"“']?(?:same|"
        r"newer|duplicates?)\b(?!\s+\w)",
        rf"\balways (?:return|answer|reply|output|say) (?:with )?{_JUDGEMENT}(?!\s+\w)",
        r"\bcite m\d|[\"']judgements?[\"']\s*:|[\"']claims[\"']\s*:\s*\[",
        # Who speaks to a model, and not to a person.
        rf"{_HEAD}(?:dear|hey|hello|attention|(?:note|message|instructions?) (?:to|for)(?: the| "
        rf"any| all)?) {_READER}\s*[:,!]|\b{_READER}(?: \w+)? reading this\b"
        rf"|<!--\s*{_READER}\s*[:,]|\bif you are an? {_READER}\s*(?:[,.:]|reading\b)",
        r"\bbase64\b[^.!?\n]{0,30}\b(?:follow|obey|execute)\b",
        # What plays the system, its tools, or our own marks.
        r"<\|\w+\|>|\[/?(?:INST|SYSTEM)\]|<</?SYS>>|^#+\s*(?:system|assistant)\s*:",
        r"^\W{0,9}system\s*:\s*(?:you(?! have)|ignore|the (?:AI|assistant|model)|new (?:rules?|"
        r"task|policy|instructions?))\b|\bsystem override\W*:",
        r"[\"']role[\"']\s*:\s*[\"'](?:system|developer|tool)[\"']|[\"']tool_calls[\"']\s*:",
        r"(?:<\s{0,4}/|(?:^|[.!?:]\s)[ \t]{0,4}<)\s{0,4}(?:system|instructions?|memories|faults)\b"
        r"[^>]{0,40}>|<\s*/?\s*(?:tool_calls?|function_calls|invoke)\b[^>]{0,40}>|"
        r"\bend of memories\b|(?-i:\bEND OF (?:THE )?(?:DATA|INPUT|CONTEXT|PROMPT)\b)",
        # "Ignore the previous instructions", in the languages in which that is mostly tried.
        rf"(?:{_HEAD}|\b(?:bitte|und|et|och|og|veuillez)\s+)(?:ignor\w+|bortse från|"
        r"oublie\w*|vergiss|missachte|negeer|olvida|dimentica|zignoruj|glöm|glem|abaikan|lupakan)\s+"
        r"(?:\w+\s+){0,3}(?:anweisungen|instru(?:ktione[nr]|ksjoner|kser|ksi|cciones|cties|ções|"
        r"kcje)|istruzioni|consignes|instructions (?:précédentes|antérieures|ci-dessus))",
        r"\bohita (?:\w+ ){0,2}(?:aiem|edelli)\w+ ohjeet|(?:bỏ qua|phớt lờ)[^.!?\n]{0,25}(?:hướng "
        r"dẫn|chỉ dẫn|chỉ thị)|(?:αγνόησε|αγνοήστε|ξέχνα)\s+(?:\w+\s+){0,3}(?:οδηγί|εντολ)",
        r"(?:[иі]гнор(?:ир)?уй|забудь)\w*\s+(?:\w+\s+){0,3}(?:[иі]нструкц|указани|вказів|команд)|"
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
    *("pay no", "take no", "heed", "listen", "set aside", "you have no", "this claim"),
    *("these claim", "return same", "always return", "always output", "always say", "guidelines"),
    *("stop follow", "cease follow", "you are", "never follow", "pretend", "act as", "act like"),
    *("act to be", "from now on", "disable", "turn off", "lift ", "drop ", "instruction", "prompt"),
    *("directive", "rules", "you to", "obey", "your new", "words above", "text above"),
    *("sentence above", "everything above", "sentences above", "developer message", "credential"),
    *("secret", "api key", "password", "reply", "respond", "answer", "you must", "write that"),
    *("state that", "claim that", "report that", "record that", "output that", "say that", "memor"),
    *("not tell", "n't tell", "never tell", "not mention", "n't mention", "never mention"),
    *("summari", "consolidat", "merge this", "merging this", "pair", "judge p", "call p", "mark p"),
    *("treat p", "consider p", "count p"),
    *("label p", "cite m", "judgement", "claims", " ai", " llm", "language model", "chatbot"),
    *("chat bot", "assistant", "<!--", "base64", "<|", "[inst", "[/inst", "[system", "<<"),
    *("system", '"role', "'role", "tool_call", "function_call", "faults", "invoke", "end of "),
    *("oubli", "vergiss", "missachte", "negeer", "olvida", "dimentica", "гнор", "забудь"),
    *("talimat", "تجاهل", "निर्देश", "glöm", "glem", "abaikan", "lupakan", "ohita", "지시", "명령"),
    *("지침", "指令", "指示", "说明", "命令", "bortse", "bỏ qua", "phớt lờ", "αγνό", "αγνοή"),
    "ξέχνα",
)
_SIGN = re.compile(any_of(_SIGNS))
# Control codes, with which a text of ASCII alone hides what it says.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# Text that no screen shows and a model may read.
_TAGS = {number: chr(number - 0xE0000) for number in range(0xE0020, 0xE007F)}
# Letters that look like Latin ones, and which; read so only in a word that has Latin letters, too.
_LOOKS_LIKE = str.maketrans(
    "аеорсухіјѕԁһӏпѵԛкмтАВЕКМНОРСТУХІЈЅοαρνιυκτηεΑΒΕΖΗΙΚΜΝΟΡΤΥΧɡı",
    "aeopcyxijsdhlnvqkmtABEKMHOPCTYXIJSoapviuktneABEZHIKMNOPTYXgi",
)
_WORD = re.compile(r"\w+")
_LATIN = re.compile(r"[a-zA-Z]")


def commands(text: str) -> tuple[str, ...]:
    """Return the sentences that try to command who reads them, as they stand in the text."""
    if not hides_text(text) and not any(map(_has_sign, _readings(text))):
        return ()
    found = tuple(sentence for sentence in split_sentences(text) if _is_command(sentence))
    # One that goes on over the end of a line is no single sentence.
    return found or ((text,) if _is_command(" ".join(text.split())) else ())


def _has_sign(plain: str) -> bool:
    lowered = f" {' '.join(plain.lower().split())}"
    return _SIGN.search(lowered) is not None


def _is_command(text: str) -> bool:
    return hides_text(text) or any(
        pattern.search(plain)
        for plain in _readings(text)
        if _has_sign(plain)
        for pattern in _COMMANDS
    )


def _readings(text: str) -> tuple[str, ...]:
    """Return a text as a model may read it: wide letters narrow, letters for those they look like.

    A mark that no screen shows may stand within a word or between two: without it, or as a blank.
    """
    if text.isascii() and not _CONTROLS.search(text):
        return (text,)
    folded = unicodedata.normalize("NFKC", text.translate(_TAGS))
    hidden = [ord(letter) for letter in set(folded) if is_unseen(letter)]
    if not hidden:
        return (_WORD.sub(_as_latin, folded),)
    shown = (folded.translate(dict.fromkeys(hidden, instead)) for instead in ("", " "))
    return tuple(_WORD.sub(_as_latin, one) for one in shown)


def _as_latin(word: re.Match[str]) -> str:
    mixed = not word[0].isascii() and _LATIN.search(word[0])
    return word[0].translate(_LOOKS_LIKE) if mixed else word[0]
