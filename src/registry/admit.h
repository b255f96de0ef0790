/* Is there room for one session, or step, more? Counted from what there is, each time it is asked.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/session_table.h"
#include "session/start/order.h"

/*
 * May it name what @order has of the host: volumes, a workspace, a root, an interpreter?
 * Errors: ERR_DENIED.
 */
int admit_order(struct registry *r, const struct order *order, struct err *err);

/*
 * Is there room for a live session with @memory_bytes as its limit?
 *
 * @is_new: false when it is one of the journal that is to be opened again, which is counted
 *          already.
 * Errors:  ERR_QUOTA: the owner's sessions or their memory, or the engine's.
 */
int admit_session(struct registry *r, uint64_t memory_bytes, bool is_new, struct err *err);

/* What a session counts for: the memory of its box, and what of its output the engine holds beyond
 * the default (stdout, stderr, displays). */
uint64_t admit_memory(const struct limits *limits);

/*
 * What waits in line for a session, or is under way, is held by the engine: so many operations, and
 * so many bytes of code, input and files, and no more. Whoever has nothing in line is not refused
 * for what all others have.
 */
enum {
	QUEUE_SESSION_MAX = 256,
	QUEUE_OWNER_MAX = 1024,
	QUEUE_ALL_MAX = 4096,
	QUEUE_OWNER_BYTES = 64 << 20,
	QUEUE_ALL_BYTES = 256 << 20
};
/* May @job wait in line? Errors: ERR_QUOTA. */
int admit_job(const struct entry *e, const struct job *job, struct err *err);

/*
 * May the journal keep @bytes more of @owner's? Its quota, and a reserve of the disk: what is left
 * there is for those who have little of it. Whoever runs the engine may always.
 * Errors: ERR_QUOTA, ERR_NO_SPACE.
 */
int admit_kept(struct session_table *table, const char *owner, uint64_t bytes, struct err *err);
/* journal_blob_keep() of what @e's owner may have kept, and counts. */
int admit_blob(
	const struct entry *e, const void *data, size_t bytes, const char *digest, struct err *err);

/* May it run @n steps, one after the other, now? Errors: ERR_QUOTA: at the same time, or in this
 * minute. */
int admit_steps(struct registry *r, uint64_t n, struct err *err);
/* Only the latter: for a file that is written or removed, which is a step of the journal. */
int admit_rate(struct registry *r, uint64_t n, struct err *err);
