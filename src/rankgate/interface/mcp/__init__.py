"""The program ``rankgate mcp``: the verbs as tools of assistants, by the Model Context Protocol."""
