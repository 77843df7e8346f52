"""Foreign tools and conventions: one module per tool, for imports, pulls, pushes and the receiver.

`judgeboard.registry.tools` lists the tools.

The modules that all tools share are here too: `tool`, `target` with the connection over `http`,
`history`, `push` and `pull`.
"""
