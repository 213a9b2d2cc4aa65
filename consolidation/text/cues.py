"""How a sentence says that something changed, ended or came on top, and how sure that is.

Closed classes of English words and the patterns that they stand in; what they are about is for
the frames to say.
"""

from __future__ import annotations

import re

from . import lexicon
from .anyof import any_of
from .tokens import stem

# Words that say that something changed, or when, and nothing of what it is about.
CHANGING = frozenset(
    stem(word)
    for words in (
        "now longer anymore switch switched move moved change changed upgrade upgraded downgraded",
        "raise raised lower lowered increase increased reduce reduced cut rename renamed replace",
        "replaced became become since instead taken took migrate migrated these days new used put",
        "still already meanwhile previously formerly today yesterday from effective old sure",
        "went rose fell dropped extended postponed rescheduled shifted another different",
        "relocated succeeded swapped newer later current present",
    )
    for word in words.split()
)
# Verbs that only tie a thing to what is said of it.
LIGHT = frozenset(
    stem(word)
    for words in ("get go come give make set do take put have be ask look see",)
    for word in words.split()
)
# What no sentence is about.
TELLING_NOTHING = CHANGING | LIGHT
TURNED = (
    "moved|switched|changed|renamed|replaced|upgraded|downgraded|raised|lowered|increased|reduced|"
    "migrated|relocated|extended|postponed|rescheduled|shortened|put up"
)
_SPAN = (
    "test|trial|while|time being|moment|day|night|week|weekend|month|sprint|spring|summer|autumn|"
    "winter|season|term|semester|holidays?"
)
# Of a clause; the dot of "1.29" and of "api.example.org" ends none.
_IN_CLAUSE = r"(?:[^.;:]|[.:](?=\w))"
_HEDGES = any_of(lexicon.HEDGES)
_TITLES = any_of(one.capitalize() for one in lexicon.TITLES)

# A later sentence with one of these says plainly that it was otherwise before.
CUE = re.compile(
    r"\b(?:no longer\b|no more\b(?! than)|any ?more\b|any longer\b"
    r"|from now on\b|these days\b|(?<!for )now\b"
    r"|nowadays\b|taken over\b|took over\b|takes over\b|handed\b[^.;]*\b(?:to|over)\b"
    r"|as of (?:now|today|this|last|\w+day)\b"
    r"|^since (?:the|then|last|this|\w+day|easter|christmas|new year|20\d\d|[A-Z]\w+)\b"
    r"|ha(?:s|ve) been (?:\w+ing\b[^.;]*)?\bsince\b|ha(?:s|ve) been \w+ing\b[^.;]*\bsince\b"
    rf"|(?:ha(?:s|ve|d)|was|were|been|got|is|are)(?: been)? (?:{TURNED})\b(?! (?:on|off|out))"
    r"|(?:moved|switched|migrated|upgraded|renamed|relocated|raised|lowered|increased|reduced|"
    r"extended|postponed|rescheduled|bumped|changed|cut)\b[^.;]*\b(?:to|from)\b"
    r"|(?:went|gone|rose|risen|fell|fallen|dropped|grew|grown)\b(?: \w+)? (?:up |down )?to\b"
    r"|(?:is|are|has|have|got|became|becomes) (?:the|a|our|his|her|their|its) new\b"
    r"|bec(?:ame|omes)\b|succeeds\b|up from\b|down from\b"
    r"|renamed\b|put [^.;]* up\b|had [^.;]* (?:raised|lowered|changed)\b)",
    re.IGNORECASE,
)
# Of these, the ones that tell what kind of change it was need no value to show for it.
PLAIN_CUE = re.compile(
    r"\b(?:from now on|these days|(?:ha(?:s|ve|d)|was|were|been)(?: been)? "
    rf"(?:{TURNED})|renamed|(?:is|are) now|(?:switched|changed|moved) (?:\w+ )?to)\b",
    re.IGNORECASE,
)
# What comes on top of what there was, or for a while, replaces nothing.
ADDED = re.compile(
    r"\b(?:also|too|as well|besides|additionally|in addition|both|a second|extra|"
    r"(?<!with )(?<!to )another|additional|return)\b",
    re.IGNORECASE,
)
# So is what is so only for a while, ...
FOR_A_WHILE = re.compile(
    r"\b(?:temporarily|provisionally|meanwhile|in the meantime|for now|this (?:time|once)|tonight"
    rf"|for (?:a|an|the|this|that|one|two|three|some) (?:\w+ )?(?:{_SPAN})s?"
    rf"|(?:today|that day|this (?:{_SPAN})) only|(?:just|only) (?:for )?(?:this|that|today)"
    r"|(?:at|on|over) (?:the )?(?:weekend|weekday)s?|as long as|until further notice"
    r"|^(?:today|tonight|until|till)|now\b[^,;.]*\buntil|until\b[^,;.]*\bnow)\b",
    re.IGNORECASE,
)
# ... and what is not in force: tried, taken back, not there yet, thought about.
NOT_IN_FORCE = re.compile(
    r"\b(?:(?:not|n't)\b[^.;]*\byet|not (?:\w+ )?(?:decided|merged|official|final)|undecided|"
    r"unmerged|revert(?:ed|s)?|rolled back|undone|tried|thinking (?:about|of)|"
    r"would (?:like|love|prefer|rather)|would be|one day|some ?day|proposes|proposed|"
    r"suggests|suggested)\b",
    re.IGNORECASE,
)
# These say that there is one value at a time, and that it changes.
CURRENT = re.compile(r"\b(?:current(?:ly)?|at present|presently|at the moment)\b", re.IGNORECASE)
# Where a later sentence names what has ended: the words behind the mark, up to the next joint.
JOINT = r"(?=[;,]|[.:](?!\w)|$|\b(?:but|and|now|to|with|for|since|because|it|they|he|she)\b)"
ENDED = re.compile(
    rf"\b(?:no (?:longer|more)\b(?! than)(?P<behind>[^.;:,]*?){JOINT}"
    rf"|not\b(?P<more>{_IN_CLAUSE}*?)\b(?:any ?more|any longer)\b"
    rf"|(?:replaced|swapped|swaps|replaces)\b(?P<given>{_IN_CLAUSE}*?)\b(?:with|by|for)\b"
    r"|(?:switched|moved|changed|migrated|went|goes|raised|lowered|increased|reduced|extended|"
    rf"renamed|upgraded|downgraded|cut|shortened|rose|fell|dropped)\b{_IN_CLAUSE}*?"
    rf"\bfrom\b(?P<start>{_IN_CLAUSE}*?)\b(?:to|into)\b)",
    re.IGNORECASE,
)
# The same, where only a name or a value may be what has ended: more than that is told so, too.
GIVEN_UP = re.compile(
    r"\b(?:(?:instead of|(?:moved|taken|went) out of|rather than|in place of|"
    r"stopped|quit|left|leaving|sold|"
    rf"dropped|retired|gave up|given up|got rid of|away from|not)\b(?P<behind>{_IN_CLAUSE}*?)"
    rf"{JOINT}"
    rf"|(?:replaced|replaces|succeeds|succeeded)\b(?P<done>{_IN_CLAUSE}*)(?=[.;:]|$)"
    rf"|from\b(?P<start>{_IN_CLAUSE}*?)\b(?:to|into)\b"
    rf"|(?:took over|taken over|takes over|inherited|up|down)\b{_IN_CLAUSE}*?"
    rf"\bfrom\b(?P<giver>{_IN_CLAUSE}*))",
    re.IGNORECASE,
)
NO_MORE = re.compile(
    r"\bno longer\b|\bno more\b(?! than)|\bnot\b[^.;]*\b(?:any ?more|any longer)\b", re.I
)
# That it began at another time than when it was said.
EARLIER = re.compile(
    rf"\b(?:yesterday|ago|recently|lately|since (?!now\b|today\b)|last (?:{_SPAN}|\w+day)"
    rf"|(?:this|next|from|on|starting) (?:{_SPAN}|\w+days?)\b(?! on\b))",
    re.IGNORECASE,
)
# What only explains it.
EXPLAINING = re.compile(
    r"^(?P<first>(?:after|since|because|now that)\b[^,]*,)"
    r"|\b(?P<last>(?:because|after|since)\b.*$)",
    re.IGNORECASE,
)
# Who has gone.
LEAVER = re.compile(
    r"(?:^|[,;] )(?P<leaving>[^.;:,]*?)\b(?:(?:has |have )?(?:left|handed|stopped|"
    r"retired|resigned|quit|gone)|is (?:gone|leaving))\b",
    re.IGNORECASE,
)
HEDGED = re.compile(
    rf"\b(?:{any_of(lexicon.HEDGES | lexicon.OPINING)}|(?<!\d )may(?! \d)|might|could be|"
    r"(?:not|n't) (?:sure|certain)|unsure|rumou?r|guessed|thought|claims?|claimed|heard|"
    r"according to|unconfirmed)\b|\?",
    re.IGNORECASE,
)
TELLS = (
    "says?|said|told (?:us|me|the user)|reports|reported|states|stated|claims|claimed|thinks?|"
    "thought|believes?|mentions|mentioned|heard|hears|guess(?:es|ed)?|suspects|suspected|"
    "insists|is (?:not )?sure|was (?:not )?sure|remembers"
)
# Who said it, where that is somebody else than the user: it is true as far as that one knows.
REPORT = re.compile(
    rf"(?:^(?!(?:the )?user\b)(?:[\w'-]+ ){{1,6}}?(?<!\bare )(?<!\bis )"
    rf"(?<!\bwas )(?<!\bwere )(?:{TELLS})\b,? (?:that )?"
    r"|^(?:the )?user (?:heard|thinks|believes|guesses|suspects)(?: from [\w' -]+?)? (?:that )?"
    r"|^according to [^,]+, "
    rf"|^{_HEDGES},? "
    r"|, (?!(?:the )?user\b)(?:[\w'-]+ ){1,3}?(?:says|said|thinks|told us|claims)\b"
    r"|,(?: but| though)? [^,]*(?:\bnot|n't) (?:\w+ )?(?:sure|certain|confirmed)\b[^,]*(?=\.|$)"
    r"|^(?:it )?(?:could|might|may) be that |^rumou?r has it that |, if [^,]* right(?=\.|$)"
    r"|,? according to [^,.]+(?=[,.]|$))",
    re.IGNORECASE,
)
USER_SAID = re.compile(
    r"^(?:the )?user (?:says?|said|mentioned|reported|explained|confirmed|noted) (?:that )?", re.I
)
# Since when, as part of the news and not of what they say.
SINCE_WHEN = re.compile(
    r"(?:\b(?:since|as of|starting|effective)(?: on| from| last| the)?"
    r"|\bfrom(?=[^.;,]* on(?:wards?)?\b))(?: [a-z]+)? $",
    re.IGNORECASE,
)
# Who somebody is stands in any sentence: "questions should be sent to their mentor, Ann".
APPOSED = re.compile(
    r"(?:\b(?:[Tt]he|[Mm]y|[Oo]ur|[Tt]heir|[Hh]is|[Hh]er|[Ii]ts)|'s) [\w -]+, "
    rf"(?:{_TITLES}\.? )?[A-Z]\w+"
)
# At the head of a sentence only the verb shows that it is a name.
SUCCESSOR = re.compile(r"[A-Z][\w-]+ (?:took|takes|has taken) over\b")
DAYS = frozenset({"date", "month", "year", "weekday"})
POINTS_BACK = re.compile(r"(?:it|they|he|she|its|their|his|her)\b|[^.]*\b(?:him|her|them)\b", re.I)
# Behind one of these a participle describes a thing.
BEFORE_A_THING = lexicon.DETERMINERS | {"this", "that", "of", "for", "in", "as"}
DESCRIBED = re.compile(
    r"\b(?P<done>[a-z]+ed) (?:by|in|on|at|for|with|from|to)\b(?:(?! and )[^.,;:])*? (?:is|are)\b"
)
# Moods in which a sentence does not say how things are.
DOUBTS = frozenset({"will", "wants to", "unless", "?"})
NOT_SO = DOUBTS | {"should", "can", "may", "used to", "if", "or"}
# No doubts: how things are, and a value with its bound.
PLAINLY_SO = re.compile(
    r"\b(?:can be (?=reached|found|contacted|accessed|seen)"
    r"|or (?:newer|later|higher|above|more)\b|wants?\b(?! (?:\w+ )?to\b)|aims? at\b"
    r"|(?<=\d )May\b|May(?= \d)|may (?=[^.;]*\b(?:at most|up to|no more than)\b))"
)
AT_MOST = re.compile(r"\b(?:at most|up to|no more than|not more than)\b", re.IGNORECASE)
# A name for being called so, however it is written: "the default branch is called trunk".
CALLED = re.compile(
    r"\b(?:called|named|renamed (?:\w+ )?to|known as)\s+(?P<name>[\w-]+)"
    r"|\b(?:the|our|its) [\w ]+, (?P<apposed>[a-z][\w-]+)(?=[.]?$)"
)
# What a later sentence that says that something changed must not be: a plan.
PLANS = frozenset({"wants to", "unless", "if", "?"})
# How something is put behind another: of "for code" and "for notes" only one is meant.
# "because of" and "instead of" are joints of their own.
COMPOUND = frozenset({"because", "instead", "out", "ahead"})
CONTRASTING = frozenset({"for", "of", "during", "between", "about", "when", "with", "in", "on"})
# Behind these stands where, when or for whom it is so: a later value that is said to hold there
# alone leaves the earlier one as it is.
SCOPING = frozenset({"for", "during", "when", "while", "within", "under", "in", "on", "at"})
