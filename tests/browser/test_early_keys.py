"""Keys pressed while the page is still being drawn: the script alone, with a server that the test plays."""

import json
from importlib.resources import files

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

# What the script looks at: the state of the run, the head with the numbers that are done, buttons
# with their keys.
PAGE = """
<div data-testid="stApp" data-test-script-state="notRunning">
  <div class="jb-head" data-row="7" data-done="0" data-session="one"></div>
</div>
<script>
  const head = document.querySelector(".jb-head");
  const got = [];  // what the server gets, one list of presses after the other
  const done = []; // the keys that it executes
  let answers = true;
  const send = (presses) => {
    got.push(presses);
    if (!answers) return;
    for (const press of presses.filter(({ n }) => n > Number(head.dataset.done))) {
      done.push(press.key);
      head.dataset.done = press.n;
    }
  };
  window.__judgeboardSend = send;
  function draw(key) {
    const button = document.createElement("button");
    button.innerHTML = `<kbd aria-label="Shortcut ${key}">${key}</kbd>`;
    document.body.append(button);
  }
</script>
"""


@pytest.fixture
def bare(browser):
    """A page with a head and no button yet."""
    page = browser.new_page()
    page.set_content(PAGE)
    script = files("judgeboard_dashboard") / "keys.js"
    page.add_script_tag(content=script.read_text(encoding="utf-8"))
    yield page
    page.close()


@pytest.fixture
def timed(bare):
    """The bare page, whose time goes on only as a test says."""
    bare.clock.install(time=0)
    bare.clock.pause_at(10_000)
    return bare


def test_keys_and_clicks_before_anything_can_be_sent_wait_for_it(timed):
    timed.evaluate("window.__judgeboardSend = null; draw('F'); draw('Ctrl + Enter')")
    timed.keyboard.press("f")
    timed.get_by_role("button", name="Ctrl + Enter").click()
    timed.clock.run_for(400)
    assert numbers(timed) == []
    timed.evaluate("() => { window.__judgeboardSend = send; }")
    timed.clock.run_for(1_000)
    done(timed, "F", "Ctrl+Enter")


def test_a_click_is_acknowledged_and_sent_again_as_a_key_is(bare):
    bare.evaluate("draw('3'); draw('Y'); answers = false")
    bare.get_by_role("button", name="3").click()
    bare.keyboard.press("y")
    bare.wait_for_function("got.length > 2")
    bare.evaluate("answers = true")
    done(bare, "3", "Y")
    assert numbers(bare)[-1] == [1, 2]


def test_ctrl_enter_in_a_field_leaves_it_and_is_a_press(bare):
    bare.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<input onblur=\"draw(\\'Z\\')\">')"
    )
    bare.locator("input").click()
    bare.keyboard.press("Control+Enter")
    expect(bare.locator("input")).to_be_focused()
    bare.evaluate("draw('Ctrl + Enter')")
    bare.keyboard.press("Control+Enter")
    done(bare, "Ctrl+Enter")
    expect(bare.get_by_role("button", name="Z")).to_have_count(1)


def done(page, *keys):
    """Wait until the server has executed these keys, and no others."""
    page.wait_for_function(
        f"JSON.stringify(done) === {json.dumps(json.dumps(keys, separators=(',', ':')))}"
    )


def numbers(page):
    """The numbers of the presses that the server got, by message."""
    sent = page.evaluate("got")
    return [[press["n"] for press in presses] for presses in sent]


def test_presses_before_any_button_stands_wait_for_their_buttons(timed):
    timed.keyboard.press("j")
    timed.keyboard.press("g")
    timed.clock.run_for(800)
    timed.evaluate("draw('J'); draw('G')")
    timed.clock.run_for(1_000)
    done(timed, "J", "G")


def test_a_press_that_no_button_takes_is_forgotten_soon(timed):
    timed.evaluate("draw('J')")
    timed.keyboard.press("g")
    timed.keyboard.press("j")
    timed.clock.run_for(1_000)
    done(timed, "J")
    timed.evaluate("draw('G')")
    timed.clock.run_for(500)
    timed.clock.run_for(1_000)
    done(timed, "J")


def test_a_press_waits_for_a_page_that_is_too_busy_drawing_to_look(bare):
    bare.evaluate("draw('J')")
    bare.evaluate("""() => addEventListener("keyup", () => {
      const end = performance.now() + 700;
      while (performance.now() < end);
      setTimeout(() => draw('G'), 100);
    })""")
    bare.keyboard.press("g")
    done(bare, "G")


def test_a_press_made_while_the_page_is_drawn_leads_to_the_field_that_its_key_is_for(timed):
    timed.evaluate(
        "draw('Y'); document.querySelector('[data-testid=stApp]').dataset.testScriptState = 'running'"
    )
    timed.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<div class=st-key-who_name><input></div>')"
    )
    timed.keyboard.press("y")
    timed.clock.run_for(600)
    timed.evaluate(
        "document.querySelector('[data-testid=stApp]').dataset.testScriptState = 'notRunning'"
    )
    timed.clock.run_for(1_000)
    expect(timed.locator("input")).to_be_focused()
    done(timed)


def test_a_press_made_on_another_row_is_not_sent(bare):
    bare.keyboard.press("g")
    bare.evaluate("head.dataset.row = '8'; draw('G'); draw('J')")
    bare.keyboard.press("j")
    done(bare, "J")


def test_presses_that_are_not_acknowledged_are_sent_again_with_those_that_follow(timed):
    timed.evaluate("draw('3'); draw('Y'); answers = false")
    timed.keyboard.press("3")
    timed.keyboard.press("y")
    timed.clock.run_for(700)
    expect(timed.locator(".jb-head[data-waits='2']")).to_have_count(1)
    assert numbers(timed) == [[1], [1, 2]]
    timed.evaluate("answers = true")
    timed.clock.run_for(1_000)
    done(timed, "3", "Y")
    assert numbers(timed)[-1] == [1, 2]
    expect(timed.locator(".jb-head[data-waits]")).to_have_count(0)


def test_a_press_waits_for_a_button_that_an_unacknowledged_press_may_draw(timed):
    timed.evaluate("draw('J'); answers = false")
    for key in "jg":
        timed.keyboard.press(key)
    timed.clock.run_for(700)
    timed.evaluate("answers = true; setTimeout(draw, 500, 'G')")
    timed.clock.run_for(2_000)
    done(timed, "J", "G")


def test_a_press_that_the_server_returns_goes_again_while_its_screen_stands_and_is_said_else(bare):
    bare.evaluate("draw('J'); answers = false")
    bare.keyboard.press("j")
    for number in (1, 2, 3):
        bare.wait_for_function(f"got.at(-1).some(({{ n }}) => n === {number})")
        bare.evaluate(f"head.dataset.returned = '{number}'; head.dataset.done = {number}")
    expect(bare.locator(".jb-head[data-lost='J']")).to_have_count(1)
    bare.wait_for_timeout(100)
    assert max(map(max, numbers(bare))) == 3


def test_what_a_server_that_is_gone_may_have_executed_is_said_and_not_sent_again(bare):
    bare.evaluate("draw('3'); answers = false")
    bare.keyboard.press("3")
    bare.evaluate("head.dataset.session = 'two'; answers = true")
    expect(bare.locator(".jb-head[data-lost='3']")).to_have_count(1)
    done(bare)


def test_a_double_press_is_one_and_a_slower_one_two_however_slow_the_server(timed):
    timed.evaluate("draw('G'); answers = false")
    for pause in (200, 300, 0):  # ms
        timed.keyboard.press("g")
        timed.clock.run_for(pause)
    timed.evaluate("answers = true")
    timed.clock.run_for(2_000)
    done(timed, "G", "G")


def test_a_key_without_a_button_in_a_field_whose_text_is_sent_holds_up_no_other(timed):
    timed.evaluate("draw('J'); document.body.append(document.createElement('input'))")
    field = timed.locator("input")
    field.fill("a")
    field.blur()
    field.focus()
    timed.keyboard.press("F8")
    timed.keyboard.press("j")
    timed.clock.run_for(2_000)
    done(timed, "J")


def test_letters_after_the_key_of_a_note_that_is_not_drawn_yet_are_text(bare):
    for key in ("m", "y", "d", "Escape", "y"):
        bare.keyboard.press(key)
    bare.evaluate("""() => {
      draw('Y');
      draw('D');
      document.body.insertAdjacentHTML('beforeend', '<div class=st-key-note_1><input></div>');
    }""")
    done(bare, "Y")
    assert bare.locator("input").input_value() == "yd"


def test_what_lies_over_the_page_takes_all_keys(timed):
    timed.evaluate("draw('3'); draw('H')")
    for closes in ("Escape", "h"):
        timed.keyboard.press("h")
        expect(timed.locator("dialog")).to_be_visible()
        timed.keyboard.press("3")
        timed.keyboard.press(closes)
        expect(timed.locator("dialog")).not_to_be_visible()
        timed.clock.run_for(300)  # a second H is no double press
    timed.evaluate("document.body.insertAdjacentHTML('beforeend', '<div role=dialog>Rubric</div>')")
    timed.keyboard.press("3")
    timed.evaluate("document.querySelector('[role=dialog]').remove()")
    timed.keyboard.press("3")
    timed.clock.run_for(1_000)
    done(timed, "3")


LIST = """
  const app = document.querySelector("[data-testid=stApp]").dataset;
  const runs = (state) => { app.testScriptState = state; };
  head.remove();
  document.addEventListener("click", ({ target }) => {
    done.push(target.textContent);
    setTimeout(runs, 100, "running");  // as the server does, some time after the click
  });
  addEventListener("keydown", ({ key, defaultPrevented }) => { if (!defaultPrevented) got.push(key); });
"""


def test_keys_pressed_on_a_list_before_its_buttons_are_drawn_are_executed_one_by_one(bare):
    bare.add_script_tag(content=LIST)
    bare.evaluate("runs('running')")
    for key in "xqj":  # Q has no button
        bare.keyboard.press(key)
    bare.evaluate("draw('J'); draw('X')")
    bare.wait_for_timeout(400)
    assert bare.evaluate("done") == []
    run_to_the_next_click(bare)
    bare.keyboard.press("k")  # after those that wait
    bare.evaluate("draw('K')")
    assert bare.evaluate("done") == ["X"]
    run_to_the_next_click(bare)
    assert bare.evaluate("done") == ["X", "J"]
    run_to_the_next_click(bare)
    bare.evaluate("runs('notRunning')")
    bare.wait_for_timeout(100)
    assert bare.evaluate("done") == ["X", "J", "K"]
    assert bare.evaluate("got") == []


def run_to_the_next_click(page):
    """End the run of the server, and wait until the run of the next click has begun."""
    page.evaluate("runs('notRunning')")
    page.wait_for_function("app.testScriptState === 'running'")


def test_a_page_that_is_drawn_keeps_no_presses(timed):
    timed.add_script_tag(content=LIST)
    timed.evaluate("draw('J')")
    timed.keyboard.press("x")  # no button has it
    timed.evaluate("draw('X')")
    timed.keyboard.press("x")  # Streamlit takes it
    timed.clock.run_for(600)
    assert timed.evaluate("[done, got]") == [[], ["x", "x"]]


def test_a_click_forgets_presses_that_wait(timed):
    timed.add_script_tag(content=LIST)
    timed.keyboard.press("x")
    timed.locator("body").click()
    timed.evaluate("draw('X')")
    timed.clock.run_for(600)
    assert "X" not in timed.evaluate("done")


def test_a_sentence_typed_outside_a_field_runs_nothing_after_its_first_letters(timed):
    for key in "YNUHAD":
        timed.evaluate(f"draw('{key}')")
    timed.keyboard.type("c what do you think")
    timed.clock.run_for(1200)
    assert timed.evaluate("done") == []
    timed.keyboard.press("y")
    timed.clock.run_for(1_000)
    done(timed, "Y")


def test_a_message_that_asks_for_a_note_puts_the_cursor_into_its_field(bare):
    bare.evaluate("draw('Y'); head.dataset.asks = 'note 4'")
    field = "<div class='st-key-note_1'><input></div>"
    bare.evaluate("field => document.body.insertAdjacentHTML('beforeend', field)", field)
    bare.wait_for_function("document.activeElement.tagName === 'INPUT'")
    bare.keyboard.type("why")
    assert bare.locator("input").input_value() == "why"
    assert bare.evaluate("done") == []
