"""File formats. Each format of rows has a module here and an entry in `judgeboard.formats.files`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
