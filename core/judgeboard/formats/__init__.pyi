# `frame` is loaded on first use, because pandas loads slowly.
from . import frame as frame
