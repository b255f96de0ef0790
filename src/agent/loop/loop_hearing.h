/* What is heard of a model: loop_reply.c. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/wire.h"

struct loop;

/* One question, and what is heard of its answer. */
struct hearing {
	struct loop *loop;
	unsigned place; /* of the candidate; 0: there is one only */
	struct wire_call *call;
	struct buf said;
	size_t n_told, n_looks; /* bytes; marks */
	size_t line_at, seen;	/* where the last line begins, and what of it was looked at */
	bool has_tag;		/* "</" is in that */
};

/* A reply that is whole. Borrowed. */
struct said {
	const char *text;
	enum reply_stop stop;
	bool is_cut;   /* it was longer than is waited for */
	bool is_other; /* it calls a tool that there is not */
};

extern const struct wire_watch loop_watch; /* its `arg` is a struct hearing */
void loop_hear_anew(struct hearing *h);	   /* forget it */
void loop_hear_rest(struct hearing *h);	   /* tell what was not told yet */
void loop_count_usage(struct loop *l, const struct reply *reply);
void loop_tell_message(
	struct loop *l, unsigned place, const struct said *said, const struct wire_usage *usage);
/* Act upon a reply; upon there being none. */
void loop_act(struct loop *l, const struct said *said);
void loop_miss(struct loop *l, const struct failure *why);
