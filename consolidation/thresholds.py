"""Every threshold of a decision, and how it was chosen.

Numbers that only affect time, memory or the cost of a model are in their modules.

"Measured" means on all-MiniLM-L6-v2; "the night fixture" is fixtures/night, 1,000 memories with
known answers, "the observations" are 2,541 memories of real conversations (LoCoMo).
"""

# The number of nearest neighbours that a memory is compared with, in either direction. On the night
# fixtures no memory has more than 16 near ones, and one observation has 70; plans are the same
# without this limit. Without it, a thousand log lines would all be compared with each other.
MOST_NEAR = 32

# Pairs above this similarity that a veto keeps apart are reported.
TWIN_SIMILARITY = 0.85

# The similarity to a conversation part above which a known memory is shown with it. Set by hand, at
# the similarity of memories of one topic.
SHOWN_SIMILARITY = 0.3

# The mean similarity below which a proposal is risky. Set by hand.
LOW_COHESION = 0.70

# The maximum number of memories that support one rule; more would not make it more certain.
MOST_SUPPORT = 24

# The share of a group's members that must mention an entity or content word for the group to have
# that topic.
SHARED_TOPIC = 0.6

# The loss of trust by derivation.
TRUST_LOSS = 0.05

# Sentences with fewer content words say too little to be compared. Set by hand.
FEWEST_WORDS = 3

# The number of foreign function words that make a text foreign (one may be in a name: "Los
# Angeles"); for a text without function words, the share of its words that an English dictionary
# must know, and the minimum length of such words, since short notes have abbreviations ("HLS:
# 6-second segments"). Set by hand; on two hand-written lives no share from 0.3 to 0.7 is better.
FOREIGN_WORDS = 2
KNOWN_WORDS = 0.5
SHORTEST_KNOWN = 3

# Words in more texts than this are ignored by the search for conflicts, which would take quadratic
# time.
COMMON_WORD = 60

# The share of the longer text's content words that the shorter must have for a conflict over a
# value: on six lives 51 of 67 such pairs were right.
RIVAL_MATTER = 0.5

# The probability of entailment that the network must find, and the same for sentences that share an
# uncommon value. Chosen on six lives and on half of 244 written look-alikes: with 0.5 for the
# second, 8 fewer memories leave rightly, and as many wrongly.
ENTAILED = 0.985
ENTAILED_ANCHORED = 0.30

# The cosine from which on texts are compared as duplicates.
DUPLICATE_SIMILARITY = 0.60

# The share of a sentence's content words that the second one must have for the network to be run,
# which takes ten milliseconds; and the same for sentences that share a value.
SHARED_WORDS = 0.70
SHARED_WORDS_ANCHORED = 0.50

# DBSCAN's eps, a cosine distance, for the clusters that a model is shown; how much wider it is
# between two demands; and the step by which it shrinks for clusters that do not fit into a window.
# Of 1,272 restatements in six lives (fixtures/quality and two others) 17 have no neighbour within
# 0.60 and would not be shown; within 0.65 it is 5, for 4 % more text. Restatements of one rule have
# a median cosine of 0.30.
WIDE_EPS = 0.65
WIDE_SIMILARITY = 1.0 - WIDE_EPS
WIDER_FOR_DEMANDS = 0.10
EPS_STEP = 0.05

# The eps for tenants with more texts than this, whose graph would not fit into memory.
LARGE_TENANT = 20_000
LARGE_TENANT_EPS = 0.45

# The cosine from which on texts in different windows are shown together in a second round.
NEAR_ACROSS_CUT = 0.55

# The number of nearest memories that a new one is shown with on later nights. On a hand-written
# life the five nearest contain 31 of 36 facts.
NEAREST_FOR_A_MODEL = 8

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

# The weight of relevance if recency counts.
RELEVANCE_SHARE = 0.7

# The weight of relevance against novelty for diverse hits (maximal marginal relevance, Carbonell
# and Goldstein 1998).
RELEVANCE_TO_NOVELTY = 0.7

# Hits whose relevance differs by less than this are ranked by layer and trust.
AS_RELEVANT = 0.001

# The weights of a context block's lines by label, and the share of that weight in a line's score;
# the rest is its share of the question's words. Taken from agents' memory layers, not measured.
WORTH_OF_CORE = 0.7
WORTH_OF_STABLE = 0.6
WORTH_OF_WORKING = 0.5
WORTH_OF_CONTEXT = 0.4
WORTH_SHARE = 0.5

# The Jaccard similarity of words above which a line repeats another.
REPEATED_LINE = 0.8

# A derived memory has the facts of a source if it has all its values and names, and this share of
# its words. Only used to measure recall. After the three nights of 1,000 memories this holds for
# 94, 87 and 92 % of sources that say the same (at 0.8 for 64, 51 and 58 %).
FACTS_KEPT = 0.5

# The density, 0 to 1, from which on a text stays verbatim. Taken from compressors of agents'
# memories: of the 5,385 memories of the fixtures none reaches it (the highest has 0.46), and each
# dense text in fixtures/density.toml does.
DENSE = 0.5

# The weights of a text's density, of shares of lines (code, data, other than sentences) or of
# words. Text of only code, data or identifiers is dense, of only numbers it is not. Set by hand on
# fixtures/density.toml.
WEIGHT_OF_CODE = 0.6
WEIGHT_OF_DATA = 0.6
WEIGHT_OF_IDENTIFIERS = 0.6
WEIGHT_OF_NUMBERS = 0.4
WEIGHT_OF_LINES = 0.2

# The minimum compression of an experience relative to its traces. Set by hand.
LEAST_COMPRESSION = 2.0

# The summary of a dense text that is too long: the number of facts, and of characters from its
# start, middle and end. As in published compressors of agents' experiences.
MOST_KEY_FACTS = 20
ANCHOR_CHARACTERS = 150

# The half-life of unused memories in hours, by layer, and what each access adds to a score, with a
# maximum: set by the design. Core memories do not decay.
EPHEMERAL_HALF_LIFE_H = 6.0
WORKING_HALF_LIFE_H = 7 * 24.0
STABLE_HALF_LIFE_H = 180 * 24.0
ACCESS_WEIGHT = 0.02
MOST_FOR_ACCESS = 0.3

# How long ephemeral memories stay active without a rule, in hours: set by the design.
EPHEMERAL_KEPT_H = 24
