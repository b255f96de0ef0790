/* The roll of sessions: who is in it, and how one is found. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/entry.h"
#include "session/template.h"

struct registry {
	struct engine *engine;
	struct journal *journal;
	struct templates *templates;
	unsigned n_checkpoints;
	struct entry *first;
	uv_timer_t idle;
	void (*on_idle)(uv_timer_t *timer);
	bool is_closing;
	void (*ended)(void *arg, const char *session);
	void *ended_arg;
	void (*closed)(void *arg);
	void *arg;
};

/* By id, start of an id, or name; a session that is only in the journal is opened again. */
struct entry *registry_find(struct registry *r, const char *session, struct err *err);
/* The live one of that id or name, or NULL. */
struct entry *registry_live(struct registry *r, const char *session);

/* The same without opening: @id is the session's, @live NULL when it is only in the journal. */
struct found {
	struct entry *live;
	char id[JOURNAL_ID_BYTES];
};
int registry_look_up(struct registry *r, const char *session, struct found *out, struct err *err);

/* Is @name (NULL: none) one for a new session, and free? Errors: ERR_USAGE. */
int registry_check_name(struct registry *r, const char *name, struct err *err);
