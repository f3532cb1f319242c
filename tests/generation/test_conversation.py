"""A conversation as a tree: verbs move the head, nothing is lost, records rebuild the whole."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from nextok.generation.conversation import Branch, Conversation
from nextok.generation.finish import FinishReason


class Kept(Conversation):
    """A conversation and the lines of its file."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        super().__init__(lambda record: self.lines.append(json.dumps(record)))

    def turn(self, question: str, answer: str) -> None:
        self.say(question)
        self.reply(answer, finish="eos")


def replayed(lines: list[str]) -> Conversation:
    conversation = Conversation()
    for line in lines:
        conversation.apply(json.loads(line))
    return conversation


def texts(conversation: Conversation) -> list[str]:
    return [entry.content for entry in conversation.entries()]


@pytest.fixture
def talk() -> Kept:
    """u1 a1 u2 a2"""
    conversation = Kept()
    conversation.turn("u1", "a1")
    conversation.turn("u2", "a2")
    return conversation


def test_a_new_conversation_is_empty() -> None:
    conversation = Conversation()
    assert conversation.entries() == conversation.window() == conversation.messages() == []
    assert conversation.branches() == [Branch(name="main", messages=0, last="", is_current=True)]
    assert (conversation.system, conversation.model, conversation.title) == (None, None, "")
    assert conversation.pending is conversation.undo() is conversation.rewind() is None
    assert not conversation.can_continue
    assert list(conversation.records()) == []


def test_what_is_said_and_answered_is_the_path(talk: Kept) -> None:
    assert texts(talk) == ["u1", "a1", "u2", "a2"]
    assert [entry.id for entry in talk.entries()] == [1, 2, 3, 4]
    assert [entry.parent for entry in talk.entries()] == [None, 1, 2, 3]
    assert [entry.role for entry in talk.entries()] == ["user", "assistant"] * 2


def test_a_template_gets_the_system_message_and_no_reasoning() -> None:
    conversation = Conversation()
    conversation.set_system("Be brief.")
    conversation.say("why?")
    entry = conversation.reply(
        "so", reasoning="hmm", finish=FinishReason.EOS, figures={"ttft_s": 0.5}
    )
    assert (entry.reasoning, entry.finish, entry.figures) == ("hmm", "eos", {"ttft_s": 0.5})
    assert [message.fields() for message in conversation.messages()] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "why?"},
        {"role": "assistant", "content": "so"},
    ]
    conversation.set_system(None)
    assert len(conversation.messages()) == 2
    conversation.set_system("")
    assert conversation.messages()[0].content == ""


def test_undo_takes_back_the_last_message_and_its_reply(talk: Kept) -> None:
    message = talk.undo()
    assert message is not None and message.content == "u2"
    assert texts(talk) == ["u1", "a1"]
    talk.undo()
    assert talk.undo() is None
    assert texts(talk) == []
    talk.say("other")
    assert talk.entries()[0].parent is None


def test_undo_after_a_turn_that_failed_leaves_all_as_it_was(talk: Kept) -> None:
    before = talk.entries()
    talk.say("u3")
    talk.undo()
    assert talk.entries() == before


def test_regenerate_gives_the_same_message_another_reply(talk: Kept) -> None:
    message = talk.rewind()
    assert message is not None and message.content == "u2"
    assert talk.pending == message == talk.rewind()
    talk.reply("a2b")
    assert texts(talk) == ["u1", "a1", "u2", "a2b"]
    assert [branch.last for branch in talk.branches()] == ["a2b", "a2"]


def test_a_regenerate_that_failed_can_go_back(talk: Kept) -> None:
    before = talk.head
    talk.rewind()
    talk.move_to(before)
    assert texts(talk) == ["u1", "a1", "u2", "a2"]
    with pytest.raises(ValueError, match="there is no message 9"):
        talk.move_to(9)


def test_an_edited_message_is_a_sibling(talk: Kept) -> None:
    talk.undo()
    talk.turn("u2b", "a2b")
    assert texts(talk) == ["u1", "a1", "u2b", "a2b"]
    assert talk.entries()[2].parent == 2


def test_a_message_after_one_without_a_reply_takes_its_place(talk: Kept) -> None:
    pending = talk.say("u3")
    assert talk.pending == pending
    talk.say("u3b")
    assert texts(talk) == ["u1", "a1", "u2", "a2", "u3b"]
    roles = [message.role for message in talk.messages()]
    assert roles == ["user", "assistant", "user", "assistant", "user"]
    assert talk.branches()[1] == Branch(name="#5", messages=5, last="u3", is_current=False)


def test_only_a_message_can_be_replied_to_and_only_a_reply_extended(talk: Kept) -> None:
    with pytest.raises(ValueError, match="no message to reply to"):
        talk.reply("again")
    talk.say("u3")
    with pytest.raises(ValueError, match="no reply to continue"):
        talk.extend("more")
    with pytest.raises(ValueError, match="no message to reply to"):
        Conversation().reply("hi")


CUT = ["interrupted", "length", "context", "timeout", "stalled", "disconnected"]


@pytest.mark.parametrize("finish", list(FinishReason))
def test_a_reply_that_was_cut_can_be_continued(talk: Kept, finish: FinishReason) -> None:
    talk.say("u3")
    talk.reply("a3", finish=finish)
    assert talk.can_continue == (finish.value in CUT)
    talk.say("u4")
    assert not talk.can_continue


def test_a_continued_reply_takes_the_place_of_the_short_one() -> None:
    conversation = Kept()
    conversation.say("count")
    conversation.reply("1 2", finish="interrupted")
    entry = conversation.extend("1 2 3", finish="length", figures={"n": 3})
    assert texts(conversation) == ["count", "1 2 3"]
    assert (entry.parent, entry.finish, entry.figures) == (1, "length", {"n": 3})
    conversation.extend("1 2 3 4", finish="eos")
    assert texts(conversation) == ["count", "1 2 3 4"]
    assert not conversation.can_continue
    assert {branch.last for branch in conversation.branches()} == {"1 2", "1 2 3", "1 2 3 4"}


def test_clear_begins_anew_and_keeps_the_old_path(talk: Kept) -> None:
    talk.clear()
    assert texts(talk) == []
    assert talk.branches() == [
        Branch(name="main", messages=0, last="", is_current=True),
        Branch(name="#4", messages=4, last="a2", is_current=False),
    ]
    talk.switch("#4")
    assert texts(talk) == ["u1", "a1", "u2", "a2"]


def test_a_branch_goes_its_own_way(talk: Kept) -> None:
    assert talk.branch("bold") == "bold"
    talk.turn("u3", "a3")
    talk.switch("main")
    assert texts(talk)[-1] == "a2"
    talk.undo()
    talk.turn("u2b", "a2b")
    talk.switch("bold")
    assert texts(talk) == ["u1", "a1", "u2", "a2", "u3", "a3"]
    assert talk.current_branch == "bold"
    assert talk.branches() == [
        Branch(name="main", messages=4, last="a2b", is_current=False),
        Branch(name="bold", messages=6, last="a3", is_current=True),
    ]


def test_a_branch_without_a_name_gets_one(talk: Kept) -> None:
    assert talk.branch() == "branch-2"
    talk.branch("branch-3")
    assert talk.branch() == "branch-4"


@pytest.mark.parametrize("name", ["", "#4", "-x", "a b", "x" * 41, "a/b", "a\n"])
def test_a_bad_branch_name_is_refused(talk: Kept, name: str) -> None:
    with pytest.raises(ValueError, match="a branch name is up to 40 letters"):
        talk.branch(name)
    assert talk.current_branch == "main"


def test_a_taken_branch_name_is_refused(talk: Kept) -> None:
    with pytest.raises(ValueError, match="a branch 'main' already"):
        talk.branch("main")


def test_a_switch_to_an_abandoned_path_names_it(talk: Kept) -> None:
    talk.rewind()
    talk.reply("a2b")
    talk.switch("#4")
    assert (talk.current_branch, texts(talk)[-1]) == ("branch-2", "a2")
    assert [branch.name for branch in talk.branches()] == ["main", "branch-2"]


@pytest.mark.parametrize("name", ["no", "#1", "#99", "#x", "4"])
def test_a_switch_to_nowhere_says_what_there_is(talk: Kept, name: str) -> None:
    talk.rewind()
    with pytest.raises(ValueError, match=rf"no branch '{name}'; there are: main, #4$"):
        talk.switch(name)


def test_the_window_begins_where_it_is_told(talk: Kept) -> None:
    talk.turn("u3", "a3")
    talk.drop_before(3)
    assert [message.content for message in talk.messages()] == ["u2", "a2", "u3", "a3"]
    assert texts(talk)[0] == "u1"
    talk.drop_before(5)
    assert [entry.content for entry in talk.window()] == ["u3", "a3"]
    talk.drop_before(1)  # into a larger context
    assert talk.window() == talk.entries()


def test_a_window_is_for_the_paths_that_contain_its_start(talk: Kept) -> None:
    talk.drop_before(3)
    talk.undo()
    talk.turn("u2b", "a2b")
    assert talk.window() == talk.entries()
    talk.switch("#4")
    assert [entry.content for entry in talk.window()] == ["u2", "a2"]


def test_a_window_begins_with_a_message_of_the_user(talk: Kept) -> None:
    for entry_id in (2, 9):
        with pytest.raises(ValueError):
            talk.drop_before(entry_id)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("How?\nTell me.", "How?"),
        ("\n\n  tabs\tand   spaces  \r\nrest", "tabs and spaces"),
        ("x" * 60, "x" * 60),
        ("word " * 20, "word word word word word word word word word word word word…"),
        ("  \n ", ""),
    ],
)
def test_the_title_is_the_first_line_of_the_first_message(text: str, title: str) -> None:
    conversation = Conversation()
    conversation.say(text)
    conversation.reply("no title")
    assert conversation.title == title
    conversation.clear()
    assert conversation.title == title


def test_settings_and_model_are_remembered(talk: Kept) -> None:
    talk.set_model("starter")
    talk.set_setting("temperature", "0.2")
    talk.set_setting("seed", "1")
    talk.set_setting("seed", None)
    again = replayed(talk.lines)
    assert (again.model, dict(again.settings)) == ("starter", {"temperature": "0.2"})


def test_a_change_that_changes_nothing_is_not_recorded(talk: Kept) -> None:
    talk.set_model("m")
    talk.set_system("s")
    talk.set_setting("seed", "1")
    talk.say("u3")
    count = len(talk.lines)
    talk.set_model("m")
    talk.set_system("s")
    talk.set_setting("seed", "1")
    talk.set_setting("never set", None)
    talk.switch("main")
    talk.rewind()
    assert len(talk.lines) == count


MESSAGE = {"type": "message", "id": 5, "parent": 4, "role": "user", "content": "x"}


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({}, "no type of record: None"),
        ({"type": ["message"]}, "no type of record"),
        ({"type": "poem"}, "no type of record: 'poem'"),
        (MESSAGE | {"id": 4}, "parent of a message record must be below its id, not 4"),
        (MESSAGE | {"id": 3, "parent": 2}, "there is a message 3 already"),
        (MESSAGE | {"id": True}, "id of a message record must be a number from 1, not True"),
        (MESSAGE | {"id": None}, "id of a message record must be a number from 1, not None"),
        (MESSAGE | {"parent": -1}, "parent of a message record must be a number from 1, not -1"),
        (MESSAGE | {"role": "assistant"}, "message 5 must be the user's"),
        (MESSAGE | {"parent": 3}, "message 5 must be the assistant's"),
        (MESSAGE | {"id": 9, "parent": 8, "role": "system"}, "must be user or assistant"),
        (MESSAGE | {"content": None}, "content of a message record must be a text, not None"),
        (MESSAGE | {"finish": 1}, "finish of a message record must be a text, not 1"),
        (MESSAGE | {"figures": []}, "figures of a message record must be an object"),
        ({"type": "head", "at": 9}, "there is no message 9"),
        ({"type": "head", "at": "1"}, "at of a head record must be a number from 1, not '1'"),
        ({"type": "branch", "name": "b", "at": 9}, "there is no message 9"),
        ({"type": "branch", "name": "main", "at": 1}, "a branch 'main' already"),
        ({"type": "branch", "name": "#1", "at": 1}, "a branch name is"),
        ({"type": "switch", "name": "b"}, "there is no branch 'b'"),
        ({"type": "window", "start": None}, "a window begins with a message of the user's"),
        ({"type": "system", "text": 1}, "text of a system record must be a text, not 1"),
        ({"type": "setting", "value": "1"}, "name of a setting record must be a text, not None"),
    ],
)
def test_a_record_that_does_not_fit_changes_nothing(
    talk: Kept, record: Mapping[str, object], problem: str
) -> None:
    before = list(talk.records())
    with pytest.raises(ValueError, match=problem):
        talk.apply(record)
    assert list(talk.records()) == before


def test_applied_records_are_not_told_again(talk: Kept) -> None:
    count = len(talk.lines)
    talk.apply(MESSAGE)
    assert texts(talk)[-1] == "x"
    assert len(talk.lines) == count


@pytest.mark.parametrize(
    ("lost", "left"),
    [
        ([0], ["[lost]", "a1", "u2", "a2", "u3"]),
        ([1], ["u1", "[lost]", "u2", "a2", "u3"]),
        ([2], ["u1", "a1", "[lost]", "a2", "u3"]),
        ([2, 3], ["u1", "a1", "u3"]),
        ([1, 2], ["u1", "a2", "u3"]),
        ([0, 1], ["u2", "a2", "u3"]),
        ([1, 2, 3], ["u1", "[lost]", "u3"]),
        ([4], ["u1", "a1", "u2", "a2"]),
    ],
)
def test_a_lost_message_takes_no_other_with_it(
    talk: Kept, lost: list[int], left: list[str]
) -> None:
    talk.say("u3")
    damaged = replayed([line for index, line in enumerate(talk.lines) if index not in lost])
    assert texts(damaged) == left
    roles = [message.role for message in damaged.messages()]
    assert roles == list(itertools.islice(itertools.cycle(["user", "assistant"]), len(roles)))
    copy = replayed([json.dumps(record) for record in damaged.records()])
    assert copy.entries() == damaged.entries()
    assert copy.branches() == damaged.branches()


NAMES = st.sampled_from(["main", "one", "two", "#2", "#5", "x y"])


class Talk(RuleBasedStateMachine):
    """Anything a user may do, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.conversation = Kept()
        self.said: list[str] = []

    def text(self) -> str:
        self.said.append(f"text {len(self.said)}")
        return self.said[-1]

    @rule()
    def say(self) -> None:
        self.conversation.say(self.text())

    @precondition(lambda self: self.conversation.pending)
    @rule(finish=st.sampled_from([None, *FinishReason]), reasoning=st.sampled_from(["", "hmm"]))
    def reply(self, finish: FinishReason | None, reasoning: str) -> None:
        figures = {"tokens": 3} if reasoning else None
        self.conversation.reply(self.text(), reasoning=reasoning, finish=finish, figures=figures)

    @precondition(lambda self: self.conversation.can_continue)
    @rule()
    def extend(self) -> None:
        self.conversation.extend(self.text(), finish="eos")

    @rule(verb=st.sampled_from(["undo", "rewind", "clear"]))
    def move(self, verb: str) -> None:
        getattr(self.conversation, verb)()

    @precondition(lambda self: self.conversation.entries())
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        questions = [one.id for one in self.conversation.entries() if one.role == "user"]
        self.conversation.drop_before(data.draw(st.sampled_from(questions)))

    @rule(name=st.none() | NAMES)
    def branch(self, name: str | None) -> None:
        before = self.conversation.entries()
        taken = [branch.name for branch in self.conversation.branches()]
        if name in taken or name in ("#2", "#5", "x y"):
            with pytest.raises(ValueError):
                self.conversation.branch(name)
        else:
            name = self.conversation.branch(name)
            assert self.conversation.current_branch == name
        assert self.conversation.entries() == before

    @rule(data=st.data())
    def switch(self, data: st.DataObject) -> None:
        branch = data.draw(st.sampled_from(self.conversation.branches()))
        self.conversation.switch(branch.name)
        path = texts(self.conversation)
        assert (len(path), path[-1] if path else "") == (branch.messages, branch.last)

    @rule(text=st.sampled_from([None, "", "Be brief."]))
    def set(self, text: str | None) -> None:
        self.conversation.set_system(text)
        self.conversation.set_setting("seed", text)
        self.conversation.set_model(text)

    @invariant()
    def speakers_take_turns(self) -> None:
        roles = [message.role for message in self.conversation.messages()]
        if self.conversation.system is not None:
            assert roles.pop(0) == "system"
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2)

    @invariant()
    def one_branch_is_current(self) -> None:
        current = [branch for branch in self.conversation.branches() if branch.is_current]
        assert [branch.name for branch in current] == [self.conversation.current_branch]

    def teardown(self) -> None:
        """What is dear to check, once: nothing is lost, in the tree or in the records."""
        lines = self.conversation.lines
        records = list(self.conversation.records())
        for count in range(len(lines)):
            replayed(lines[:count])
        for again in (replayed(lines), replayed([json.dumps(record) for record in records])):
            assert list(again.records()) == records
            assert again.entries() == self.conversation.entries()
            assert again.window() == self.conversation.window()
            assert again.messages() == self.conversation.messages()
            assert again.branches() == self.conversation.branches()
            found: set[str] = set()
            for branch in again.branches():
                again.switch(branch.name)
                found.update(texts(again))
            assert sorted(found) == sorted(self.said)


TestTalk = Talk.TestCase
TestTalk.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
