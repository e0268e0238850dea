-- create --
INSERT INTO tasks (task_id, version, state, due, head, plan, plan_version, created_at)
VALUES (?, 1, ?, ?, ?, ?, ?, ?)
ON CONFLICT (task_id) DO NOTHING

-- update --
UPDATE tasks SET version = version + 1, state = ?, due = ?, head = ?
WHERE task_id = ? AND version = ?

-- append --
INSERT INTO history (id, version, write_id, body)
SELECT id, ?2, ?3, ?4 FROM tasks WHERE task_id = ?1

-- load --
SELECT id, task_id, version, state, due, head, plan, plan_version, created_at
FROM tasks WHERE task_id = ?

-- history --
SELECT history.version, write_id, body
FROM tasks JOIN history USING (id)
WHERE task_id = :task_id AND history.version > :after
ORDER BY history.version

-- due --
SELECT id, task_id, version, state, due, head, plan, plan_version, created_at
FROM tasks
WHERE due <= :before AND (due, id) > (:after_due, :after_id)
ORDER BY due, id
LIMIT :limit

-- search --
SELECT id, task_id, version, state, due, head, plan, plan_version, created_at
FROM tasks
WHERE id < :below
  AND (:plan IS NULL OR plan = :plan)
  AND (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
ORDER BY id DESC
LIMIT :limit

-- save_plan --
INSERT INTO plans (version, name, document) VALUES (?, ?, ?)
ON CONFLICT (version) DO NOTHING

-- load_plan --
SELECT document FROM plans WHERE version = ?

-- renew_member --
INSERT INTO members (member_id, lease_until, member) VALUES (?, ?, ?)
ON CONFLICT (member_id) DO UPDATE SET lease_until = excluded.lease_until, member = excluded.member

-- remove_member --
DELETE FROM members WHERE member_id = ?

-- remove_lapsed --
DELETE FROM members WHERE lease_until <= ?

-- members --
SELECT member_id, member FROM members WHERE lease_until > ? ORDER BY member_id

-- mark --
SELECT at FROM clock WHERE id = 1

-- move_mark --
UPDATE clock SET at = ? WHERE id = 1

-- reset_mark --
REPLACE INTO clock VALUES (1, 0)

-- owner --
SELECT application_id, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id

-- create_migrations --
CREATE TABLE IF NOT EXISTS migrations (
    number     INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL,
    checksum   TEXT    NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT

-- applied --
SELECT number, name, checksum FROM migrations ORDER BY number

-- record_migration --
INSERT INTO migrations (number, name, checksum, applied_at) VALUES (?, ?, ?, ?)
