"""The parts of the item page: panes, head line, bar."""
