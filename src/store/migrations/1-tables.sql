-- The tables of the plain schema, as it has them: a session made with it keeps every row.

CREATE TABLE IF NOT EXISTS sessions (
    name TEXT PRIMARY KEY,
    task_description TEXT,
    created_at TEXT DEFAULT (datetime('now'))
) STRICT;

CREATE TABLE IF NOT EXISTS plans (
    id TEXT PRIMARY KEY,
    session_name TEXT NOT NULL REFERENCES sessions(name) ON DELETE CASCADE,
    status TEXT NOT NULL CHECK (status IN ('queued', 'active', 'completed', 'discarded')),
    queue_position INTEGER,
    goal TEXT NOT NULL,
    context TEXT,
    inputs TEXT,
    outputs TEXT,
    approach TEXT,
    success_criteria TEXT,
    notes TEXT,
    outcome TEXT,
    created_at TEXT DEFAULT (datetime('now')),
    completed_at TEXT
) STRICT;

-- It indexed every plan by rowid, which a table with a TEXT key does not keep across VACUUM.
DROP TRIGGER IF EXISTS plans_ai;
DROP TRIGGER IF EXISTS plans_ad;
DROP TRIGGER IF EXISTS plans_au;
DROP TABLE IF EXISTS plans_fts;
DROP INDEX IF EXISTS idx_plans_queue;
DROP INDEX IF EXISTS idx_plans_active;
