"""A key press counts once and none is lost, whatever the keyboard and the hand do."""

from hypothesis import given
from hypothesis import strategies as st

from judgeboard_dashboard.widgets.keys import (
    FRESH_ROW,
    LONGEST_LIMIT,
    SAME_KEY,
    SHORTEST_LIMIT,
    Keyboard,
    Press,
    Turn,
    longest_pause,
)


def press(turn=Turn.GIVE):
    return Press(turn, lambda: None)


def on_row():
    """A keyboard on a row that appeared at 10 s."""
    keyboard = Keyboard()
    keyboard.appear("r1", 10.0)
    return keyboard


def test_a_held_key_is_one_press_however_long():
    keyboard = Keyboard()
    assert keyboard.press("3", press(), 10.0)
    assert not any(keyboard.press("3", press(), 10 + tick * 0.05) for tick in range(1, 60))
    assert keyboard.press("3", press(), 10 + 59 * 0.05 + SAME_KEY)
    assert len(keyboard.waiting) == 2


def test_different_keys_in_quick_succession_all_count():
    keyboard = Keyboard()
    assert all(keyboard.press(key, press(), 10 + place * 0.02) for place, key in enumerate("3DM"))


def test_nobody_has_read_a_row_that_just_appeared():
    keyboard = on_row()
    assert not keyboard.press("Y", press(Turn.DECIDE), 10 + FRESH_ROW / 2)
    assert keyboard.early
    # A grade is no decision.
    assert keyboard.press("3", press(), 10 + FRESH_ROW / 2)
    keyboard.appear("r1", 10.6)
    # Drawing the same row again is no appearance.
    assert keyboard.press("Y", press(Turn.DECIDE), 10.8)


def test_the_time_on_a_row_counts_from_its_appearance():
    keyboard = on_row()
    keyboard.press("Y", press(Turn.DECIDE), 17.5)
    assert keyboard.seconds(17.5) == 7.5


def test_the_time_on_a_row_leaves_out_who_was_away():
    keyboard = on_row()
    keyboard.press("3", press(), 20.0)
    keyboard.press("D", press(), 1_220.0)
    assert keyboard.seconds(1_225.0) == 10 + 60 + 5


def test_a_long_text_is_read_in_longer_pauses_and_the_next_row_begins_anew():
    keyboard = Keyboard()
    keyboard.appear("r1", 10.0, longest=200.0)
    keyboard.appear("r1", 160.0, longest=200.0)
    assert keyboard.seconds(170.0) == 160
    keyboard.appear("r2", 180.0)
    assert keyboard.seconds(183.0) == 3


def test_a_pause_counts_a_minute_at_least_and_five_at_most():
    assert longest_pause(3_000) == 200
    assert longest_pause(0) == SHORTEST_LIMIT
    assert longest_pause(10**7) == LONGEST_LIMIT


@given(st.lists(st.floats(-10, 10_000), max_size=30), st.floats(0, 50_000))
def test_the_time_on_a_row_is_never_more_than_passed_nor_more_than_the_limit_a_pause(pauses, limit):
    keyboard, now, latest = Keyboard(), 10.0, 10.0
    keyboard.appear("r1", now, longest=limit)
    for pause in pauses:
        now += pause
        latest = max(latest, now)
        keyboard.press("3", press(), now)
    assert 0 <= keyboard.seconds(now) <= latest - 10 + 1e-6
    assert keyboard.seconds(now) <= limit * len(pauses) + 1e-6


def test_after_a_decision_the_next_row_counts_as_fresh_before_it_is_drawn():
    keyboard = on_row()
    assert keyboard.press("Y", press(Turn.DECIDE), 11.0)
    assert not keyboard.press("N", press(Turn.DECIDE), 11.0 + FRESH_ROW / 2)


def test_what_is_given_comes_before_the_decision_it_is_given_with():
    keyboard = Keyboard()
    for place, turn in enumerate((Turn.MOVE, Turn.DECIDE, Turn.GIVE, Turn.UNDO, Turn.GIVE)):
        keyboard.press(str(place), press(turn), 10.0)
    assert [one.turn for one in keyboard.work_off()] == [Turn.GIVE, *Turn]
    assert keyboard.waiting == []


def sent(*keys, first=1, row="r1", since=5_000):
    """Presses as the browser sends them."""
    return [
        {"n": first + place, "row": row, "key": key, "since": since}
        for place, key in enumerate(keys)
    ]


def executed(keyboard, presses):
    keyboard.sent = presses
    return list(keyboard.work_off())


def test_a_press_that_is_sent_again_is_executed_once_and_acknowledged():
    grade, decide = press(), press(Turn.DECIDE)
    keyboard = Keyboard(row="r1", buttons={"3": grade, "y": decide})
    assert executed(keyboard, sent("3")) == [grade]
    assert keyboard.done == 1
    assert executed(keyboard, sent("3", "Y")) == [decide]
    assert executed(keyboard, sent("3", "Y")) == []
    assert keyboard.done == 2
    assert keyboard.returned == []


def test_a_press_counts_as_done_only_once_its_action_returned():
    keyboard = Keyboard(row="r1", buttons={"3": press()}, sent=sent("3"))
    presses = keyboard.work_off()
    next(presses)
    assert keyboard.done == 0
    assert list(presses) == []
    assert keyboard.done == 1


def test_what_was_pressed_after_a_decision_or_on_another_row_goes_back_to_the_browser():
    grade, decide = press(), press(Turn.DECIDE)
    keyboard = Keyboard(row="r1", buttons={"3": grade, "y": decide})
    presses = [*sent("4", row="r0"), *sent("3", "y", "3", first=2)]
    assert executed(keyboard, presses) == [grade, decide]
    assert keyboard.done == 4
    assert keyboard.returned == [1, 4]
    keyboard.appear("r2", 20.0)
    # The buttons of the row before are gone.
    assert keyboard.buttons == {}


def test_a_decision_on_a_row_that_the_browser_has_just_shown_is_noted_and_not_executed():
    keyboard = Keyboard(row="r1", buttons={"y": press(Turn.DECIDE)})
    assert executed(keyboard, sent("y", since=300)) == []
    assert (keyboard.done, keyboard.returned, keyboard.early) == (1, [], True)


def test_a_click_is_for_the_button_that_was_clicked_whatever_its_key_does_by_now():
    by_key, clicked = press(), press()
    keyboard = Keyboard(row="r1", buttons={"4": by_key, "st-key-field_tone_3": clicked})
    [sent_key, sent_click] = sent("4", "4")
    presses = [sent_key, sent_click | {"button": "st-key-field_tone_3"}]
    assert executed(keyboard, presses) == [by_key, clicked]
