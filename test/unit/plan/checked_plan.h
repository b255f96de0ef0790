/* A plan and what the check says of it, with the tools of plan_tools.h.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "plan/check/check.h"

enum { LABELS_BYTES = 64 << 20 };

struct fixture {
	struct heap heap;
	struct labels *labels;
	struct policy policy;
	struct diags diags;
	struct node *tree;
	struct source src;
	struct check check;
	struct buf text;
	int rc;
};

extern const struct heap_limits plenty;

/* Without @policy, what defaults say. Owns: @f until tear_down(). */
void set_up_within(struct fixture *f, const char *plan, const char *policy, const char *request,
	struct heap_limits limits, size_t label_bytes);
void set_up(struct fixture *f, const char *plan, const char *policy, const char *request);
/* With other @tools than those of plan_tools.h. */
void set_up_with(
	struct fixture *f, const char *plan, const char *policy, const struct tool_set *tools);
void tear_down(struct fixture *f);

/* The steps of the first finding that is not proved: "source 1 guard 2 sink 3", by line. */
void path_of(const struct fixture *f, char *out, size_t room);
const char *verdict_of(const struct fixture *f);

/* `t` is text of the web, `u` the user's, `v` of a trusted tool. */
#define PRELUDE "t = web.get(url='x')\nu = 'bob@b.c'; v = contacts.search(query='a')\n"
#define REQUEST "send it to bob@b.c or ann@b.c from x, delete f1 or f2 with a, b, k, 1, 2026-11-22"

struct flow {
	const char *name, *plan, *verdict, *path;
};

/* Each behind PRELUDE; without a path, any. */
void run_flows(const struct flow *rows, size_t n, const char *policy);
