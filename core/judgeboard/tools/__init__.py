"""Foreign tools and conventions: a module has what an import, a pull, a push and the receiver know of one.

`judgeboard.registry.tools` lists them.

What all tools share is here too: what a `tool` is, a `target` and its connection over `http`, a
`history`, `push` and `pull`.
"""
