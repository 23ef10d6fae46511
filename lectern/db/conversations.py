"""Conversations, kept in the library's database: what was asked, what was answered, with which passages, at what cost.

An answer is written down while it is being made. One whose writer has fallen silent was interrupted, and is read as such.
"""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lectern.schema import AnswerFacts, Ask, Conversation, Kind, Message, Source, State
from ragcore.errors import InputError, Problem
from ragcore.observe import Span
from ragcore.schema import new_id
from ragcore.sql.base import Connection, Database, writable

SILENT_SECONDS = 10.0  # an answer whose writer has not signed it for so long was interrupted
TITLE_CHARS = 60
SEARCH_CHARS = 1000  # of what is searched for; SQLite compares with a pattern of 50,000 bytes at most
SEARCH_WORDS = 20  # of them; the first ones

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
    signed REAL NOT NULL,            -- when its writer last gave a sign of life
    ask TEXT,                        -- JSON: how the question was to be answered
    facts TEXT,                      -- JSON of AnswerFacts
    sources TEXT,                    -- JSON list of Source
    problem TEXT,                    -- JSON of Problem
    trace TEXT,                      -- JSON of the Span tree
    place INTEGER NOT NULL DEFAULT 0  -- 1, 2, 3 ... in its conversation, as clocks are set and differ
);
CREATE INDEX IF NOT EXISTS messages_by_conversation ON messages (conversation_id, created);
CREATE TABLE IF NOT EXISTS branches (
    conversation_id TEXT PRIMARY KEY REFERENCES conversations (id) ON DELETE CASCADE,
    origin_id TEXT NOT NULL          -- the conversation whose first turns it has; it may be gone by now
);
CREATE TABLE IF NOT EXISTS pinned (  -- the conversations that are listed before the others
    conversation_id TEXT PRIMARY KEY REFERENCES conversations (id) ON DELETE CASCADE
);
"""

_CONVERSATION = ("id", "kind", "title", "created", "updated")
_MESSAGE = ("id", "conversation_id", "role", "text", "state", "created", "signed", "ask", "facts", "sources", "problem",
            "trace", "place")  # fmt: skip

# All but the trace: it is long, and read on demand.
_COLUMNS = "id, conversation_id, role, text, state, created, signed, ask, facts, sources, problem"


class Conversations:
    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock
        self._unsaved: dict[str, Message] = {}

    def create(self, kind: Kind = "chat", title: str = "", *, id_: str = "") -> Conversation:
        now = self._clock()
        made = Conversation(id_ or new_id()[:16], kind, title, now, now)
        self._change("INSERT INTO conversations VALUES (?, ?, ?, ?, ?)", (made.id, kind, title, now, now))
        return made

    def get(self, conversation_id: str) -> Conversation | None:
        rows = self._read("SELECT * FROM conversations WHERE id = ?", (conversation_id,))
        return _conversation(rows[0]) if rows else None

    def all(
        self, kind: Kind = "chat", search: str = "", *, pinned: bool | None = None, limit: int | None = None
    ) -> list[Conversation]:
        """Those with at least one message, latest first; with `search`, those that have all its words, in the title or said.

        `pinned`: only those that are, or are not. `limit`: so many at most.
        """
        words = writable(search[:SEARCH_CHARS]).lower().split()[:SEARCH_WORDS]
        values = {f"word{number}": f"%{''.join(map(_likely, word))}%" for number, word in enumerate(words)}
        has = "".join(
            f" AND (lower(c.title) LIKE :{name} ESCAPE '!' OR EXISTS"
            f" (SELECT 1 FROM messages m WHERE m.conversation_id = c.id AND lower(m.text) LIKE :{name} ESCAPE '!'))"
            for name in values
        )
        if pinned is not None:
            has += f" AND {'' if pinned else 'NOT '}EXISTS (SELECT 1 FROM pinned p WHERE p.conversation_id = c.id)"
        unsure = [word for word in words if any(map(_has_capital, word))]
        ends = "" if unsure or limit is None else f" LIMIT {limit:d}"
        with self._database.snapshot() as db:
            found = db.execute(
                "SELECT * FROM conversations c WHERE kind = :kind"
                f" AND EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = c.id){has}"
                f" ORDER BY updated DESC, created DESC, id{ends}",
                {"kind": kind, **values},
            ).fetchall()
            if unsure:
                found = [row for row in found if _says(db, row, unsure)]
        return [_conversation(row) for row in found[:limit]]

    def pin(self, conversation_id: str, pinned: bool) -> None:
        """List it before the others, or no longer."""
        if pinned:
            statement = "INSERT INTO pinned SELECT id FROM conversations WHERE id = ? ON CONFLICT (conversation_id) DO NOTHING"
        else:
            statement = "DELETE FROM pinned WHERE conversation_id = ?"
        self._change(statement, (conversation_id,))

    def belonging_to(self, conversation_id: str) -> list[Conversation]:
        """Those of its replay, the first made first."""
        start = f"{conversation_id}."
        rows = self._read("SELECT * FROM conversations WHERE substr(id, 1, ?) = ? ORDER BY created, id", (len(start), start))
        return [_conversation(row) for row in rows]

    def rename(self, conversation_id: str, title: str) -> None:
        self._change("UPDATE conversations SET title = ? WHERE id = ?", (writable(title.strip()), conversation_id))

    def delete(self, conversation_id: str) -> None:
        """With what belongs to it."""
        start = f"{conversation_id}."
        self._change("DELETE FROM conversations WHERE id = ? OR substr(id, 1, ?) = ?", (conversation_id, len(start), start))

    def delete_all(self) -> None:
        """With the questions of every other page."""
        self._change("DELETE FROM conversations", ())

    def duplicate(self, conversation_id: str) -> Conversation:
        """A copy under the next free title, "The tower (2)". What is still being written comes as far as it has come.

        InputError when it was deleted.
        """
        return self._copy(conversation_id, None)

    def branch(self, message_id: str) -> Conversation:
        """A new conversation with the turns before this answer's question, to ask another there; the old one stays.

        Where there is none before, it has no title yet: it gets that of its first question. InputError when it was deleted.
        """
        answer = self.message(message_id)
        if answer is None:
            raise InputError("This answer has been deleted.", hint="Ask the question below.")
        return self._copy(answer.conversation_id, message_id)

    def origin(self, conversation_id: str) -> Conversation | None:
        """The conversation that this is a branch of, while it is there."""
        rows = self._read(
            "SELECT c.* FROM branches b JOIN conversations c ON c.id = b.origin_id WHERE b.conversation_id = ?",
            (conversation_id,),
        )
        return _conversation(rows[0]) if rows else None

    def branches(self, conversation_id: str) -> list[Conversation]:
        """Those that were begun from this one and are there still, the first begun first."""
        rows = self._read(
            "SELECT c.* FROM branches b JOIN conversations c ON c.id = b.conversation_id WHERE b.origin_id = ?"
            " ORDER BY c.created, c.id",
            (conversation_id,),
        )
        return [_conversation(row) for row in rows]

    def _copy(self, conversation_id: str, before: str | None) -> Conversation:
        """`before`: the answer whose turn and all after it are left out, in a branch."""
        now = self._clock()
        with self._database.transaction() as db:
            row = db.execute("SELECT * FROM conversations WHERE id = ?", (conversation_id,)).fetchone()
            if row is None:
                raise InputError("This conversation has been deleted.", hint="Start a new one.")
            rows = db.execute(
                f"SELECT {', '.join(_MESSAGE)} FROM messages WHERE conversation_id = ? ORDER BY place, created, role DESC",
                (conversation_id,),
            ).fetchall()
            if before is not None:
                ids = [message["id"] for message in rows]
                rows = rows[: max(ids.index(before) - 1, 0)]
            taken = {each["title"] for each in db.execute("SELECT title FROM conversations").fetchall()}
            title = next_title(row["title"], taken) if rows else ""
            made = Conversation(new_id()[:16], row["kind"], title, now, now)
            db.execute("INSERT INTO conversations VALUES (?, ?, ?, ?, ?)", (made.id, made.kind, title, now, now))
            for message in rows:
                state = "stopped" if message["state"] == "writing" else message["state"]
                own = {"id": new_id()[:16], "conversation_id": made.id, "state": state}
                _insert(db, "messages", _MESSAGE, _named(_MESSAGE, message) | own)
            if before is not None:
                db.execute("INSERT INTO branches VALUES (?, ?)", (made.id, conversation_id))
        return made

    def messages(self, conversation_id: str, *, last: int | None = None) -> list[Message]:
        """In the order they were said; all, or so many of the last."""
        rows = self._read(
            f"SELECT {_COLUMNS} FROM messages WHERE conversation_id = ? ORDER BY place DESC, created DESC, role"
            + ("" if last is None else " LIMIT ?"),
            (conversation_id,) if last is None else (conversation_id, last),
        )
        return [self._message(row) for row in reversed(rows)]

    def size(self, conversation_id: str) -> int:
        """How many messages it has; 0 for one that is not there."""
        count: int = self._read("SELECT count(*) AS n FROM messages WHERE conversation_id = ?", (conversation_id,))[0]["n"]
        return count

    def message(self, message_id: str) -> Message | None:
        rows = self._read(f"SELECT {_COLUMNS} FROM messages WHERE id = ?", (message_id,))
        return self._message(rows[0]) if rows else None

    def latest_facts(self, limit: int = 100) -> list[AnswerFacts]:
        """Of finished answers in the conversations used last, latest first."""
        rows = self._read(
            "SELECT m.facts FROM messages m JOIN (SELECT id FROM conversations ORDER BY updated DESC, id LIMIT ?) c"
            " ON m.conversation_id = c.id WHERE m.state = 'done' AND m.facts IS NOT NULL ORDER BY m.created DESC, m.id LIMIT ?",
            (limit, limit),
        )
        return [AnswerFacts.from_json(row["facts"]) for row in rows]

    def keep_trace(self, message_id: str, trace: Span) -> None:
        """Of an answer that was stopped, once all its steps have ended."""
        self._change(
            "UPDATE messages SET trace = ? WHERE id = ? AND state = 'stopped'", (json.dumps(trace.to_dict()), message_id)
        )

    def trace(self, message_id: str) -> Span | None:
        rows = self._read("SELECT trace FROM messages WHERE id = ? AND trace IS NOT NULL", (message_id,))
        return Span.from_dict(json.loads(rows[0]["trace"])) if rows else None

    def being_answered(self, conversation_id: str) -> bool:
        """Whether an answer is being written, by this process or any other. Its writer may have fallen silent just now."""
        now = self._clock()
        return bool(
            self._read(
                "SELECT id FROM messages WHERE conversation_id = ? AND state = 'writing' AND signed >= ? AND signed <= ?",
                (conversation_id, now - SILENT_SECONDS, now + SILENT_SECONDS),
            )
        )

    def dump(self) -> Iterator[dict[str, Any]]:
        """Every conversation with its messages, as plain values for `restore`."""
        for row in self._read(f"SELECT {', '.join(_CONVERSATION)} FROM conversations ORDER BY created, id", ()):
            messages = self._read(f"SELECT {', '.join(_MESSAGE)} FROM messages WHERE conversation_id = ?", (row["id"],))
            origin = self._read("SELECT origin_id FROM branches WHERE conversation_id = ?", (row["id"],))
            yield {
                **_named(_CONVERSATION, row),
                "origin": origin[0]["origin_id"] if origin else None,
                "pinned": bool(self._read("SELECT 1 FROM pinned WHERE conversation_id = ?", (row["id"],))),
                "messages": [_named(_MESSAGE, message) for message in messages],
            }

    def restore(self, dumped: Mapping[str, Any], file_ids: Mapping[str, str]) -> bool:
        """Add a conversation; False when it is there. `file_ids`: what the files in its answers are called here."""
        with self._database.transaction() as db:
            if db.execute("SELECT 1 FROM conversations WHERE id = ?", (dumped["id"],)).fetchone():
                return False
            _insert(db, "conversations", _CONVERSATION, dumped)
            if dumped.get("origin"):  # a copy that was made before there were branches says nothing of it
                db.execute("INSERT INTO branches VALUES (?, ?)", (dumped["id"], dumped["origin"]))
            if dumped.get("pinned"):
                db.execute("INSERT INTO pinned VALUES (?)", (dumped["id"],))
            for message in dumped["messages"]:
                _insert(
                    db, "messages", _MESSAGE, message | {name: _renamed(message[name], file_ids) for name in ("ask", "sources")}
                )
        return True

    # How an answer is written.

    def begin(self, conversation_id: str, ask: Ask) -> Message:
        """Note the question, and an empty answer that is being written; gives the answer. InputError when it was deleted."""
        return self.begin_several(conversation_id, [ask])[0]

    def begin_several(self, conversation_id: str, asks: Sequence[Ask]) -> list[Message]:
        """The same with several answers to the one question of these asks."""
        now = self._clock()
        question = writable(asks[0].question)
        begun = [Message(new_id()[:16], conversation_id, "assistant", "", "writing", now, ask) for ask in asks]
        with self._database.transaction() as db:
            there = db.execute(
                "UPDATE conversations SET updated = ?, title = CASE WHEN title = '' THEN ? ELSE title END WHERE id = ?",
                (now, _title(question), conversation_id),
            ).rowcount
            if not there:
                raise InputError("This conversation has been deleted.", hint="Start a new one.")
            last = "SELECT coalesce(max(place), 0) FROM messages WHERE conversation_id = ?"
            place = db.execute(last, (conversation_id,)).fetchone()[0] + 1
            db.execute(
                "INSERT INTO messages (id, conversation_id, role, text, state, created, signed, place)"
                " VALUES (?, ?, 'user', ?, 'done', ?, ?, ?)",
                (new_id()[:16], conversation_id, question, now, now, place),
            )
            for number, (answer, ask) in enumerate(zip(begun, asks, strict=True), 1):
                db.execute(
                    "INSERT INTO messages (id, conversation_id, role, text, state, created, signed, ask, place)"
                    " VALUES (?, ?, 'assistant', '', 'writing', ?, ?, ?, ?)",
                    (answer.id, conversation_id, now, now, ask.to_json(), place + number),
                )
        return begun

    def note_found(self, conversation_id: str, sources: Sequence[Source]) -> None:
        """Keep, with the question of a comparison, the passages that all of its answers are made from."""
        self._change(
            "UPDATE messages SET sources = ? WHERE conversation_id = ? AND role = 'user'",
            (json.dumps([asdict(source) for source in sources]), conversation_id),
        )

    def note_ask(self, message_id: str, ask: Ask) -> None:
        """How an answer is in fact made, once that is known."""
        self._change("UPDATE messages SET ask = ? WHERE id = ?", (ask.to_json(), message_id))

    def begin_again(self, message_id: str, ask: Ask) -> Message:
        """Empty an answer so that it can be written anew. InputError when it was deleted."""
        now = self._clock()
        self._change(
            "UPDATE messages SET text = '', state = 'writing', signed = ?, ask = ?, facts = NULL, sources = NULL,"
            " problem = NULL, trace = NULL WHERE id = ?",
            (now, ask.to_json(), message_id),
        )
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
        """Note an answer as far as it has come, and sign it; False when it was deleted, or stopped from elsewhere."""
        written = self._change(
            "UPDATE messages SET text = ?, state = ?, signed = ?, sources = ?, facts = ?, problem = ?, trace = ?"
            " WHERE id = ? AND state = 'writing'",
            (
                writable(text),
                state,
                self._clock(),
                json.dumps([asdict(source) for source in sources]),
                json.dumps(asdict(facts)) if facts else None,
                json.dumps(asdict(problem)) if problem else None,
                json.dumps(trace.to_dict()) if trace else None,
                message_id,
            ),
        )
        self._unsaved.pop(message_id, None)
        return written == 1

    def show_unsaved(self, message: Message) -> None:
        """Until the answer can be written, have this process read it as it is in its memory."""
        self._unsaved[message.id] = message

    def stop(self, message_id: str) -> None:
        """Keep of an answer what its writer has noted, and turn its writer away."""
        self._change("UPDATE messages SET state = 'stopped' WHERE id = ? AND state = 'writing'", (message_id,))

    def _message(self, row: Any) -> Message:
        if row["state"] == "writing" and (unsaved := self._unsaved.get(row["id"])) is not None:
            return unsaved
        # A signature from the future is silence too: the clock was set back, and who signed may be gone.
        if row["state"] == "writing" and abs(self._clock() - row["signed"]) > SILENT_SECONDS:
            return _message(row, "interrupted")
        return _message(row, row["state"])

    def _read(self, query: str, values: Sequence[object] | Mapping[str, object]) -> list[Any]:
        with self._database.snapshot() as db:
            return db.execute(query, values).fetchall()

    def _change(self, statement: str, values: Sequence[object]) -> int:
        """How many rows it changed."""
        with self._database.transaction() as db:
            return db.execute(statement, values).rowcount


def next_title(title: str, taken: Collection[str]) -> str:
    """ "The tower (2)", or the first number above that is free."""
    stem = re.sub(r" \(\d+\)$", "", title)
    return next(f"{stem} ({number})" for number in itertools.count(2) if f"{stem} ({number})" not in taken)


def _named(names: Sequence[str], row: Any) -> dict[str, Any]:
    return {name: row[name] for name in names}


def _insert(db: Connection, table: str, names: Sequence[str], values: Mapping[str, Any]) -> None:
    places = ", ".join("?" for _ in names)
    db.execute(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({places})", [values[name] for name in names])


def _has_capital(letter: str) -> bool:
    """Whether it is one of which databases do not know that it is the same as a capital: they know A to Z."""
    return not letter.isascii() and letter != letter.upper()


def _likely(letter: str) -> str:
    """For a pattern of LIKE: the letter, or anything where the database cannot compare it."""
    return "%" if _has_capital(letter) else f"!{letter}" if letter in "!%_" else letter


def _says(db: Connection, conversation: Any, words: Sequence[str]) -> bool:
    texts = db.execute("SELECT text FROM messages WHERE conversation_id = ?", (conversation["id"],)).fetchall()
    said = "\n".join([conversation["title"], *(row["text"] for row in texts)]).lower()
    return all(word in said for word in words)


def _title(question: str) -> str:
    """The question, or its first words."""
    words = " ".join(question.split())
    if len(words) <= TITLE_CHARS:
        return words
    cut = words[: TITLE_CHARS - 1]
    space = cut.rfind(" ")
    return f"{cut[:space] if space > TITLE_CHARS // 2 else cut}…"  # not every script has spaces


def _renamed(text: str | None, file_ids: Mapping[str, str]) -> str | None:
    """The JSON of an ask or of sources with other ids of files."""
    if text is None:
        return None
    plain = json.loads(text)
    if isinstance(plain, list):
        return json.dumps([{**source, "file_id": file_ids.get(source["file_id"], source["file_id"])} for source in plain])
    if plain["file_ids"] is not None:
        plain["file_ids"] = [file_ids.get(id_, id_) for id_ in plain["file_ids"]]
    return json.dumps(plain)


def _conversation(row: Any) -> Conversation:
    return Conversation(row["id"], row["kind"], row["title"], row["created"], row["updated"])


def _message(row: Any, state: State) -> Message:
    return Message(
        id=row["id"],
        conversation_id=row["conversation_id"],
        role=row["role"],
        text=row["text"],
        state=state,
        created=row["created"],
        ask=Ask.from_json(row["ask"]) if row["ask"] else None,
        facts=AnswerFacts.from_json(row["facts"]) if row["facts"] else None,
        sources=tuple(Source(**source) for source in json.loads(row["sources"] or "[]")),
        problem=Problem(**json.loads(row["problem"])) if row["problem"] else None,
    )
