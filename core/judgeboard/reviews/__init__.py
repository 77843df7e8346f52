"""Reviews of answers and pairs: decisions, comments, queues, leases, conflicts and their adjudication.

Each change raises `NotAllowed` without the permission, `NotFound` if there is no such response,
pair, item, review or queue, and `BadInput` for a request key that cannot be used.
"""
