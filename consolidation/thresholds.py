"""Every threshold of a decision, and how it was chosen.

Numbers that only affect time, memory or the cost of a model are in their modules.

"Measured" means on all-MiniLM-L6-v2; "the night fixture" is fixtures/night, 1,000 memories with
known answers, "the observations" are 2,541 memories of real conversations (LoCoMo).
"""

from collections.abc import Mapping
from types import MappingProxyType

# The number of memories with the words of a new text that are compared with it. A thousand lines of
# a log would otherwise all be compared.
MAX_NEAR = 32

# The mean similarity below which a proposal is risky, and is queued if risky ones are. Set by hand.
LOW_COHESION = 0.70

# The maximum number of memories that support one rule; more would not make it more certain.
MAX_SUPPORT = 24

# The loss of trust by derivation.
TRUST_LOSS = 0.05

# Sentences with fewer content words say too little to be compared. Set by hand.
MIN_WORDS = 3

# A text is English if the dictionary has this share of its words in lower case. Set by hand.
KNOWN_WORDS = 0.5

# Words in more texts than this are ignored by the search for conflicts, which would take quadratic
# time.
COMMON_WORD = 60

# The share of the longer text's content words that the shorter must have for a conflict over a
# value: on six lives 51 of 67 such pairs were right.
RIVAL_MATTER = 0.5

# The cosine from which on texts are near: shown as pairs that a model would see, and compared with
# a new text for a contradiction.
NEAR_SIMILARITY = 0.60

# The share of the words of a text that another one must have to be compared with it; also the share
# of a source's words that a derived memory must have, with all values and names, to contain its
# facts, which is for measuring recall only. Set by hand.
SHARED_WORDS = 0.50

# The cosine distance (eps of DBSCAN) within which texts are clustered to be shown to a model.
# Measured with a writer that knows the answers: in one night it joins 66 of the 75 facts of two
# lives at 0.65, and 74 at 0.75, for 2% more tokens; in ten nights, 53 and 68.
WIDE_EPS = 0.75
WIDE_SIMILARITY = 1.0 - WIDE_EPS
# How much nearer texts must be when a cluster that does not fit into a window is clustered again.
EPS_STEP = 0.05

# Tenants with more texts than this are clustered by NARROW_EPS: the graph of all pairs would not
# fit into memory.
LARGE_TENANT = 10_000
# Also the distance across a cut: texts in different windows that are this near are shown together
# once more.
NARROW_EPS = 0.45

# How many of its nearest a new memory is shown with on a later night. Over ten nights the same
# writer joins the tellings of 65 of those 75 facts with 8, and of 67 with 12.
NEAREST_FOR_A_MODEL = 12

# The size of a window, in tokens of memories: about 200, which a model read without loss.
WINDOW_TOKENS = 6_000

# The estimated size of an answer relative to its memories: measured on hand-written lives.
ANSWERED_SHARE = 0.5

# The weight of vectors in relevance; words have the rest. Chosen with the next on development
# halves of LoCoMo and LongMemEval (766 and 238 questions) and on the questions of the three nights
# (285): recall@10 is .700, .890 and .814, and from .69 to .71, .88 to .89 and .76 to .83 with
# weights from 0.5 to 0.7. Reciprocal rank fusion (k = 60) has .647, .872 and .781.
VECTOR_SHARE = 0.6

# Word scores are relative to the best text's, but at least to this share of the score of a text
# with all words of the question: otherwise one common word outweighs the vectors.
WORDS_FOUND = 0.8

# The weight of relevance if hits are also ranked by age, or by how little they repeat of those
# before them (maximal marginal relevance, Carbonell and Goldstein 1998).
RELEVANCE_SHARE = 0.7

# A search returns nothing if no memory is at least this relevant or has a cosine a quarter higher,
# and omits what is less than a third as relevant as the best. Chosen on the nights (285
# questions) and LoCoMo (766), with a third of this in place of the best: recall@10 loses 0.006 and
# 0.000, and 82 and 94% of 20 questions about the world got nothing. On LongMemEval (238), on which
# it was not chosen, recall@10 loses 0.011. A third of the best costs the nights 0.002 more, and
# omits 9% of the first ten hits; half of it would cost 0.018.
MIN_RELEVANCE = 0.32

# Hits whose relevance differs by less than this are tied; layer and trust break the tie.
AS_RELEVANT = 0.001

# The weight of the score in the rank of a context-block line; the share of the question's
# words has the rest. This and the worths of layers are the figures that agents' own memory layers
# use, not measured here; shared facts are worth a little less than an agent's own stable memories.
WORTH_SHARE = 0.5
WORTHS: Mapping[str, float] = MappingProxyType(
    {"core": 0.7, "stable": 0.6, "shared": 0.5, "working": 0.5, "ephemeral": 0.4, "context": 0.4}
)

# The Jaccard similarity of words above which a line repeats another.
REPEATED_LINE = 0.8

# From this density on, 0 to 1, a text is kept to the letter. The figure is that of compressors of
# agents' memories; of the 5,385 memories of the fixtures' nights and lives none reaches it (the
# highest has 0.46), of the texts in fixtures/density.toml each dense one does.
DENSE = 0.5

# The weights of a text's density score: the shares of lines (code, data, lines that are not
# sentences) or of its words: code, data or identifiers alone make it dense, numbers do not. Set by
# hand on fixtures/density.toml.
WEIGHT_OF_LETTERS = 0.6
WEIGHT_OF_NUMBERS = 0.4
WEIGHT_OF_LINES = 0.2

# The minimum compression of an experience relative to its traces. Set by hand.
MIN_COMPRESSION = 2.0

# The summary of a dense text that is too long: the number of facts, and of characters from its
# start, middle and end. As in published compressors of agents' experiences.
MAX_KEY_FACTS = 20
ANCHOR_CHARACTERS = 150

# The half-life of unused memories in hours, by layer, and what each access adds to a score, with a
# maximum: set by the design. Core memories do not decay.
EPHEMERAL_HALF_LIFE_H = 6.0
WORKING_HALF_LIFE_H = 7 * 24.0
STABLE_HALF_LIFE_H = 180 * 24.0
ACCESS_WEIGHT = 0.02
MAX_FOR_ACCESS = 0.3

# How long ephemeral memories stay active without a rule, in hours: set by the design.
EPHEMERAL_KEPT_H = 24
