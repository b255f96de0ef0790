/* Admission: may a session, step or operation be added? Each check counts the live sessions anew.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/session_table.h"
#include "session/start/order.h"

/*
 * May the owner of @r name the host paths in @order (volumes, workspace, rootfs, interpreter)?
 * Errors: ERR_DENIED.
 */
int admit_order(struct registry *r, const struct order *order, struct err *err);

/*
 * Is there room for a live session with @memory_bytes as its limit?
 *
 * @is_new: false for a session of the journal that is reopened: the number of sessions includes it
 * already.
 * Errors:  ERR_QUOTA: too many sessions or too much memory, of the owner or of the engine;
 * for a new session also as admit_kept().
 */
int admit_session(struct registry *r, uint64_t memory_bytes, bool is_new, struct err *err);

/* Return the memory that a session is accounted with: the limit of its box, and the memory of the
 * engine for output above the default limit (stdout, stderr, displays). */
uint64_t admit_memory(const struct limits *limits);

/* Limits of the queues. The engine keeps operations that wait or run in memory, with their code,
 * input and files. An owner whose queues are empty is not refused because of the operations of
 * other owners. */
enum {
	QUEUE_SESSION_MAX = 256,
	QUEUE_OWNER_MAX = 1024,
	QUEUE_ALL_MAX = 4096,
	QUEUE_OWNER_BYTES = 64 << 20,
	QUEUE_ALL_BYTES = 256 << 20
};
/* May @job be appended to the queue of @e? Errors: ERR_QUOTA. */
int admit_job(const struct entry *e, const struct job *job, struct err *err);

/*
 * May the journal store @bytes more for @owner? The owner's quota and a reserve of free disk space
 * are checked; only owners with little data may use the reserve. The operator of the engine ("") is
 * always admitted.
 * Errors: ERR_QUOTA, ERR_NO_SPACE.
 */
int admit_kept(struct session_table *table, const char *owner, uint64_t bytes, struct err *err);
/* Store a blob for the owner of @e: admit_kept(), add its size to the owner's account,
 * journal_blob_keep(). */
int admit_blob(
	const struct entry *e, const void *data, size_t bytes, const char *digest, struct err *err);

/* May the owner run @n steps, one after the other, now? Errors: ERR_QUOTA: too many at the same
 * time, or in this minute; as admit_kept(). */
int admit_steps(struct registry *r, uint64_t n, struct err *err);
/* Check only the steps per minute and admit_kept(): for a file that is written or removed, which is
 * a step of the journal. */
int admit_rate(struct registry *r, uint64_t n, struct err *err);
