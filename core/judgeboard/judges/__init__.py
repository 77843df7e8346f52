"""The judges. Each gives one verdict at a time; `registry.judge_kinds.JUDGES` lists the kinds."""
