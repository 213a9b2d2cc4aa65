"""The classes of English words that more than one module goes by, each listed once.

Most are closed: a grammar could list them in full. What a single module alone means by some words
is listed there.
"""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list that is written as one text."""
    return frozenset(text.split())


# Function words: articles, pronouns, auxiliaries, prepositions, conjunctions. After the English
# list of the Snowball project (snowballstem.org), without the words that carry polarity.
FUNCTION = word_set(
    "a about above after again all also although am an and any are as at be because been before "
    "being below between both but by can could did do does doing down during each every few for "
    "from further get gets got had has have having he her here hers herself him himself his how i "
    "if in into is it its itself just let me more most much my myself of off on once only onto or "
    "other our ours ourselves out over own per same shall she should so some such than that the "
    "their theirs them themselves then there these they this those through to too under until up "
    "upon us very via was we were what when where whether which while who whom whose whoever why "
    "will with would you your yours yourself yourselves s t d ll m o re ve y one ones someone "
    "somebody something everyone everybody everything anyone anybody anything another mr mrs ms dr"
)

ARTICLES = word_set("a an the")
# What may stand in place of an article.
POSSESSIVES = word_set("my your his her its our their")
DETERMINERS = ARTICLES | POSSESSIVES
# The forms of "be" and "have", and the verbs that put another verb into a mood.
BEING = word_set("am is are was were be been being")
HAVING = word_set("has have had having")
MODAL_VERBS = word_set("can could may might must shall should will would")

# Adverbs that stress a statement and change nothing of it.
STRESSING = word_set("currently actually really indeed simply basically truly please")
# Adverbs with which one says that it may not be so.
HEDGES = word_set(
    "perhaps maybe probably possibly likely presumably apparently supposedly reportedly allegedly"
)

# Words with which an announcement may begin: capitalised at the head of a text, they are no names.
# Nothing is taken off by this list: what announces is found by the patterns of announcing.py.
ANNOUNCING = (
    word_set(
        "user says said saying told tells mentioned mentions explained explains noted notes note "
        "confirmed confirms reported reports learned learnt found lesson remember reminder fyi "
        "according apparently mr mrs ms dr"
    )
    | STRESSING
)

# Words that deny outright.
NEGATORS = word_set(
    "not no never none nobody nothing nowhere neither nor cannot without n't dont doesnt isnt "
    "arent wasnt werent wont cant couldnt shouldnt wouldnt didnt hasnt havent"
)

# Past tenses and participles that do not end in "-ed" and differ from the present, and short ones
# that do.
IRREGULAR_PASTS = word_set(
    "used owed tied died lied aged iced "
    "arose arisen ate eaten beat beaten became began begun bent bet bit bitten bled blew blown "
    "bore born borne bought bound bred broke broken brought built burnt came caught chose chosen "
    "clung crept dealt dove drew drawn dreamt drank drunk drove driven dug fed fell fallen felt "
    "fled flew flown forbade forbidden forgave forgiven forgot forgotten fought found froze "
    "frozen gave given ground grew grown heard held hid hidden hung kept knelt knew known laid "
    "leapt led left lent lit lost made meant met mistook mistaken overcame overtook overtaken "
    "paid proven put ran rang rung rode ridden rose risen said sang sung sank sunk sat saw seen "
    "sent sewn shone shot shook shaken shown shrank shrunk slept slid sold sought sowed spent "
    "split spoke spoken sprang sprung spun spread stole stolen stood struck stuck stung swam swum "
    "swept swore sworn swung taught thought threw thrown thrust told took taken tore torn "
    "undertook understood underwent went gone woke woken won wore worn wound wove woven withdrew "
    "withdrawn wrote written"
)
# Plurals without an "s": an injured foot is not injured feet.
PLURALS = word_set("feet teeth mice men women children people geese lice oxen data")
# Compared otherwise than by an ending.
COMPARATIVES = word_set("better best worse worst more most less least further farther")


# Words that say what ought to be, for telling rules from facts.
NORMATIVE = word_set(
    "always never must should ought shall prefer prefers preferred avoid avoids ensure lesson rule "
    "policy insist insists insisted require requires required mandatory forbidden prohibited "
    "important remember don't dont"
)
# Verbs with which an instruction may open. Closed by use: instructions to agents.
IMPERATIVES = word_set(
    "add always ask avoid back book check choose commit confirm do don't double double-check "
    "ensure explain file fix follow get give hold include keep leave let log look make mind never "
    "offer only open pick pin please prefer put quote raise read record remember remove "
    "reply report request rerun respect review rotate run save schedule send set show split start "
    "stay stick stop store take talk tell test treat try turn update use verify wait warn watch "
    "write"
)

# In the order of the calendar.
MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

# Words whose meaning depends on the day they were said.
DEICTIC = word_set("yesterday today tomorrow tonight now currently recently lately ago")
DEICTIC_BEFORE = word_set("last next this")
CALENDAR = word_set(
    "week month year weekend night morning evening afternoon spring summer autumn winter quarter"
) | {*WEEKDAYS, *MONTHS}

_UP_TO_TWENTY = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen", "twenty"),
)
_TENS = {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80}
NUMBER_WORDS = {word: value for value, word in enumerate(_UP_TO_TWENTY)} | _TENS
NUMBER_WORDS |= {"ninety": 90}
SCALES = {"dozen": 12, "hundred": 100}
SCALES |= {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}

ORDINALS = (
    *("first", "second", "third", "fourth", "fifth"),
    *("sixth", "seventh", "eighth", "ninth", "tenth"),
)

# Endings of the names of files that agents speak of.
EXTENSIONS = word_set(
    "bash c cfg cmd conf cpp cs css csv db doc docx env gif go gz h hpp htm html ini ipynb java "
    "jpeg jpg js json jsonl jsx kt lock log lua md mdx parquet pdf php pickle pkl png ppt proto "
    "ps1 py pyi r rb rs rst scala sh sql sqlite svg swift tar tex tf toml ts tsv tsx txt vue wasm "
    "xls xlsx xml yaml yml zip zsh"
)

# Words that open a phrase or a clause: capitalised at the head of a sentence, they are no names.
OPENING = word_set(
    "after at because before behind besides despite during except for if in inside near of on "
    "outside since through throughout toward towards unless until till via when whenever where "
    "whereas while with within without per under over about against among around between beyond"
)
# With these a phrase of place, time or manner begins.
PLACING = word_set(
    "after at before by during for from in on per since through to under unlike until via with "
    "within"
)
# What may follow a thing, and may make a passive.
PASSIVE_AUXILIARIES = BEING | word_set("get gets got")
