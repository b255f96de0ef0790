/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/asker.h"

#include "api/gate/gate_handler.h"
#include "base/alloc.h"
#include "base/json.h"
#include "cli/approver.h"
#include "cli/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID_BYTES = 24 };

struct question {
	struct question *next;
	struct tool_call *call;
	char id[ID_BYTES];
};

struct asker {
	struct once_asker once;
	struct approver approver;
	bool is_tried, is_open; /* the terminal */
	unsigned long last;
	struct view *view;
	struct question *questions;
};

static void drop(struct asker *a, struct question *q)
{
	struct question **at = &a->questions;
	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
	free(q);
}

static void on_decided(void *arg, const char *id, bool is_allowed, bool is_for_session)
{
	struct asker *a = arg;
	struct question *q = a->questions;
	while (q && strcmp(q->id, id) != 0)
		q = q->next;
	if (!q)
		return;
	struct tool_call *call = q->call;
	(void)is_for_session; /* there is one step only */
	drop(a, q);
	tool_call_answer(call,
		is_allowed ? json_pack("{s:s}", "value", CONNECT_ONCE)
			   : tool_call_error("ToolDenied", CONNECT_NO, NULL),
		false);
}

static void tell(struct asker *a, const struct question *q, const char *state)
{
	cleanup_json json_t *event =
		gate_connection_question(q->id, q->call->session, q->call->arguments, true);
	json_put_text(event, "event", "tool.approval");
	json_put_text(event, "state", state);
	(void)approver_takes(&a->approver, event);
}

static void on_ask(void *arg, uv_loop_t *loop, struct tool_call *call)
{
	struct asker *a = arg;
	if (!a->is_tried) {
		a->is_open = approver_open_on(&a->approver, loop, on_decided, a);
		a->approver.hold = view_hold;
		a->approver.screen = a->view;
	}
	a->is_tried = true;
	if (!a->is_open) {
		tool_call_deny(call);
		return;
	}
	struct question *q = xnew(struct question);
	*q = (struct question){.next = a->questions, .call = call};
	snprintf(q->id, sizeof q->id, "%lu", ++a->last);
	call->user = q;
	a->questions = q;
	tell(a, q, "asked");
}

static void on_cancel(void *arg, struct tool_call *call)
{
	struct asker *a = arg;
	struct question *q = call->user;
	tell(a, q, "refused");
	drop(a, q);
}

struct asker *asker_new(void)
{
	struct asker *a = xnew(struct asker);
	*a = (struct asker){
		.once = {.arg = a, .ask = on_ask, .cancel = on_cancel}, .approver = APPROVER_NONE};
	return a;
}

void asker_free(struct asker *a)
{
	if (!a)
		return;
	approver_close(&a->approver);
	free(a);
}

void asker_set_view(struct asker *a, struct view *view)
{
	a->view = view;
}

const struct once_asker *asker_once(const struct asker *a)
{
	return &a->once;
}
