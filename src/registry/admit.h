/* Admission: checks whether the quotas allow one more session, step or operation. Each check
 * counts the live sessions anew. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/session_table.h"
#include "session/start/order.h"

/*
 * Check whether the owner of @r may name the host paths in @order (volumes, workspace, rootfs,
 * interpreter), and give it the network rules.
 * Errors: ERR_DENIED; ERR_USAGE for a rule that is none.
 */
int admit_order(struct registry *r, const struct order *order, struct err *err);

/* Check whether the owner of @r may give the network rules @texts to a session. Errors: as
 * admit_order(). */
int admit_net(struct registry *r, const char *const *texts, size_t n, struct err *err);

/*
 * Check whether there is room for one more live session with the memory limit @memory_bytes.
 *
 * @is_new: false if a session of the journal is reopened. The owner's number of sessions includes
 * this session already, so only the memory is checked for the owner.
 * Errors: ERR_QUOTA: too many sessions or too much memory, of the owner or of the engine. For a new
 * session also those of admit_kept().
 */
int admit_session(struct registry *r, uint64_t memory_bytes, bool is_new, struct err *err);

/* Return the bytes of memory that a session is charged for: the memory limit of its box, and
 * what the engine itself may need if the session's limit on output (stdout, stderr, displays) is
 * above the default. */
uint64_t admit_memory(const struct limits *limits);

/* Limits on the operations in queues. The engine keeps waiting and running operations in memory,
 * with their code, input and files. An owner whose queues are empty is not refused because of
 * the operations of other owners. */
enum {
	QUEUE_SESSION_MAX = 256,
	QUEUE_OWNER_MAX = 1024,
	QUEUE_ALL_MAX = 4096,
	QUEUE_OWNER_BYTES = 64 << 20,
	QUEUE_ALL_BYTES = 256 << 20
};
/* Check whether @job may be appended to the queue of @e. Errors: ERR_QUOTA. */
int admit_job(const struct entry *e, const struct job *job, struct err *err);

/*
 * Check whether the journal may store @bytes more for @owner, by the owner's quota and the free
 * space of the disk. A part of the free space is reserved for owners with little data. The operator
 * of the engine ("") is always admitted.
 * Errors: ERR_QUOTA, ERR_NO_SPACE.
 */
int admit_kept(struct session_table *table, const char *owner, uint64_t bytes, struct err *err);
/* Store a blob for the owner of @e: check admit_kept(), add its size to the owner's account, and
 * write it with journal_blob_keep(). */
int admit_blob(
	const struct entry *e, const void *data, size_t bytes, const char *digest, struct err *err);

/* Check whether the owner may run @n steps now, one after the other. Errors: ERR_QUOTA: too many
 * steps at the same time, or in this minute; those of admit_kept(). */
int admit_steps(struct registry *r, uint64_t n, struct err *err);
/*
 * Check whether the owner may add @n steps now. Two limits are checked:
 * - the owner's steps per minute, of which @n steps are used up if the check succeeds;
 * - the space for the owner's data in the journal, with admit_kept().
 *
 * The number of steps that wait or run at the same time is not checked. The operator of the engine
 * is always admitted.
 *
 * Use this function before a client writes or removes a file, because the journal stores such a
 * change as a step.
 * Errors: ERR_QUOTA: too many steps in this minute; the errors of admit_kept().
 */
int admit_rate(struct registry *r, uint64_t n, struct err *err);
