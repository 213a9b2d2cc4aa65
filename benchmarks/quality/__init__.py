"""How good the decisions are: one module a section, each gives figures and tables of them."""
