-- From the plain tables to version 1.

-- Counted here by triggers, so that no reply walks a table.
ALTER TABLE sessions ADD COLUMN queued_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN completed_count INTEGER NOT NULL DEFAULT 0;

-- The temporary file of the last committed write of the plan's file. Whoever needs the plan next removes it, should it still
-- be there, so that a slow process cannot put it over a newer text.
ALTER TABLE plans ADD COLUMN staged_file TEXT;

-- The note of a deferral, until the plan is pulled: it belongs into the plan's file, and may not have got there.
ALTER TABLE plans ADD COLUMN pending_note TEXT;

-- The place of a completed plan in the history: the rowid of its text in plans_fts, and of nothing else.
ALTER TABLE plans ADD COLUMN history_no INTEGER;

-- More than one active plan was possible; all but the first go back to the queue, in front.
UPDATE plans
SET status = 'queued', queue_position = (SELECT min(queue_position) FROM plans WHERE status = 'queued') - 1
WHERE status = 'active' AND rowid <> (SELECT min(rowid) FROM plans WHERE status = 'active');

UPDATE plans SET queue_position = NULL WHERE status <> 'queued';
UPDATE plans SET queue_position = ranked.place
FROM (
    SELECT rowid AS row, row_number() OVER (ORDER BY queue_position IS NULL, queue_position, created_at, rowid) AS place
    FROM plans WHERE status = 'queued'
) AS ranked
WHERE plans.rowid = ranked.row;

UPDATE plans SET history_no = ranked.place
FROM (
    SELECT rowid AS row, row_number() OVER (ORDER BY completed_at, rowid) AS place
    FROM plans WHERE status = 'completed'
) AS ranked
WHERE plans.rowid = ranked.row;

CREATE INDEX plans_queue ON plans(queue_position) WHERE status = 'queued';
CREATE UNIQUE INDEX plans_one_active ON plans(session_name) WHERE status = 'active';
CREATE UNIQUE INDEX plans_history ON plans(history_no) WHERE history_no IS NOT NULL;

UPDATE sessions SET
    queued_count = (SELECT count(*) FROM plans WHERE status = 'queued'),
    completed_count = (SELECT count(*) FROM plans WHERE status = 'completed');

CREATE TRIGGER plans_count_in AFTER INSERT ON plans BEGIN
    UPDATE sessions SET
        queued_count = queued_count + (new.status = 'queued'),
        completed_count = completed_count + (new.status = 'completed')
    WHERE name = new.session_name;
END;
CREATE TRIGGER plans_count_change AFTER UPDATE OF status ON plans BEGIN
    UPDATE sessions SET
        queued_count = queued_count + (new.status = 'queued') - (old.status = 'queued'),
        completed_count = completed_count + (new.status = 'completed') - (old.status = 'completed')
    WHERE name = new.session_name;
END;
CREATE TRIGGER plans_count_out AFTER DELETE ON plans BEGIN
    UPDATE sessions SET
        queued_count = queued_count - (old.status = 'queued'),
        completed_count = completed_count - (old.status = 'completed')
    WHERE name = old.session_name;
END;

-- One row a transition: what a person's timeline and the age of a plan come from.
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    at TEXT NOT NULL DEFAULT (datetime('now')),
    plan_id TEXT NOT NULL,
    what TEXT NOT NULL,
    detail TEXT,
    client TEXT
) STRICT;

INSERT INTO events (at, plan_id, what)
SELECT at, id, what FROM (
    SELECT created_at AS at, id, 'created' AS what, rowid AS row FROM plans
    UNION ALL
    SELECT completed_at, id, 'completed', rowid FROM plans WHERE status = 'completed'
) WHERE at IS NOT NULL ORDER BY at, what = 'completed', row;

-- Completed plans only, as the terms that store/words.rs makes of their text; rowid is plans.history_no. The terms hold
-- no ASCII but a-z and 0-9, so the plainest tokenizer leaves them as they are.
CREATE VIRTUAL TABLE plans_fts USING fts5(
    goal, outputs, outcome, context, inputs, approach, notes,
    content = '', contentless_delete = 1, tokenize = 'ascii'
);

-- Every word of the history as it was typed, for a query that was mistyped.
CREATE TABLE words (word TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
