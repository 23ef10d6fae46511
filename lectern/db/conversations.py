"""Conversations in the library's database: questions, answers, their passages and their cost.

An answer is stored while it is written. If its writer falls silent, it counts as interrupted.
"""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lectern.db.stored_json import (
    dump_sources,
    parse_problem,
    parse_sources,
    parse_trace,
    read_stored,
    renew_ask,
    renew_file_ids,
    stored_moment,
)
from lectern.db.tables import Tables
from lectern.schema import AnswerFacts, Ask, Conversation, Kind, Message, Source, State
from ragcore.errors import InputError, Problem
from ragcore.observe import Span
from ragcore.schema import new_id
from ragcore.sql.base import Connection, Database, writable

SILENT_SECONDS = 10.0  # An answer that its writer has not signed for so long was interrupted.
TITLE_CHARS = 60
SEARCH_CHARS = 1000  # Maximum length of a search, because a pattern of SQLite has at most 50,000 bytes.
SEARCH_WORDS = 20  # Maximum number of words of a search.

SCHEMA = """
CREATE TABLE IF NOT EXISTS conversations (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    created REAL NOT NULL,           -- seconds since the epoch
    updated REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS messages (
    id TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    role TEXT NOT NULL,              -- user, assistant
    text TEXT NOT NULL,
    state TEXT NOT NULL,
    created REAL NOT NULL,
    signed REAL NOT NULL,            -- the last time its writer was alive
    ask TEXT,                        -- JSON of the Ask
    facts TEXT,                      -- JSON of AnswerFacts
    sources TEXT,                    -- JSON list of Source
    problem TEXT,                    -- JSON of Problem
    trace TEXT,                      -- JSON of the Span tree
    place INTEGER NOT NULL DEFAULT 0  -- 1, 2, 3 ... in its conversation, because clocks are not reliable
);
CREATE INDEX IF NOT EXISTS messages_by_conversation ON messages (conversation_id, created);
CREATE TABLE IF NOT EXISTS branches (
    conversation_id TEXT PRIMARY KEY REFERENCES conversations (id) ON DELETE CASCADE,
    origin_id TEXT NOT NULL          -- the conversation whose first turns it has, which may be deleted
);
CREATE TABLE IF NOT EXISTS pinned (  -- conversations that are listed first
    conversation_id TEXT PRIMARY KEY REFERENCES conversations (id) ON DELETE CASCADE
);
"""

_CONVERSATION = ("id", "kind", "title", "created", "updated")
_MESSAGE = ("id", "conversation_id", "role", "text", "state", "created", "signed", "ask", "facts", "sources",
            "problem", "trace", "place")  # fmt: skip

# All but the trace, which is long and read on demand.
_COLUMNS = "id, conversation_id, role, text, state, created, signed, ask, facts, sources, problem"


class Conversations(Tables):
    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(database, clock)
        self._unsaved: dict[str, Message] = {}

    def create(self, kind: Kind = "chat", title: str = "", *, id_: str = "") -> Conversation:
        now = self._clock()
        conversation = Conversation(id_ or new_id()[:16], kind, title, now, now)
        self._change(
            "INSERT INTO conversations VALUES (?, ?, ?, ?, ?)", conversation.id, kind, title, now, now
        )
        return conversation

    def get(self, conversation_id: str) -> Conversation | None:
        row = self._read_one("SELECT * FROM conversations WHERE id = ?", conversation_id)
        return _conversation(row) if row else None

    def all(
        self, kind: Kind = "chat", search: str = "", *, pinned: bool | None = None, limit: int | None = None
    ) -> list[Conversation]:
        """Conversations with a message, latest first; with `search`, those with all its words in the title or
        the messages.

        `pinned`: only pinned ones, or only the others. `limit`: the maximum number.
        """
        words = writable(search[:SEARCH_CHARS]).lower().split()[:SEARCH_WORDS]
        values = {f"word{number}": f"%{''.join(map(_likely, word))}%" for number, word in enumerate(words)}
        has = "".join(
            f" AND (lower(c.title) LIKE :{name} ESCAPE '!' OR EXISTS"
            f" (SELECT 1 FROM messages m WHERE m.conversation_id = c.id AND lower(m.text) LIKE :{name} "
            "ESCAPE '!'))"
            for name in values
        )
        if pinned is not None:
            has += (
                f" AND {'' if pinned else 'NOT '}EXISTS (SELECT 1 FROM pinned p WHERE p.conversation_id "
                "= c.id)"
            )
        unsure = [word for word in words if any(map(_has_capital, word))]
        ends = "" if unsure or limit is None else f" LIMIT {limit:d}"
        with self._database.snapshot() as db:
            rows = db.execute(
                "SELECT * FROM conversations c WHERE kind = :kind"
                f" AND EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = c.id){has}"
                f" ORDER BY updated DESC, created DESC, id{ends}",
                {"kind": kind, **values},
            ).fetchall()
            if unsure:
                rows = [row for row in rows if _has_words(db, row, unsure)]
        return [_conversation(row) for row in rows[:limit]]

    def texts(self, conversation_id: str) -> list[str]:
        """The texts of all messages in order."""
        query = "SELECT text FROM messages WHERE conversation_id = ? ORDER BY place, created, role DESC"
        return [row["text"] for row in self._read(query, conversation_id)]

    def pin(self, conversation_id: str, pinned: bool) -> None:
        """Pins or unpins a conversation. Pinned ones are listed first."""
        if pinned:
            statement = (
                "INSERT INTO pinned SELECT id FROM conversations WHERE id = ? ON CONFLICT "
                "(conversation_id) DO NOTHING"
            )
        else:
            statement = "DELETE FROM pinned WHERE conversation_id = ?"
        self._change(statement, conversation_id)

    def list_replays(self, conversation_id: str) -> list[Conversation]:
        """The conversations of its replay, the oldest first."""
        start = f"{conversation_id}."
        rows = self._read(
            "SELECT * FROM conversations WHERE substr(id, 1, ?) = ? ORDER BY created, id", len(start), start
        )
        return [_conversation(row) for row in rows]

    def rename(self, conversation_id: str, title: str) -> None:
        self._change(
            "UPDATE conversations SET title = ? WHERE id = ?", writable(title.strip()), conversation_id
        )

    def delete(self, conversation_id: str) -> None:
        """Delete it and its replay."""
        start = f"{conversation_id}."
        self._change(
            "DELETE FROM conversations WHERE id = ? OR substr(id, 1, ?) = ?",
            conversation_id,
            len(start),
            start,
        )

    def delete_all(self) -> None:
        """Delete conversations of every kind."""
        self._change("DELETE FROM conversations")

    def duplicate(self, conversation_id: str) -> Conversation:
        """A copy with the next free title, such as "The tower (2)", also of an incomplete answer. InputError
        if it was deleted."""
        return self._copy(conversation_id, None)

    def branch(self, message_id: str) -> Conversation:
        """A new conversation with the turns before this answer's question, for another question there.

        A branch without turns has no title until its first question. InputError if the answer was deleted.
        """
        answer = self.message(message_id)
        if answer is None:
            raise InputError("This answer has been deleted.", hint="Ask the question below.")
        return self._copy(answer.conversation_id, message_id)

    def origin(self, conversation_id: str) -> Conversation | None:
        """The conversation that this is a branch of, unless it was deleted."""
        row = self._read_one(
            "SELECT c.* FROM branches b JOIN conversations c ON c.id = b.origin_id WHERE "
            "b.conversation_id = ?",
            conversation_id,
        )
        return _conversation(row) if row else None

    def branches(self, conversation_id: str) -> list[Conversation]:
        """The branches of this conversation, the oldest first."""
        rows = self._read(
            "SELECT c.* FROM branches b JOIN conversations c ON c.id = b.conversation_id WHERE "
            "b.origin_id = ? ORDER BY c.created, c.id",
            conversation_id,
        )
        return [_conversation(row) for row in rows]

    def _copy(self, conversation_id: str, before: str | None) -> Conversation:
        """A copy, or a branch with the turns before the one of the answer `before`."""
        now = self._clock()
        with self._database.transaction() as db:
            row = db.execute("SELECT * FROM conversations WHERE id = ?", (conversation_id,)).fetchone()
            if row is None:
                raise InputError("This conversation has been deleted.", hint="Start a new one.")
            rows = db.execute(
                f"SELECT {', '.join(_MESSAGE)} FROM messages WHERE conversation_id = ? ORDER BY place, "
                "created, role DESC",
                (conversation_id,),
            ).fetchall()
            if before is not None:
                ids = [message["id"] for message in rows]
                rows = rows[: max(ids.index(before) - 1, 0)]
            titles = {each["title"] for each in db.execute("SELECT title FROM conversations").fetchall()}
            stem = re.sub(r" \(\d+\)$", "", row["title"])
            numbered = (f"{stem} ({number})" for number in itertools.count(2))
            title = next(each for each in numbered if each not in titles) if rows else ""
            copy = Conversation(new_id()[:16], row["kind"], title, now, now)
            db.execute(
                "INSERT INTO conversations VALUES (?, ?, ?, ?, ?)", (copy.id, copy.kind, title, now, now)
            )
            for message in rows:
                state = "stopped" if message["state"] == "writing" else message["state"]
                changes = {"id": new_id()[:16], "conversation_id": copy.id, "state": state}
                _insert(db, "messages", _MESSAGE, _pick(_MESSAGE, message) | changes)
            if before is not None:
                db.execute("INSERT INTO branches VALUES (?, ?)", (copy.id, conversation_id))
        return copy

    def messages(self, conversation_id: str, *, last: int | None = None) -> list[Message]:
        """All messages in order, or only the `last` ones."""
        query = (
            f"SELECT {_COLUMNS} FROM messages WHERE conversation_id = ? ORDER BY place DESC, created "
            "DESC, role"
        )
        limit = "" if last is None else f" LIMIT {last:d}"
        return [self._message(row) for row in reversed(self._read(query + limit, conversation_id))]

    def size(self, conversation_id: str) -> int:
        """The number of messages; 0 for an unknown conversation."""
        return int(
            self._read_one("SELECT count(*) FROM messages WHERE conversation_id = ?", conversation_id)[0]
        )

    def message(self, message_id: str) -> Message | None:
        row = self._read_one(f"SELECT {_COLUMNS} FROM messages WHERE id = ?", message_id)
        return self._message(row) if row else None

    def latest_facts(self, limit: int = 100) -> list[AnswerFacts]:
        """The facts of finished answers in the last used conversations, latest first."""
        rows = self._read(
            "SELECT m.id, m.facts FROM messages m JOIN (SELECT id FROM conversations ORDER BY updated DESC, "
            "id LIMIT ?) c"
            " ON m.conversation_id = c.id WHERE m.state = 'done' AND m.facts IS NOT NULL ORDER BY "
            "m.created DESC, m.id LIMIT ?",
            limit,
            limit,
        )
        facts = (
            read_stored(AnswerFacts.from_json, row["facts"], None, row=f"facts of message {row['id']}")
            for row in rows
        )
        return [each for each in facts if each is not None]

    def save_trace(self, message_id: str, trace: Span) -> None:
        """Store the trace of a stopped answer, once all its steps have ended."""
        change = "UPDATE messages SET trace = ? WHERE id = ? AND state = 'stopped'"
        self._change(change, json.dumps(trace.to_dict()), message_id)

    def trace(self, message_id: str) -> Span | None:
        """None for an answer without a trace, or with one that cannot be read."""
        row = self._read_one("SELECT trace FROM messages WHERE id = ? AND trace IS NOT NULL", message_id)
        text = row["trace"] if row else None
        return read_stored(parse_trace, text, None, row=f"trace of message {message_id}")

    def being_answered(self, conversation_id: str) -> bool:
        """Whether any process is writing an answer, and has signed it recently."""
        now = self._clock()
        query = (
            "SELECT id FROM messages WHERE conversation_id = ? AND state = 'writing' AND signed BETWEEN "
            "? AND ?"
        )
        return self._read_one(query, conversation_id, now - SILENT_SECONDS, now + SILENT_SECONDS) is not None

    def dump(self) -> Iterator[dict[str, Any]]:
        """Every conversation with its messages, as plain values."""
        for row in self._read(f"SELECT {', '.join(_CONVERSATION)} FROM conversations ORDER BY created, id"):
            messages = self._read(
                f"SELECT {', '.join(_MESSAGE)} FROM messages WHERE conversation_id = ?", row["id"]
            )
            origin = self._read_one("SELECT origin_id FROM branches WHERE conversation_id = ?", row["id"])
            yield {
                **_pick(_CONVERSATION, row),
                "origin": origin["origin_id"] if origin else None,
                "pinned": bool(self._read("SELECT 1 FROM pinned WHERE conversation_id = ?", row["id"])),
                "messages": [_pick(_MESSAGE, message) for message in messages],
            }

    def restore(self, row: Mapping[str, Any]) -> bool:
        """Add a conversation of a copy without its messages, see `CopiedConversation`; False if it exists."""
        with self._database.transaction() as db:
            if db.execute("SELECT 1 FROM conversations WHERE id = ?", (row["id"],)).fetchone():
                return False
            _insert(db, "conversations", _CONVERSATION, row)
            if row["origin"]:
                db.execute("INSERT INTO branches VALUES (?, ?)", (row["id"], row["origin"]))
            if row["pinned"]:
                db.execute("INSERT INTO pinned VALUES (?)", (row["id"],))
        return True

    def restore_message(self, row: Mapping[str, Any], file_ids: Mapping[str, str]) -> bool:
        """Add a message of a copy to a restored conversation, see `CopiedMessage`; False if its id exists.
        `file_ids`: the new ids of the files in its answer."""
        sources = renew_file_ids(parse_sources(row["sources"] or "[]"), file_ids)
        values = {**row, "sources": dump_sources(sources)}
        if row["ask"]:
            values["ask"] = renew_ask(Ask.from_json(row["ask"]), file_ids).to_json()
        if row["state"] == "writing":
            values["state"] = "interrupted"
        with self._database.transaction() as db:
            if db.execute("SELECT 1 FROM messages WHERE id = ?", (row["id"],)).fetchone():
                return False
            _insert(db, "messages", _MESSAGE, values)
        return True

    # Writing an answer.

    def begin(self, conversation_id: str, ask: Ask) -> Message:
        """Store the question and an empty answer in state "writing"; returns the answer. InputError if it was
        deleted."""
        return self.begin_several(conversation_id, [ask])[0]

    def begin_several(self, conversation_id: str, asks: Sequence[Ask]) -> list[Message]:
        """As `begin`, with several answers to the same question."""
        now = self._clock()
        question = writable(asks[0].question)
        answers = [
            Message(new_id()[:16], conversation_id, "assistant", "", "writing", now, ask) for ask in asks
        ]
        with self._database.transaction() as db:
            update = (
                "UPDATE conversations SET updated = ?, title = CASE WHEN title = '' THEN ? ELSE title "
                "END WHERE id = ?"
            )
            if not db.execute(update, (now, _title(question), conversation_id)).rowcount:
                raise InputError("This conversation has been deleted.", hint="Start a new one.")
            last = "SELECT coalesce(max(place), 0) FROM messages WHERE conversation_id = ?"
            place = db.execute(last, (conversation_id,)).fetchone()[0] + 1
            db.execute(
                "INSERT INTO messages (id, conversation_id, role, text, state, created, signed, place)"
                " VALUES (?, ?, 'user', ?, 'done', ?, ?, ?)",
                (new_id()[:16], conversation_id, question, now, now, place),
            )
            for number, (answer, ask) in enumerate(zip(answers, asks, strict=True), 1):
                db.execute(
                    "INSERT INTO messages (id, conversation_id, role, text, state, created, signed, "
                    "ask, place) VALUES (?, ?, 'assistant', '', 'writing', ?, ?, ?, ?)",
                    (answer.id, conversation_id, now, now, ask.to_json(), place + number),
                )
        return answers

    def save_sources(self, conversation_id: str, sources: Sequence[Source]) -> None:
        """Store, with the question of a comparison, the passages that all answers use."""
        self._change(
            "UPDATE messages SET sources = ? WHERE conversation_id = ? AND role = 'user'",
            json.dumps([asdict(source) for source in sources]),
            conversation_id,
        )

    def save_ask(self, message_id: str, ask: Ask) -> None:
        """Store how an answer is really written, once that is known."""
        self._change("UPDATE messages SET ask = ? WHERE id = ?", ask.to_json(), message_id)

    def begin_again(self, message_id: str, ask: Ask) -> Message:
        """Clear an answer so that it can be written again. InputError if it was deleted."""
        self._change(
            "UPDATE messages SET text = '', state = 'writing', signed = ?, ask = ?, facts = NULL, "
            "sources = NULL, problem = NULL, trace = NULL WHERE id = ?",
            self._clock(),
            ask.to_json(),
            message_id,
        )
        self._unsaved.pop(message_id, None)
        message = self.message(message_id)
        if message is None:
            raise InputError("This answer has been deleted.", hint="Ask the question again.")
        return message

    def write(
        self,
        message_id: str,
        *,
        text: str,
        state: State,
        sources: Sequence[Source] = (),
        facts: AnswerFacts | None = None,
        problem: Problem | None = None,
        trace: Span | None = None,
    ) -> bool:
        """Store an incomplete or finished answer, and sign it; False if it was deleted, or stopped by another
        process."""
        changed = self._change(
            "UPDATE messages SET text = ?, state = ?, signed = ?, sources = ?, facts = ?, problem = ?, "
            "trace = ? WHERE id = ? AND state = 'writing'",
            writable(text),
            state,
            self._clock(),
            json.dumps([asdict(source) for source in sources]),
            json.dumps(asdict(facts)) if facts else None,
            json.dumps(asdict(problem)) if problem else None,
            json.dumps(trace.to_dict()) if trace else None,
            message_id,
        )
        self._unsaved.pop(message_id, None)
        return changed == 1

    def show_unsaved(self, message: Message) -> None:
        """Return this message from memory, in this process, until it can be stored."""
        self._unsaved[message.id] = message

    def shows_unsaved(self, message: Message) -> bool:
        """Whether it is still to be stored. False once it was stored, or its answer is written again."""
        return self._unsaved.get(message.id) is message

    def stop(self, message_id: str) -> None:
        """Stop an answer. Its text so far stays, and `write` returns False from now on."""
        self._change("UPDATE messages SET state = 'stopped' WHERE id = ? AND state = 'writing'", message_id)

    def _message(self, row: Any) -> Message:
        state = row["state"]
        if state == "writing" and (unsaved := self._unsaved.get(row["id"])) is not None:
            return unsaved
        # A signature from the future counts as silence too: the clock was set back, and its writer may have
        # ended.
        if state == "writing" and abs(self._clock() - row["signed"]) > SILENT_SECONDS:
            state = "interrupted"
        place = f"of message {row['id']}"
        return Message(
            id=row["id"],
            conversation_id=row["conversation_id"],
            role=row["role"],
            text=row["text"],
            state=state,
            created=stored_moment(row["created"]),
            ask=read_stored(Ask.from_json, row["ask"], None, row=f"ask {place}"),
            facts=read_stored(AnswerFacts.from_json, row["facts"], None, row=f"facts {place}"),
            sources=read_stored(parse_sources, row["sources"], (), row=f"sources {place}"),
            problem=read_stored(parse_problem, row["problem"], None, row=f"problem {place}"),
        )


def _pick(names: Sequence[str], row: Any) -> dict[str, Any]:
    return {name: row[name] for name in names}


def _insert(db: Connection, table: str, names: Sequence[str], values: Mapping[str, Any]) -> None:
    places = ", ".join("?" for _ in names)
    db.execute(
        f"INSERT INTO {table} ({', '.join(names)}) VALUES ({places})", [values[name] for name in names]
    )


def _has_capital(letter: str) -> bool:
    """Whether it has a capital letter that the `lower` of databases does not change: any but A to Z."""
    return not letter.isascii() and letter != letter.upper()


def _likely(letter: str) -> str:
    """A letter in a pattern of LIKE; "%" if the database cannot compare it."""
    return "%" if _has_capital(letter) else f"!{letter}" if letter in "!%_" else letter


def _has_words(db: Connection, conversation: Any, words: Sequence[str]) -> bool:
    texts = db.execute(
        "SELECT text FROM messages WHERE conversation_id = ?", (conversation["id"],)
    ).fetchall()
    whole = "\n".join([conversation["title"], *(row["text"] for row in texts)]).lower()
    return all(word in whole for word in words)


def _title(question: str) -> str:
    """The question, or its first words."""
    words = " ".join(question.split())
    if len(words) <= TITLE_CHARS:
        return words
    cut = words[: TITLE_CHARS - 1]
    space = cut.rfind(" ")
    return f"{cut[:space] if space > TITLE_CHARS // 2 else cut}…"  # not every script has spaces


def _conversation(row: Any) -> Conversation:
    created, updated = stored_moment(row["created"]), stored_moment(row["updated"])
    return Conversation(row["id"], row["kind"], row["title"], created, updated)
