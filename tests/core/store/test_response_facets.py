from engines import on_sqlite
from judgeboard.domain import JudgeVersion, Response, ResponseKind
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.response_pages import ResponseFacets, response_facets
from judgeboard.store.storing import store_responses


@on_sqlite
def test_a_log_is_filtered_by_what_occurs_in_it(store: Store) -> None:
    given = [
        Response("shop", "1", "q", "a", query_type="QA", generator_model="m2"),
        Response("shop", "2", "q", "a", query_type="Äpfel", generator_model="m1"),
        Response("app", "3", "q", "a", query_type="QA"),
        Response("app", "4", "q", "a", query_type="made", kind=ResponseKind.CONTROL),
        Response("suite:gate", "5", "q", "a", generator_model="m3", kind=ResponseKind.CANDIDATE),
    ]
    with store.writing() as connection:
        store_responses(connection, given)
        for name in ("rag", "lexical"):
            ensure_version(connection, JudgeVersion(name, name))
        ensure_version(connection, JudgeVersion("rag", "rag", params={"temperature": 1}))
        facets = response_facets(connection)
    assert facets == ResponseFacets(("QA", "Äpfel"), ("app", "shop"), ("m1", "m2"), ("lexical", "rag"))


@on_sqlite
def test_an_empty_log_offers_nothing(store: Store) -> None:
    with store.reading() as connection:
        assert response_facets(connection) == ResponseFacets((), (), (), ())
