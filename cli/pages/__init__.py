"""Reports and lineages as pages: HTML, Markdown and graphs."""
