-- From version 1 to version 2.

-- Where a session was made or resumed: the working folders, and the client's own ids of its conversations. The rows are few,
-- and none is ever removed.
CREATE TABLE bindings (
    kind TEXT NOT NULL CHECK (kind IN ('folder', 'client')),
    value TEXT NOT NULL,
    at TEXT NOT NULL DEFAULT (datetime('now')),
    PRIMARY KEY (kind, value)
) STRICT, WITHOUT ROWID;
