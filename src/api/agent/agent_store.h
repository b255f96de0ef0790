/* Saved agents. Each has a directory, which the process that works with the agent locks.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * AGENT_STORE_MAX: how many agents are kept. Beyond it, the oldest that are not in use are removed.
 * AGENT_STORE_BYTES_MAX: maximum size of an agent's file.
 * AGENT_TASK_BYTES: maximum length of the task of an agent in a list. Longer texts are cut.
 */
enum {
	AGENT_ID_BYTES = 16,
	AGENT_STORE_MAX = 100,
	AGENT_STORE_BYTES_MAX = 256 << 20,
	AGENT_TASK_BYTES = 300
};
/* Default idle time after which the session of an agent is closed. It is not used if the engine
 * was started with limits on the lifetime of sessions. */
enum { AGENT_IDLE_MS = 24 * 3600 * 1000 };

/* The store of agents, and options for new agents. All pointers are borrowed. */
struct agent_store {
	const char *dir;       /* directory of the store; NULL: agents are not saved */
	const char *id;	       /* id for the only agent of this process; NULL: random ids */
	const char *directory; /* the user's working directory, for --continue; or NULL */
	/* Idle time after which the session of an agent is closed. 0: the same time as for other
	 * sessions. */
	uint64_t idle_ms;
};

/* A saved agent that this process has opened and locked, until agent_store_close(). Initialize
 * with STORED_AGENT_INIT. */
struct stored_agent {
	int fd, lock_fd; /* descriptors of the agent's directory and lock file */
	char id[AGENT_ID_BYTES];
};
#define STORED_AGENT_INIT ((struct stored_agent){.fd = -1, .lock_fd = -1})

/* Make a random id, such as "a-7k2mq4x5ta". */
void agent_store_new_id(char id[AGENT_ID_BYTES]);

/* Create the directory DIR/ID with mode 0700, and its parents; open and lock it. If there are
 * more than AGENT_STORE_MAX agents, remove the oldest that are not in use. Errors: ERR_ACCESS,
 * ERR_NO_SPACE, ERR_IO. */
int agent_store_create(struct stored_agent *out, const char *dir, const char *id, struct err *err);

/*
 * Open and lock a saved agent.
 * Errors: ERR_NOT_FOUND; ERR_BUSY: another process uses the agent; ERR_ACCESS: the directory
 * belongs to another user, or has a mode that lets others in.
 */
int agent_store_open(struct stored_agent *out, const char *dir, const char *id, struct err *err);
void agent_store_close(struct stored_agent *k);
/* Remove the directory of an agent that was created but never saved. */
void agent_store_remove(const char *dir, const char *id);

/*
 * Write or read the file of an agent: {"version", "agent", "owner", "task", "changed_ms",
 * "session", "params", "loop", …}. The file has mode 0600. Writing replaces the file atomically: a
 * reader sees either the old file or the new one, even after a kill -9 or a power failure.
 * Errors: ERR_NO_SPACE, ERR_ACCESS, ERR_IO. agent_store_read() also has ERR_NOT_FOUND, ERR_DAMAGED
 * and ERR_LIMIT, and ERR_USAGE if a newer version of retort wrote the file.
 */
int agent_store_write(const struct stored_agent *k, const json_t *agent, struct err *err);
json_t *agent_store_read(const struct stored_agent *k, struct err *err);

/*
 * List the agents of @owner, the newest first: [{"agent", "task", "status", "model", "session",
 * "directory"?, "steps", "changed_ms"}].
 * "status" is "running" if the agent is in use, and "interrupted" if it ended without a result. It
 * is "damaged" if its file cannot be read; such agents are in the lists of all owners.
 * Owns: the caller decrefs the result. Returns: NULL if memory is exhausted.
 */
json_t *agent_store_list(const char *dir, const char *owner);

/* Find the agent whose id begins with @start. @start NULL: find the operator's newest agent that
 * was run in @directory. Errors: ERR_NOT_FOUND; ERR_USAGE: several ids begin with @start. */
int agent_store_find(char id[AGENT_ID_BYTES], const char *dir, const char *start,
	const char *directory, struct err *err);
