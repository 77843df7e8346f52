"""The table of masks: how many values of each kind are masked in an answer."""

from judgeboard.store.columns import BigId, Row, column, table_of


class MaskCount(Row, table=True, is_free=True):
    """The values of a kind that are masked in the texts of an answer, by one version of the masks."""

    response_id: int = column(BigId, refers="response", primary_key=True)
    kind: str = column(primary_key=True)
    version: str = column(comment="Hash of the kinds, patterns, plugins and the key of the masks.")
    masked: int = column(comment="Different values.")


MASK_COUNT = table_of(MaskCount)
