"""The part Keys of Sources: a lead creates a key, sees its token once and its last use, and revokes it."""

from app_pages import press, shown, table_rows
from judgeboard.store.api_keys import list_keys
from sent_traces import PROTOBUF, gathered, receiving, request, trace
from stored_rows import read


def test_a_key_is_created_shown_once_used_and_revoked(open_page, page_rows, page_store):
    app = open_page("sources", part="Keys")
    assert not app.dataframe
    # A key needs a name.
    assert app.button(key="key_create").disabled
    app.text_input(key="key_name").set_value("checkout")
    app.number_input(key="key_days").set_value(90)
    press(app.run(), "key_create")
    [token] = [code.value for code in app.code]
    assert token.startswith("jb_")
    [[name, state, last_used, *_]] = table_rows(app, "Last used")
    assert name == "checkout", "no request yet"
    assert state == "usable", "no request yet"
    assert str(last_used) == "nan", "no request yet"
    with receiving(page_store) as http:
        sent = {**PROTOBUF, "authorization": f"Bearer {token}"}
        assert http.post("/v1/traces", content=request(trace(1)), headers=sent).status_code == 200
        gathered(page_store, after=100)
    app = open_page("sources", part="Keys")
    # Another visit does not show it.
    assert token not in shown(app) + str([code.value for code in app.code])
    assert table_rows(app, "Last used")[0][2]
    [revoke] = [each.key for each in app.button if (each.key or "").startswith("key_revoke_")]
    press(app, revoke)
    [[_, state, *_]] = table_rows(app, "Last used")
    assert state == "revoked"
    assert not [each for each in app.button if (each.key or "").startswith("key_revoke")]
    [key] = read(page_store, list_keys)
    assert key.created_by == "Mara"
    assert key.scopes == ("ingest",)
    assert key.expires_at is not None
