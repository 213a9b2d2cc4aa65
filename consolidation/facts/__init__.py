"""What can be looked up in a text without understanding it: values, names, code, quotations."""
