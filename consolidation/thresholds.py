"""Every number that a decision turns on, with where it comes from.

How far one word may stand from another for a rule of grammar is no decision, and stands with the
rule; so does what only time, memory and the money of a model turn on.

"Measured" means on all-MiniLM-L6-v2; "the night fixture" is fixtures/night, 1,000 memories with
known answers, "the observations" are 2,541 memories of real conversations (LoCoMo).
"""

# A memory is looked at together with so many of its nearest, and with those that it is one of the
# nearest of. On the night fixtures no memory has more than 16 this near, of the observations one
# has 70; the plans are the same without it. Of a thousand lines of a log that differ in a number
# each would be compared with each.
MOST_NEAR = 32

# A pair this similar that a veto keeps apart is worth a line in the report.
TWIN_SIMILARITY = 0.85

# The mean similarity below which the memories of a proposal hang together loosely enough for a
# person to look at it, where that is wanted. Set by hand, at what a pair needs to be looked at.
LOW_COHESION = 0.70

# The most support of one rule; more of it would not make the rule any surer.
MOST_SUPPORT = 24

# The share of a group's members that one entity or content word must be in for the group to be
# about one thing.
SHARED_TOPIC = 0.6

# Trust never rises by derivation.
TRUST_LOSS = 0.05

# With fewer content words a sentence says too little: whatever else the other says may limit it.
# Set by hand.
FEWEST_WORDS = 3

# A text is in a language whose dictionary has more than this share of its words, its names aside.
# Of 0.3 to 0.7 none is plainly better on the two hand-written lives.
KNOWN_WORDS = 0.5

# A word that is in more texts than this leads from none of them to the others: the search for
# conflicts would take square time.
COMMON_WORD = 60

# The share of the content words of the longer of two texts that the shorter must have for the two
# to be in conflict over a value: on six lives 51 of 67 such pairs were right.
RIVAL_MATTER = 0.5

# How likely the network must find it that a sentence is entailed by another one, and the same where
# both have a value in common that few facts share by chance. Chosen on six lives and three nights
# of 1,000: with 0.985 for the first 11 more memories leave rightly and 5 wrongly.
ENTAILED = 0.992
ENTAILED_ANCHORED = 0.30

# From here on two texts are compared for whether one says all that the other says.
DUPLICATE_SIMILARITY = 0.60

# The share of the content words of a sentence that another one must have for the network to be
# asked, and the same where a value says what they are about: a question takes ten milliseconds. The
# second is also what of a source's words, with all its values and names, a derived memory must have
# to hold its facts (for measuring recall only): after a night on the three of 1,000 that is so of
# 94, 87 and 92 % of the sources, which all told the same.
SHARED_WORDS = 0.70
SHARED_WORDS_ANCHORED = 0.50

# The cosine distance (eps of DBSCAN) within which texts are clustered to be shown to a model, and
# the step by which a cluster that does not fit into a window is clustered again. A writer that
# knows the answers joins the tellings of 66 of 75 facts of two lives within 0.65 and of 74 within
# 0.75, for 2 % more tokens; over ten nights of 53 and 68.
WIDE_EPS = 0.75
WIDE_SIMILARITY = 1.0 - WIDE_EPS
EPS_STEP = 0.05

# The same in a tenant with more texts than this, since the graph of all pairs would not fit into
# memory; and across a cut: two texts in different windows that are this near are shown once more
# together, the result of a window and what lies across the cut.
LARGE_TENANT = 10_000
NARROW_EPS = 0.45

# How many of its nearest a new memory is shown with on a later night. Over ten nights the same
# writer joins the tellings of 65 of those 75 facts with 8, and of 67 with 12.
NEAREST_FOR_A_MODEL = 12

# How much a model reads at a time, in tokens of memories: some 200 of them, which was read in one
# go without loss.
WINDOW_TOKENS = 6_000

# How much of what it reads a model says again, in tokens: seen in nights on hand-written lives.
ANSWERED_SHARE = 0.5

# How much of what makes a hit is its vector, and how much its words. Chosen with the next on the
# developers' halves of LoCoMo and LongMemEval (766 and 238 questions) and on the questions of the
# three nights (285): recall of ten is .700, .890 and .814 there, and from .69 to .71, .88 to .89
# and .76 to .83 with any of 0.5 to 0.7; reciprocal rank fusion (k = 60) finds .647, .872 and .781.
VECTOR_SHARE = 0.6

# A text's words count as a share of the best text's, but of no less than this share of what a text
# with all the words of the question would score: else one common word of it, in a text about
# something else, outdoes the vectors.
WORDS_FOUND = 0.8

# Where recency counts, or hits are to differ: how much of what ranks a hit stays its relevance,
# rather than its age, or how little it repeats of those before it (maximal marginal relevance,
# Carbonell and Goldstein 1998).
RELEVANCE_SHARE = 0.7

# Hits that lie nearer to each other than this are as good as each other: layer and trust decide.
AS_RELEVANT = 0.001

# What a line of a context block is worth by its layer, from the least; the other half is what it
# has of the question's words. The figures are those that agents' own memory layers use, not
# measured here.
LEAST_WORTH = 0.4
WORTH_A_LAYER = 0.1
WORTH_SHARE = 0.5

# Two lines that share more of their words (Jaccard) say the same to a reader.
REPEATED_LINE = 0.8

# From this density on, 0 to 1, a text is kept to the letter. The figure is that of compressors of
# agents' memories; of the 5,385 memories of the fixtures' nights and lives none reaches it (the
# highest has 0.46), of the texts in fixtures/density.toml each dense one does.
DENSE = 0.5

# What a text's density is made of, as shares of its lines (code, data, lines that are no sentences)
# or of its words: nothing but code, data or identifiers is dense by itself, numbers are not. Set by
# hand on fixtures/density.toml.
WEIGHT_OF_LETTERS = 0.6
WEIGHT_OF_NUMBERS = 0.4
WEIGHT_OF_LINES = 0.2

# A compressed experience must be so many times shorter than the traces that it was made from, or it
# is not worth another memory. Set by hand.
LEAST_COMPRESSION = 2.0

# What is told of a dense text that is too long: so many facts, and so many characters of its start,
# its middle and its end. After the published compressors of agents' experiences.
MOST_KEY_FACTS = 20
ANCHOR_CHARACTERS = 150

# In how many hours half of a memory fades that nobody uses, by layer, and what each look-up adds
# to what is left, up to so much: the design's. Core does not fade.
EPHEMERAL_HALF_LIFE_H = 6.0
WORKING_HALF_LIFE_H = 7 * 24.0
STABLE_HALF_LIFE_H = 180 * 24.0
ACCESS_WEIGHT = 0.02
MOST_FOR_ACCESS = 0.3

# How many hours an ephemeral memory stays active where no rule says otherwise: the design's.
EPHEMERAL_KEPT_H = 24
