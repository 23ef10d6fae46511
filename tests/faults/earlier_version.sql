BEGIN TRANSACTION;
CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    created REAL NOT NULL,           -- seconds since the epoch
    updated REAL NOT NULL
);
INSERT INTO "conversations" VALUES('c1','chat','About word1',1700000000.0,1700000000.0);
CREATE TABLE documents (
    seq INTEGER PRIMARY KEY,
    index_id INTEGER NOT NULL REFERENCES indexes (id),
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    metadata TEXT NOT NULL,
    layout TEXT NOT NULL,           -- page_word, pages, hidden metadata keys and template
    characters INTEGER NOT NULL,
    added REAL NOT NULL,
    first_row INTEGER NOT NULL,
    first_slot INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    UNIQUE (index_id, id)
);
INSERT INTO "documents" VALUES(1,1,'d1','d1','b76a22702df7401f5cf31bd1b6f83cc29f9ab05675e02d7e828cbd0d5b20ba87','{}','{"page_word":"page","pages":[],"hidden":[[],[]]}',38,1.79528489342366480829e+09,1,0,3);
INSERT INTO "documents" VALUES(3,1,'d3','d3','e750d05cc8becb5ac849d127353d4b579b9c00694bafdcd30305a18fd8131a7d','{}','{"page_word":"page","pages":[],"hidden":[[],[]]}',38,1.79528489343957686425e+09,7,6,3);
CREATE TABLE files (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    path TEXT NOT NULL,              -- relative to the library's folder
    hash TEXT NOT NULL,              -- SHA-256 of the bytes
    size INTEGER NOT NULL,           -- bytes
    added REAL NOT NULL,             -- seconds since the epoch
    stage TEXT NOT NULL,
    done INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0,
    stage_started REAL NOT NULL DEFAULT 0,
    passages INTEGER NOT NULL DEFAULT 0,
    pages INTEGER NOT NULL DEFAULT 0,
    page_word TEXT NOT NULL DEFAULT 'page',
    password TEXT,
    problem TEXT,                    -- JSON of a Problem
    stop_asked INTEGER NOT NULL DEFAULT 0,
    worker TEXT,
    heartbeat REAL NOT NULL DEFAULT 0
);
INSERT INTO "files" VALUES('d1','notes.txt','documents/d1/notes.txt','0000000000000000000000000000000000000000000000000000000000000000',38,1700000000.0,'ready',0,0,0.0,3,0,'page',NULL,NULL,0,NULL,0.0);
CREATE TABLE gaps (
    index_id INTEGER NOT NULL REFERENCES indexes (id),
    first_slot INTEGER NOT NULL,
    slots INTEGER NOT NULL,
    PRIMARY KEY (index_id, first_slot)
) WITHOUT ROWID;
INSERT INTO "gaps" VALUES(1,3,3);
CREATE TABLE indexes (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    terms TEXT NOT NULL,            -- which rules made the words of its keyword index
    stamp INTEGER NOT NULL,         -- another one after every change
    dimension INTEGER,              -- NULL while there is no passage
    file TEXT,                      -- of the vectors, in the vectors' folder
    slots INTEGER NOT NULL DEFAULT 0,    -- rows of the file that are committed, gaps included
    passages INTEGER NOT NULL DEFAULT 0  -- of them in use
);
INSERT INTO "indexes" VALUES(1,'documents','18989ab8d1372b13',3628354978317429830,16,'1-0883c9f39a6e3660.f32',9,6);
PRAGMA writable_schema=ON;
INSERT INTO sqlite_master(type,name,tbl_name,rootpage,sql)VALUES('table','keywords_1','keywords_1',0,'CREATE VIRTUAL TABLE keywords_1 USING fts5 (terms, content='''', tokenize="ascii tokenchars ''!""#$%&''''()*+,-./:;<=>?@[\]^_`{|}~''")');
CREATE TABLE 'keywords_1_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO "keywords_1_config" VALUES('version',4);
CREATE TABLE 'keywords_1_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO "keywords_1_data" VALUES(1,X'060C');
INSERT INTO "keywords_1_data" VALUES(10,X'000000000104040004010101020101030101040101');
INSERT INTO "keywords_1_data" VALUES(137438953473,X'0000002A063070617274300102030501310202030501320302030105776F726431010202010202010202040A0606');
INSERT INTO "keywords_1_data" VALUES(274877906945,X'0000002A063070617274300402030501310502030501320602030105776F726432040202010202010202040A0606');
INSERT INTO "keywords_1_data" VALUES(412316860417,X'0000002A063070617274300702030501310802030501320902030105776F726433070202010202010202040A0606');
INSERT INTO "keywords_1_data" VALUES(549755813889,X'00000024063070617274300401050131050105013206010105776F72643204010101010104090505');
CREATE TABLE 'keywords_1_docsize'(id INTEGER PRIMARY KEY, sz BLOB);
INSERT INTO "keywords_1_docsize" VALUES(1,X'02');
INSERT INTO "keywords_1_docsize" VALUES(2,X'02');
INSERT INTO "keywords_1_docsize" VALUES(3,X'02');
INSERT INTO "keywords_1_docsize" VALUES(7,X'02');
INSERT INTO "keywords_1_docsize" VALUES(8,X'02');
INSERT INTO "keywords_1_docsize" VALUES(9,X'02');
CREATE TABLE 'keywords_1_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
INSERT INTO "keywords_1_idx" VALUES(1,X'',2);
INSERT INTO "keywords_1_idx" VALUES(2,X'',2);
INSERT INTO "keywords_1_idx" VALUES(3,X'',2);
INSERT INTO "keywords_1_idx" VALUES(4,X'',2);
CREATE TABLE messages (
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
    trace TEXT                       -- JSON of the Span tree
);
INSERT INTO "messages" VALUES('m1','c1','user','What is word1?','done',1700000000.0,1700000000.0,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE passages (
    row INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES documents (seq) ON DELETE CASCADE,
    id TEXT NOT NULL,
    first_char INTEGER,
    end_char INTEGER,
    text BLOB,                      -- NULL: the document's characters [first_char, end_char)
    metadata TEXT,                  -- NULL: the document's
    hidden TEXT,                    -- NULL: the document's hidden metadata keys and template
    links TEXT,                     -- NULL: the passages before and after it in the document
    length REAL                     -- that its embedding had; NULL: 1
);
INSERT INTO "passages" VALUES(1,1,'d1/0',NULL,NULL,X'776F72643120706172743020',NULL,NULL,'[null, null, null, []]',4.18869559219959253226e+00);
INSERT INTO "passages" VALUES(2,1,'d1/1',NULL,NULL,X'776F72643120706172743120',NULL,NULL,'[null, null, null, []]',4.31498637634922133088e+00);
INSERT INTO "passages" VALUES(3,1,'d1/2',NULL,NULL,X'776F72643120706172743220',NULL,NULL,'[null, null, null, []]',5.0140646732917124595e+00);
INSERT INTO "passages" VALUES(7,3,'d3/0',NULL,NULL,X'776F72643320706172743020',NULL,NULL,'[null, null, null, []]',2.33945308402322549312e+00);
INSERT INTO "passages" VALUES(8,3,'d3/1',NULL,NULL,X'776F72643320706172743120',NULL,NULL,'[null, null, null, []]',5.00680117886811082428e+00);
INSERT INTO "passages" VALUES(9,3,'d3/2',NULL,NULL,X'776F72643320706172743220',NULL,NULL,'[null, null, null, []]',5.26970831392072);
CREATE TABLE texts (
    document INTEGER NOT NULL REFERENCES documents (seq) ON DELETE CASCADE,
    block INTEGER NOT NULL,         -- characters [block * BLOCK, (block + 1) * BLOCK)
    data BLOB NOT NULL,
    PRIMARY KEY (document, block)
);
INSERT INTO "texts" VALUES(1,0,X'789C2BCF2F4A315428482C2A3150E02A87730C9139460A00F7710C54');
INSERT INTO "texts" VALUES(3,0,X'789C2BCF2F4A315628482C2A3150E02A87730C9139460A00F7EF0C5A');
CREATE INDEX files_by_stage ON files (stage, added);
CREATE INDEX files_by_hash ON files (hash);
CREATE INDEX documents_by_slot ON documents (index_id, first_slot);
CREATE INDEX passages_by_id ON passages (id);
CREATE INDEX passages_by_document ON passages (document);
CREATE INDEX messages_by_conversation ON messages (conversation_id, created);
PRAGMA writable_schema=OFF;
COMMIT;
