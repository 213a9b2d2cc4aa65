"""Words of one meaning in several spellings, abbreviations and synonyms: word lists alone."""

from __future__ import annotations

from .lexicon import word_set

# Other spellings, abbreviations and synonyms of a word, which mean the same wherever they stand.
# Not here: what may mean two things ("min", "doc", "temp", "sun").
_SAME_WORDS = {
    # British and American.
    **{"center": "centre", "centers": "centres", "theater": "theatre", "fiber": "fibre"},
    **{"gray": "grey", "license": "licence", "licenses": "licences", "catalog": "catalogue"},
    **{"catalogs": "catalogues", "dialog": "dialogue", "program": "programme"},
    **{"programs": "programmes", "tire": "tyre", "tires": "tyres", "defense": "defence"},
    **{"canceled": "cancelled", "canceling": "cancelling", "traveled": "travelled"},
    **{"traveling": "travelling", "labeled": "labelled", "labeling": "labelling"},
    **{"modeling": "modelling", "plow": "plough", "liter": "litre", "liters": "litres"},
    # Shortened.
    **{"configuration": "config", "configurations": "configs", "repository": "repo"},
    **{"repositories": "repos", "database": "db", "databases": "dbs", "environment": "env"},
    **{"environments": "envs", "variable": "var", "variables": "vars", "production": "prod"},
    **{"documentation": "docs", "authentication": "auth"},
    **{"application": "app", "applications": "apps", "administrator": "admin"},
    **{"administrators": "admins", "information": "info", "directory": "dir"},
    **{"directories": "dirs", "parameter": "param", "parameters": "params", "library": "lib"},
    **{"libraries": "libs", "package": "pkg", "packages": "pkgs", "message": "msg"},
    **{"messages": "msgs", "Kubernetes": "k8s", "PostgreSQL": "postgres", "maximum": "max. max"},
    **{"department": "dept. dept", "appointment": "appt. appt", "including": "incl. incl"},
    **{"with": "w/", "without": "w/o", "versus": "vs. vs", "specification": "spec"},
    **{"specifications": "specs", "laboratory": "lab", "laboratories": "labs"},
    **{"refrigerator": "fridge", "photograph": "photo", "photographs": "photos"},
    **{"telephone": "phone", "email": "e-mail", "emails": "e-mails"},
    **{"emailing": "e-mailing", "emailed": "e-mailed"},
    # Of one meaning.
    **{"buy": "purchase", "buys": "purchases", "bought": "purchased", "start": "begin"},
    **{"starts": "begins", "started": "began", "starting": "beginning", "big": "large"},
    **{"bigger": "larger"},
    **{"usually": "typically", "rarely": "seldom", "children": "kids"},
    **{"mother": "mum mom", "father": "dad", "doctor": "physician", "need": "require"},
    **{"needs": "requires", "needed": "required", "immediately": "instantly"},
    **{"everybody": "everyone", "anybody": "anyone", "somebody": "someone"},
}
_SAME_PHRASES = {
    **{"pull request": "PR", "pull requests": "PRs", "virtual machine": "VM"},
    **{"virtual machines": "VMs", "continuous integration": "CI"},
    **{"right away": "immediately", "straight away": "immediately"},
    **{"second-hand": "used"},
}
SPELLINGS = {
    other: word for word, others in _SAME_WORDS.items() for other in others.split()
} | _SAME_PHRASES
# Of these, what is a name with a capital: "ask Max".
ALSO_NAMES = word_set("max spec mum mom dad lab")
# What stands before "-our" and "-ise" in words that are written "-or" and "-ize" elsewhere.
OUR = word_set("col fav behavi neighb hon lab harb flav hum rum od vap arm")
ISE = word_set(
    "organ real recogn summar optim normal initial serial synchron author custom priorit minim "
    "maxim final standard util apolog special visual local central categor memor general "
    "personal modern stabil"
)
