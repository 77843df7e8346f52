"""The documentation of the running version, served beside the pages without a network."""

import re
from collections.abc import Callable
from functools import cache
from html import escape
from importlib.machinery import SourceFileLoader
from itertools import pairwise
from pathlib import Path
from types import ModuleType

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

ADDRESS = "documentation"
HOME = "index.md"
_PACKAGE = Path(__file__).parent
_PLACES = (
    _PACKAGE / "bundled_docs",
    _PACKAGE.parents[1] / "docs",
)  # of an installed wheel, of a checkout
_PICTURE = re.compile(r"^!\[.*\n", re.MULTILINE)  # the app itself shows the same
_BUILT = re.compile(
    "^(::: |<!-- built: )", re.MULTILINE
)  # begins what only the build of the site can write
_STYLE = """
:root { color-scheme: light dark; }
body { max-width: 50rem; margin: 1.5rem auto; padding: 0 1rem; font: 1rem/1.55 system-ui, sans-serif; }
pre, table { display: block; overflow-x: auto; }
pre { padding: .7rem; border: 1px solid; border-radius: 6px; }
table { border-collapse: collapse; }
th, td { padding: .3rem .6rem; border: 1px solid; text-align: left; vertical-align: top; }
"""


def routes() -> list[Route]:
    """Return the route of all pages of the documentation."""
    return [Route(f"/{ADDRESS}/{{page:path}}", _reply)]


def _reply(request: Request) -> Response:
    name = request.path_params["page"]
    if name not in pages():
        return HTMLResponse(
            _document("Not found", "<h1>There is no such page</h1>", name), status_code=404
        )
    return HTMLResponse(rendered(name))


@cache
def pages() -> dict[str, Path]:
    """Return the pages of the documentation by name, such as ``how-to/judge.md``."""
    folder = _folder()
    files = (
        path
        for path in sorted(folder.rglob("*.md"))
        if not _BUILT.search(path.read_text(encoding="utf-8"))
    )
    return {path.relative_to(folder).as_posix(): path for path in files}


def _folder() -> Path:
    return next(place for place in _PLACES if (place / HOME).is_file())


@cache
def rendered(name: str) -> str:
    """Return a page as HTML, with the tables that follow from the code."""
    from markdown_it import MarkdownIt

    text = _with_tables()(_PICTURE.sub("", pages()[name].read_text(encoding="utf-8")))
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    for heading, content in pairwise(tokens):
        if heading.type == "heading_open":
            heading.attrSet("id", re.sub(r"[^\w -]", "", content.content.lower()).replace(" ", "-"))
    # The links to pages that only the site has are removed. The words of such links stay.
    for block in tokens:
        parts, is_link_kept = [], []
        for part in block.children or ():
            if part.type == "link_open":
                file = str(part.attrGet("href")).partition("#")[0]
                target = Path("/", name).parent.joinpath(file).resolve().relative_to("/").as_posix()
                is_link_kept.append(not file or ":" in file or target in pages())
            if part.type not in ("link_open", "link_close") or is_link_kept[-1]:
                parts.append(part)
            if part.type == "link_close":
                is_link_kept.pop()
        block.children = block.children and parts
    title = next(content.content for content in tokens if content.type == "inline")
    return _document(title, parser.renderer.render(tokens, parser.options, {}), name)


@cache
def _with_tables() -> Callable[[str], str]:
    loader = SourceFileLoader("judgeboard_documentation_tables", str(_folder() / "generate.py"))
    module = ModuleType(loader.name)
    module.__file__ = loader.path
    loader.exec_module(module)
    with_tables: Callable[[str], str] = module.with_tables
    return with_tables


def _document(title: str, body: str, name: str) -> str:
    home = "../" * name.count("/") + HOME
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)} · Judgeboard</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
        f'<body><nav><a href="{home}">All pages of the documentation</a></nav><main>{body}</main></body></html>'
    )
