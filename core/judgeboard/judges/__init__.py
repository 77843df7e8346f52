"""The judges. Each gives one verdict at a time; `kinds.JUDGES` lists them."""
