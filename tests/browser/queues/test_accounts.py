"""People are invited, set a password, sign in, and sign out in all tabs, in a real browser."""

import re

import pytest
from playwright.sync_api import expect

from browser_windows import Windows
from judgeboard.accounts.accounts import invite
from judgeboard.domain import Role
from page_rows import fill_pages
from served import serving

PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def store(new_store):
    opened = new_store()
    fill_pages(opened)
    return opened


@pytest.fixture(scope="module")
def windows(browser, store):
    # Before the server starts, so that it is on from the first page.
    invite(store, "ann", Role.ADMIN, "cli:root")
    with serving(str(store.engine.url.database)) as url:
        opened = Windows(browser, url)
        yield opened
        opened.close()


@pytest.fixture
def page(windows):
    context = windows.take()
    page = context.new_page()
    page.set_default_timeout(60_000)
    yield page
    windows.give_back(context)


def set_password(page, link):
    page.goto(link)
    page.get_by_label("Password", exact=False).first.fill(PASSWORD)
    page.get_by_label("Password again").fill(PASSWORD)
    page.get_by_role("button", name="Set password and sign in").click()


def test_a_link_sets_the_password_and_signing_out_ends_both_tabs(page, store):
    token = invite(store, "ann", None, "cli:root")
    page.goto("/open_flags")
    expect(page.get_by_role("button", name="Sign in with a password")).to_be_visible()
    set_password(page, f"/account/link/{token}")
    name = page.get_by_role("button", name="ann", exact=True)
    expect(name).to_be_visible()
    other_tab = page.context.new_page()
    other_tab.goto("/people?part=Accounts")
    other_tab.get_by_role("textbox", name="Name or e-mail address").fill("bob")
    other_tab.get_by_role("button", name="Create link").click()
    link = other_tab.get_by_text(re.compile(r"/account/link/[\w-]{43}$"))
    expect(link).to_be_visible()
    of_bob = link.inner_text()
    name.click()
    expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
    other_tab.get_by_role("textbox", name="Name or e-mail address").fill("eve")
    other_tab.get_by_role("button", name="Create link").click()
    expect(other_tab.get_by_text("Your sign-in has ended")).to_be_visible()
    # The next person at this browser.
    set_password(page, of_bob)
    expect(page.get_by_role("button", name="bob", exact=True)).to_be_visible()


def test_sign_in_returns_to_the_page_and_says_what_is_wrong(page, store):
    set_password(page, f"/account/link/{invite(store, 'carl', None, 'cli:root')}")
    page.get_by_role("button", name="carl", exact=True).click()
    expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
    page.goto("/open_flags?text=plain")
    page.get_by_role("button", name="Sign in with a password").click()
    page.get_by_label("Name").fill("Carl")
    page.get_by_label("Password").fill("a wrong password")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value("Carl")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="carl", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile(r"/open_flags\?text=plain$"))


def test_the_name_of_one_server_is_not_the_name_on_another_port(browser, new_store):
    both = [serving(str(new_store().engine.url.database)) for _ in range(2)]
    with both[0] as first, both[1] as second:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{first}/open_flags")
        person = page.locator(".st-key-person button").or_(page.get_by_label("Your name")).first
        expect(person).to_be_visible()
        if page.get_by_label("Your name").count() == 0:
            person.click()
        page.get_by_label("Your name").fill("Quinn")
        page.get_by_label("Your name").press("Enter")
        page.wait_for_function("/judgeboard_reviewer_\\d+=Quinn(;|$)/.test(document.cookie)")
        page.goto(f"{second}/open_flags")
        expect(person).to_be_visible()
        expect(page.get_by_text("Quinn")).to_have_count(0)
        page.goto(f"{first}/open_flags")
        expect(page.get_by_text("Quinn").first).to_be_visible()
        context.close()
