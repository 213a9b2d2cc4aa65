"""The memory file as tools of an agent, by the Model Context Protocol."""
