"""What a program can look up in a text: values, names, code, quotations. Nothing is understood."""
