"""What is known of models by name, and what a user adds."""

from pathlib import Path

import pytest

from judgeboard.errors import BadInput
from judgeboard.health.models import model_table, shipped_models


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-4o-2024-08-06", "OpenAI"),
        ("openai/GPT-4.1-mini", "OpenAI"),
        ("GPT-4/Vanilla_NoRules", "OpenAI"),
        ("o3-mini", "OpenAI"),
        ("anthropic/claude-sonnet-4-5", "Anthropic"),
        ("meta-llama/Llama-3.1-8B-Instruct", "Meta Llama"),
        ("llama3.1:8b", "Meta Llama"),
        ("mistral-7B-instruct", "Mistral"),
        ("deepseek-r1-distill-qwen-7b", "Qwen"),
        ("deepseek-chat", "DeepSeek"),
        ("phi-4", "Microsoft Phi"),
        ("track_a_deberta", None),
        ("my-gpt", None),
        ("", None),
        (None, None),
    ],
)
def test_families(model: str | None, family: str | None) -> None:
    assert shipped_models().family(model) == family


@pytest.mark.parametrize(
    ("model", "size"),
    [
        ("llama-2-70b-chat", 70),
        ("Qwen2.5-1.5B-Instruct", 1.5),
        ("mixtral-8x7b-instruct", 47),
        ("unheard-of-8x3b", 24),
        ("qwen3-30b-a3b", 30),
        ("gpt-4o", None),
        ("web-browser", None),
        (None, None),
    ],
)
def test_sizes(model: str | None, size: float | None) -> None:
    assert shipped_models().size(model) == size


@pytest.mark.parametrize(
    ("model", "other", "smaller"),
    [
        ("gpt-4o-mini", "gpt-4o-2024-08-06", True),
        ("gpt-4o", "gpt-4o-mini", False),
        ("gpt-4o", "gpt-4o", False),
        ("gpt-3.5-turbo-0613", "gpt-4-0613", True),
        ("llama-2-7b", "llama-2-13b", True),
        ("llama-2-70b", "gpt-4o", None),
        ("gpt-4o-mini", "gpt-4.1", None),
    ],
)
def test_which_is_smaller(model: str, other: str, smaller: bool | None) -> None:
    assert shipped_models().smaller(model, other) is smaller


def test_a_table_of_ones_own_wins_and_leaves_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "models.toml"
    file.write_text(
        '[families]\n"house-*" = "OpenAI"\n"gpt-4o*" = "Ours"\n[sizes]\n"house-large" = 70\n[ladders]\n'
        '"House" = ["house-small", "house-big"]\n'
    )
    own = model_table(file)
    assert [own.family(model) for model in ("house-judge", "gpt-4o-mini", "gpt-4.1", "claude-3-opus")] == [
        *("OpenAI", "Ours", "OpenAI", "Anthropic")
    ]
    assert own.smaller("llama-2-7b", "house-large") is True
    assert own.smaller("house-small", "house-big") is True
    assert model_table() is shipped_models()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("families = 3", "is invalid"),
        ('[families]\n"x" = 3', "x: not the name"),
        ('[sizes]\n"x" = "big"', "x: not a number"),
        ('[sizes]\n"x" = nan', "x: not a number"),
        ('[ladders]\n"x" = "y"', "x: not a list"),
        ("[familys]", "familys"),
        ("[", "is invalid"),
    ],
)
def test_a_table_that_cannot_be_used_says_why_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "models.toml"
    file.write_text(text)
    with pytest.raises(BadInput, match=said) as raised:
        model_table(file)
    assert "tables [families]" in str(raised.value)


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none\.toml cannot be read"):
        model_table(tmp_path / "none.toml")
