"""`nextok batch`: every line answered as if it were alone, and none twice."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import SCRIPT, Answered, Ask

HANG = 60
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """`write("a", {"prompt": "b"}, name="x.jsonl")`: a file of lines."""

    def file(*lines: object, name: str = "prompts.jsonl") -> Path:
        path = tmp_path / name
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        return path

    return file


def by_line(ran: Answered, *keys: str) -> dict[int, Any]:
    """Of each result these fields, by the line's number."""
    found: dict[int, Any] = {}
    for one in ran.lines:
        assert one["line"] not in found
        values = tuple(one[key] for key in keys)
        found[one["line"]] = values[0] if len(keys) == 1 else values
    return found


def test_a_result_is_one_line_of_plain_json(ask: Ask, write: Write, emoji_gguf: Path) -> None:
    ran = ask("batch", write("hello"), "-m", emoji_gguf, "--seed", "7", "-ub", "32")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.count(b"\n") == 1 and ran.out.isascii()
    result = ran.object
    timings, digest = result.pop("timings"), result.pop("input")
    assert len(bytes.fromhex(result.pop("settings"))) == 8
    assert sorted(timings) == ["decode_tps", "prefill_s", "total_s", "ttft_s"]
    assert len(bytes.fromhex(digest)) == 8
    assert result == {
        "id": 1,
        "line": 1,
        "text": "Hi \N{GRINNING FACE} bye",
        "finish_reason": "eos",
        "stop": None,
        "seed": 7,
        "prompt_tokens": 9,
        "cached_tokens": 0,
        "completion_tokens": 6,
        "model": "emoji",
        "exact": False,
    }


def test_each_line_has_its_own_name_and_settings(ask: Ask, write: Write, loop_gguf: Path) -> None:
    prompts = write(
        {"prompt": "a", "id": "first", "max_tokens": 2, "seed": 5},
        {"messages": [{"role": "user", "content": "b"}], "id": 77, "stop": "i la", "temp": 0},
        {"prompt": "c", "stop": ["x", "a li"], "n_predict": 9},
        "d",
    )
    ran = ask("batch", prompts, "-m", loop_gguf, "-n", "5", "--seed", "3")
    assert (ran.code, ran.err) == (0, "")
    assert by_line(ran, "id", "text", "finish_reason", "stop", "seed") == {
        1: ("first", "la li ", "length", None, 5),
        2: (77, "la l", "stop", "i la", 3),
        3: (3, "l", "stop", "a li", 3),
        4: (4, "la li la li la ", "length", None, 3),
    }


def test_the_number_of_a_line_is_its_id_unless_another_has_it(
    ask: Ask, write: Write, emoji_gguf: Path
) -> None:
    own = [{"prompt": "d", "id": 1}, {"prompt": "e", "id": "line 2"}, {"prompt": "f", "id": 2}]
    ran = ask("batch", write("a", "b", "c", *own), "-m", emoji_gguf)
    assert (ran.code, ran.err) == (0, "")
    assert by_line(ran, "id") == {1: "line 1", 2: "line line 2", 3: 3, 4: 1, 5: "line 2", 6: 2}


def test_without_a_seed_each_line_draws_its_own(ask: Ask, write: Write, emoji_gguf: Path) -> None:
    ran = ask("batch", write("a", "b", "c"), "-m", emoji_gguf)
    assert len(set(by_line(ran, "seed").values())) == 3


def test_standard_input(ask: Ask, emoji_gguf: Path) -> None:
    for words in (["-"], []):
        ran = ask("batch", *words, "-m", emoji_gguf, input=b"a\n\n  \nb")
        assert (ran.code, ran.err) == (0, "")
        assert by_line(ran, "text") == dict.fromkeys((1, 4), "Hi \N{GRINNING FACE} bye")


BAD = [
    ('{"prompt": 3}', 'its "prompt" is no text'),
    ('{"prompt": " "}', "its prompt is empty"),
    ('{"prompt": "x"', "it begins like a JSON object and is none"),
    ('{"id": 1}', 'it has neither of "prompt" and "messages"'),
    ('{"prompt": "x", "messages": []}', 'it has both of "prompt" and "messages"'),
    ('{"messages": [{"role": "user"}]}', 'messages[0] needs a "content"'),
    ('{"prompt": "x", "tempp": 1}', 'a line has no field "tempp": did you mean temp?'),
    ('{"prompt": "x", "top_p": 2}', 'its "top_p" must be a number from 0 to 1, not 2'),
    ('{"prompt": "x", "stop": 5}', 'its "stop" must be a text or a list of texts, not 5'),
    (
        '{"prompt": "x", "stop": ["a", null]}',
        'its "stop" must be a text or a list of texts, not ["a", null]',
    ),
    ('{"prompt": "x", "stop": [""]}', 'its "stop" must be at least one character, not ""'),
    ('{"prompt": "x", "temp": null}', 'its "temp" must be a number from 0 to 100, not null'),
    ('{"prompt": "x", "temp": NaN}', 'its "temp" must be a number from 0 to 100, not NaN'),
    (
        '{"prompt": "x", "seed": true}',
        'its "seed" must be a whole number from -1 to 4294967294, not true',
    ),
    ('{"prompt": "x", "n": 3}', 'a line has no field "n": what -n means is "max_tokens" there'),
    ('{"prompt": "x", "r": "a"}', 'a line has no field "r": what -r means is "stop" there'),
    ('{"prompt": "x", "prompt": "y"}', 'an object in it has "prompt" twice'),
    ('{"prompt": "x", "n_predict": 1, "max_tokens": 2}', 'its "max_tokens" is set before'),
    (
        '{"messages": [{"role": "user", "content": "x", "role": "user"}]}',
        'an object in it has "role" twice',
    ),
    ('{"prompt": "x", "stall_timeout": 2}', 'a line has no field "stall_timeout"'),
    ('{"prompt": "x", "id": true}', 'its "id" is neither a text nor a whole number'),
    ('{"prompt": "x", "id": "one"}', "its id 'one' is that of line 1"),
    ('{"prompt": "\\ud800"}', "its prompt has half a surrogate pair at character 1"),
    ('{"prompt": "x", "logit_bias": "99999999+1"}', "--logit-bias 99999999"),
    ("x" * 5000, "its prompt has 5004 tokens and the context holds 4096"),
]


@pytest.mark.parametrize(("line", "why"), BAD, ids=[line[:40] for line, _ in BAD])
def test_a_bad_line_is_told_and_skipped(
    ask: Ask, write: Write, emoji_gguf: Path, line: str, why: str
) -> None:
    prompts = write({"prompt": "a", "id": "one"}, line, "c")
    ran = ask("batch", prompts, "-m", emoji_gguf)
    assert ran.code == 1
    assert sorted(by_line(ran, "id")) == [1, 3]
    ran.check_line("warning", f"skipped: {prompts}, line 2: {why}")


def test_bytes_that_are_no_text_are_told_by_their_place(ask: Ask, emoji_gguf: Path) -> None:
    ran = ask("batch", "-", "-m", emoji_gguf, input=b"a\nb\xff\nc\n")
    assert ran.code == 1 and sorted(by_line(ran, "id")) == [1, 3]
    ran.check_line("warning", "standard input, line 2: it is not utf-8: byte 0xff at offset 3")


def test_an_input_in_utf_16_is_read_when_it_is_said(ask: Ask, emoji_gguf: Path) -> None:
    data = "one\ntw\u00f6\n".encode("utf-16")
    ran = ask("batch", "-", "-m", emoji_gguf, "--encoding", "utf-16", input=data)
    assert (ran.code, by_line(ran, "prompt_tokens")) == (0, {1: 7, 2: 8})
    ran = ask("batch", "-", "-m", emoji_gguf, input=data)
    ran.check_failed(2, "standard input is UTF-16: add --encoding utf-16")


def test_strict_begins_nothing(ask: Ask, write: Write, emoji_gguf: Path) -> None:
    bad = write("a", '{"prompt": 3}', "c")
    ask("batch", bad, "--strict", "-m", emoji_gguf).check_failed(2, f"{bad}, line 2: ")
    more = write("a", '{"prompt": 3}', "c", '{"prompt": ""}', "{}")
    ran = ask("batch", more, "--strict", "-m", emoji_gguf)
    ran.check_failed(2, f"{more}, line 2: ", "(3 bad lines: without --strict they are skipped)")
    long = write("a", "x" * 5000)
    ask("batch", long, "--strict", "-m", emoji_gguf).check_failed(3, f"{long}, line 2: ")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "say which file holds the prompts"),
        (["/nowhere"], "cannot read /nowhere: No such file"),
        (["/dev/null"], "/dev/null holds no prompt"),
        (["a", "b"], "takes one PROMPTS"),
        (["x", "--parallel", "0"], "--parallel must be a whole number from 1 to 128"),
        (["x", "--raw", "--system", "s"], "--system needs a chat template"),
    ],
)
def test_usage_errors(ask: Ask, arguments: list[str], why: str) -> None:
    ask("batch", *arguments, "-m", "toy").check_failed(2, why)


def test_results_come_as_they_finish_or_in_order(ask: Ask, write: Write, loop_gguf: Path) -> None:
    prompts = write(*({"prompt": "x", "max_tokens": count} for count in (40, 1, 20, 2)))
    ran = ask("batch", prompts, "-m", loop_gguf)
    assert [one["line"] for one in ran.lines] == [2, 4, 3, 1]
    ran = ask("batch", prompts, "-m", loop_gguf, "--ordered")
    assert [one["line"] for one in ran.lines] == [1, 2, 3, 4]
    ran = ask("batch", prompts, "-m", loop_gguf, "-np", "1")
    assert [one["line"] for one in ran.lines] == [1, 2, 3, 4]


TOY = ("-m", "toy", "--raw", "--temp", "0", "-n", "12")


def test_a_template_makes_prompts_of_a_table(ask: Ask, write: Write) -> None:
    rows = write(
        "id,verb,what", 'one,is,"The prompt"', "two,has", "three,waits,token", name="r.csv"
    )
    template = write("{{ what }} {{ verb }}", name="t.j2")
    ran = ask("batch", rows, "--template", template, *TOY)
    expected = [ask(*TOY, "--no-stdin", text).out for text in ("The prompt is", "token waits")]
    assert ran.code == 1
    ran.check_line("warning", "line 3: it has 2 cells, and the header names 3")
    assert by_line(ran, "id", "text") == {
        2: ("one", expected[0].decode().removesuffix("\n")),
        4: ("three", expected[1].decode().removesuffix("\n")),
    }


def test_a_template_makes_prompts_of_objects(ask: Ask, write: Write) -> None:
    rows = write({"words": ["The", "prompt", "is"]}, {"word": 1}, "plain")
    template = write("{{ words | join(' ') }}", name="t.j2")
    ran = ask("batch", rows, "--template", template, *TOY)
    assert (ran.code, by_line(ran, "prompt_tokens")) == (1, {1: 14})
    first, second = ran.err.splitlines()
    assert f"line 2: {template}: 'words' is undefined" in first
    assert "line 3: it is no JSON object" in second


@pytest.mark.parametrize("delimiter", [";", "\t", ","])
@pytest.mark.parametrize("name", ["rows.csv", "rows.txt"])
def test_the_header_shows_what_is_between_the_cells(
    ask: Ask, write: Write, name: str, delimiter: str
) -> None:
    rows = write("", delimiter.join(["id", "what"]), delimiter.join(["1", "a: b"]), name=name)
    ran = ask("batch", rows, "--template", write("{{ what }}", name="t.j2"), *TOY)
    assert (ran.code, ran.err) == (0, "")
    assert by_line(ran, "id", "prompt_tokens") == {3: ("1", 5)}  # one begins it


def test_a_table_can_do_without_a_template(ask: Ask, write: Write, loop_gguf: Path) -> None:
    rows = write("prompt,max_tokens", '"two\nlines",2', "one,", name="rows.csv")
    ran = ask("batch", rows, "-m", loop_gguf, "-n", "1")
    assert (ran.code, by_line(ran, "text")) == (0, {2: "la li ", 4: "la "})


def test_a_broken_template_is_told_with_its_line(ask: Ask, write: Write) -> None:
    rows, template = write({"a": 1}), write("a", "{{ b", name="t.j2")
    ask("batch", rows, "--template", template, "-m", "toy").check_failed(1, f"{template}, line 2")


def test_reasoning_stands_by_itself(ask: Ask, write: Write, scripted: Callable[..., Path]) -> None:
    model = scripted(["<think>", "hm", "</think>", "yes"], stem="thinks")
    ran = ask("batch", write("a"), "-m", model)
    assert (ran.object["text"], ran.object["reasoning"]) == ("yes", "hm")


@pytest.mark.slow
def test_the_greedy_text_is_that_of_one_at_a_time(
    ask: Ask, write: Write, starter_gguf: Path
) -> None:
    """One is replaced while the other goes on, and all begin alike."""
    begin_alike = "Here is what an old sailor once told me about "
    lengths = {"the sea:": 16, "bread:": 3, "the moon:": 10}
    options = ("-m", starter_gguf, "--raw", "--temp", "0", "-ub", "32")
    prompts = write(
        *({"prompt": begin_alike + tail, "max_tokens": most} for tail, most in lengths.items())
    )
    ran = ask("batch", prompts, "-np", "2", *options)
    assert set(by_line(ran, "cached_tokens").values()) == {10}
    together = by_line(ran, "text", "exact")
    for number, (tail, most) in enumerate(lengths.items(), 1):
        alone = ask(*options, "--no-stdin", "-n", str(most), "--json", begin_alike + tail).object
        assert together[number] == (alone["text"], alone["exact"]) == (alone["text"], True)


@pytest.mark.parametrize("model", ["recurrent_gguf", "hybrid_gguf"])
def test_a_memory_that_cannot_be_cut(
    ask: Ask, write: Write, request: pytest.FixtureRequest, model: str
) -> None:
    begin_alike = "The same words stand before "
    tails = {"each": 9, "of the": 3, "prompts": 6}
    options = ("-m", request.getfixturevalue(model), "--raw", "--temp", "0", "-ub", "32")
    prompts = write(*({"prompt": begin_alike + tail, "max_tokens": n} for tail, n in tails.items()))
    together = by_line(ask("batch", prompts, "-np", "2", *options), "text", "cached_tokens")
    assert min(cached for _, cached in together.values()) > 20
    for number, (tail, most) in enumerate(tails.items(), 1):
        alone = ask(*options, "--no-stdin", "-n", str(most), "--json", begin_alike + tail)
        assert together[number][0] == alone.object["text"]


def test_logits_that_are_no_numbers_are_one_lines_error(
    ask: Ask, write: Write, nan_gguf: Path
) -> None:
    ran = ask("batch", write({"prompt": "a", "max_tokens": 1}, "b"), "-m", nan_gguf)
    assert ran.code == 1
    assert by_line(ran, "text", "finish_reason") == {
        1: ("one ", "length"),
        2: ("one two ", "error"),
    }
    assert "NaN" in next(one for one in ran.lines if one["line"] == 2)["error"]


def test_each_line_has_its_own_time(ask: Ask, write: Write, loop_gguf: Path) -> None:
    prompts = write({"prompt": "a", "timeout": "1ms"}, {"prompt": "b", "max_tokens": 3})
    ran = ask("batch", prompts, "-m", loop_gguf)
    assert ran.code == 124
    assert by_line(ran, "finish_reason") == {1: "timeout", 2: "length"}


def test_a_full_context_ends_a_line(ask: Ask, write: Write, loop_gguf: Path) -> None:
    ran = ask("batch", write("a", "b"), "-m", loop_gguf, "-c", "64")
    assert ran.code == 3
    assert set(by_line(ran, "finish_reason").values()) == {"context"}


def test_what_does_not_fit_into_memory_is_refused_with_numbers(
    ask: Ask, write: Write, loop_gguf: Path
) -> None:
    prompts = write(*(f"prompt {number}" for number in range(128)))
    ran = ask("batch", prompts, "-m", loop_gguf, "-np", "128", "-c", "2000000", "-q")
    ran.check_failed(
        1, "128 prompts at once, of up to 2000000 tokens each, need ", " GiB are avail"
    )


@pytest.mark.parametrize("lengths", [(5, 300, 7), (5, 6, 700)])
def test_memory_is_what_was_estimated(
    ask: Ask, write: Write, loop_gguf: Path, lengths: tuple[int, ...]
) -> None:
    prompts = write(*({"prompt": "x" * length, "max_tokens": 1} for length in lengths))
    ran = ask("batch", prompts, "-m", loop_gguf, "-v", "-np", "2")
    said = re.search(r"memories apart: (\d+) tokens in ([\d.]+) MiB", ran.err)
    taken = re.search(r"size = +([\d.]+) MiB \( *(\d+) cells", ran.err)
    assert said and taken, ran.err
    assert int(said[1]) == 2 * int(taken[2])  # cells a sequence
    assert float(said[2]) == round(float(taken[1]), 1)


def test_a_long_beginning_is_held_once(ask: Ask, write: Write, loop_gguf: Path) -> None:
    prompts = write(*(f"{'y' * 300}{number}" for number in range(4)))
    ran = ask("batch", prompts, "-m", loop_gguf, "-v", "-np", "3", "-n", "20")
    assert (ran.code, set(by_line(ran, "text").values())) == (0, {"la li " * 10})
    assert set(by_line(ran, "cached_tokens").values()) == {302}
    said = re.search(r"beginning alike: 302 tokens, one memory: (\d+) tokens", ran.err)
    taken = re.search(r"size = +[\d.]+ MiB \( *(\d+) cells", ran.err)
    assert said and taken and said[1] == taken[1] == "512", ran.err


def test_each_finished_line_leaves_a_row(ask_alone: Ask, write: Write, emoji_gguf: Path) -> None:
    prompts = write("a", {"prompt": "b", "max_tokens": 2})
    assert ask_alone("batch", prompts, "-m", emoji_gguf, "--no-log").code == 0
    assert ask_alone("batch", prompts, "-m", emoji_gguf, "--private").code == 0
    assert ask_alone("batch", prompts, "-m", emoji_gguf).code == 0
    rows = ask_alone("log", "--json").object["generations"]
    assert sorted(
        (row["command"], row["finish_reason"], row["completion_tokens"]) for row in rows
    ) == [
        ("batch", "eos", 6),
        ("batch", "length", 2),
    ]


# -- endings from outside


MANY = 600


@pytest.fixture
def many(write: Write) -> Path:
    """More lines than can be answered before a test has done what it wants."""
    return write(*(f"prompt {number}" for number in range(MANY)), name="many.jsonl")


def begin(*arguments: str | Path, **options: Any) -> subprocess.Popen[bytes]:
    """A run, its errors in a pipe."""
    return subprocess.Popen(
        [str(SCRIPT), "batch", *arguments],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "NEXTOK_THREADS": "1"},
        bufsize=0,  # communicate would not see what a buffer has read ahead
        **options,
    )


def test_an_interrupt_leaves_whole_lines_and_resume_goes_on(
    ask: Ask, many: Path, loop_gguf: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    process = begin(many, "-m", loop_gguf, "-n", "9", "-np", "4", stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    first = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rest, err = process.communicate(timeout=HANG)
    assert (process.returncode, err) == (-signal.SIGINT, b"")
    results = [json.loads(line) for line in (first + rest).splitlines()]
    assert 0 < len(results) < MANY
    assert {one["text"] for one in results} == {"la li la li la li la li la "}
    assert (first + rest).endswith(b"\n")

    few = many.with_name("few.jsonl")
    few.write_text("".join(many.read_text().splitlines(keepends=True)[: len(results) + 20]))
    kept = [
        line
        for line in (first + rest).splitlines(keepends=True)
        if json.loads(line)["line"] <= len(results) + 20
    ]
    out.write_bytes(b"".join(kept) + b'{"id": 3, "li')
    ran = ask("batch", few, "-m", loop_gguf, "-n", "9", "-np", "4", "--resume", out)
    assert (ran.code, ran.out, ran.err) == (0, b"", "")
    lines = out.read_bytes().splitlines(keepends=True)
    assert lines[: len(kept)] == kept
    assert sorted(json.loads(line)["id"] for line in lines) == list(range(1, len(results) + 21))


def test_resume_begins_a_file_and_has_nothing_left_to_do(
    ask: Ask, write: Write, emoji_gguf: Path, tmp_path: Path
) -> None:
    out, prompts = tmp_path / "new.jsonl", write("a", "b")
    for _ in range(2):
        ran = ask("batch", prompts, "-m", emoji_gguf, "--resume", out)
        assert (ran.code, ran.out, ran.err) == (0, b"", "")
        assert sorted(json.loads(line)["id"] for line in out.read_text().splitlines()) == [1, 2]


def test_resume_repeats_what_failed(ask: Ask, write: Write, nan_gguf: Path, tmp_path: Path) -> None:
    out, prompts = tmp_path / "new.jsonl", write("a", {"prompt": "b", "max_tokens": 1})
    for count in (2, 3):
        assert ask("batch", prompts, "-m", nan_gguf, "--resume", out).code == 1
        assert len(out.read_text().splitlines()) == count


def test_resume_gives_more_time_to_what_had_too_little(
    ask: Ask, write: Write, emoji_gguf: Path, tmp_path: Path
) -> None:
    """What has ended meanwhile is kept: no answer depends on how long it was allowed to take."""
    out, options = tmp_path / "new.jsonl", ("-m", emoji_gguf, "--resume", tmp_path / "new.jsonl")
    hasty = write({"prompt": "a", "timeout": "1ms"}, {"prompt": "b", "max_tokens": 1})
    assert ask("batch", hasty, *options).code == 124
    patient = write({"prompt": "a"}, {"prompt": "b", "max_tokens": 1})
    assert ask("batch", patient, *options, "--timeout", "1ms").code == 124
    for _ in range(2):
        assert ask("batch", patient, *options, "--timeout", "1m").code == 0
    ended = [
        (one["id"], one["finish_reason"]) for one in map(json.loads, out.read_text().splitlines())
    ]
    assert sorted(ended[:2]) == [(1, "timeout"), (2, "length")]
    assert ended[2:] == [(1, "timeout"), (1, "eos")]


def test_resume_refuses_the_answers_to_other_lines(
    ask: Ask, write: Write, emoji_gguf: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    assert ask("batch", write("a", "b"), "-m", emoji_gguf, "--resume", out).code == 0
    before = out.read_bytes()
    ran = ask("batch", write("a", "c"), "-m", emoji_gguf, "--resume", out)
    ran.check_failed(2, "an answer to another line of the name 2")
    assert out.read_bytes() == before


def test_resume_adds_to_no_results_of_other_prompts(
    ask: Ask, write: Write, emoji_gguf: Path, tmp_path: Path
) -> None:
    """Also where no name is the same."""
    out = tmp_path / "out.jsonl"
    mine, others = write({"id": "a", "prompt": "x"}), {"id": "b", "prompt": "x"}
    assert ask("batch", mine, "-m", emoji_gguf, "--resume", out).code == 0
    before = out.read_bytes()
    ran = ask("batch", write(others), "-m", emoji_gguf, "--resume", out)
    ran.check_failed(2, "has answers to other prompts", "another file")
    assert out.read_bytes() == before
    more = write({"id": "a", "prompt": "x"}, others)
    assert ask("batch", more, "-m", emoji_gguf, "--resume", out).code == 0


def test_resume_spoils_no_other_file(ask: Ask, write: Write, emoji_gguf: Path) -> None:
    prompts, other = write("a"), write("some text", "without an end", name="notes.txt")
    other.write_text("some text\nwithout an end")
    ran = ask("batch", prompts, "-m", emoji_gguf, "--resume", other)
    ran.check_failed(2, "notes.txt, line 1 is no result of a batch")
    assert other.read_text() == "some text\nwithout an end"
    ran = ask("batch", prompts, "-m", emoji_gguf, "--resume", prompts)
    ran.check_failed(2, "is the file of the prompts")


def test_resume_refuses_the_answers_of_another_model(
    ask: Ask, write: Write, emoji_gguf: Path, loop_gguf: Path, tmp_path: Path
) -> None:
    """Also when nothing is missing."""
    out = tmp_path / "out.jsonl"
    assert ask("batch", write("a"), "-m", emoji_gguf, "--resume", out).code == 0
    before = out.read_bytes()
    for lines in (["a"], ["a", "b"]):
        ran = ask("batch", write(*lines), "-m", loop_gguf, "-n", "1", "--resume", out)
        ran.check_failed(2, "answers of the model emoji, and this is loop", "another file")
        assert out.read_bytes() == before


@pytest.mark.parametrize(
    "other",
    [["-n", "3"], ["--temp", "0"], ["--stop", "x"], ["--system", "s"], ["--logit-bias", "5+1"]],
    ids=" ".join,
)
def test_resume_refuses_answers_under_other_settings(
    ask: Ask, write: Write, emoji_gguf: Path, tmp_path: Path, other: list[str]
) -> None:
    out, prompts = tmp_path / "out.jsonl", write("a", {"prompt": "b", "max_tokens": 1})
    options = ("-m", emoji_gguf, "-n", "2", "--seed", "1")
    assert ask("batch", prompts, *options, "--resume", out).code == 0
    before = out.read_bytes()
    ran = ask("batch", prompts, *options, *other, "--resume", out)
    ran.check_failed(2, "an answer to line 1 under other settings", "another file")
    assert out.read_bytes() == before
    ran = ask("batch", prompts, *options, "-np", "1", "--ordered", "--resume", out)
    assert (ran.code, ran.err) == (0, "")  # these change no answer


def test_one_process_at_a_time_adds_to_a_file(
    ask: Ask, write: Write, emoji_gguf: Path, tmp_path: Path
) -> None:
    out, prompts = tmp_path / "out.jsonl", write("a")
    with out.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        ran = ask("batch", prompts, "-m", emoji_gguf, "--resume", out)
        ran.check_failed(1, f"another batch is adding to {out}")
        assert out.read_bytes() == b""
    assert ask("batch", prompts, "-m", emoji_gguf, "--resume", out).code == 0


def test_a_run_holds_its_file_of_results(
    ask: Ask, write: Write, many: Path, loop_gguf: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    process = begin(many, "-m", loop_gguf, "-n", "9", "--resume", out)
    while not (out.exists() and out.stat().st_size) and process.poll() is None:
        time.sleep(0.02)
    ran = ask("batch", write("a"), "-m", loop_gguf, "--resume", out)
    process.kill()
    process.communicate(timeout=HANG)
    ran.check_failed(1, f"another batch is adding to {out}")


@pytest.mark.parametrize("device", ["/dev/full", "/dev/null", "/dev"])
def test_only_a_regular_file_is_gone_on_with(ask: Ask, write: Write, device: str) -> None:
    ran = ask("batch", write("a"), "-m", "toy", "--resume", device)
    ran.check_failed(2, f"--resume {device} is no regular file")


def test_a_reader_that_goes_away_ends_it_in_silence(many: Path, loop_gguf: Path) -> None:
    process = begin(many, "-m", loop_gguf, "-n", "9", stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    assert json.loads(process.stdout.readline())["finish_reason"] == "length"
    process.stdout.close()
    assert process.wait(timeout=HANG) == -signal.SIGPIPE
    assert process.stderr.read() == b""
    process.stderr.close()


def test_a_terminal_is_told_how_far_it_is(
    terminal: Callable[..., Any], many: Path, loop_gguf: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    child = terminal("batch", str(many), "-m", str(loop_gguf), "-n", "9", "--resume", str(out))
    child.expect(rb"\d+ of 600 lines \xc2\xb7 \d+ tokens/s \xc2\xb7 [^\r]* left")
    child.sendintr()
    last = child.lines()[-1]
    assert " lines in " in last and last.endswith(" tokens/s")
