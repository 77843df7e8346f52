"""How far people, judges, and people and judges agree: read from the store, measured, said in words."""

from judgeboard.agreement.measure import agreement_of, measure_agreement, report_results
from judgeboard.agreement.pair_source import AgreementRow, AgreementTable, PairSource, agreement, statistics_of
from judgeboard.agreement.result import AgreementResult

__all__ = [
    "AgreementResult",
    "AgreementRow",
    "AgreementTable",
    "PairSource",
    "agreement",
    "agreement_of",
    "measure_agreement",
    "report_results",
    "statistics_of",
]
