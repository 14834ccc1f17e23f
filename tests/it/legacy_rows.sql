-- A session in the middle of its work, under the plain schema.
INSERT INTO sessions (name, task_description, created_at)
VALUES ('amber-quiet-river', 'Show blog posts', '2025-01-02 03:04:05');

INSERT INTO plans (id, session_name, status, queue_position, goal, context, inputs, outputs, approach,
    success_criteria, notes, outcome, created_at, completed_at)
VALUES
    ('done1', 'amber-quiet-river', 'completed', NULL, 'Fetch posts', 'A context', '- an API key', '- a client',
        '1. A step', 'It fetches', 'Went well', 'GhostClient in src/lib/ghost.ts', '2025-01-02 03:04:06',
        '2025-01-02 04:00:00'),
    ('done2', 'amber-quiet-river', 'completed', NULL, 'Cache posts', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        '2025-01-02 03:04:07', '2025-01-02 05:00:00'),
    ('gone1', 'amber-quiet-river', 'discarded', NULL, 'Fetch comments of the ghost', NULL, NULL, NULL, NULL, NULL,
        NULL, 'not wanted', '2025-01-02 03:04:08', NULL),
    ('late1', 'amber-quiet-river', 'queued', 7, 'Write a feed', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        '2025-01-02 03:04:09', NULL),
    ('now11', 'amber-quiet-river', 'active', NULL, 'Show posts', 'A page', NULL, NULL, 'As they come', 'They show',
        NULL, NULL, '2025-01-02 03:04:10', NULL),
    ('soon1', 'amber-quiet-river', 'queued', 2, 'Style posts', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        '2025-01-02 03:04:11', NULL);
