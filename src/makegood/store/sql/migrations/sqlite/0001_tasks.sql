-- One row per task, replaced in place. The integer grows with every task, so that what is written together
-- lies together; the task id is looked up through its own index.
CREATE TABLE tasks (
    id           INTEGER PRIMARY KEY,
    task_id      TEXT    NOT NULL UNIQUE,
    version      INTEGER NOT NULL,
    state        INTEGER NOT NULL,
    due          INTEGER,
    head         BLOB    NOT NULL,
    plan         TEXT    NOT NULL,
    plan_version TEXT    NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT;

CREATE INDEX tasks_due ON tasks (due) WHERE due IS NOT NULL;

-- One row per commit, never changed.
CREATE TABLE history (
    id       INTEGER NOT NULL,
    version  INTEGER NOT NULL,
    write_id INTEGER NOT NULL,
    body     BLOB    NOT NULL,
    PRIMARY KEY (id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE plans (
    version  TEXT PRIMARY KEY,
    name     TEXT NOT NULL,
    document BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE members (
    member_id   TEXT    PRIMARY KEY,
    lease_until INTEGER NOT NULL,
    member      BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

-- The latest store time any commit was given: a mark that never falls.
CREATE TABLE clock (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    at INTEGER NOT NULL
) STRICT;

INSERT INTO clock (id, at) VALUES (1, 0);
