"""From the hub to the prompt: `nextok pull`, and a model that is not on disk."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NEXTOK = str(Path(sys.executable).with_name("nextok"))
HANG = 60
REPO = "owner/Emoji-GGUF"
FILE = "Emoji-Q4_K_M.gguf"
REF = f"{REPO}:Q4_K_M"
CHUNK = 4096
"""Bytes that the hub sends at a time: it can stop after any number of them."""
ANSWER = "Hi \N{GRINNING FACE} bye\n".encode()

Ask = Callable[..., Any]
Terminal = Callable[..., Any]


@pytest.fixture
def emoji(hub: Any, emoji_gguf: Path) -> Any:
    """A hub with one small model, which answers with an emoji."""
    hub.add_repo(REPO, {FILE: emoji_gguf, "README.md": b"# Emoji"})
    hub.chunk = CHUNK
    return hub


def bodies(hub: Any) -> int:
    """How many times the hub was asked for the contents of a model."""
    return sum(1 for hit in hub.log if hit.method == "GET" and hit.origin == "cdn")


def partial_bytes(cache: Path) -> int:
    """What is there of files that are not whole."""
    return sum(path.stat().st_size for path in cache.rglob("*incomplete*"))


def nearly_a_third(path: Path) -> int:
    """30 % of a file, in whole chunks of the hub's."""
    return path.stat().st_size * 3 // 10 // CHUNK * CHUNK


def wait_for_bytes(cache: Path, count: int) -> None:
    for _ in range(HANG * 100):
        if partial_bytes(cache) >= count:
            return
        time.sleep(0.01)
    pytest.fail("the download does not come that far")


def test_from_the_hub_to_the_answer_and_then_without_a_request(ask: Ask, emoji: Any) -> None:
    first = ask("--pull", "-q", "-m", REF, "hi")
    assert (first.code, first.out, first.err) == (0, ANSWER, "")
    assert bodies(emoji) == 1
    emoji.clear()
    for reference in (REF, REPO, f"{REPO}/{FILE}", f"hf.co/{REF}", "Emoji"):
        again = ask("-m", reference, "hi")
        assert (again.code, again.out, again.err) == (0, ANSWER, ""), reference
    assert emoji.log == []


def test_a_model_on_disk_needs_no_hub_library(ask: Ask, emoji: Any) -> None:
    assert ask("pull", REF).code == 0
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", NEXTOK, "-m", REF, "hi"],
        capture_output=True, timeout=HANG, env={**os.environ, "NEXTOK_THREADS": "1"},
    )  # fmt: skip
    assert ran.stdout == ANSWER
    for module in (b"huggingface_hub", b"httpx", b"nextok.backends.pull", b" rich", b"tomlkit"):
        assert module not in ran.stderr, module


def test_pull_says_a_few_lines_in_a_log(ask: Ask, emoji: Any) -> None:
    pulled = ask("pull", REF)
    assert (pulled.code, pulled.out) == (0, b"")
    lines = pulled.err.splitlines()
    assert lines[0].startswith(f"nextok: fetching {FILE}: ")
    assert lines[-1].startswith(f"nextok: fetched {FILE}: ")
    assert len(lines) <= 5 and "\x1b" not in pulled.err


def test_pull_can_be_quiet_and_print_the_path(ask: Ask, emoji: Any) -> None:
    pulled = ask("pull", "-q", "--print-path", REF)
    assert (pulled.code, pulled.err) == (0, "")
    path = Path(pulled.out.decode().removesuffix("\n"))
    assert path.name == FILE and path.is_file()
    assert ask("-m", path, "hi").out == ANSWER
    again = ask("pull", "--print-path", REF)
    assert (again.out, again.err) == (pulled.out, "")
    assert bodies(emoji) == 1


def test_an_alias_is_pulled(ask: Ask, emoji: Any, config_file: Callable[[str], Path]) -> None:
    config_file(f'[aliases]\nsmile = "{REF}"\n')
    assert ask("pull", "-q", "smile").code == 0
    assert ask("-m", "smile", "hi").out == ANSWER


@pytest.mark.parametrize("command", ["generate", "render", "tokens", "show"])
def test_a_script_is_told_the_command(ask: Ask, emoji: Any, command: str) -> None:
    arguments = [REF] if command == "show" else ["-m", REF, "hi"]
    asked = ask(command, *arguments)
    asked.check_failed(1, f"{REF} is not on disk", f"nextok pull {REF}")
    assert emoji.log == []
    assert ask(command, "-q", "--pull", *arguments).code == 0
    assert bodies(emoji) == 1


def test_offline_makes_no_request(ask: Ask, emoji: Any) -> None:
    for offline in ({"HF_HUB_OFFLINE": "1"}, {"NEXTOK_OFFLINE": "1"}):
        ask("pull", REF, env=offline).check_failed(1, "offline")
        ask("--pull", "-m", REF, "hi", env=offline).check_failed(1, "offline")
    ask("pull", "--offline", REF).check_failed(1, "offline")
    ask("search", "--offline", "emoji").check_failed(1, "offline")
    assert emoji.log == []
    assert ask("pull", "-q", REF).code == 0
    emoji.clear()
    assert ask("pull", "--offline", "--print-path", REF).out.endswith(f"{FILE}\n".encode())
    assert ask("--offline", "-m", REF, "hi").out == ANSWER
    assert emoji.log == []


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("./there.gguf", "is a path"),
        ("~/there.gguf", "is a path"),
        ("smollm", "names no model of the hub"),
        ("https://example.org/a/b", "is not the hub in use"),
    ],
)
def test_what_is_no_reference_is_refused(ask: Ask, emoji: Any, word: str, says: str) -> None:
    ask("pull", word).check_failed(2, says)
    assert emoji.log == []


def test_without_a_word_there_is_nothing_to_pull(ask: Ask) -> None:
    ask("pull").check_failed(2, "nextok pull owner/repo")


def test_errors_of_the_hub_are_one_line(ask: Ask, emoji: Any) -> None:
    ask("pull", "owner/nobody").check_failed(1, "owner/nobody")
    ask("pull", f"{REPO}/none.gguf").check_failed(1, "none.gguf")
    ask("--pull", "-m", "owner/nobody", "hi").check_failed(1, "owner/nobody")


def test_a_name_misspelt_is_asked_about(
    ask: Ask, emoji: Any, config_file: Callable[[str], Path]
) -> None:
    config_file(f'[aliases]\nsmile = "{REF}"\n')
    assert ask("pull", "-q", REF).code == 0
    meant, slip = f"did you mean {REF}?", "owner/Emoji-GUF"
    ask("-m", slip, "hi").check_failed(1, "is not on disk", meant, f"nextok pull {slip}")
    ask("--offline", "-m", slip, "hi").check_failed(1, "not on disk", "offline", meant)
    ask("pull", slip).check_failed(1, "no such repository", meant)
    ask("--pull", "-m", slip, "hi").check_failed(1, "no such repository", meant)
    ask("pull", "smlie").check_failed(2, "names no model of the hub", "did you mean smile?")
    ask("-m", "Smile", "hi").check_failed(1, "no model is called 'Smile'", "did you mean smile?")
    ask("rm", "smlie").check_failed(1, "no model here is called 'smlie'", "did you mean smile?")


def test_several_models_are_a_table(ask: Ask, emoji: Any, emoji_gguf: Path) -> None:
    names = ("m-Q5_0.gguf", "m-Q6_K.gguf", "m-UD-Q6_K_XL.gguf", "mmproj-m-f16.gguf")
    emoji.add_repo("owner/many", dict.fromkeys(names, emoji_gguf))
    asked = ask("pull", "owner/many:Q9")
    assert (asked.code, asked.out) == (2, b"")
    *table, last = asked.err.splitlines()
    assert last.startswith("nextok: error: ") and "Q9" in last
    assert {line.split()[0] for line in table} == {"Q5_0", "Q6_K", "UD-Q6_K_XL"}
    assert all(re.search(r"\d [KM]iB +yes +m-", line) for line in table)
    assert bodies(emoji) == 0


def test_a_download_is_no_part_of_the_timeout(ask: Ask, emoji: Any) -> None:
    """A body that takes longer than the whole run may, and a run that still answers."""
    emoji.fault("GET /cdn/", stall=8.0)
    answered = ask("--pull", "-q", "--timeout", "7", "-m", REF, "hi")
    assert (answered.code, answered.out) == (0, ANSWER)


@pytest.mark.parametrize("command", ["pull", "generate"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_download_and_keeps_what_came(
    ask: Ask, emoji: Any, emoji_gguf: Path, cache: Path, command: str, number: signal.Signals
) -> None:
    third = nearly_a_third(emoji_gguf)
    emoji.fault("GET /cdn/", stall_after=third, stall=HANG)
    arguments = ["pull", REF] if command == "pull" else ["--pull", "-m", REF, "hi"]
    with subprocess.Popen(
        [NEXTOK, *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        wait_for_bytes(cache, third)
        process.send_signal(number)
        out, err = process.communicate(timeout=HANG)
    assert process.returncode == -number
    assert out == b""
    assert [line for line in err.decode().splitlines() if "fetching" not in line] == []
    assert partial_bytes(cache) == third
    assert not [path for path in cache.rglob("*.gguf") if path.is_file()]
    emoji.clear()
    assert ask("--pull", "-q", "-m", REF, "hi").out == ANSWER
    assert [hit.range for hit in emoji.log if hit.origin == "cdn"] == [f"bytes={third}-"]
    assert partial_bytes(cache) == 0


def test_a_terminal_asks_and_fetches(terminal: Terminal, emoji: Any) -> None:
    child = terminal("-m", REF, "hi")
    child.expect(r"is not on disk: fetch [0-9.]+ MiB \([0-9.]+ [GT]iB free\)\? \[Y/n\] ")
    assert bodies(emoji) == 0
    child.sendline("")
    lines = child.lines()
    assert child.exitstatus == 0
    assert lines[-1] == ANSWER.decode().rstrip()
    assert any(line.startswith(f"nextok: fetched {FILE}: ") for line in lines)


def test_a_terminal_takes_no_for_an_answer(terminal: Terminal, emoji: Any) -> None:
    child = terminal("-m", REF, "hi")
    child.expect(r"\[Y/n\] ")
    child.sendline("perhaps")
    child.expect(r"\[Y/n\] ")
    child.sendline("n")
    assert f"nextok pull {REF}" in child.rest()
    assert (child.exitstatus, bodies(emoji)) == (1, 0)


def test_an_interrupted_question_says_nothing(terminal: Terminal, emoji: Any) -> None:
    child = terminal("-m", REF, "hi")
    child.expect(r"\[Y/n\] ")
    child.sendintr()
    assert child.rest().replace("^C", "").strip() == ""
    assert (child.signalstatus, bodies(emoji)) == (signal.SIGINT, 0)


@pytest.mark.parametrize("flag", ["--yes", "--pull"])
def test_a_terminal_need_not_be_asked(terminal: Terminal, emoji: Any, flag: str) -> None:
    child = terminal(flag, "-m", REF, "hi")
    output = child.rest()
    assert "[Y/n]" not in output and "bye" in output
    assert child.exitstatus == 0


def test_a_moving_line_on_a_terminal(terminal: Terminal, emoji: Any) -> None:
    emoji.fault("GET /cdn/", rate=2_000_000)
    child = terminal("pull", REF)
    output = child.rest()
    assert output.count("\x1b[2K") > 2 and "\x1b[?25l" not in output  # the cursor stays
    lines = child.on_screen(output)
    assert len(lines) == 2
    assert lines[0].startswith(f"nextok: fetched {FILE}: ")
    assert f"nextok -m {REF}" in lines[1]


def test_an_interrupt_leaves_a_clean_terminal(
    terminal: Terminal, emoji: Any, emoji_gguf: Path, cache: Path
) -> None:
    third = nearly_a_third(emoji_gguf)
    emoji.fault("GET /cdn/", stall_after=third, stall=HANG)
    child = terminal("pull", REF)
    child.expect("30%|29%")
    child.sendintr()
    output = child.rest()
    assert child.signalstatus == signal.SIGINT
    assert child.on_screen(output.replace("^C", "")) == []
    assert partial_bytes(cache) == third


def test_trouble_is_said_and_survived(ask: Ask, emoji: Any, emoji_gguf: Path) -> None:
    emoji.fault("GET /cdn/", cut_after=emoji_gguf.stat().st_size // 2)
    emoji.fault("resolve", status=503)
    pulled = ask("pull", REF)
    assert pulled.code == 0
    assert "next attempt in" in pulled.err
    assert len(pulled.err.splitlines()) <= 8
    assert ask("-m", REF, "hi").out == ANSWER


def test_a_hub_that_asks_to_wait_is_waited_for(ask: Ask, emoji: Any) -> None:
    emoji.fault("/api/models", status=429, headers={"Retry-After": "1"})
    pulled = ask("pull", REF)
    assert pulled.code == 0
    said = f"{REF}: {emoji.url} allows no more requests for 1 s; next attempt in 1 s"
    assert pulled.err.splitlines()[0] == f"nextok: {said}"
    assert len(pulled.err.splitlines()) <= 6
    emoji.fault("/api/models", status=503, headers={"Retry-After": "1"})
    quiet = ask("pull", "-q", REF)
    assert (quiet.code, quiet.err) == (0, "")


def test_a_hub_that_asks_for_an_hour_is_not_waited_for(ask: Ask, emoji: Any) -> None:
    emoji.fault("/api/models", status=429, headers={"Retry-After": "3600"})
    ask("pull", REF).check_failed(1, "allows no more requests for 3600 s", "try again then")


def test_a_wait_counts_down_and_can_be_interrupted(terminal: Terminal, emoji: Any) -> None:
    emoji.fault("/api/models", status=429, headers={"Retry-After": "59"})
    child = terminal("pull", REF)
    child.expect(r"in 5\d s again: http://[0-9.:]+ allows no more requests for 59 s")
    child.sendintr()
    output = child.rest()
    assert child.signalstatus == signal.SIGINT
    assert child.on_screen(output.replace("^C", "")) == []


def test_several_processes_need_one_body(emoji: Any) -> None:
    emoji.fault("GET /cdn/", stall=1.0)
    running = [
        subprocess.Popen(
            [NEXTOK, "-t", "1", "-q", "--pull", "-m", REF, "hi"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for _ in range(3)
    ]  # fmt: skip
    for process in running:
        out, err = process.communicate(timeout=HANG)
        assert (process.returncode, out, err) == (0, ANSWER, b"")
    assert bodies(emoji) == 1


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("SSL_CERT_FILE", "/nowhere/at/all.pem", ("SSL_CERT_FILE", "/nowhere/at/all.pem")),
        ("ALL_PROXY", "socks5://127.0.0.1:1", ("SOCKS", "ALL_PROXY")),
    ],
)
def test_settings_of_the_network_that_cannot_be_used_are_named(
    ask: Ask,
    emoji: Any,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    words: tuple[str, ...],
) -> None:
    monkeypatch.setenv(variable, value)
    ask("pull", REF).check_failed(1, *words)


def test_a_folder_that_cannot_be_is_called_not_writable_and_not_full(ask: Ask, emoji: Any) -> None:
    asked = ask("pull", REF, env={"HF_HUB_CACHE": "/proc/x"})
    asked.check_failed(1, "/proc/x", "cannot be written", "set HF_HUB_CACHE")
    assert "free" not in asked.err


def test_offline_is_said_when_it_keeps_a_model_from_being_fetched(ask: Ask, emoji: Any) -> None:
    ask("--offline", "-m", REF, "hi").check_failed(1, "not on disk", "offline")


def test_a_part_of_a_name_here_will_do(ask: Ask, emoji: Any) -> None:
    assert ask("pull", "-q", REF).code == 0
    again = ask("pull", "-q", "--print-path", "emoji")
    assert (again.code, again.out.endswith(b".gguf\n")) == (0, True)
